"""
A store file as another file: consistent, compact, and there only when it is whole.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolspan.errors import StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_WORTH_SHRINKING: Final = 0.25


def copy_store(source: Path, target: Path) -> None:
    """
    Copies the store *source*, whose lock the caller holds and which nobody in this process has open, to *target*.

    Raises:
        StoreError: *target* is there already, or cannot be written.
    """
    if target.exists() or target.is_symlink():
        raise StoreError(f"{target} is there already; name another file, or remove it first.")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        _copy(source, partial)
        _sync(partial)
        # unlike a rename, a link never takes the place of a file that somebody made meanwhile
        os.link(partial, target)
        _sync(target.parent)
    except OSError as error:
        raise StoreError(f"Cannot write {target}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def shrink(path: Path) -> None:
    """
    Puts a compact copy in the place of the file *path* where a quarter of it or more is free.

    The caller holds its lock alone and nobody has it open. A file with a log is left alone: a log without its file, or
    with another, is damage.
    """
    if path.with_name(f"{path.name}.wal").exists() or _free_share(path) < _WORTH_SHRINKING:
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        _copy(path, partial)
        _sync(partial)
        partial.replace(path)
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    import duckdb

    connection: DuckDBPyConnection = duckdb.connect(":memory:")
    try:
        # names cannot be bound here; a quotation mark is doubled
        connection.execute(f"attach '{_quoted(source)}' as source (read_only)")
        connection.execute(f"attach '{_quoted(target)}' as target")
        connection.execute("copy from database source to target")
        connection.execute("detach target")
    finally:
        connection.close()


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
