"""
A store file that was taken away, or replaced, while it is held: what the open connection still has is put back.

DuckDB goes on with a file that has no name any more; with the process it would be gone, and with it all that was
acknowledged. The database file itself is never opened here: to close it would give up the locks that this process has
on it.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolspan.errors import StoreError
from toolspan.store.copying import copied_open

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def is_same(path: Path, opened: os.stat_result) -> bool:
    """
    Whether *path* names the file that was *opened*.
    """
    try:
        return os.path.samestat(path.stat(), opened)
    except OSError:
        return False


def put_back(connection: "DuckDBPyConnection", path: Path, *, opened: os.stat_result, close: Callable[[], None]) -> str:
    """
    Writes all that *connection* holds to *path*, with the owner and mode of the file that was *opened*; what stands
    there is set aside. *close* lets go of the old file. Gives one line that says what was done.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with copied_open(connection, opened, path.parent) as copy:
            close()
            log = path.with_name(f"{path.name}.wal")
            log.unlink(missing_ok=True)  # of the old file, and in the copy
            aside = _set_aside(path)
            copy.replace(path)
    except OSError as error:
        raise StoreError(f"{path} was taken away and cannot be written again: {error.strerror or error}") from error
    found = f"; the file that stood there is {aside}" if aside else ""
    return f"{path} was taken away while it was in use: it was written again from what was open{found}."


def _set_aside(path: Path) -> Path | None:
    if not os.path.lexists(path):
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return path.replace(path.with_name(f"{path.name}.replaced-{stamp}"))
