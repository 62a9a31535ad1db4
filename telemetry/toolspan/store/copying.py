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
    refuse_target(target)
    with _copied(source, target.parent) as copy:
        _link(copy, target)


def copy_open(connection: "DuckDBPyConnection", own: os.stat_result, target: Path) -> None:
    """
    Copies the store that *connection* has open, in no transaction, to *target*, with the owner and mode of *own*.

    Raises:
        StoreError: as for `copy_store`.
    """
    refuse_target(target)
    with copied_open(connection, own, target.parent) as copy:
        _link(copy, target)


def refuse_target(target: Path) -> None:
    """
    Raises:
        StoreError: nothing can be copied to *target*.
    """
    if target.suffix in _OURS:
        raise StoreError(f"{target} is a name for what lies beside a store; name another file.")
    if target.exists() or target.is_symlink():
        raise StoreError(f"{target} is there already; name another file, or remove it first.")


def _link(copy: Path, target: Path) -> None:
    try:
        # unlike a rename, a link never takes the place of a file that somebody made meanwhile
        os.link(copy, target)
        sync(target.parent)
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
        sync(path.parent)


@contextmanager
def _copied(source: Path, folder: Path) -> Generator[Path]:
    """
    A copy of *source* in *folder*, under a name that nobody has; gone afterwards, if it was not renamed.
    """
    import duckdb

    connection: DuckDBPyConnection = duckdb.connect(":memory:")
    try:
        # names cannot be bound here; a quotation mark is doubled
        connection.execute(f"attach '{_quoted(source)}' as source (read_only)")
        with _copied_from(connection, "source", source.stat(), folder) as copy:
            connection.execute("detach source")
            yield copy
    finally:
        connection.close()


@contextmanager
def copied_open(connection: "DuckDBPyConnection", own: os.stat_result, folder: Path) -> Generator[Path]:
    """
    As above, of the store that *connection* has open.
    """
    [(name,)] = connection.execute("select current_database()").fetchall()
    with _copied_from(connection, '"{}"'.format(str(name).replace('"', '""')), own, folder) as copy:
        yield copy


@contextmanager
def _copied_from(connection: "DuckDBPyConnection", source: str, own: os.stat_result, folder: Path) -> Generator[Path]:
    """
    A copy of the database that is attached to *connection* as *source*.
    """
    name = secrets.token_hex(8)
    copy = folder / f".toolspan-{name}.partial"
    # a name of its own: all connections of a process that have one file open share what is attached
    target = f"copy_{name}"
    try:
        connection.execute(f"attach '{_quoted(copy)}' as {target}")
        try:
            _give_owner_and_mode(own, copy)
            connection.execute(f"copy from database {source} to {target}")
        finally:
            connection.execute(f"detach {target}")
        sync(copy)
        yield copy
    finally:
        copy.unlink(missing_ok=True)
        copy.with_name(f"{copy.name}.wal").unlink(missing_ok=True)


def _give_owner_and_mode(own: os.stat_result, target: Path) -> None:
    """
    The hash key is in the file: whoever may not read the one may not read the other.
    """
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


def sync(path: Path) -> None:
    """
    Makes *path*, a file or a folder, outlive a loss of power.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
