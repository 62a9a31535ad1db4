"""
A store file that was taken away, or replaced, while it is held: what the open connection still has is put back.

DuckDB goes on with a file that has no name any more; with the process it would be gone, and with it all that was
acknowledged. The database file itself is never opened here: to close it would give up the locks that this process has
on it.

Killed at any moment of it, nothing is lost that was not before: the copy takes the path's name when it is whole, and
of a log that is another file's DuckDB says so, and it is set aside at the next start (`mending`).
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolspan.errors import StoreError
from toolspan.store.copying import copied_open, sync

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def is_same(path: Path, opened: os.stat_result) -> bool:
    """
    Whether *path* names the file that was *opened*.
    """
    found = stat_of(path)
    return found is not None and os.path.samestat(found, opened)


def stat_of(path: Path) -> os.stat_result | None:
    """
    What is at *path*, None where nothing is that can be seen.
    """
    try:
        return path.stat()
    except OSError:
        return None


def make_folder(path: Path) -> None:
    """
    Makes the folder of *path* where it is gone.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _failure(path, error) from error


def put_back(
    connection: "DuckDBPyConnection", path: Path, *, opened: os.stat_result, log: os.stat_result | None
) -> str:
    """
    Writes all that *connection* holds to *path*, with the owner and mode of the file that was *opened*; what stands
    there is set aside, with its log if that is not the *log* of the file that was opened. Gives one line that says
    what was done.

    Raises:
        StoreError: it cannot be written; the connection goes on.
    """
    try:
        with copied_open(connection, opened, path.parent) as copy:
            aside = _set_aside(path, log)
            copy.replace(path)
            sync(path.parent)
    except OSError as error:
        raise _failure(path, error) from error
    found = f"; the file that stood there is {aside}" if aside else ""
    return f"{path} was taken away while it was in use: it was written again from what was open{found}."


def _set_aside(path: Path, own_log: os.stat_result | None) -> Path | None:
    if not os.path.lexists(path):
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = path.with_name(f"{path.name}.replaced-{stamp}")
    log = path.with_name(f"{path.name}.wal")
    if log.exists() and (own_log is None or not is_same(log, own_log)):
        log.replace(aside.with_name(f"{aside.name}.wal"))
    return path.replace(aside)


def _failure(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} was taken away and cannot be written again: {error.strerror or error}")
