"""
One open lock file: opened without harm to what else may lie at its path, taken with flock(2), gone in forked children.

A lock of flock(2) belongs to the open file, and a forked child shares its parent's. Kept there, it would outlive a
parent that is killed; so a child closes what it inherited before it does anything else, which leaves the parent's lock
alone: only an unlock or the last close gives it up. For that, all open lock files are known here, and no fork happens
between an open and its entry (233 of 400 forks beside three busy threads inherited one before). What a child executes
inherits nothing: the descriptors close on exec. A library that forks by itself, without Python's hooks, keeps a copy;
therefore `close` unlocks first, which ends the lock for all.
"""

import errno
import fcntl
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from toolspan.errors import StoreError
from toolspan.framing.source import display_name

#: A link may lead to a file that is not ours. A FIFO or a terminal would block, or become the one that controls us.
_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

#: Of files: nobody executes them.
_MODE: Final = 0o666

#: Why a lock file cannot be made, where a reader may go on without: nobody may write here, or there is no room.
_NO_PLACE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})

_REMEDIES: Final = {
    errno.EACCES: "check its owner and mode (ls -l)",
    errno.EPERM: "check its owner and mode (ls -l)",
    errno.EROFS: "put the store on a disk that can be written",
    errno.ENOSPC: "make room on its disk",
    errno.EDQUOT: "make room in your quota",
    errno.ENAMETOOLONG: "give the store a shorter name",
    errno.ENOLCK: "put the store on a local disk",
    errno.ENOTSUP: "put the store on a local disk",
}

_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_of(mode: int) -> str | None:
    """
    What something of *mode* is that is no regular file; None for a regular file.
    """
    return _KINDS.get(stat.S_IFMT(mode))


def failure(what: str, error: OSError | ValueError) -> StoreError:
    """
    The error that says that *what* did not work, why, and what to do.
    """
    number = (error.errno or 0) if isinstance(error, OSError) else 0
    why = os.strerror(number).lower() if number else str(error)
    return StoreError(f"{what}: {why}; {_REMEDIES.get(number, 'check the path')}")


class LockFile:
    """
    A lock file, open; it can be taken once.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._name = display_name(str(path))
        self._descriptor = descriptor

    def __enter__(self) -> Self:
        """
        Itself, closed at the end.
        """
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def try_lock(self, *, exclusive: bool) -> bool:
        """
        Whether it could be taken at once.

        Raises:
            StoreError: The file system knows no such locks.
        """
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise failure(f"Cannot lock {self._name}", error) from None
        return True

    def is_current(self) -> bool:
        """
        Whether the path still names this file: whoever comes now would open it, too.
        """
        try:
            return os.path.samestat(self._path.lstat(), os.fstat(self._descriptor))
        except OSError:
            return False

    def read(self, size: int) -> bytes:
        """
        The first *size* bytes, fewer where there are no more or where the disk fails.
        """
        try:
            return os.pread(self._descriptor, size, 0)
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        """
        Puts *data* at the beginning, with one call of the system.

        Raises:
            StoreError: There is no room for it.
        """
        try:
            os.pwrite(self._descriptor, data, 0)
        except OSError as error:
            raise failure(f"Cannot write {self._name}", error) from None

    def close(self) -> None:
        """
        Gives up the lock; nothing happens where it was given up before, here or at a fork.
        """
        with _guard:
            if self._descriptor < 0:
                return
            _open_files.discard(self)
            descriptor, self._descriptor = self._descriptor, -1
            # The close alone would leave the lock to a copy of the descriptor. It fails where locks are not known.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def abandon(self) -> None:
        """
        Closes a forked child's copy; the parent keeps its lock.
        """
        os.close(self._descriptor)
        self._descriptor = -1


class NoLockFile(LockFile):
    """
    In the place of a lock file that is not there and cannot be made: every reader has it, and nothing is in it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, -1)

    def try_lock(self, *, exclusive: bool) -> bool:
        """
        Whether it is taken for reading: always.
        """
        return not exclusive

    def is_current(self) -> bool:
        """
        That it is as good as any other.
        """
        return True


# State of the process, as its descriptors are. Reentrant, because a signal handler may fork while we open or close.
_open_files: set[LockFile] = set()
_guard = threading.RLock()


def _abandon_inherited() -> None:
    for file in _open_files:
        file.abandon()
    _open_files.clear()
    _guard.release()


os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_abandon_inherited)


def open_lock_file(path: Path, *, store: Path, writing: bool) -> LockFile:
    """
    The lock file at *path*, made where there is none; `NoLockFile` where a reader finds none and can make none.

    It is made for all who may use *store*.

    Raises:
        StoreError: It cannot be opened or made, or something else lies there.
    """
    with _guard:
        descriptor = _open(path, store=store, writing=writing)
        if descriptor is None:
            return NoLockFile(path)
        file = LockFile(path, descriptor)
        _open_files.add(file)
    if kind := kind_of(os.fstat(descriptor).st_mode):
        file.close()
        raise _foreign(path, kind)
    return file


def _open(path: Path, *, store: Path, writing: bool) -> int | None:
    # Without O_CREAT first: in /tmp the kernel may refuse that for a file that is there and belongs to another user.
    while (descriptor := _open_existing(path, writing=writing)) is None:
        try:
            made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, _MODE)
        except FileExistsError:
            continue  # somebody made it in between
        except OSError as error:
            if not writing and error.errno in _NO_PLACE:
                return None
            raise failure(f"Cannot write in {display_name(str(path.parent))}", error) from None
        _share(made, store)
        return made
    return descriptor


def _share(descriptor: int, store: Path) -> None:
    """
    Gives a new file the owner and mode of *store*: else root, who only looked once, would keep its owner out for good.
    """
    # Where there is no store yet, the umask decides for both. What is not allowed is left.
    with suppress(OSError):
        found = store.stat()
        if os.geteuid() == 0:
            os.fchown(descriptor, found.st_uid, found.st_gid)
        os.fchmod(descriptor, found.st_mode & _MODE)


def _open_existing(path: Path, *, writing: bool) -> int | None:
    try:
        return os.open(path, (os.O_RDWR if writing else os.O_RDONLY) | _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        if kind := _kind_at(path):
            raise _foreign(path, kind) from None
        raise failure(f"Cannot {'write' if writing else 'read'} {display_name(str(path))}", error) from None


def _kind_at(path: Path) -> str | None:
    try:
        return kind_of(path.lstat().st_mode)
    except OSError:
        return None


def _foreign(path: Path, kind: str) -> StoreError:
    return StoreError(f"{display_name(str(path))} is {kind} where a lock file belongs; remove it")
