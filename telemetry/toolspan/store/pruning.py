"""
What goes: the spans of groups that are closed, by themselves; old tasks with all that is known of them, when told to.
"""

from typing import TYPE_CHECKING, Final

from toolspan.store import PruneResult
from toolspan.store.statements import Bounds, run
from toolspan.store.totals import add_totals, sum_up

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Tasks of an hour go in one transaction, and no more than these, which takes half a second: who writes waits for no
#: more.
_SLICE_NS: Final = 3600 * 10**9
_SLICE_TASKS: Final = 50_000


def prune_spans(connection: "DuckDBPyConnection", *, closed_ns: int, most_spans: int) -> None:
    """
    Deletes the spans of settled groups whose last span came before *closed_ns*, and beyond *most_spans* those of the
    groups that were silent longest.
    """
    [(first_ns, spans)] = run(connection, "is_anything_expired")
    if first_ns < closed_ns or spans > most_spans:
        run(connection, "choose_expired", closed_ns=closed_ns, most_spans=most_spans)
        run(connection, "remove_expired")


def next_slice(connection: "DuckDBPyConnection", after_ns: int, before_ns: int) -> int | None:
    """
    Before when the tasks of the next slice ended, of those that ended between *after_ns* and *before_ns*; None where
    none did.
    """
    [(first_ns, last_ns)] = run(connection, "first_end", after_ns=after_ns, before_ns=before_ns, most=_SLICE_TASKS)
    return None if first_ns is None else min(before_ns, int(first_ns) + _SLICE_NS, int(last_ns) + 1)


def prune_tasks(connection: "DuckDBPyConnection", *, before_ns: int) -> PruneResult:
    """
    Deletes the tasks that ended before *before_ns*, open ones too, unless their group has a later one.
    """
    [(first_ns, last_ns, tasks, calls)] = run(connection, "choose_old", before_ns=before_ns)
    if tasks:
        bounds = Bounds(first_ns, last_ns)
        add_totals(connection, bounds, sign=-1)
        run(connection, "remove", **bounds._asdict())
        run(connection, "remove_expired")
        sum_up(connection, most_spare_rows=0)
    return PruneResult(int(tasks), int(calls))
