"""
From requests to rows: groups that share a commit, and what becomes of those that cannot be written.
"""

import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests import otlp_builder as build
from tests.integration.processes import otlp_trace_of
from tests.shown import counted
from toolspan.collector.inlet import Receipt
from toolspan.collector.writing import Limits, Writer
from toolspan.config import Settings
from toolspan.errors import InputError, OverloadedError, StoreError, UnavailableError
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.records import SpanFacts
from toolspan.store.appending import append_spans
from toolspan.store.held import HeldStore
from toolspan.store.reading import read_rows
from toolspan.tracker import Tracker

_PATIENCE_S = 30


class Scene:
    """
    A writer on a store of its own, with the metrics that it feeds.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        settings = Settings(grace_s=0.0)
        self.store = HeldStore(path, url="", settings=settings, tell=pytest.fail)
        self.metrics = Metrics()
        self.failures: list[str] = []
        self.writer = Writer(
            self.store,
            settings=settings,
            metrics=MetricsCollector(self.metrics),
            tracker=Tracker(self.metrics, grace_ns=0, most=1000),
            limits=limits,
            on_failure=self.failures.append,
        )

    def submit(self, *numbers: int) -> Receipt:
        body = build.json_line([span for number in numbers for span in otlp_trace_of(number)])
        return self.writer.submit(body, is_json=True).result(_PATIENCE_S)

    def calls(self) -> int:
        with self.store.reading() as connection:
            return len(read_rows(connection).calls)


@pytest.fixture
def scene(tmp_path: Path) -> Generator[Scene]:
    made = Scene(tmp_path / "x.duckdb", Limits(bytes=10_000, requests=3))
    made.writer.start()
    yield made
    made.writer.drain(_PATIENCE_S)
    made.store.close()


def test_what_is_acknowledged_can_be_queried(scene: Scene) -> None:
    """And is counted, with when it was committed."""
    receipt = scene.submit(1, 2)

    assert (Receipt(), 6) == (receipt, scene.calls())
    assert {("toolspan_spans_received_total",): 8} == counted(scene.metrics, "spans_received_total")
    assert scene.writer.state().last_commit_s > 0


def test_tasks_settle_while_nothing_comes(scene: Scene) -> None:
    """A grace period later, without anybody asking."""
    scene.submit(1)
    patience = 600
    while scene.store.open_tasks() and (patience := patience - 1):
        threading.Event().wait(0.05)  # the writer's own thread looks twice a second

    assert {("toolspan_tasks_total", "resolved"): 1} == counted(scene.metrics, "tasks_total")


def test_rejected_spans_are_told_and_counted(scene: Scene) -> None:
    """The others of the request are kept."""
    body = build.json_line([build.run_span(1), build.tool_span(2, parent=1), build.tool_span(3, trace_id="00")])

    receipt = scene.writer.submit(body, is_json=True).result(_PATIENCE_S)

    assert Receipt(1, "1 span(s) rejected: trace id is not 16 bytes, or zero") == receipt
    assert {("toolspan_spans_dropped_total", "trace_id"): 1} == counted(scene.metrics, "spans_dropped_total")


def test_garbage_is_its_senders(scene: Scene) -> None:
    """No repetition changes it; whoever comes with it is served."""
    garbage = scene.writer.submit(b"\xff", is_json=False)

    with pytest.raises(InputError):
        garbage.result(_PATIENCE_S)
    assert Receipt() == scene.submit(1)


def test_a_store_that_cannot_be_written_to_is_to_be_asked_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept or counted; once it can, it is."""
    with monkeypatch.context() as patched:
        patched.setattr("toolspan.store.held.append_spans", full)
        with pytest.raises(UnavailableError, match="no space") as raised:
            scene.submit(1)

    assert raised.value.retry_after_s >= 1
    assert Receipt() == scene.submit(1)
    assert {("toolspan_spans_received_total",): 4} == counted(scene.metrics, "spans_received_total")


def full(*_: object) -> None:
    raise StoreError("no space")


class Slow:
    """
    Stands in for `append_spans`: holds up trace 9 until it is told, and fails for trace 2.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_held, self.goes_on = threading.Event(), threading.Event()
        self._append: Any = append_spans
        monkeypatch.setattr("toolspan.store.held.append_spans", self)

    def __call__(self, connection: object, spans: list[SpanFacts], *more: object) -> object:
        traces = {int.from_bytes(span.trace_id, "big") for span in spans}
        if 9 in traces:
            self.is_held.set()
            self.goes_on.wait(_PATIENCE_S)
        if 2 in traces:
            raise ZeroDivisionError
        return self._append(connection, spans, *more)


def body_of(number: int) -> bytes:
    return build.json_line(otlp_trace_of(number))


def test_one_that_fails_for_no_known_reason_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of its group are written without it."""
    scene, slow = Scene(tmp_path / "x.duckdb", Limits()), Slow(monkeypatch)
    scene.writer.start()
    scene.writer.submit(body_of(9), is_json=True)
    slow.is_held.wait(_PATIENCE_S)
    futures = [scene.writer.submit(body_of(number), is_json=True) for number in (1, 2, 3)]
    slow.goes_on.set()

    assert [Receipt(), Receipt()] == [futures[index].result(_PATIENCE_S) for index in (0, 2)]
    with pytest.raises(ZeroDivisionError):
        futures[1].result(_PATIENCE_S)
    assert 9 == scene.calls()
    assert {("toolspan_spans_dropped_total", "fault"): 4} == counted(scene.metrics, "spans_dropped_total")
    scene.writer.drain(_PATIENCE_S)
    scene.store.close()


def test_what_waits_is_bounded(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """In requests and in bytes; beyond it a sender is told when to come again, and what waited is written."""
    slow = Slow(monkeypatch)
    waiting = [scene.writer.submit(body_of(9), is_json=True)]
    slow.is_held.wait(_PATIENCE_S)
    waiting += [scene.writer.submit(body_of(number), is_json=True) for number in (1, 3)]
    with pytest.raises(OverloadedError) as requests:
        scene.writer.submit(b"{}", is_json=True)
    state = scene.writer.state()
    slow.goes_on.set()

    assert [Receipt()] * 3 == [each.result(_PATIENCE_S) for each in waiting]
    assert (3, True) == (state.waiting_requests, state.is_ready)
    assert 1 <= requests.value.retry_after_s <= 30
    assert 0 == scene.writer.state().waiting_bytes


def test_a_large_request_alone_is_taken(scene: Scene) -> None:
    """The bound is for those that wait together; a second one beside it has to come again."""
    assert Receipt() == scene.writer.submit(b" " * 20_000 + b"{}", is_json=True).result(_PATIENCE_S)


def test_at_the_end_nothing_is_taken_and_what_waits_is_written(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that comes now goes elsewhere, or comes again."""
    slow = Slow(monkeypatch)
    waiting = scene.writer.submit(body_of(9), is_json=True)
    slow.is_held.wait(_PATIENCE_S)
    in_time = scene.writer.drain(0)
    with pytest.raises(UnavailableError, match="it is about to end"):
        scene.submit(1)
    slow.goes_on.set()

    assert Receipt() == waiting.result(_PATIENCE_S)
    assert (False, True) == (in_time, scene.writer.drain(_PATIENCE_S))


def test_a_thread_that_fails_is_not_silent(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that waits is refused, the state says why, and whoever runs it is told."""
    monkeypatch.setattr(scene.writer, "_gather", fail)

    with pytest.raises(UnavailableError, match="a fault of toolspan ended its writer"):
        submit_for_ever(scene)
    assert ["a fault of toolspan ended its writer (ZeroDivisionError: )"] == scene.failures
    assert not scene.writer.state().is_ready


def submit_for_ever(scene: Scene) -> None:
    while True:
        scene.submit(1)


def fail() -> None:
    raise ZeroDivisionError
