"""
A file that has lost what was acknowledged, or cannot be read: a copy is set aside, what is left goes on, all is told.

Only who holds the lock alone may do this, and before anything is written: DuckDB would go on with less, silently.
"""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolspan.errors import StoreError
from toolspan.store.connecting import DEFAULT_HOW, DamagedError, How, connect, explaining
from toolspan.store.ledger import Ledger, find_loss, from_note, read_ledger, to_note
from toolspan.store.lock import FileLock
from toolspan.store.schema import refuse_newer, version_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Told what a person should know of the file that is no error: a loss, a migration.
Tell = Callable[[str], None]


def connect_whole(path: Path, lock: FileLock, tell: Tell, *, how: How = DEFAULT_HOW) -> "DuckDBPyConnection":
    """
    Opens the file *path* for writing, once a copy is set aside of one that has lost something.

    A file with a log is looked at read-only first, for then DuckDB replays the log in memory and leaves both as they
    are; opened for writing, the log is gone afterwards. Without a log, opening changes nothing.
    """
    noted = from_note(lock.noted())
    if not path.exists() or not path.stat().st_size:
        _begin_anew(path, noted, tell)
        try:
            return connect(path, is_read_only=False, how=how)
        except StoreError:
            remove_file(path)
            raise
    try:
        connection, found = _look_into(path, how)
    except DamagedError as damage:
        if noted is None:
            # never a store of ours: somebody's file, which is not ours to move
            raise
        _salvage(path, damage, tell)
        return connect_whole(path, lock, tell, how=how)
    loss = "" if found is None else find_loss(found, noted)
    if not loss and not _has_log(path):
        return connection
    connection.close()
    if found is not None and loss:
        aside = _set_aside(path, keep=True)
        tell(f"{path} has lost {loss}; a copy as it was found is {aside}. Ingest again what was lost.")
        lock.note(to_note(found))
    return connect(path, is_read_only=False, how=how)


def _look_into(path: Path, how: How = DEFAULT_HOW) -> tuple["DuckDBPyConnection", Ledger | None]:
    """
    The open file and its ledger, None of one without tables.
    """
    connection = connect(path, is_read_only=_has_log(path), how=how)
    try:
        with explaining(path):
            version = version_of(connection, name=str(path))
            if version is None:
                return connection, None
            refuse_newer(version, name=str(path))
            return connection, read_ledger(connection)
    except StoreError:
        connection.close()
        raise


def _begin_anew(path: Path, noted: Ledger | None, tell: Tell) -> None:
    """
    Says what was there before, and leaves nothing that DuckDB would take for a part of the new file.
    """
    if noted is not None and noted.commits:
        tell(f"{path} is gone or empty: it had {noted.commits:,} commits, {noted.rows.get('calls', 0):,} calls.")
        if _log_of(path).exists():
            _set_aside(path, keep=False)
    remove_file(path)


def remove_file(path: Path) -> None:
    """
    Removes the file and its log; nobody has it open.
    """
    path.unlink(missing_ok=True)
    _log_of(path).unlink(missing_ok=True)


def _salvage(path: Path, damage: DamagedError, tell: Tell) -> None:
    """
    Moves a file that cannot be opened aside; where its log is to blame, what was checkpointed before stays.
    """
    aside = _set_aside(path, keep=False)
    if _log_of(aside).exists():
        shutil.copy2(aside, path)
        try:
            _look_into(path)[0].close()
        except DamagedError:
            path.unlink()
        else:
            tell(f"The log of {path} is damaged ({damage.detail}); both files as they were are {aside} and its .wal.")
            return
    tell(f"{path} is damaged ({damage.detail}); it was moved to {aside}, and a new one is made.")


def _has_log(path: Path) -> bool:
    log = _log_of(path)
    return log.exists() and log.stat().st_size > 0


def _set_aside(path: Path, *, keep: bool) -> Path:
    """
    Copies the file and its log, or moves them where they are not to be kept; nobody has them open.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for source, target in ((path, aside), (_log_of(path), _log_of(aside))):
        if source.exists():
            if keep:
                shutil.copy2(source, target)
            else:
                source.replace(target)
    return aside


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")
