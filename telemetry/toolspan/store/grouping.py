"""
Which kept groups a span belongs to, and the spans they have.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from toolspan.groups import split_groups, traces_named_by
from toolspan.records import SpanFacts
from toolspan.store.columns import decode_span, task_key, task_table, trace_bytes, trace_table
from toolspan.store.statements import Fetched, given, run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Known(NamedTuple):
    """
    A group that the store keeps: the ids of its traces, when its last span came, its revision, whether it is settled,
    the number of the writer who was given it last, and how many spans it has.
    """

    traces: frozenset[bytes]
    arrived_ns: int
    revision: int
    is_settled: bool
    writer: int
    spans: int


def named_task(span: SpanFacts) -> str:
    """
    The task id that *span* itself carries, empty where it carries none.
    """
    return "" if span.marks is None else span.marks.task_id


class Batch(NamedTuple):
    """
    Spans that came together: the traces they are of, the task ids that they name, their first start and last end.

    *named* are the traces that the task ids are made of.
    """

    spans: Sequence[SpanFacts]
    traces: frozenset[bytes]
    tasks: frozenset[str]
    named: frozenset[bytes]
    first_ns: int
    last_ns: int


def batch_of(spans: Sequence[SpanFacts]) -> Batch:
    """
    *spans*, of which there is at least one, as a batch.
    """
    traces, _, _, starts, ends, _, _, marks, *_ = zip(*spans, strict=True)
    tasks = {said.task_id for said in marks if said is not None} - {""}
    named = {trace for task_id in tasks for trace in traces_named_by(task_id, traces[0])}
    return Batch(spans, frozenset(traces), frozenset(tasks), frozenset(named), min(starts), max(ends))


def known_groups(connection: "DuckDBPyConnection", batch: Batch) -> list[Known]:
    """
    The kept groups to which a span of *batch* belongs, by its trace or by the task that it names.
    """
    return _groups_of(connection, batch.traces | batch.named, [task_key(task_id) for task_id in batch.tasks])


def traces_of(group: Sequence[SpanFacts]) -> dict[bytes, int]:
    """
    The traces of *group*, whose spans stand by trace, and how many spans each has.
    """
    first = group[0].trace_id
    # nearly all groups are one trace
    return {first: len(group)} if group[-1].trace_id == first else Counter(span.trace_id for span in group)


def load_groups(connection: "DuckDBPyConnection", traces: Iterable[bytes]) -> list[list[SpanFacts]]:
    """
    All kept spans of every group that has one of *traces*.
    """
    groups = _groups_of(connection, set(traces), [])
    return split_groups(load_spans(connection, groups))


def load_spans(connection: "DuckDBPyConnection", groups: Iterable[Known]) -> Iterable[SpanFacts]:
    """
    The kept spans of *groups*, in the order in which they came.
    """
    return map(decode_span, _span_rows(connection, groups))


def trace_rows(connection: "DuckDBPyConnection", traces: Iterable[bytes]) -> Fetched:
    """
    As `load_groups`, but the rows as they stand in the table, for `columns.decode_span`.
    """
    return _span_rows(connection, _groups_of(connection, set(traces), []))


def _span_rows(connection: "DuckDBPyConnection", groups: Iterable[Known]) -> Fetched:
    traces = {trace for group in groups for trace in group.traces}
    if not traces:
        return []
    with given(connection, asked_traces=trace_table(sorted(traces))):
        return run(connection, "load_spans")


def _groups_of(connection: "DuckDBPyConnection", traces: Iterable[bytes], tasks: Sequence[int]) -> list[Known]:
    with given(connection, asked_traces=trace_table(sorted(traces)), asked_tasks=task_table(tasks)):
        rows = run(connection, "find_groups")
    members: dict[tuple[int, int], list[bytes]] = {}
    told: dict[tuple[int, int], tuple[int, int, bool, int]] = {}
    spans: Counter[tuple[int, int]] = Counter()
    for group_hi, group_lo, trace_hi, trace_lo, arrived_ns, revision, is_settled, writer, count in rows:
        members.setdefault((group_hi, group_lo), []).append(trace_bytes(trace_hi, trace_lo))
        told[group_hi, group_lo] = arrived_ns, revision, is_settled, writer
        spans[group_hi, group_lo] += count
    return [Known(frozenset(traces), *told[group], spans[group]) for group, traces in members.items()]
