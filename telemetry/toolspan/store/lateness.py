"""
What comes too late: spans of groups that were closed, and of groups whose spans were pruned.

Of a pruned group the store has rows and no spans. What repeats one of them (a call, or the span of a task, by its
times) is a duplicate for ever, so that ingesting an old file twice changes nothing; anything else of it is late.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.records import SpanFacts
from toolspan.store.columns import task_key, task_table, trace_bytes, trace_table
from toolspan.store.grouping import Batch, Known, named_task
from toolspan.store.sifting import Kept
from toolspan.store.statements import given, run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: A repeat of what was pruned has the times it had; this far from them it is not looked for.
_NEAR_NS: Final = 24 * 3600 * 10**9


class Timely(NamedTuple):
    """
    The *spans* that may count; how many of the others repeat what the store has, and how many came too late.
    """

    spans: Sequence[SpanFacts]
    duplicates: int
    late: int


def part_late(
    connection: "DuckDBPyConnection", batch: Batch, kept: Kept, groups: Sequence[Known], *, closed_ns: int
) -> Timely:
    """
    Parts *batch* into spans that may still count and others; a group is closed when its last span came before
    *closed_ns*.
    """
    closed = {trace for group in groups if group.arrived_ns < closed_ns for trace in group.traces}
    closed_tasks = {named_task(span) for trace in closed for span in kept.get(trace, {}).values()} - {""}
    unknown = batch.traces - kept.keys()
    gone = _pruned(connection, batch, unknown) if unknown else _NOTHING_GONE
    gone_tasks = closed_tasks | _pruned_tasks(connection, batch.tasks)
    if not closed and not gone.traces and not gone_tasks:
        return Timely(batch.spans, 0, 0)
    over = closed | gone.traces | {span.trace_id for span in batch.spans if named_task(span) in gone_tasks} & unknown
    timely: list[SpanFacts] = []
    duplicates = late = 0
    for span in batch.spans:
        if span.span_id in kept.get(span.trace_id, {}) or (
            span.trace_id not in over and named_task(span) not in gone_tasks
        ):
            timely.append(span)
        elif (span.trace_id, span.span_id) in gone.spans or (span.start_ns, span.end_ns) in gone.tasks:
            duplicates += 1
        else:
            late += 1
    return Timely(timely, duplicates, late)


class _Gone(NamedTuple):
    """
    Traces whose spans were pruned; the calls and escalations that the store has of them, and the times of their tasks.
    """

    traces: frozenset[bytes]
    spans: frozenset[tuple[bytes, bytes]]
    tasks: frozenset[tuple[int, int]]


_NOTHING_GONE: Final = _Gone(frozenset(), frozenset(), frozenset())


def _pruned(connection: "DuckDBPyConnection", batch: Batch, unknown: Iterable[bytes]) -> _Gone:
    """
    Those of the *unknown* traces of *batch* that the store has tasks or calls of.
    """
    first_ns, last_ns = batch.first_ns - _NEAR_NS, batch.last_ns + _NEAR_NS
    with given(connection, asked_traces=trace_table(unknown)):
        tasks = run(connection, "find_pruned_tasks", first_ns=first_ns, last_ns=last_ns)
        calls = run(connection, "find_pruned_spans", first_ns=first_ns, last_ns=last_ns)
    return _Gone(
        frozenset(trace_bytes(row[0], row[1]) for row in (*tasks, *calls)),
        frozenset((trace_bytes(high, low), span_id.to_bytes(8, "big")) for high, low, span_id in calls),
        frozenset((row[2], row[3]) for row in tasks),
    )


def _pruned_tasks(connection: "DuckDBPyConnection", tasks: Iterable[str]) -> set[str]:
    """
    Those of *tasks* that the store has, but keeps no spans of any more.
    """
    named = {task_key(task_id): task_id for task_id in tasks}
    if not named:
        return set()
    with given(connection, asked_tasks=task_table(named)):
        return {named[task] for (task,) in run(connection, "find_pruned_names")}
