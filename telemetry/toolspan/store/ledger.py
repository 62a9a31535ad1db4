"""
Whether a store file still holds what was acknowledged.

DuckDB opens a file whose write-ahead log was cut or overwritten without a word and with fewer rows. So the file counts
its commits, whoever commits notes that count and the rows of each table beside the file (in the lock file) before
anybody is told that something is kept, and whoever opens it next compares. The note may be behind the file (a writer
was killed between the two), never ahead of it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.evidence.payloads import is_object
from toolspan.store.schema import settings_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Of these a lost row is a lost fact; everything else is made from them or only counts.
COUNTED: Final = ("spans", "calls", "tasks")


class Ledger(NamedTuple):
    """
    How many commits the store *store_id* had, and how many rows each counted table.
    """

    store_id: str
    commits: int
    rows: Mapping[str, int]


def read_ledger(connection: "DuckDBPyConnection") -> Ledger:
    """
    The ledger of an open file.
    """
    [(commits,)] = connection.execute("select commits from ledger").fetchall()
    return Ledger(
        str(settings_of(connection)["store_id"]), commits, {name: _count(connection, name) for name in COUNTED}
    )


def _count(connection: "DuckDBPyConnection", table: str) -> int:
    return int(connection.execute(f"select count(*) from {table}").fetchall()[0][0])  # noqa: S608 - a name of our own


def count_commit(connection: "DuckDBPyConnection") -> None:
    """
    Counts the transaction that is open.
    """
    connection.execute("update ledger set commits = commits + 1")


def to_note(ledger: Ledger) -> dict[str, object]:
    """
    *ledger* as it is noted beside the file.
    """
    return {"store_id": ledger.store_id, "commits": ledger.commits, "rows": dict(ledger.rows)}


def from_note(note: Mapping[str, object]) -> Ledger | None:
    """
    What was noted; None where nothing usable was.
    """
    store_id, commits, rows = note.get("store_id"), note.get("commits"), note.get("rows")
    if not (isinstance(store_id, str) and isinstance(commits, int) and is_object(rows)):
        return None
    return Ledger(store_id, commits, {table: count for table, count in rows.items() if isinstance(count, int)})


def find_loss(found: Ledger, noted: Ledger | None) -> str:
    """
    What *found* lacks of what was *noted*, in words; empty where it lacks nothing.
    """
    if noted is None or noted.store_id != found.store_id or found.commits > noted.commits:
        return ""
    lost = [
        f"{count - found.rows.get(table, 0):,} of {count:,} {table}"
        for table, count in noted.rows.items()
        if found.rows.get(table, 0) < count
    ]
    if found.commits < noted.commits:
        lost.insert(0, f"{noted.commits - found.commits:,} of {noted.commits:,} commits")
    return ", ".join(lost)
