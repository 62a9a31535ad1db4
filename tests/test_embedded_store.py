"""
The store in the agent's own process: what truly happened is in it, and nothing that befalls it reaches the agent.
"""

import logging
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.lock_holders import OtherProcess
from tests.stores import SECOND_NS, Clock, a_trace, open_store, sorted_rows
from tests.tracing import RUN, call_book, decoded, provider_with
from toolspan.arguments import ArgumentHasher
from toolspan.config import Settings
from toolspan.instrumentation.embedded import EmbeddedStore
from toolspan.instrumentation.exporter import ToolspanExporter
from toolspan.instrumentation.instrumenting import Instrumentation, instrument, uninstrument
from toolspan.records import Rows
from toolspan.store.duckdb import DuckDBStore
from toolspan.store.intake import intake_of
from toolspan.store.memory import MemoryStore


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[None]:
    """
    No settings of whoever runs the tests, and nothing left instrumented.
    """
    for name in [name for name in os.environ if name.startswith("TOOLSPAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    yield
    uninstrument()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    No long wait for a store that others hold all the time.
    """
    monkeypatch.setattr("toolspan.instrumentation.embedded._TIMEOUT_S", 0.1)
    monkeypatch.setattr("toolspan.instrumentation.embedded._KEY_TIMEOUT_S", 0.1)
    monkeypatch.setattr("toolspan.instrumentation.processor.SHUTDOWN_S", 0.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.duckdb"


class Agent:
    """
    A service with an exporter of its own, instrumented to keep its calls in *store*.
    """

    def __init__(self, store: Path) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider: TracerProvider = provider_with(SimpleSpanProcessor(self.exporter))
        self.toolspan: Instrumentation = instrument(self.provider, store=store)

    def work(self) -> None:
        """
        A run with a call that fails, its retry, and a model call.
        """
        tracer = self.provider.get_tracer("t")
        seat = {"gen_ai.tool.call.arguments": '{"seat": 1}'}
        with tracer.start_as_current_span("run", attributes=RUN):
            call_book(tracer, seat, failure="503 Service Unavailable")
            tracer.start_span("chat", attributes={"gen_ai.operation.name": "chat"}).end()
            call_book(tracer, seat)

    def exported(self) -> int:
        return len(self.exporter.get_finished_spans())


def rows_in(path: Path) -> Rows:
    return sorted_rows(open_store(path).rows())


def calls_in(path: Path) -> list[tuple[str, str, str | None, str | None]]:
    """
    Tool, outcome, class and verdict of the calls in a store.
    """
    return [(call.tool, call.outcome, call.error_class, call.verdict) for call in rows_in(path).calls]


WORKED = [("book", "error", "transient", None), ("book", "ok", None, "allowed")]


class TestKeeping:
    """
    A store that nobody is in the way of.
    """

    def test_what_happened_is_in_the_store_when_it_is_flushed(self, path: Path) -> None:
        """Settled, since the task is over."""
        agent = Agent(path)
        agent.work()
        flushed = agent.provider.force_flush()

        assert (True, WORKED, [("resolved", True)]) == (
            flushed,
            calls_in(path),
            [(task.outcome, task.settled) for task in rows_in(path).tasks],
        )

    def test_it_is_what_a_collector_would_have_kept(self, path: Path) -> None:
        """Of the very spans that were exported; but for the key with which arguments are hashed."""
        agent = Agent(path)
        agent.work()
        agent.provider.force_flush()
        collected = MemoryStore()
        collected.append(decoded(agent.exporter.get_finished_spans()))
        collected.settle()

        def without_hash(rows: Rows) -> Rows:
            return rows._replace(calls=[call._replace(args_hash=None, evidence="") for call in rows.calls])

        assert without_hash(sorted_rows(collected.rows())) == without_hash(rows_in(path))

    def test_shutdown_keeps_what_waits(self, path: Path) -> None:
        """All of a full queue."""
        agent = Agent(path)
        for _ in range(20):
            agent.work()
        agent.provider.shutdown()

        assert (WORKED * 20, {}) == (calls_in(path), agent.toolspan.dropped)

    def test_a_task_that_is_not_over_stays_open(self, path: Path) -> None:
        """Its span has not come; who writes later settles it."""
        agent = Agent(path)
        tracer = agent.provider.get_tracer("t")
        with tracer.start_as_current_span("run", attributes=RUN):
            call_book(tracer)
            agent.provider.force_flush()
            seen = [(task.settled, task.calls) for task in rows_in(path).tasks]
        agent.provider.force_flush()

        assert ([(False, 1)], [(True, 1)]) == (seen, [(task.settled, task.calls) for task in rows_in(path).tasks])

    def test_arguments_are_hashed_with_the_key_of_the_store(self, path: Path) -> None:
        """So that other processes can compare them."""
        key = open_store(path).hash_key()
        agent = Agent(path)
        agent.work()
        agent.provider.force_flush()

        assert {ArgumentHasher(key).hash({"seat": 1})} == {call.args_hash for call in rows_in(path).calls}

    def test_a_service_may_go_to_another_folder(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The store stays where it was named."""
        agent = Agent(Path(path.name))
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        agent.work()
        agent.provider.force_flush()

        assert WORKED == calls_in(path)

    def test_the_environment_names_the_store(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As it does for the commands."""
        monkeypatch.setenv("TOOLSPAN_STORE", str(path))
        provider = provider_with()
        instrument(provider)
        call_book(provider.get_tracer("t"))
        provider.force_flush()

        assert [("book", "ok", None, None)] == calls_in(path)

    def test_a_task_settles_a_grace_period_after_its_last_span(self, path: Path) -> None:
        """Also where nothing else is written."""
        clock = Clock()
        store = EmbeddedStore(
            path,
            Settings(),
            dropped=int,
            on_written=lambda _: None,
            clock=lambda: clock() / SECOND_NS,
            clock_ns=clock,
        )
        store.take(a_trace())
        seen: list[bool] = []
        for _ in range(2):
            store.look_after()
            seen.extend(task.settled for task in rows_in(path).tasks)
            clock.pass_s(2.1)

        store.look_after()
        seen.extend(task.settled for task in rows_in(path).tasks)

        assert [False, True, True] == seen


class TestTrouble:
    """
    A store that cannot be written to: the agent goes on, and the loss is counted.
    """

    @pytest.mark.usefixtures("impatient")
    def test_a_store_that_others_hold_is_waited_for(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Spans wait in memory meanwhile, and nothing is lost; a flush says that they were not written."""
        open_store(path).hash_key()
        agent = Agent(path)
        with OtherProcess() as other, caplog.at_level(logging.WARNING, "toolspan"):
            assert "" == other.take(path, exclusive=True)
            agent.work()
            refused = agent.provider.force_flush(), agent.exported()
            other.release()
        written = any(agent.provider.force_flush() for _ in range(100))

        assert ((False, 4), True, WORKED, {}, 1) == (
            refused,
            written,
            calls_in(path),
            agent.toolspan.dropped,
            len(caplog.records),
        )

    @pytest.mark.usefixtures("impatient")
    def test_a_store_that_is_held_at_the_start_is_no_obstacle(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Its key cannot be had; arguments are compared within this process."""
        open_store(path).hash_key()
        with OtherProcess() as other, caplog.at_level(logging.WARNING, "toolspan"):
            assert "" == other.take(path, exclusive=True)
            agent = Agent(path)
            agent.work()
        agent.provider.force_flush()

        assert WORKED == calls_in(path)
        assert "within this process only" in caplog.records[0].getMessage()

    @pytest.mark.usefixtures("impatient")
    def test_what_a_shutdown_could_not_write_is_counted_and_said(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The process ends in time."""
        open_store(path).hash_key()
        agent = Agent(path)
        with OtherProcess() as other, caplog.at_level(logging.WARNING, "toolspan"):
            assert "" == other.take(path, exclusive=True)
            agent.work()
            agent.provider.shutdown()

        assert ({"shutdown": 4}, 4) == (agent.toolspan.dropped, agent.exported())
        assert "toolspan lost spans in this process: 4 spans" in caplog.records[-1].getMessage()

    @pytest.mark.parametrize("kind", ["folder", "missing", "foreign", "below a file"])
    def test_a_place_that_is_no_store_costs_the_store(
        self, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The exporters that are there get what they got."""
        place = tmp_path / "place"
        if kind == "folder":
            place.mkdir()
        elif kind == "missing":
            place = place / "calls.duckdb"
        else:
            place.write_text("not a store, but something that a person wrote")
            place = place / "calls.duckdb" if kind == "below a file" else place
        with caplog.at_level(logging.WARNING, "toolspan"):
            agent = Agent(place)
            agent.work()
            flushed = agent.provider.force_flush()
            agent.provider.shutdown()

        assert (False, 4, {"shutdown": 4}) == (flushed, agent.exported(), agent.toolspan.dropped)
        assert str(place) in caplog.records[0].getMessage()

    def test_a_store_that_is_gone_is_made_anew(self, path: Path) -> None:
        """Whoever removed it wanted its calls away, not those that come."""
        agent = Agent(path)
        agent.work()
        agent.provider.force_flush()
        path.unlink()
        agent.work()
        agent.provider.force_flush()

        assert WORKED == calls_in(path)

    def test_a_batch_that_is_a_fault_costs_what_is_to_blame(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The store counts it, too, so that a report can tell."""
        flush = DuckDBStore.flush

        def choke(store: DuckDBStore, spans: object) -> object:
            if any(span.role == 2 for span in list(spans)):  # type: ignore[call-overload]  # a batch
                raise ZeroDivisionError
            return flush(store, spans)  # type: ignore[arg-type]  # as above

        monkeypatch.setattr(DuckDBStore, "flush", choke)
        agent = Agent(path)
        agent.work()
        agent.provider.force_flush()
        with open_store(path).reading() as file:
            intake = intake_of(file.connection)

        assert (2, {"fault": 1}, 1) == (len(rows_in(path).calls), agent.toolspan.dropped, intake["dropped"])

    def test_a_store_needs_its_packages(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The base installation tags and exports."""
        monkeypatch.setattr("toolspan.instrumentation.embedded._PACKAGES", ("no_such_package",))
        with caplog.at_level(logging.WARNING, "toolspan"):
            agent = Agent(path)
            agent.work()

        assert 4 == agent.exported()
        assert "needs DuckDB" in caplog.records[0].getMessage()


class TestExporter:
    """
    As a plain exporter.
    """

    def test_it_keeps_what_it_is_given(self, path: Path) -> None:
        """Whatever processor gives it."""
        exporter = ToolspanExporter(path)
        provider = provider_with(BatchSpanProcessor(exporter))
        call_book(provider.get_tracer("t"), failure="503 Service Unavailable")
        provider.force_flush()

        assert (True, [("book", "error", "transient", None)]) == (exporter.force_flush(), calls_in(path))

    def test_shutdown_completes_it(self, path: Path) -> None:
        """The provider calls it."""
        provider = provider_with(SimpleSpanProcessor(ToolspanExporter(path)))
        call_book(provider.get_tracer("t"))
        provider.shutdown()

        assert [("book", "ok", None, None)] == calls_in(path)

    def test_without_a_destination_it_is_the_store_that_the_commands_read(self, tmp_path: Path) -> None:
        """In the folder of the service."""
        provider = provider_with(SimpleSpanProcessor(ToolspanExporter()))
        call_book(provider.get_tracer("t"))
        provider.shutdown()

        assert 1 == len(calls_in(tmp_path / "toolspan.duckdb"))

    def test_switched_off_it_does_nothing(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """And says that all went well: nobody is to send again."""
        monkeypatch.setenv("TOOLSPAN_DISABLED", "1")
        provider = provider_with(SimpleSpanProcessor(ToolspanExporter(path)))
        call_book(provider.get_tracer("t"))
        provider.shutdown()

        assert not path.exists()


def test_what_a_store_is_opened_with_is_what_was_configured(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of one's own wins over the store's."""
    monkeypatch.setenv("TOOLSPAN_HASH_KEY", "ours")
    agent = Agent(path)
    agent.work()
    agent.provider.force_flush()

    assert {ArgumentHasher(b"ours").hash({"seat": 1})} == {call.args_hash for call in rows_in(path).calls}
