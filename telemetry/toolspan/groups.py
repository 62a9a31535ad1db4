"""
The unit of derivation: a trace, or all traces that task ids join, directly or through one another.

What a span of one group says never changes a row of another, so groups are loaded, derived and replaced apart. A task
that nobody named has its trace's id, alone or with its run's: who gives such an id to a span joins it to that trace.
"""

import re
from collections.abc import Iterable
from typing import Final

from toolspan.records import SpanFacts

_DERIVED_ID: Final = re.compile("([0-9a-f]{32})(?:-[0-9a-f]{16})?")


def traces_named_by(task_id: str, trace_id: bytes) -> tuple[bytes, ...]:
    """
    The traces that a span of *trace_id* joins by naming *task_id*: its own, and the one that the id is made of.
    """
    derived = _DERIVED_ID.fullmatch(task_id)
    return (trace_id,) if derived is None else (trace_id, bytes.fromhex(derived[1]))


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
            for named in traces_named_by(marks.task_id, trace_id):
                joined.join(marks.task_id, named)
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
