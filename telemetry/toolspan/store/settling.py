"""
Which tasks are over: their rows become settled, and from then on every number counts them.

A group settles as a whole. Settling changes no row but for the flag: a task that is settled too early is derived again
when its next span comes, and settles again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from toolspan.store import SettleResult
from toolspan.store.columns import trace_bytes, trace_table
from toolspan.store.statements import Bounds, given, run
from toolspan.store.totals import add_totals

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Due(NamedTuple):
    """
    Which open groups are due: those that *writer* was the last to be given spans of, where it is given, and those whose
    last span came before *timeout_ns*, or before *grace_ns* where the spans of all their tasks have come.
    """

    writer: int | None
    grace_ns: int
    timeout_ns: int


def count_overdue(connection: "DuckDBPyConnection", due: Due) -> int:
    """
    How many tasks are due whoever wrote them.
    """
    [(tasks,)] = run(connection, "count_overdue", **due._asdict())
    return int(tasks)


def count_touched(connection: "DuckDBPyConnection", writer: int) -> SettleResult:
    """
    The groups that *writer* was the last to be given spans of, settled or not.
    """
    [counts] = run(connection, "count_touched", writer=writer)
    return SettleResult(*map(int, counts))


def settle(connection: "DuckDBPyConnection", due: Due) -> SettleResult:
    """
    Settles the groups that are *due*, within the transaction that is open.
    """
    run(connection, "choose_groups", **due._asdict())
    return _settle_chosen(connection)


def settle_some(
    connection: "DuckDBPyConnection",
    due: Due,
    *,
    knows: Callable[[frozenset[bytes]], bool],
    most: int,
    most_unknown: int,
) -> list[frozenset[bytes]]:
    """
    As `settle`, but at most *most* groups, those first to which spans came longest ago, and of those that nobody
    *knows* (whose spans have to be loaded) at most *most_unknown*. Gives the groups, as their traces.
    """
    run(connection, "choose_groups", **due._asdict())
    [(chosen,)] = run(connection, "count_chosen")
    if chosen > most:
        run(connection, "keep_oldest", most=most)
    groups = _chosen_groups(connection)
    unknown = [traces for traces in groups if not knows(traces)]
    left = frozenset[bytes]().union(*unknown[most_unknown:])
    if left:
        with given(connection, asked_traces=trace_table(left)):
            run(connection, "leave_for_later")
    _settle_chosen(connection)
    return [traces for traces in groups if left.isdisjoint(traces)]


def _settle_chosen(connection: "DuckDBPyConnection") -> SettleResult:
    [(first_ns, last_ns)] = connection.execute("select min(first_ns), max(last_ns) from due").fetchall()
    if first_ns is None:
        return SettleResult(0, 0, 0)
    bounds = Bounds(first_ns, last_ns)
    run(connection, "choose_due", **bounds._asdict())
    [counts] = run(connection, "count_settled", **bounds._asdict())
    run(connection, "settle", **bounds._asdict())
    add_totals(connection, bounds, sign=1)
    return SettleResult(*map(int, counts))


def _chosen_groups(connection: "DuckDBPyConnection") -> list[frozenset[bytes]]:
    members: dict[tuple[int, int], list[bytes]] = {}
    for group_hi, group_lo, trace_hi, trace_lo in run(connection, "due_groups"):
        members.setdefault((group_hi, group_lo), []).append(trace_bytes(trace_hi, trace_lo))
    return [frozenset(traces) for traces in members.values()]
