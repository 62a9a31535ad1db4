"""
From requests to rows: groups that share a commit, and what becomes of those that cannot be written.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import otlp_builder as build
from tests.shown import counted
from tests.writers import DEFAULTS, PATIENCE_S, Scene, Slow, body_of, fail
from toolspan.collector.inlet import Receipt
from toolspan.collector.writing import Limits
from toolspan.errors import InputError, OverloadedError, StoreError, UnavailableError
from toolspan.records import SpanFacts
from toolspan.store.appending import append_spans


@pytest.fixture
def scene(tmp_path: Path) -> Generator[Scene]:
    made = Scene(tmp_path / "x.duckdb", Limits(bytes=10_000, requests=3))
    made.writer.start()
    yield made
    made.writer.drain(PATIENCE_S)
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
    scene.tracker.has_settled.wait(PATIENCE_S)

    assert {("toolspan_tasks_total", "resolved"): 1} == counted(scene.metrics, "tasks_total")


def test_rejected_spans_are_told_and_counted(scene: Scene) -> None:
    """The others of the request are kept."""
    body = build.json_line([build.run_span(1), build.tool_span(2, parent=1), build.tool_span(3, trace_id="00")])

    receipt = scene.writer.submit(body, is_json=True).result(PATIENCE_S)

    assert Receipt(1, "1 span(s) rejected: trace id is not 16 bytes, or zero") == receipt
    assert {("toolspan_spans_dropped_total", "trace_id"): 1} == counted(scene.metrics, "spans_dropped_total")


def test_garbage_is_its_senders(scene: Scene) -> None:
    """No repetition changes it; whoever comes with it is served."""
    garbage = scene.writer.submit(b"\xff", is_json=False)

    with pytest.raises(InputError):
        garbage.result(PATIENCE_S)
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


def test_one_that_fails_for_no_known_reason_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of its group are written without it."""
    scene, slow = Scene(tmp_path / "x.duckdb", Limits()), Slow(monkeypatch)
    scene.writer.start()
    scene.writer.submit(body_of(9), is_json=True)
    slow.is_held.wait(PATIENCE_S)
    futures = [scene.writer.submit(body_of(number), is_json=True) for number in (1, 2, 3)]
    slow.goes_on.set()

    assert [Receipt(), Receipt()] == [futures[index].result(PATIENCE_S) for index in (0, 2)]
    with pytest.raises(ZeroDivisionError):
        futures[1].result(PATIENCE_S)
    assert 9 == scene.calls()
    assert {("toolspan_spans_dropped_total", "fault"): 4} == counted(scene.metrics, "spans_dropped_total")
    scene.writer.drain(PATIENCE_S)
    scene.store.close()


def test_what_waits_is_bounded(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """In requests and in bytes; beyond it a sender is told when to come again, and what waited is written."""
    slow = Slow(monkeypatch)
    waiting = [scene.writer.submit(body_of(9), is_json=True)]
    slow.is_held.wait(PATIENCE_S)
    waiting += [scene.writer.submit(body_of(number), is_json=True) for number in (1, 3)]
    with pytest.raises(OverloadedError) as requests:
        scene.writer.submit(b"{}", is_json=True)
    state = scene.writer.state()
    slow.goes_on.set()

    assert [Receipt()] * 3 == [each.result(PATIENCE_S) for each in waiting]
    assert (3, True) == (state.waiting_requests, state.is_ready)
    assert 1 <= requests.value.retry_after_s <= 30
    assert 0 == scene.writer.state().waiting_bytes


def test_how_much_may_wait_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else is said."""
    scene, slow = Scene(tmp_path / "x.duckdb", Limits(), replace(DEFAULTS, queue_bytes=2_000)), Slow(monkeypatch)
    scene.writer.start()
    waiting = scene.writer.submit(body_of(9), is_json=True)
    slow.is_held.wait(PATIENCE_S)
    with pytest.raises(OverloadedError):
        scene.writer.submit(body_of(1), is_json=True)
    slow.goes_on.set()

    assert Receipt() == waiting.result(PATIENCE_S)
    scene.writer.drain(PATIENCE_S)
    scene.store.close()


def test_a_large_request_alone_is_taken(scene: Scene) -> None:
    """The bound is for those that wait together; a second one beside it has to come again."""
    assert Receipt() == scene.writer.submit(b" " * 20_000 + b"{}", is_json=True).result(PATIENCE_S)


def test_at_the_end_nothing_is_taken_and_what_waits_is_written(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that comes now goes elsewhere, or comes again."""
    slow = Slow(monkeypatch)
    waiting = scene.writer.submit(body_of(9), is_json=True)
    slow.is_held.wait(PATIENCE_S)
    in_time = scene.writer.drain(0)
    with pytest.raises(UnavailableError, match="it is about to end"):
        scene.submit(1)
    slow.goes_on.set()

    assert Receipt() == waiting.result(PATIENCE_S)
    assert (False, True) == (in_time, scene.writer.drain(PATIENCE_S))


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
