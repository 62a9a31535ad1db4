"""
What becomes of a store's lock when the disk fails.
"""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lock_holders import is_free, refusal, take
from toolspan.store.lock import locked

REALLY_OPEN = os.open


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """
    Where a store file would lie.
    """
    return tmp_path / "x.duckdb"


class TestFaults:
    """
    Faults of the disk, which a test cannot cause: the call of the system fails in their place.
    """

    @pytest.mark.parametrize(
        ("number", "why"),
        [
            (errno.EROFS, "read-only file system; put the store on a disk that can be written"),
            (errno.ENOSPC, "no space left on device; make room on its disk"),
        ],
    )
    def test_a_disk_that_takes_no_file_can_be_read(
        self, store: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: str
    ) -> None:
        """
        Without a lock; a writer is told.
        """
        monkeypatch.setattr(os, "open", making(failing(number)))

        said = [refusal(store, exclusive=exclusive) for exclusive in (False, True)]

        assert ["", f"Cannot write in {store.parent}: {why}"] == said

    def test_a_lock_file_that_two_make_at_once_is_one(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Who comes second takes what the first has made.
        """
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", making(make))
            lock = take(store, exclusive=True)

        assert not is_free(store)
        lock.release()

    def test_a_reader_is_told_of_any_other_fault(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        It says nothing of writers.
        """
        fail = failing(errno.EMFILE)

        monkeypatch.setattr(os, "open", making(fail))
        unmade = refusal(store, exclusive=False)
        monkeypatch.setattr(os, "open", fail)
        unread = refusal(store, exclusive=False)

        assert f"Cannot write in {store.parent}: too many open files; check the path" == unmade
        assert f"Cannot read {store}.turn: too many open files; check the path" == unread

    def test_a_file_system_without_locks_is_told(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        There is no way to share a store there.
        """
        monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))

        said = refusal(store, exclusive=False)

        assert f"Cannot lock {store}.turn: no locks available; put the store on a local disk" == said

    def test_a_writer_that_cannot_say_who_it_is_has_no_lock(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        The disk is full: it could not write the store either. Nobody is kept out by what it left.
        """
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", failing(errno.ENOSPC))
            said = refusal(store, exclusive=True)

        assert f"Cannot write {store}.lock: no space left on device; make room on its disk" == said
        assert is_free(store)

    def test_a_disk_that_fails_later_hinders_no_release(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        What the file says of its holder is a courtesy.
        """
        lock = take(store, exclusive=True)
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", failing(errno.EIO))
            lock.release()

        assert is_free(store)

    def test_what_cannot_be_read_was_not_noted(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        As with damage of any kind.
        """
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0) as lock:
            lock.note({"calls": 1})
        monkeypatch.setattr(os, "pread", failing(errno.EIO))

        with locked(store, exclusive=False, purpose="toolspan test", timeout_s=0) as lock:
            assert ({}, None) == (lock.noted(), lock.last_holder())


def failing(number: int) -> Callable[..., int]:
    """
    A call of the system that fails with *number*.
    """

    def fail(*_: object) -> int:
        raise OSError(number, "")

    return fail


def making(first: Callable[[Path], object]) -> Callable[..., int]:
    """
    The call of the system that opens files, which does *first* before it makes one.
    """

    def open_or_make(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            first(path)
        return REALLY_OPEN(path, flags, mode)

    return open_or_make


def make(path: Path) -> None:
    """
    Makes an empty file at *path*.
    """
    os.close(REALLY_OPEN(path, os.O_CREAT | os.O_WRONLY))
