"""
What keeps the API's answers within bounds: pages, rooms for those who ask, copies without a name.
"""

import json
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Semaphore
from typing import Any
from urllib.parse import quote

import duckdb
import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from tests.facts import run, tool_span
from tests.test_collector_api import READY
from toolspan.call_records import whole_record
from toolspan.collector.answering import snapshot
from toolspan.collector.api import api_app
from toolspan.collector.asking import Asked
from toolspan.collector.questions import Context, Question
from toolspan.config import Settings
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.records import SpanFacts
from toolspan.scope import EVERYTHING
from toolspan.scope import Scope as Part
from toolspan.store.held import HeldStore
from toolspan.store.reading import Place, read_calls, read_page

#: With characters that a path has for itself; tests/test_remote.py has worse ones.
_ODD_ID = "a b/../c\n"
_MOST_AT_ONCE = 8
#: Only a failing test waits for so long.
_PATIENCE_S = 20


def _asking(store: HeldStore) -> Any:
    return api_app(Context(store, lambda: READY, Settings()), MetricsCollector(Metrics()))


def _spans() -> Sequence[SpanFacts]:
    """
    Six tasks whose calls start at the same few moments, one of a task with an odd id.
    """
    spans: list[SpanFacts] = []
    for trace in range(1, 7):
        task_id = _ODD_ID if trace == 3 else ""
        spans.append(run(trace, task_id=task_id))
        spans += [
            tool_span(trace, span, start=start, tool=tool, task_id=task_id)
            for span, (start, tool) in enumerate([(0, "search"), (0, "book"), (20, "search"), (20, "pay")], start=2)
        ]
    return spans


@pytest.fixture
def store(tmp_path: Path) -> Generator[HeldStore]:
    held = HeldStore(tmp_path / "x.duckdb", url="", settings=Settings(), tell=pytest.fail)
    held.write(_spans(), knows=lambda _: True)
    yield held
    held.close()


@pytest.fixture
def client(store: HeldStore) -> TestClient:
    return TestClient(_asking(store))


class TestPages:
    @pytest.mark.parametrize("limit", [1, 2, 7, 23, 24, 25])
    @pytest.mark.parametrize(
        "scope", [EVERYTHING, *(EVERYTHING._replace(tool=tool) for tool in ("search", "pay", "none"))]
    )
    def test_together_they_are_all_calls(self, store: HeldStore, limit: int, scope: Part) -> None:
        """Each once, in order, wherever a page ends: also between calls that started at the same moment."""
        with store.reading() as connection:
            found, after = list[Any](), None
            while True:
                page = read_page(connection, scope, limit=limit, after=after)
                assert len(page) <= limit
                found += page
                if len(page) < limit:
                    break
                after = Place(page[-1].started_ns, page[-1].trace_id, page[-1].span_id)
            expected = list(read_calls(connection, scope))

        assert expected == found

    def test_as_lines_the_next_page_is_a_link(self, store: HeldStore, client: TestClient) -> None:
        """For whoever reads lines."""
        lines: list[str] = []
        path: str | None = "/api/v1/calls?tool=search&limit=5"
        while path is not None:
            response = client.get(path, headers={"Accept": "application/jsonl"})
            assert "application/jsonl" == response.headers["content-type"]
            lines += response.text.splitlines()
            path = None if "next" not in response.links else f"/api/v1/calls{response.links['next']['url']}"

        with store.reading() as connection:
            expected = [whole_record(call) for call in read_calls(connection, EVERYTHING._replace(tool="search"))]
        assert expected == [json.loads(line) for line in lines]

    def test_a_task_comes_with_its_first_calls(self, client: TestClient) -> None:
        """And where to go on; its id may hold any character."""
        first = client.get(f"/api/v1/tasks/{quote(_ODD_ID, safe='')}?limit=3").json()
        rest = client.get("/api/v1/calls", params={"task": _ODD_ID, "after": first["next"]}).json()

        assert _ODD_ID == first["task"]["task_id"]
        assert (4, 3, 1) == (first["task"]["calls"], len(first["calls"]), len(rest["calls"]))
        assert {_ODD_ID} == {call["task_id"] for call in [*first["calls"], *rest["calls"]]}
        assert rest["next"] is None


class TestCopies:
    def test_a_copy_has_no_name_while_it_is_sent(self, store: HeldStore, tmp_path: Path) -> None:
        """Whoever stops taking it, or kills this process, leaves nothing behind."""
        context = Context(store, lambda: READY, Settings())

        answer = snapshot(context, Question(Asked({}), {}, None, ""))

        assert answer.file is not None
        with answer.file as file:
            content = file.read()
        assert (b"DUCK", str(len(content))) == (content[8:12], answer.headers["Content-Length"])
        assert [] == list(tmp_path.glob(".toolspan-*"))


class _Held:
    """
    A store in which everybody who reads waits until they are let go.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entered, self.is_over = Semaphore(0), Event()
        self.inside = self.most = 0
        self._lock = Lock()

    @contextmanager
    def reading(self) -> Generator[duckdb.DuckDBPyConnection]:
        """
        A connection to nothing, in the end.
        """
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.entered.release()
        self.is_over.wait(_PATIENCE_S)
        with self._lock:
            self.inside -= 1
        with duckdb.connect() as connection:
            connection.execute("create table calls (tool varchar)")
            connection.execute("create table tasks (agent varchar, service varchar, environment varchar)")
            yield connection

    def overdue(self) -> int:
        """
        None.
        """
        return 0

    def prune(self, _: int) -> Any:
        """
        Is not asked.
        """
        raise NotImplementedError

    def snapshot(self, _: Path) -> None:
        """
        Is not asked.
        """
        raise NotImplementedError


def test_health_answers_while_queries_wait_for_each_other(tmp_path: Path) -> None:
    """More than a few at once would only take memory; what asks nothing of the store never waits behind them."""
    store, arrived, many = _Held(tmp_path), Semaphore(0), 3 * _MOST_AT_ONCE
    app = api_app(Context(store, lambda: READY, Settings()), MetricsCollector(Metrics()))

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        arrived.release()
        await app(scope, receive, send)

    with TestClient(counting) as client, ThreadPoolExecutor(many) as askers:
        arrived.acquire()  # what starts the application
        waiting = [askers.submit(client.get, "/api/v1/names") for _ in range(many)]
        for _ in range(many):
            arrived.acquire()
        for _ in range(_MOST_AT_ONCE):
            store.entered.acquire()
        health = [client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")]
        inside = store.inside
        store.is_over.set()
        names = [each.result().status_code for each in waiting]

    assert ([200] * 3, _MOST_AT_ONCE, _MOST_AT_ONCE) == (health, inside, store.most)
    assert [200] * many == names
