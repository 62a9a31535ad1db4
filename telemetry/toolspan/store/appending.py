"""
Spans in, in one transaction: what is new is kept, and the rows of every group it touches are derived again.

A group that a new span touches is loaded whole, so that processes that hold parts of one task agree: whoever comes
second sees what the first one wrote. Its rows are open until somebody says that they are settled (`settling`).
"""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from toolspan.changes import Changes, Derived
from toolspan.derive import derive
from toolspan.groups import split_groups
from toolspan.records import Rows, SpanFacts, extend
from toolspan.store import AppendResult
from toolspan.store.columns import DerivedRows, row_tables, span_table, trace_table
from toolspan.store.fullness import part_full
from toolspan.store.group_states import GroupStates
from toolspan.store.grouping import Known, batch_of, known_groups, load_spans, traces_of
from toolspan.store.intake import count_intake
from toolspan.store.lateness import part_late
from toolspan.store.sifting import Kept, sift
from toolspan.store.statements import Bounds, given, insert, run
from toolspan.store.totals import add_totals

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Intent(NamedTuple):
    """
    How to append: by which *writer* (a number of its own), at *now_ns*, with which tools as escalation tools, how long
    after the last span of its group a span still counts, and how many spans a group may have (None: any number).
    """

    writer: int
    now_ns: int
    escalation_tools: Collection[str]
    late_ns: int
    most_spans: int | None = None


def append_spans(
    connection: "DuckDBPyConnection", spans: Sequence[SpanFacts], intent: Intent, changes: Changes | None = None
) -> AppendResult:
    """
    Keeps the *spans* that are new, within the transaction that is open; *changes* is told of the groups they touch.
    """
    if not spans:
        return AppendResult(0, 0, 0, 0, frozenset())
    batch = batch_of(spans)
    groups = known_groups(connection, batch)
    full = [] if intent.most_spans is None else [group for group in groups if group.spans >= intent.most_spans]
    fitting = part_full(connection, batch, full)
    if full:
        groups = [group for group in groups if group not in full]
        if not fitting.spans:
            return _counted(
                connection, AppendResult(0, fitting.duplicates, 0, 0, frozenset(), fitting.overflow), intent
            )
        batch = batch_of(fitting.spans)
    kept: Kept = {}
    sift(load_spans(connection, groups), kept)
    unknown = [] if changes is None else _unknown(groups, kept, changes)
    timely = part_late(connection, batch, kept, groups, closed_ns=intent.now_ns - intent.late_ns)
    sifted = sift(timely.spans, kept)
    touched = frozenset(span.trace_id for span in sifted.new)
    if sifted.new:
        insert(connection, "spans", span_table(sifted.new, arrived_ns=intent.now_ns))
        derived = _replace(connection, kept, groups, touched, intent)
        if changes is not None:
            changes.derived += [Derived(traces, rows, _before(traces, unknown, intent)) for traces, rows in derived]
    _adopt(connection, [group for group in groups if touched.isdisjoint(group.traces)], intent.writer)
    result = AppendResult(
        new=len(sifted.new),
        duplicates=sifted.duplicates + timely.duplicates + fitting.duplicates,
        conflicts=sifted.conflicts,
        late=timely.late,
        touched=touched,
        overflow=fitting.overflow,
    )
    return _counted(connection, result, intent)


def _counted(connection: "DuckDBPyConnection", result: AppendResult, intent: Intent) -> AppendResult:
    """
    *result*, once it is counted.
    """
    counts = {
        "received": result.new + result.duplicates + result.conflicts + result.late + result.overflow,
        "duplicate": result.duplicates,
        "conflict": result.conflicts,
        "late": result.late,
        "overflow": result.overflow,
    }
    count_intake(connection, counts, now_ns=intent.now_ns)
    return result


def _adopt(connection: "DuckDBPyConnection", repeated: Sequence[Known], writer: int) -> None:
    """
    Makes the open ones among the *repeated* groups, of which nothing new came, *writer*'s to settle: whoever gives the
    input of a killed process again completes what that one left open.
    """
    adopted = [trace for group in repeated if not group.is_settled and group.writer != writer for trace in group.traces]
    if adopted:
        with given(connection, asked_traces=trace_table(adopted)):
            run(connection, "adopt", writer=writer)


def _replace(
    connection: "DuckDBPyConnection",
    kept: Kept,
    known: Sequence[Known],
    touched: frozenset[bytes],
    intent: Intent,
) -> list[tuple[frozenset[bytes], Rows]]:
    """
    Derives the groups that have one of the *touched* traces, and puts their rows in the place of the old ones; gives
    the groups.
    """
    spans = chain.from_iterable(members.values() for members in kept.values())
    revisions = {trace: group.revision for group in known for trace in group.traces}
    merged, states = Rows([], [], [], [], []), GroupStates()
    derived: list[tuple[frozenset[bytes], Rows]] = []
    of_task: dict[str, int] = {}
    for group in split_groups(spans):
        traces = traces_of(group)
        if touched.isdisjoint(traces):
            continue
        rows = derive(group, escalation_tools=intent.escalation_tools, settled=False)
        revision = max((revisions.get(trace, -1) for trace in traces), default=-1) + 1
        for task in rows.tasks:
            of_task[task.task_id] = revision
        extend(merged, rows)
        derived.append((frozenset(traces), rows))
        states.add(traces, group, rows.tasks, revision)
    settled = frozenset[bytes]().union(*(group.traces for group in known if group.is_settled))
    _remove(connection, [trace for trace in states.traces if trace in revisions], settled=settled)
    for name, table in row_tables(DerivedRows(merged, of_task)).items():
        insert(connection, name, table)
    insert(connection, "traces", states.table(arrived_ns=intent.now_ns, writer=intent.writer))
    if states.task_traces:
        insert(connection, "task_traces", states.task_table())
    return derived


class _Unknown(NamedTuple):
    """
    A kept group whose rows nobody has in hand, and its spans until now.
    """

    group: Known
    spans: list[SpanFacts]


def _unknown(groups: Sequence[Known], kept: Kept, changes: Changes) -> list[_Unknown]:
    """
    The groups of which *changes* has to be told what they were.
    """
    return [
        _Unknown(group, [span for trace in sorted(group.traces) for span in kept.get(trace, {}).values()])
        for group in groups
        if not changes.knows(group.traces)
    ]


def _before(traces: frozenset[bytes], unknown: Sequence[_Unknown], intent: Intent) -> tuple[Rows, ...]:
    """
    The rows until now of the *unknown* groups that are part of the one with *traces*.
    """
    return tuple(
        derive(spans, escalation_tools=intent.escalation_tools, settled=group.is_settled)
        for group, spans in unknown
        if not traces.isdisjoint(group.traces)
    )


def _remove(connection: "DuckDBPyConnection", traces: Sequence[bytes], *, settled: frozenset[bytes]) -> None:
    """
    Deletes all rows derived from *traces*, which are whole groups, and takes those of *settled* ones from the totals.
    """
    if not traces:
        return
    with given(connection, asked_traces=trace_table(traces)):
        [(first_ns, last_ns)] = run(connection, "bounds_of_groups")
        if first_ns is not None:
            bounds = Bounds(first_ns, last_ns)
            run(connection, "choose_derived", **bounds._asdict())
            if not settled.isdisjoint(traces):  # else there is nothing to take, which takes 10 ms to find out
                add_totals(connection, bounds, sign=-1)
            run(connection, "remove", **bounds._asdict())
        run(connection, "forget_traces")
