"""
How a store file is opened: lock, look, open, compare, and afterwards close before the lock is released.

Whatever is wrong with the place (a directory, a missing folder, a network file system, a newer schema) is one line, and
nothing of what was there is touched. A file that has lost what was acknowledged is copied aside before anything is
written to it, and the loss is told: DuckDB itself would shorten it silently.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolspan.errors import StoreError
from toolspan.store._forks import refuse_inherited
from toolspan.store.connecting import DEFAULT_HOW, How, connect, explaining
from toolspan.store.filesystems import refuse_network
from toolspan.store.ledger import find_loss, from_note, read_ledger, to_note
from toolspan.store.lock import FileLock, locked
from toolspan.store.mending import Tell, connect_whole, remove_file
from toolspan.store.schema import create, migrate, refuse_newer, version_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


#: How DuckDB's files begin, after a checksum of eight bytes.
_MAGIC: Final = b"DUCK"
_MAGIC_AT: Final = 8


@dataclass(slots=True)
class OpenFile:
    """
    A store file that is open under its lock.
    """

    path: Path
    connection: "DuckDBPyConnection"
    lock: FileLock

    def acknowledge(self) -> None:
        """
        Notes what is committed, so that its loss would be seen; only then may anybody be told that it is kept.
        """
        self.lock.note(to_note(read_ledger(self.connection)))


@contextmanager
def reading(path: Path, *, purpose: str, timeout_s: float, tell: Tell) -> Generator[OpenFile]:
    """
    The file *path*, to read from.

    Raises:
        StoreError: there is no such store, or it cannot be read.
        StoreBusyError: somebody writes to it for longer than *timeout_s*.
    """
    refuse_place(path)
    if not path.exists():
        raise StoreError(f"{path} does not exist; toolspan ingest FILE --store {path} makes it.")
    refuse_foreign(path)
    with locked(path, exclusive=False, purpose=purpose, timeout_s=timeout_s) as lock:
        connection = connect(path, is_read_only=True)
        try:
            version = version_of(connection, name=str(path))
            if version is None:
                raise StoreError(f"{path} is empty; toolspan ingest FILE --store {path} fills it.")
            refuse_newer(version, name=str(path))
            loss = find_loss(read_ledger(connection), from_note(lock.noted()))
            if loss:
                tell(f"{path} has lost {loss}; what is left is shown, and the next to write will set a copy aside.")
            yield OpenFile(path, connection, lock)
        finally:
            connection.close()


@contextmanager
def writing(
    path: Path,
    *,
    purpose: str,
    timeout_s: float,
    tell: Tell,
    new_key: Callable[[], bytes],
    how: How = DEFAULT_HOW,
) -> Generator[OpenFile]:
    """
    The file *path*, to write to; made with the hash key *new_key* where there is none.

    Raises:
        StoreError: it cannot be made or opened.
        StoreBusyError: others use it for longer than *timeout_s*.
    """
    refuse_place(path)
    refuse_foreign(path)
    with locked(path, exclusive=True, purpose=purpose, timeout_s=timeout_s) as lock:
        connection = connect_store(path, lock, tell=tell, new_key=new_key, how=how)
        try:
            yield OpenFile(path, connection, lock)
        finally:
            connection.close()


def connect_store(
    path: Path, lock: FileLock, *, tell: Tell, new_key: Callable[[], bytes], how: How = DEFAULT_HOW
) -> "DuckDBPyConnection":
    """
    A connection to the file *path*, whose *lock* is held alone: whole, of this schema, with its tables.

    Raises:
        StoreError: it cannot be made or opened.
    """
    connection = connect_whole(path, lock, tell, how=how)
    try:
        version = version_of(connection, name=str(path))
        if version is None:
            _create(path, connection, new_key())
        else:
            refuse_newer(version, name=str(path))
            for passed in migrate(connection, version):
                tell(f"{path} was brought to schema {passed}.")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path, connection: "DuckDBPyConnection", hash_key: bytes) -> None:
    """
    Makes the tables in an empty file; a file that cannot hold them is not left behind.
    """
    try:
        with explaining(path):
            create(connection, hash_key=hash_key)
    except StoreError:
        connection.close()
        remove_file(path)
        raise


def refuse_place(path: Path) -> None:
    refuse_inherited(path)
    if path.is_dir():
        raise StoreError(f"{path} is a directory; name a file in it, such as {path / 'toolspan.duckdb'}.")
    refuse_network(path)


def refuse_foreign(path: Path) -> None:
    """
    Raises where *path* was never a store, before lock files are left beside it.

    What has a lock file was a store, and may be damaged: that is for who holds its lock. It is not looked at here also
    because nobody in this process has anything open that has no lock file: to close a file gives up the locks that the
    process has on it, DuckDB's too.
    """
    real = path.resolve()
    if real.with_name(f"{real.name}.lock").exists() or not real.is_file():
        return
    try:
        with real.open("rb") as file:
            head = file.read(_MAGIC_AT + len(_MAGIC))
    except OSError:
        return  # who opens it says why it cannot be read
    if head and head[_MAGIC_AT:] != _MAGIC:
        raise StoreError(f"{path} is no store; give OTLP files without --store.")
