"""
The lock of a store file in what a process forks and starts: it stays with the process that took it.
"""

import os
import pickle
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.lock_holders import Fork, is_free, killing, lock_file, take, wait_to_be_killed
from toolspan.errors import StoreError
from toolspan.store.lock import FileLock, acquire, locked


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """
    Where a store file would lie.
    """
    return tmp_path / "x.duckdb"


def note(lock: FileLock) -> None:
    """
    Leaves something beside the store that *lock* is of.
    """
    lock.note({"calls": 1})


class TestFork:
    def test_a_child_does_not_give_up_its_parents_lock(self, store: Path) -> None:
        """
        Not by closing what it inherited, not by releasing it, not by its end.
        """
        lock = take(store, exclusive=True)

        def release(say: Callable[[object], None]) -> None:
            lock.release()
            say("released")

        with Fork(release) as child:
            while_it_lives = (child.said, is_free(store))

        assert (("released", False), False) == (while_it_lives, is_free(store))
        lock.release()
        assert is_free(store)

    @pytest.mark.parametrize("exclusive", [True, False])
    def test_a_child_does_not_keep_its_parents_lock(self, store: Path, *, exclusive: bool) -> None:
        """
        It lives on while its parent is killed.
        """

        def hold_and_fork(say: Callable[[object], None]) -> None:
            take(store, exclusive=exclusive)
            fork(say)

        with Fork(hold_and_fork) as parent:
            was_free = is_free(store)

        with killing(int(parent.said)):
            assert (False, True) == (was_free, is_free(store))

    def test_a_child_does_not_keep_its_parents_turn(self, store: Path) -> None:
        """
        The parent forks and is killed while it waits for its turn.
        """
        reader = take(store, exclusive=False)

        def wait_and_fork(say: Callable[[object], None]) -> None:
            def fork_and_wait(_: float) -> None:
                fork(say)
                wait_to_be_killed()

            acquire(store, exclusive=True, purpose="", timeout_s=60, sleep=fork_and_wait)

        with Fork(wait_and_fork) as parent:
            was_free = is_free(store, exclusive=False)

        with killing(int(parent.said)):
            assert (False, True) == (was_free, is_free(store, exclusive=False))
        reader.release()

    def test_a_child_takes_locks_of_its_own(self, store: Path) -> None:
        """
        In any thread; they exclude its parent.
        """

        def take_in_a_thread(say: Callable[[object], None]) -> None:
            locks: list[FileLock] = []
            thread = Thread(target=lambda: locks.append(take(store, exclusive=True)), daemon=True)
            thread.start()
            thread.join(timeout=10)
            say(len(locks))

        with Fork(take_in_a_thread) as child:
            assert ("1", False) == (child.said, is_free(store))
        assert is_free(store)

    @pytest.mark.parametrize("use", [FileLock.noted, FileLock.last_holder, note])
    def test_a_child_cannot_use_its_parents_lock(self, store: Path, use: Callable[[FileLock], object]) -> None:
        """
        It holds nothing; it is told in one line.
        """
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0) as lock:

            def use_in_child(say: Callable[[object], None]) -> None:
                try:
                    use(lock)
                except StoreError as error:
                    say(error)

            with Fork(use_in_child) as child:
                pass

        expected = f"The lock of {store} is held by process {os.getpid()}, not by {child.pid}; "
        assert expected + "a forked process opens the store anew" == child.said

    def test_a_copy_sent_to_a_child_closes_nothing_there(self, store: Path) -> None:
        """
        The number of its open file means another file there.
        """
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0) as lock:
            sent = pickle.dumps(lock)

            def release_copy(say: Callable[[object], None]) -> None:
                others = [os.open(os.devnull, os.O_RDONLY) for _ in range(50)]
                pickle.loads(sent).release()  # noqa: S301 — our own
                say([os.fstat(other).st_size for other in others] == [0] * 50)

            with Fork(release_copy) as child:
                assert "True" == child.said

    def test_a_copy_that_a_foreign_fork_keeps_is_unlocked(self, store: Path) -> None:
        """
        One that Python does not know of, as a library may make it.
        """
        lock = take(store, exclusive=True)
        ours = lock_file(store).stat()
        copies = [os.dup(number) for number in open_numbers() if os.path.samestat(ours, os.fstat(number))]

        lock.release()

        assert (1, True) == (len(copies), is_free(store))
        os.close(copies[0])

    def test_what_a_process_starts_inherits_nothing(self, store: Path) -> None:
        """
        Not even where it asks for all descriptors to be passed on.
        """

        def hold_and_start(say: Callable[[object], None]) -> None:
            take(store, exclusive=True)
            say(subprocess.Popen(["sleep", "60"], close_fds=False).pid)

        with Fork(hold_and_start) as parent:
            was_free = is_free(store)

        with killing(int(parent.said)):
            assert (False, True) == (was_free, is_free(store))


def open_numbers() -> list[int]:
    """
    The numbers of all that this process has open.
    """
    numbers: list[int] = []
    for number in range(1024):
        with suppress(OSError):
            os.fstat(number)
            numbers.append(number)
    return numbers


def fork(say: Callable[[object], None]) -> None:
    """
    Makes a fork of this process that says its id and does nothing until it is killed.
    """
    if os.fork() == 0:
        say(os.getpid())
        wait_to_be_killed()
