"""
A store file as another file: consistent, compact, with the same owner and mode, and there only when it is whole.
"""

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolspan.errors import StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Less is not worth writing the rest again.
_WORTH_SHRINKING: Final = 0.25
#: What belongs to a store of that name without its ending.
_OURS: Final = frozenset({".wal", ".lock", ".turn"})


def copy_store(source: Path, target: Path) -> None:
    """
    Copies the store *source*, whose lock the caller holds and which nobody in this process has open, to *target*.

    Raises:
        StoreError: *target* is there already, has a name that belongs to another store, or cannot be written.
    """
    if target.suffix in _OURS:
        raise StoreError(f"{target} is a name for what lies beside a store; name another file.")
    if target.exists() or target.is_symlink():
        raise StoreError(f"{target} is there already; name another file, or remove it first.")
    with _copied(source, target.parent) as copy:
        try:
            # unlike a rename, a link never takes the place of a file that somebody made meanwhile
            os.link(copy, target)
            _sync(target.parent)
        except OSError as error:
            raise StoreError(f"Cannot write {target}: {error.strerror or error}") from error


def shrink(path: Path) -> None:
    """
    Puts a compact copy in the place of the file *path* where a quarter of it or more is free.

    The caller holds its lock alone and nobody has it open. A file with a log is left alone: a log without its file, or
    with another, is damage.
    """
    if path.with_name(f"{path.name}.wal").exists() or _free_share(path) < _WORTH_SHRINKING:
        return
    with _copied(path, path.parent) as copy:
        copy.replace(path)
        _sync(path.parent)


@contextmanager
def _copied(source: Path, folder: Path) -> Generator[Path]:
    """
    A copy of *source* in *folder*, under a name that nobody has; gone afterwards, if it was not renamed.
    """
    copy = folder / f".toolspan-{secrets.token_hex(8)}.partial"
    try:
        _copy(source, copy)
        _sync(copy)
        yield copy
    finally:
        copy.unlink(missing_ok=True)
        copy.with_name(f"{copy.name}.wal").unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    import duckdb

    connection: DuckDBPyConnection = duckdb.connect(":memory:")
    try:
        # names cannot be bound here; a quotation mark is doubled
        connection.execute(f"attach '{_quoted(source)}' as source (read_only)")
        connection.execute(f"attach '{_quoted(target)}' as target")
        _give_owner_and_mode(source, target)
        connection.execute("copy from database source to target")
        connection.execute("detach target")
    finally:
        connection.close()


def _give_owner_and_mode(source: Path, target: Path) -> None:
    """
    The hash key is in the file: whoever may not read the one may not read the other.
    """
    own = source.stat()
    target.chmod(stat.S_IMODE(own.st_mode))
    with suppress(PermissionError):  # only root may give a file away
        os.chown(target, own.st_uid, own.st_gid)


def _free_share(path: Path) -> float:
    """
    How much of the file holds nothing.
    """
    import duckdb

    connection = duckdb.connect(f"duckdb:{path.absolute()}", read_only=True)
    try:
        [(free, total)] = connection.execute("select free_blocks, total_blocks from pragma_database_size()").fetchall()
    finally:
        connection.close()
    return float(free / max(1, total))


def _quoted(path: Path) -> str:
    return f"duckdb:{path.absolute()}".replace("'", "''")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
