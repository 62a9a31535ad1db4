"""
The unit of derivation: a trace, or all traces that task ids join, directly or through one another.

What a span of one group says never changes a row of another, so groups are loaded, derived and replaced apart.
"""

from collections.abc import Iterable

from toolspan.records import SpanFacts


def split_groups(spans: Iterable[SpanFacts]) -> list[list[SpanFacts]]:
    """
    The connected components of *spans* over trace ids and task ids, by their smallest trace id.

    Within a group, spans stand by trace id; those of one trace keep the order in which they were given.
    """
    traces: dict[bytes, list[SpanFacts]] = {}
    joined = _Joined()
    for span in spans:
        trace_id = span.trace_id
        members = traces.get(trace_id)
        if members is None:
            members = traces[trace_id] = []
        members.append(span)
        marks = span.marks
        if marks is not None and marks.task_id:
            joined.join(marks.task_id, trace_id)
    if joined.is_empty():
        return [traces[trace_id] for trace_id in sorted(traces)]
    groups: dict[bytes, list[SpanFacts]] = {}
    for trace_id in sorted(traces):
        groups.setdefault(joined.root(trace_id), []).extend(traces[trace_id])
    return list(groups.values())


class _Joined:
    """
    Trace ids that share a task id (union-find: a task of thousands of traces costs no more than its spans).
    """

    __slots__ = ("_first", "_parents")

    def __init__(self) -> None:
        self._first: dict[str, bytes] = {}
        self._parents: dict[bytes, bytes] = {}

    def is_empty(self) -> bool:
        return not self._parents

    def join(self, task_id: str, trace_id: bytes) -> None:
        first = self._first.setdefault(task_id, trace_id)
        if first != trace_id:
            one, other = self.root(first), self.root(trace_id)
            if one != other:
                self._parents[other] = one

    def root(self, trace_id: bytes) -> bytes:
        parents = self._parents
        root = trace_id
        while (parent := parents.get(root)) is not None:
            root = parent
        while trace_id != root:
            parent = parents[trace_id]
            parents[trace_id] = root
            trace_id = parent
        return root
