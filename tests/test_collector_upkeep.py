"""
What goes wrong in a writer beside what it commits, and how it begins and ends.
"""

import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.writers import PATIENCE_S, Scene, Slow, body_of, fail
from toolspan.collector.backlog import Backlog
from toolspan.collector.decoding import Decoding
from toolspan.collector.inlet import Receipt
from toolspan.collector.parts import HandOver
from toolspan.collector.writing import Limits
from toolspan.errors import StoreError, UnavailableError


@pytest.fixture
def scene(tmp_path: Path) -> Generator[Scene]:
    made = Scene(tmp_path / "x.duckdb", Limits(bytes=10_000, requests=3))
    made.writer.start()
    yield made
    made.writer.drain(PATIENCE_S)
    made.store.close()


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

        scene.tracker.has_settled.wait(PATIENCE_S)
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
            assert self._was_called.wait(PATIENCE_S)


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

        assert scene.writer.drain(PATIENCE_S)
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
        assert scene.writer.drain(PATIENCE_S)
        assert ["a fault of toolspan ended its writer (ZeroDivisionError: )"] == scene.failures
        assert not scene.writer.state().is_ready

    def test_what_is_being_written_when_a_thread_fails_is_refused(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody waits for a transaction that may never end; what is sent again is a repeat."""
        slow = Slow(monkeypatch)
        waiting = scene.writer.submit(body_of(9), is_json=True)
        slow.is_held.wait(PATIENCE_S)
        monkeypatch.setattr(Decoding, "decode", fail)
        refused = scene.writer.submit(body_of(1), is_json=True)

        for each in (waiting, refused):
            with pytest.raises(UnavailableError, match="a fault of toolspan"):
                each.result(PATIENCE_S)
        slow.goes_on.set()


def submit_for_ever(scene: Scene) -> None:
    while True:
        scene.submit(1)
