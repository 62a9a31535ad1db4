"""
The lock of a store file: who keeps whom out, between processes and threads, and for how long.
"""

import fcntl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.lock_holders import OtherProcess, is_free, lock_file, take
from toolspan.errors import StoreBusyError
from toolspan.store.lock import POLL_S, acquire, locked


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """
    Where a store file would lie.
    """
    return tmp_path / "x.duckdb"


@pytest.fixture(scope="module")
def other() -> Iterator[OtherProcess]:
    """
    One process for all tests: to start one takes longer than all they do.
    """
    with OtherProcess() as process:
        yield process


class TestExclusion:
    @pytest.mark.parametrize(
        ("mine", "others", "expected"),
        [(True, True, False), (True, False, False), (False, True, False), (False, False, True)],
        ids=["writers", "reader after writer", "writer after reader", "readers"],
    )
    def test_processes_share_only_reading(
        self, store: Path, other: OtherProcess, *, mine: bool, others: bool, expected: bool
    ) -> None:
        """
        One writer or many readers, and after them whoever comes.
        """
        with locked(store, exclusive=mine, purpose="toolspan test", timeout_s=0):
            said = other.take(store, exclusive=others)
        other.release()

        assert expected == (said == "")
        assert other.take(store, exclusive=others) == ""
        other.release()

    @pytest.mark.parametrize(("mine", "others"), [(True, True), (True, False), (False, True), (False, False)])
    def test_threads_exclude_each_other_as_processes_do(self, store: Path, *, mine: bool, others: bool) -> None:
        """
        Each hold has an open file of its own.
        """
        with ThreadPoolExecutor(1) as thread, locked(store, exclusive=mine, purpose="toolspan test", timeout_s=0):
            was_free = thread.submit(is_free, store, exclusive=others).result()

        assert (not mine and not others) == was_free

    def test_a_block_that_fails_gives_up_its_lock(self, store: Path) -> None:
        """
        Whatever happens inside.
        """
        with (
            pytest.raises(ZeroDivisionError),
            locked(store, exclusive=True, purpose="toolspan test", timeout_s=0),
        ):
            _ = 1 / 0

        assert is_free(store)

    def test_a_hold_without_a_block_lasts_until_its_release(self, store: Path) -> None:
        """
        As a collector has it; a second release does no harm to the next holder.
        """
        first = take(store, exclusive=True)
        was_free = is_free(store)
        first.release()
        second = take(store, exclusive=True)
        first.release()

        assert (was_free, is_free(store)) == (False, False)
        second.release()

    def test_a_killed_holder_leaves_the_lock_free(self, store: Path) -> None:
        """
        The kernel gives it up; no file is stale.
        """
        with OtherProcess() as process:
            assert process.take(store, exclusive=True) == ""
            assert not is_free(store)
            process.kill()

            assert is_free(store)

    def test_a_link_to_a_store_has_the_lock_of_the_store(self, store: Path, tmp_path: Path) -> None:
        """
        However many names a file has, it has one lock.
        """
        link = tmp_path / "current.duckdb"
        link.symlink_to(store)

        with locked(link, exclusive=True, purpose="toolspan test", timeout_s=0):
            assert not is_free(store)
        assert not (tmp_path / "current.duckdb.lock").exists()

    def test_a_lock_file_made_anew_meanwhile_is_the_one_that_counts(self, store: Path) -> None:
        """
        Somebody removed the file that we wait for, and another process has taken a new one.
        """
        holder = take(store, exclusive=True)
        newcomers: list[BinaryIO] = []

        def replace_then_release(_: float) -> None:
            if newcomers:
                newcomers.pop().close()
                return
            lock_file(store).unlink()
            newcomers.append(lock_file(store).open("wb"))
            fcntl.flock(newcomers[0], fcntl.LOCK_EX)
            holder.release()

        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=60, sleep=replace_then_release):
            assert ([], False) == (newcomers, is_free(store))

    def test_a_removed_lock_file_is_made_anew(self, store: Path) -> None:
        """
        Whoever comes next sees the same as we.
        """
        holder = take(store, exclusive=True)

        def remove_then_release(_: float) -> None:
            lock_file(store).unlink(missing_ok=True)
            holder.release()

        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=60, sleep=remove_then_release):
            assert not is_free(store)


class TestTurnstile:
    def test_a_stream_of_readers_does_not_keep_a_writer_out(self, store: Path) -> None:
        """
        Each would come before the last one leaves, so that somebody is reading at every moment.
        """
        readers = [take(store, exclusive=False)]
        refused: list[str] = []

        def next_reader(_: float) -> None:
            try:
                readers.append(take(store, exclusive=False))
            except StoreBusyError as error:
                refused.append(str(error))
            readers.pop(0).release()

        clock = Clock(next_reader)
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=1, clock=clock, sleep=clock.sleep):
            pass

        waited = "waited 0 s. Wait for them, or stop them."
        assert [f"{store} is being read by other processes and a writer waits for them; {waited}"] == refused
        assert is_free(store)

    def test_a_stream_of_writers_does_not_keep_a_reader_out(self, store: Path) -> None:
        """
        Each would come before the last one leaves, so that somebody holds or waits at every moment.
        """
        first = take(store, exclusive=True)
        was_free: list[bool] = []

        def next_writer(_: float) -> None:
            first.release()
            was_free.append(is_free(store))

        with locked(store, exclusive=False, purpose="toolspan test", timeout_s=60, sleep=next_writer):
            pass

        assert [False] == was_free
        assert is_free(store)

    @pytest.mark.parametrize("exclusive", [True, False])
    def test_a_holder_sees_that_somebody_waits(self, store: Path, *, exclusive: bool) -> None:
        """
        Reader or writer, so that one who lingers can make way; not before, and not once he came and went.
        """
        holder = take(store, exclusive=True)
        at_first = holder.is_wanted()
        seen: list[bool] = []

        def make_way(_: float) -> None:
            seen.append(holder.is_wanted())
            holder.release()

        with locked(store, exclusive=exclusive, purpose="toolspan test", timeout_s=60, sleep=make_way) as lock:
            seen.append(lock.is_wanted())

        assert (False, [True, False]) == (at_first, seen)

    @pytest.mark.parametrize("exclusive", [True, False])
    def test_whoever_gives_up_leaves_the_turnstile(self, store: Path, *, exclusive: bool) -> None:
        """
        Nobody waits for one who waits no longer.
        """
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0):
            assert not is_free(store, exclusive=exclusive)

        assert is_free(store)

    def test_a_removed_turnstile_is_made_anew(self, store: Path) -> None:
        """
        It decides who comes next, never who is in.
        """
        with locked(store, exclusive=False, purpose="toolspan test", timeout_s=0):
            store.with_name("x.duckdb.turn").unlink()

            assert (True, False) == (is_free(store, exclusive=False), is_free(store))
        assert is_free(store)


class Clock:
    """
    A clock that moves when somebody sleeps, and calls *meanwhile* then.
    """

    def __init__(self, meanwhile: Callable[[float], None] = lambda _: None) -> None:
        self._meanwhile = meanwhile
        self.now_s = 1000.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        """
        The time, in seconds since some moment.
        """
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """
        Lets the time pass.
        """
        self.sleeps.append(seconds)
        self.now_s += seconds
        self._meanwhile(seconds)


class TestDeadline:
    @pytest.mark.parametrize("exclusive", [True, False])
    def test_it_is_kept(self, store: Path, *, exclusive: bool) -> None:
        """
        Neither early nor late, by the clock that was given.
        """
        clock = Clock()

        with (
            locked(store, exclusive=True, purpose="toolspan test", timeout_s=0),
            pytest.raises(StoreBusyError, match=r"; waited 0\.25 s\. "),
        ):
            acquire(store, exclusive=exclusive, purpose="", timeout_s=0.25, clock=clock, sleep=clock.sleep)

        assert clock.now_s == pytest.approx(1000.25, abs=1e-9)

    def test_the_two_waits_of_a_writer_share_it(self, store: Path) -> None:
        """
        At the turnstile until somebody else's turn is over, then inside until the deadline.
        """
        reader = take(store, exclusive=False)
        with store.with_name("x.duckdb.turn").open("rb") as turnstile:
            fcntl.flock(turnstile, fcntl.LOCK_EX)
            clock = Clock(lambda _: turnstile.close() if clock.now_s > 1000.5 else None)

            with pytest.raises(StoreBusyError):
                acquire(store, exclusive=True, purpose="", timeout_s=1, clock=clock, sleep=clock.sleep)

        assert turnstile.closed
        assert clock.now_s == pytest.approx(1001, abs=1e-9)
        reader.release()

    def test_with_no_time_it_is_tried_once(self, store: Path) -> None:
        """
        Nobody sleeps.
        """
        clock = Clock()

        with (
            locked(store, exclusive=True, purpose="", timeout_s=0, clock=clock, sleep=clock.sleep),
            pytest.raises(StoreBusyError),
        ):
            acquire(store, exclusive=True, purpose="", timeout_s=0, clock=clock, sleep=clock.sleep)

        assert [] == clock.sleeps

    def test_a_lock_that_becomes_free_is_taken_at_the_next_try(self, store: Path) -> None:
        """
        Tries are close together and never in step.
        """
        holder = take(store, exclusive=True)
        clock = Clock(lambda _: holder.release() if len(clock.sleeps) == 20 else None)

        with locked(store, exclusive=True, purpose="", timeout_s=60, clock=clock, sleep=clock.sleep):
            assert len(clock.sleeps) == 20

        assert len(set(clock.sleeps)) > 1
        assert all(POLL_S / 2 <= pause <= POLL_S * 3 / 2 for pause in clock.sleeps)
