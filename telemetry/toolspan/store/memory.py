"""
The store of one process and one moment: files given to `report`, and tests.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from toolspan.derive import derive
from toolspan.groups import traces_named_by
from toolspan.records import Rows, SpanFacts, extend
from toolspan.scope import EVERYTHING, Scope, rows_in
from toolspan.store import AppendResult, SettleResult
from toolspan.store.sifting import Kept, sift


class _Derived(NamedTuple):
    """
    The rows of one group and the traces they were derived from.
    """

    traces: frozenset[bytes]
    rows: Rows


class MemoryStore:
    """
    A store that lives as long as the object and prunes nothing, so that no span is late.

    *escalation_tools* are the tools of which a call is an escalation.
    """

    def __init__(self, *, escalation_tools: Iterable[str] = ()) -> None:
        self._escalation_tools = tuple(escalation_tools)
        self._spans: Kept = {}
        self._traces_of_task: dict[str, set[bytes]] = {}
        self._tasks_of_trace: dict[bytes, set[str]] = {}
        self._rows: dict[bytes, Rows] = {}  # by the smallest trace id of the group
        self._stale: set[bytes] = set()  # traces whose rows do not know all of their spans
        self._open: set[bytes] = set()  # traces that have not settled since their last span

    def append(self, spans: Iterable[SpanFacts], /) -> AppendResult:
        """
        Keeps the spans that are new.
        """
        sifted = sift(spans, self._spans)
        touched = frozenset(span.trace_id for span in sifted.new)
        for span in sifted.new:
            if span.marks is not None and span.marks.task_id:
                self._join(span.marks.task_id, span.trace_id)
        self._stale |= touched
        self._open |= touched
        return AppendResult(len(sifted.new), sifted.duplicates, sifted.conflicts, late=0, touched=touched)

    def load_groups(self, traces: Iterable[bytes], /) -> list[list[SpanFacts]]:
        """
        All kept spans of every group that has one of *traces*.
        """
        return [list(self._spans_of(group)) for group in self._groups(traces)]

    def settle(self) -> SettleResult:
        """
        Settles every task that got a span since it last settled: the input has ended, nothing more will come.
        """
        groups = self._derive(self._open, is_settled=True)
        return SettleResult(
            groups=len(groups),
            calls=sum(len(group.rows.calls) for group in groups),
            tasks=sum(len(group.rows.tasks) for group in groups),
        )

    def rows(self, scope: Scope = EVERYTHING, /) -> Rows:
        """
        All rows of the tasks in *scope*; a task that has not settled since its last span is open.

        They stand by trace id, so that the same spans give the same rows in whatever order and batches they came.
        """
        self._derive(self._stale, is_settled=False)
        merged = Rows([], [], [], [], [])
        for trace_id in sorted(self._rows):
            extend(merged, self._rows[trace_id])
        return merged if scope == EVERYTHING else rows_in(merged, scope)

    def _derive(self, traces: Iterable[bytes], *, is_settled: bool) -> list[_Derived]:
        """
        Puts the rows of the groups that have one of *traces* in the place of all that were derived from them before.
        """
        groups = [
            _Derived(group, derive(self._spans_of(group), escalation_tools=self._escalation_tools, settled=is_settled))
            for group in self._groups(traces)
        ]
        for traces_of, rows in groups:
            for trace_id in traces_of:
                self._rows.pop(trace_id, None)
            self._rows[min(traces_of)] = rows
            self._stale -= traces_of
            if is_settled:
                self._open -= traces_of
        return groups

    def _spans_of(self, group: Iterable[bytes]) -> Iterable[SpanFacts]:
        return chain.from_iterable(self._spans[trace_id].values() for trace_id in sorted(group))

    def _groups(self, traces: Iterable[bytes]) -> Iterator[frozenset[bytes]]:
        """
        The groups that have one of *traces*, as the ids of all their traces, by the smallest.
        """
        seen: set[bytes] = set()
        for trace_id in sorted(trace_id for trace_id in traces if trace_id in self._spans):
            if trace_id not in self._tasks_of_trace:
                yield frozenset((trace_id,))
            elif trace_id not in seen:
                group = self._joined(trace_id)
                seen |= group
                yield frozenset(group & self._spans.keys())

    def _join(self, task_id: str, trace_id: bytes) -> None:
        for named in traces_named_by(task_id, trace_id):
            self._traces_of_task.setdefault(task_id, set()).add(named)
            self._tasks_of_trace.setdefault(named, set()).add(task_id)

    def _joined(self, trace_id: bytes) -> set[bytes]:
        """
        *trace_id* and all traces that task ids join to it, through one another too.
        """
        found = {trace_id}
        waiting = [trace_id]
        seen: set[str] = set()
        while waiting:
            for task_id in self._tasks_of_trace.get(waiting.pop(), ()):
                if task_id not in seen:
                    seen.add(task_id)
                    more = self._traces_of_task[task_id] - found
                    found |= more
                    waiting.extend(more)
        return found
