"""
`toolspan ingest`: files into a store, and what becomes of them when something goes wrong.
"""

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, call_of, scene, write
from tests.stored import facts_of, leave_open
from tests.stores import open_store
from toolspan.arguments import ArgumentHasher
from toolspan.cli import _stores
from toolspan.cli.ingest import Ingestion
from toolspan.config import Settings
from toolspan.errors import InputError
from toolspan.records import SpanFacts
from toolspan.store import AppendResult
from toolspan.store.lock import locked


def counts(toolspan: Cli, *args: str | Path) -> dict[str, int]:
    """
    What `ingest --format json` says, once nothing else is said.
    """
    result = toolspan("ingest", *args, "--format", "json")

    assert (0, "", 1) == (result.status, result.err, result.out.count("\n"))
    counted: dict[str, int] = json.loads(result.out)
    return counted


class TestCounts:
    def test_are_one_line_of_json(self, toolspan: Cli, folder: Path) -> None:
        """
        Every field of the interface, in its order.
        """
        result = toolspan("ingest", scene(folder), "--format", "json")

        expected = {
            "spans": 5,
            "new": 5,
            "duplicates": 0,
            "conflicts": 0,
            "late": 0,
            "rejected": 0,
            "calls": 4,
            "tasks": 1,
        }
        assert (0, f"{json.dumps(expected)}\n", "") == result

    def test_of_the_same_file_again_are_duplicates(self, toolspan: Cli, folder: Path) -> None:
        """
        Nothing new, so no call and no task is touched.
        """
        file = scene(folder)
        counts(toolspan, file)

        again = counts(toolspan, file)

        assert {"spans": 5, "duplicates": 5} == {name: count for name, count in again.items() if count}

    def test_tell_other_content_and_what_is_rejected(self, toolspan: Cli, folder: Path) -> None:
        """
        Each span is in one of the counts; why is said on standard error, and the store counts it, too.
        """
        counts(toolspan, scene(folder))
        changed = call_of(4, "book", '{"fare": "B"}', start=40)
        broken = {**build.tool_span(9), "traceId": "abcd"}
        file = write(folder / "more.jsonl", [changed, broken, call_of(7, "book", '{"fare": "C"}', start=80)])

        result = toolspan("ingest", file, "--format", "json")

        told = {"spans": 3, "new": 1, "conflicts": 1, "rejected": 1, "calls": 5, "tasks": 1}
        assert told == {name: count for name, count in json.loads(result.out).items() if count}
        assert [
            f"toolspan: {file} line 1: 1 span rejected: trace id is not 16 bytes, or zero.",
            "toolspan: 1 span came again with other content; the first of each counts.",
        ] == result.err.splitlines()
        assert {"received": 7, "conflict": 1, "rejected": 1} == facts_of(folder / "toolspan.duckdb").intake

    def test_tell_what_came_too_late(self, toolspan: Cli, folder: Path) -> None:
        """
        With the time after which that is.
        """
        (folder / "now.toml").write_text("[settle]\nlate = 0\n")
        counts(toolspan, scene(folder))
        late = write(folder / "late.jsonl", [call_of(7, "book", "{}", start=80)])

        result = toolspan("ingest", late, "--config", "now.toml", "--format", "json")

        assert {"spans": 1, "late": 1} == {name: count for name, count in json.loads(result.out).items() if count}
        assert "toolspan: 1 span came more than 0 ms after the others of their task; not counted.\n" == result.err

    def test_tell_what_was_touched_though_its_spans_are_not_kept(self, toolspan: Cli, folder: Path) -> None:
        """
        A store may keep few spans; calls and tasks it keeps all the same.
        """
        (folder / "few.toml").write_text("[store]\nmax_spans = 1\n")

        counted = counts(toolspan, scene(folder), "--config", "few.toml")

        assert (4, 1) == (counted["calls"], counted["tasks"])

    def test_are_sentences_for_people(self, toolspan: Cli, folder: Path) -> None:
        """
        What was read, what of it is new, and where to look.
        """
        file = scene(folder)

        first, again = toolspan("ingest", file, "--store", "s.duckdb"), toolspan("ingest", file, "--store", "s.duckdb")

        assert (
            "5 spans read into s.duckdb: all new.\n1 task with 4 calls; toolspan report --store s.duckdb shows them.\n"
        ) == first.out
        assert "5 spans read into s.duckdb: all known already.\n" == again.out


class TestStore:
    def test_keys_arguments_with_a_key_of_its_own(self, toolspan: Cli, folder: Path) -> None:
        """
        So that a call that is repeated in the next file is seen to be the same.
        """
        failed = call_of(2, "book", '{"a": 1}', '{"ok": false}', start=0)
        toolspan("ingest", write(folder / "1.jsonl", [build.run_span(1, end_ms=1000), failed]))
        toolspan("ingest", write(folder / "2.jsonl", [call_of(3, "book", '{"a": 1}', start=40)]))

        second = json.loads(toolspan("calls").out.splitlines()[1])

        assert ("retry", False) == (second["follow_up"], second["presumed"])

    def test_uses_the_key_that_is_given(self, toolspan: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        As an agent that hashes by itself has it.
        """
        monkeypatch.setenv("TOOLSPAN_HASH_KEY", "of all of us")
        counts(toolspan, write(folder / "1.jsonl", [build.run_span(1), call_of(2, "book", '{"a": 1}')]))

        [call] = open_store(folder / "toolspan.duckdb").rows().calls

        assert ArgumentHasher(b"of all of us").hash('{"a": 1}', tool="book", call_id="") == call.args_hash

    def test_is_the_one_that_the_environment_names(
        self, toolspan: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Where no option does.
        """
        monkeypatch.setenv("TOOLSPAN_STORE", "named.duckdb")

        counts(toolspan, scene(folder))

        assert [True, False] == [(folder / name).exists() for name in ("named.duckdb", "toolspan.duckdb")]

    def test_settles_what_earlier_runs_left(self, toolspan: Cli, folder: Path) -> None:
        """
        And says so; the tasks of this run settle at its end.
        """
        leave_open(folder / "toolspan.duckdb", tasks=3)

        result = toolspan("ingest", scene(folder))

        assert "toolspan: 3 tasks of earlier runs waited to be settled, and were.\n" == result.err
        assert "1 task with 4 calls; toolspan report shows them." == result.out.splitlines()[1]
        facts = facts_of(folder / "toolspan.duckdb")
        assert (4, 0) == (facts.tasks, facts.open_tasks)

    def test_that_others_hold_is_one_line(self, toolspan: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Who holds it, and that nothing was read.
        """
        monkeypatch.setattr(_stores, "TIMEOUT_S", 0.0)
        path = folder / "toolspan.duckdb"

        with locked(path, exclusive=True, purpose="a backup", timeout_s=0):
            result = toolspan("ingest", scene(folder))

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))
        assert f"in use by a backup (pid {os.getpid()})" in result.err


class TestNothingReadable:
    def test_is_an_error_that_says_why(self, toolspan: Cli, folder: Path) -> None:
        """
        Exit 2, as for a report.
        """
        file = folder / "x.txt"
        file.write_text("hello\n")

        result = toolspan("ingest", file)

        said, way_out = result.err.splitlines()
        assert (2, "") == (result.status, result.out)
        assert "is text, but no OTLP" in said
        assert "toolspan: Nothing was read as OTLP traces; toolspan doctor FILE says what to change." == way_out

    @pytest.mark.parametrize(
        "content",
        [
            b"hello\n",
            b"\x00" * 8 + b"DUCK" + b"\x00" * 4096,
            b"\x0a\x7fx",
            b'{"a": 1}\n',
            b'{"resourceSpans": []}\nhello\n',
        ],
    )
    def test_leaves_no_store_behind(self, toolspan: Cli, folder: Path, content: bytes) -> None:
        """
        Nor anything beside one: what comes next is no store with nothing in it.
        """
        (folder / "given").write_bytes(content)

        assert 2 == toolspan("ingest", "given").status
        assert ["given"] == [file.name for file in folder.iterdir()]

    def test_leaves_a_store_as_it_was(self, toolspan: Cli, folder: Path) -> None:
        """
        What an earlier run kept is there.
        """
        toolspan("ingest", scene(folder))
        (folder / "given").write_bytes(b"hello\n")

        assert 2 == toolspan("ingest", "given").status
        assert 5 == facts_of(folder / "toolspan.duckdb").spans

    def test_is_no_error_where_nothing_is(self, toolspan: Cli, folder: Path) -> None:
        """
        A quiet night writes an empty file.
        """
        (folder / "empty.jsonl").write_bytes(b"")

        assert (0, "0 spans read into toolspan.duckdb.\n", "") == toolspan("ingest", "empty.jsonl")
        assert 0 == facts_of(folder / "toolspan.duckdb").spans

    def test_yet_makes_no_store_while_input_goes_on(self, folder: Path) -> None:
        """
        It is made for the first spans that come.
        """
        path = folder / "toolspan.duckdb"
        now = [0.0]
        waiting = Ingestion(open_store(path), Settings(), is_new=True, clock=lambda: now[0])
        now[0] = 60.0

        waiting.on_idle()

        assert not path.exists()

    def test_a_file_that_is_missing_is_refused_before_anything_is_read(self, toolspan: Cli, folder: Path) -> None:
        """
        No store is made for the others.
        """
        assert (2, "", "toolspan: File 'no.pb' does not exist.\n") == toolspan("ingest", scene(folder), "no.pb")
        assert not (folder / "toolspan.duckdb").exists()

    def test_a_file_that_went_away_meanwhile_takes_no_other_with_it(self, folder: Path) -> None:
        """
        What was read before it is committed.
        """
        path = folder / "toolspan.duckdb"
        run_ = Ingestion(open_store(path), Settings())

        with pytest.raises(InputError, match="No file gone"):
            run_.read([str(scene(folder)), "gone"])

        assert "5 spans of this input are kept in toolspan.duckdb." == run_.kept_line(Path("toolspan.duckdb"))
        assert 5 == facts_of(path).spans


class _Feed(BytesIO):
    """
    Standard input that gives *first*, and then does as *then* does.
    """

    def __init__(self, first: bytes, then: Callable[[], None]) -> None:
        super().__init__(first)
        self._then = then

    def read(self, size: int | None = -1, /) -> bytes:
        given = super().read(size)
        if not given:
            self._then()
        return given

    read1 = read  # whichever the reader uses


def _interrupt() -> None:
    raise KeyboardInterrupt


def _terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


class TestEnding:
    @pytest.mark.parametrize(("end", "status"), [(_interrupt, 130), (_terminate, 143)])
    def test_by_a_signal_keeps_what_was_read(
        self, toolspan: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[], None], status: int
    ) -> None:
        """
        And says how much, with the exit code of the signal; the process has its own handlers again.
        """
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(_Feed(scene(folder).read_bytes(), end)))

        result = toolspan("ingest", "-")

        said = (
            "toolspan: Interrupted. 5 spans of this input are kept in toolspan.duckdb."
            " 1 task stays open until the next ingest.\n"
        )
        assert (status, "", said) == result
        assert 5 == facts_of(folder / "toolspan.duckdb").spans
        assert handlers == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    def test_by_a_signal_counts_what_cannot_be_committed(
        self, toolspan: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Nothing is lost without a word.
        """
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(_Feed(scene(folder).read_bytes(), _interrupt)))

        def refuse(_self: object, _spans: Iterable[SpanFacts], /) -> AppendResult:
            raise KeyboardInterrupt

        monkeypatch.setattr("toolspan.store.duckdb.DuckDBStore.append", refuse)

        result = toolspan("ingest", "-")

        said = "0 spans of this input are kept in toolspan.duckdb; 5 more were read and are not."
        assert (130, f"toolspan: Interrupted. {said}\n") == (result.status, result.err)

    def test_leaves_garbage_collection_as_it_was(
        self, toolspan: Cli, folder: Path, request: pytest.FixtureRequest
    ) -> None:
        """
        It is rare while spans are read.
        """
        usual = gc.get_threshold()
        request.addfinalizer(lambda: gc.set_threshold(*usual))
        gc.set_threshold(701, 11, 12)

        counts(toolspan, scene(folder))

        assert ((701, 11, 12), True) == (gc.get_threshold(), gc.isenabled())


class TestLongRunning:
    """
    Input without an end: what happens between its spans.
    """

    @pytest.fixture
    def clock(self) -> list[float]:
        return [0.0]

    @pytest.fixture
    def ingestion(self, folder: Path, clock: list[float]) -> Ingestion:
        return Ingestion(open_store(folder / "toolspan.duckdb"), Settings(), clock=lambda: clock[0])

    def test_settles_what_is_over_now_and_then(self, ingestion: Ingestion, folder: Path, clock: list[float]) -> None:
        """
        Not at every turn, since that costs.
        """
        path = folder / "toolspan.duckdb"
        leave_open(path, tasks=2)
        open_tasks: list[int] = []
        for clock[0] in (1.0, 4.9, 5.0):
            ingestion.on_idle()
            open_tasks.append(facts_of(path).open_tasks)

        assert [2, 2, 0] == open_tasks

    def test_counts_rejected_spans_once(self, ingestion: Ingestion, folder: Path) -> None:
        """
        However often nothing comes.
        """
        file = write(folder / "x.jsonl", [{**build.tool_span(9), "traceId": "abcd"}, build.run_span(1)])
        ingestion.read([str(file)])

        ingestion.on_idle()
        ingestion.on_idle()

        assert {"received": 1, "rejected": 1} == facts_of(folder / "toolspan.duckdb").intake
