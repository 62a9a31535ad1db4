"""
A connection to a store file, or one line that says why there is none.
"""

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.errors import StoreBusyError, StoreError
from toolspan.store._forks import watch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Bounds what DuckDB may take of a service's memory; sorting and joining beyond it goes to disk.
_MEMORY_LIMIT: Final = "1GB"
#: Below it DuckDB checkpoints in the middle of an `ingest`, which takes 1 to 6 % longer; a log of 517 MB was replayed
#: in 1.7 s after a crash.
_CHECKPOINT_AT: Final = "256MB"
#: For who holds a file for life: never by itself. The automatic checkpoint was two thirds of all cost and all of the
#: stalls of 1.5 s under load, and one that finds the disk full takes the connection with it.
HELD_CHECKPOINT_AT: Final = "1000TB"
_LONGEST_DETAIL: Final = 300
#: What DuckDB 1.2 to 2.0 say of bytes that are not what was written. A newer storage version is none of these.
_DAMAGE: Final = re.compile(r"[Cc]orrupt|not a valid DuckDB|enough bytes|replaying WAL|Serialization Error")


def install_command(extra: str) -> str:
    """
    What installs *extra*: by the interpreter that runs, since another's pip installs elsewhere; where toolspan is
    installed, pip finds in it what the extra is, also when it came from a clone.
    """
    return f"{quote(sys.executable or 'python3')} -m pip install 'toolspan[{extra}]'"


#: Also said where what reads and writes a store cannot be imported.
INSTALL: Final = f"A store file needs DuckDB, which is not installed; {install_command('duckdb')} installs it."


class DamagedError(StoreError):
    """
    DuckDB cannot read the file; *detail* says how DuckDB puts it.
    """

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path} is no DuckDB file that can be read: {detail}")
        self.detail = detail


class How(NamedTuple):
    """
    With how many *threads* DuckDB works (None: one per core), and how large the log grows before it is checkpointed.
    """

    threads: int | None = None
    checkpoint_at: str = _CHECKPOINT_AT


DEFAULT_HOW: Final = How()


def connect(path: Path, *, is_read_only: bool, how: How = DEFAULT_HOW) -> "DuckDBPyConnection":
    """
    Opens the file *path*, whose lock the caller holds.

    Raises:
        DamagedError: its bytes are not what was written.
        StoreError: it cannot be opened for another reason, or DuckDB is not installed.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": _MEMORY_LIMIT,
        "wal_autocheckpoint": how.checkpoint_at,
        "autoinstall_known_extensions": "false",
        # what does not fit into memory; by itself DuckDB would take a name that the prefix below is part of
        "temp_directory": f"{path.absolute()}.tmp",
    }
    if how.threads is not None:
        config["threads"] = how.threads
    with explaining(path):
        import duckdb

        # Named as a DuckDB file and from the root: of `traces.jsonl` DuckDB would make a table in memory, `:memory:`
        # and `~x` it takes for something else.
        connection = duckdb.connect(f"duckdb:{path.absolute()}", read_only=is_read_only, config=config)
    watch(connection, path)
    return connection


@contextmanager
def explaining(path: Path) -> Generator[None]:
    """
    Says in one line with a remedy what DuckDB could not do with the file *path*.
    """
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise StoreError(INSTALL) from error
    try:
        yield
    except RuntimeError as error:
        # all that DuckDB leaves of what a signal's handler raised while it ran
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise
    except duckdb.Error as error:
        raise _explained(path, " ".join(str(error).split())[:_LONGEST_DETAIL]) from error


def _explained(path: Path, detail: str) -> StoreError:
    if _DAMAGE.search(detail):
        return DamagedError(path, detail)
    if "Conflicting lock" in detail:
        return StoreBusyError(f"{path} is open in a program that is not toolspan: {detail}; close it there.")
    if "No space left" in detail or "File too large" in detail:
        return StoreError(f"Cannot write to {path}: {detail}; free some space. What was kept before is kept.")
    return StoreError(f"Cannot use {path}: {detail}")
