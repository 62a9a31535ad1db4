"""
From requests to rows: groups that share a commit, and what becomes of those that cannot be written.
"""

import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import otlp_builder as build
from tests.integration.processes import otlp_trace_of
from tests.shown import counted
from toolspan.changes import Derived, Settled
from toolspan.collector.backlog import Backlog
from toolspan.collector.decoding import Decoding
from toolspan.collector.inlet import Receipt
from toolspan.collector.parts import HandOver
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
DEFAULTS = Settings(grace_s=0.0)


class Telling(Tracker):
    """
    A tracker that tells when something settled, and fails while it is told to.
    """

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(metrics, grace_ns=0, most=1000)
        self.has_settled = threading.Event()
        self.is_broken = False

    def written(self, derived: Iterable[Derived], settled: Iterable[Settled], *, now_ns: int) -> None:
        ended = list(settled)
        if self.is_broken:
            raise ZeroDivisionError
        super().written(derived, ended, now_ns=now_ns)
        if ended:
            self.has_settled.set()


class Scene:
    """
    A writer on a store of its own, with the metrics that it feeds.
    """

    def __init__(self, path: Path, limits: Limits, settings: Settings = DEFAULTS) -> None:
        self.store = HeldStore(path, url="", settings=settings, tell=pytest.fail)
        self.metrics = Metrics()
        self.tracker = Telling(self.metrics)
        self.failures: list[str] = []
        self.writer = Writer(
            self.store,
            settings=settings,
            metrics=MetricsCollector(self.metrics),
            tracker=self.tracker,
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
    scene.tracker.has_settled.wait(_PATIENCE_S)

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
    assert {("toolspan_spans_dropped_total", "not_otlp"): 1} == counted(scene.metrics, "spans_dropped_total")


def test_a_request_that_cannot_be_decoded_for_no_known_reason_fails_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sent it is told, it is counted, and the next one is served."""
    with monkeypatch.context() as patched:
        patched.setattr("toolspan.otlp.Decoder.decode", fail)
        with pytest.raises(ZeroDivisionError):
            scene.submit(1)

    assert Receipt() == scene.submit(2)
    assert {("toolspan_spans_dropped_total", "fault"): 1} == counted(scene.metrics, "spans_dropped_total")


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


def test_how_much_may_wait_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else is said."""
    scene, slow = Scene(tmp_path / "x.duckdb", Limits(), replace(DEFAULTS, queue_bytes=2_000)), Slow(monkeypatch)
    scene.writer.start()
    waiting = scene.writer.submit(body_of(9), is_json=True)
    slow.is_held.wait(_PATIENCE_S)
    with pytest.raises(OverloadedError):
        scene.writer.submit(body_of(1), is_json=True)
    slow.goes_on.set()

    assert Receipt() == waiting.result(_PATIENCE_S)
    scene.writer.drain(_PATIENCE_S)
    scene.store.close()


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


class TestParts:
    """
    A request with more spans than a transaction is written in several.
    """

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("toolspan.collector.writing.MOST_SPANS", 4)

    def test_it_is_acknowledged_when_the_last_one_is_durable(self, scene: Scene) -> None:
        """Its spans are all there then, each of them counted once."""
        receipt = scene.submit(1, 2)

        assert (Receipt(), 6) == (receipt, scene.calls())
        assert {("toolspan_spans_received_total",): 8} == counted(scene.metrics, "spans_received_total")

    def test_it_is_refused_where_one_of_them_is_not_kept(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        """What comes after that one is not written; sent again, all of it is there."""
        with monkeypatch.context() as patched:
            patched.setattr("toolspan.store.held.append_spans", only(lambda trace: trace != 2))
            with pytest.raises(UnavailableError, match="no space"):
                scene.submit(1, 2, 3)
            scene.submit(4)
        kept = scene.calls()

        assert (3 + 3, Receipt()) == (kept, scene.submit(1, 2, 3))
        assert 9 + 3 == scene.calls()


def only(is_kept: Callable[[int], bool]) -> Callable[..., object]:
    """
    `append_spans`, where there is no space for spans of other traces.
    """
    append: Any = append_spans

    def append_some(connection: object, spans: list[SpanFacts], *more: object) -> object:
        if not all(is_kept(int.from_bytes(span.trace_id, "big")) for span in spans):
            raise StoreError("no space")
        return append(connection, spans, *more)

    return append_some


class TestUpkeep:
    """
    What goes wrong beside what is committed.
    """

    def test_what_cannot_settle_does_not_stop_what_comes(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is acknowledged, the state says what is wrong, and once it can, it settles."""
        with monkeypatch.context() as patched:
            tried = Failing(patched, "toolspan.store.held.HeldStore._settle", ZeroDivisionError())
            receipts = [scene.submit(1), scene.submit(2)]
            tried.again()
            state = scene.writer.state()

        scene.tracker.has_settled.wait(_PATIENCE_S)
        Failing(monkeypatch, "toolspan.store.held.count_open", None).again()
        assert scene.writer.state().is_ready
        assert [Receipt(), Receipt()] == receipts
        assert (False, True) == (state.is_ready, "from counting or settling (ZeroDivisionError: )" in state.why)
        assert [] == scene.failures

    def test_what_cannot_be_counted_is_acknowledged(self, scene: Scene) -> None:
        """It is durable."""
        scene.tracker.is_broken = True
        first = scene.submit(1)
        scene.tracker.is_broken = False

        assert (Receipt(), Receipt(), 6) == (first, scene.submit(2), scene.calls())

    def test_a_store_that_cannot_be_written_to_is_tried_again(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Though nobody sends anything: until it can, the state says why not."""
        with monkeypatch.context() as patched:
            tried = Failing(patched, "toolspan.store.held.append_spans", StoreError("no space"))
            with pytest.raises(UnavailableError, match="no space"):
                scene.submit(1)
            tried.again()
            state = scene.writer.state()
        Failing(monkeypatch, "toolspan.store.held.count_open", None).again()

        assert ("no space", True) == (state.why, scene.writer.state().is_ready)


class Failing:
    """
    Stands in for a function, which then raises *error*, or only says that it was called where that is None.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, error: Exception | None) -> None:
        self._was_called = threading.Event()
        self._error = error
        monkeypatch.setattr(name, self)

    def __call__(self, *_: object, **__: object) -> int:
        self._was_called.set()
        if self._error is not None:
            raise self._error
        return 0

    def again(self) -> None:
        """
        Returns once it was called twice more: the first of these calls is over then.
        """
        for _ in range(2):
            self._was_called.clear()
            assert self._was_called.wait(_PATIENCE_S)


class TestBeginningAndEnd:
    """
    A writer is started once and drained once, whatever is asked of it.
    """

    def test_a_second_start_changes_nothing(self, scene: Scene) -> None:
        """It goes on."""
        scene.writer.start()

        assert Receipt() == scene.submit(1)

    def test_one_that_never_started_has_nothing_to_write(self, tmp_path: Path) -> None:
        """And takes nothing."""
        scene = Scene(tmp_path / "x.duckdb", Limits())
        with pytest.raises(UnavailableError, match="it has not started"):
            scene.submit(1)

        assert scene.writer.drain(_PATIENCE_S)
        scene.store.close()

    @pytest.mark.parametrize(
        ("loop", "name"), [(HandOver, "take"), (Backlog, "take"), (Decoding, "decode")], ids=["write", "wait", "decode"]
    )
    def test_a_thread_that_fails_is_not_silent(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, loop: type, name: str
    ) -> None:
        """All that waits is refused, the state says why, and whoever runs it is told."""
        monkeypatch.setattr(loop, name, fail)

        with pytest.raises(UnavailableError, match="a fault of toolspan ended its writer"):
            submit_for_ever(scene)
        assert scene.writer.drain(_PATIENCE_S)
        assert ["a fault of toolspan ended its writer (ZeroDivisionError: )"] == scene.failures
        assert not scene.writer.state().is_ready

    def test_what_is_being_written_when_a_thread_fails_is_refused(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody waits for a transaction that may never end; what is sent again is a repeat."""
        slow = Slow(monkeypatch)
        waiting = scene.writer.submit(body_of(9), is_json=True)
        slow.is_held.wait(_PATIENCE_S)
        monkeypatch.setattr(Decoding, "decode", fail)
        refused = scene.writer.submit(body_of(1), is_json=True)

        for each in (waiting, refused):
            with pytest.raises(UnavailableError, match="a fault of toolspan"):
                each.result(_PATIENCE_S)
        slow.goes_on.set()


def submit_for_ever(scene: Scene) -> None:
    while True:
        scene.submit(1)


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError
