"""
Groups that have as many spans as one may have: what comes for them is counted, and not kept.

A group is derived anew whenever a span of it comes, and held in memory for that. So one task id for all that an agent
ever does, or a trace that never ends, would take more time and memory with each request, until nobody else is served.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from toolspan.records import SpanFacts
from toolspan.store.columns import id_table, task_key, trace_bytes, trace_table
from toolspan.store.grouping import Batch, Known, named_task
from toolspan.store.statements import given, run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Fitting(NamedTuple):
    """
    The *spans* for which there is room; how many of the others are kept already, and for how many there is none.
    """

    spans: Sequence[SpanFacts]
    duplicates: int
    overflow: int


def part_full(connection: "DuckDBPyConnection", batch: Batch, full: Sequence[Known]) -> Fitting:
    """
    Parts *batch* into spans of the *full* groups and others.
    """
    if not full:
        return Fitting(batch.spans, 0, 0)
    traces = frozenset[bytes]().union(*(group.traces for group in full))
    with given(connection, asked_traces=trace_table(sorted(traces))):
        tasks = {task for (task,) in run(connection, "tasks_of_traces")}
    # a trace that names a full group's task would become part of it
    joining = {span.trace_id for span in batch.spans if (name := named_task(span)) and task_key(name) in tasks}
    spans, others = list[SpanFacts](), list[SpanFacts]()
    for span in batch.spans:
        (others if span.trace_id in traces or span.trace_id in joining else spans).append(span)
    with given(connection, asked_spans=id_table([(span.trace_id, span.span_id) for span in others])):
        kept = {(trace_bytes(row[0], row[1]), row[2].to_bytes(8, "big")) for row in run(connection, "find_spans")}
    duplicates = sum((span.trace_id, span.span_id) in kept for span in others)
    return Fitting(spans, duplicates, len(others) - duplicates)
