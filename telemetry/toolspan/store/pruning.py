"""
What goes: the spans of groups that are closed, by themselves; old tasks with all that is known of them, when told to.
"""

from typing import TYPE_CHECKING, Final

from toolspan.store import PruneResult
from toolspan.store.statements import Bounds, run
from toolspan.store.totals import add_totals, sum_up

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Tasks of an hour go in one transaction: who writes waits for no more.
_SLICE_NS: Final = 3600 * 10**9


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
    The end of the next hour after *after_ns* in which tasks ended, or *before_ns* where that comes first; None where
    none ended between the two.
    """
    [(first_ns,)] = run(connection, "first_end", after_ns=after_ns, before_ns=before_ns)
    return None if first_ns is None else min(before_ns, int(first_ns) + _SLICE_NS)


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
