"""
Rows of `traces` and `task_traces`: what the store knows of each group beside its spans.
"""

from collections.abc import Mapping, Sequence

from toolspan.groups import traces_named_by
from toolspan.records import SpanFacts, Task
from toolspan.store.columns import Table, numbers, table_of, task_key, trace_columns


class GroupStates:
    """
    Rows of `traces` and `task_traces` in the making.
    """

    def __init__(self) -> None:
        self.traces: list[bytes] = []
        self.task_traces: list[tuple[int, bytes]] = []
        self._groups: list[bytes] = []
        self._rows: list[tuple[bool, bool, int, int, int, int]] = []

    def add(
        self, traces: Mapping[bytes, int], spans: Sequence[SpanFacts], tasks: Sequence[Task], revision: int
    ) -> None:
        """
        The state of the group of *spans*, of which each of *traces* has so many, with its *tasks*.
        """
        ends = [task.ended_ns for task in tasks]
        is_ended, is_settled = all(task.seen for task in tasks), not tasks
        first_ns, last_ns = (min(ends), max(ends)) if ends else (0, 0)
        group = min(traces)
        for trace, count in traces.items():
            self.traces.append(trace)
            self._groups.append(group)
            self._rows.append((is_ended, is_settled, revision, first_ns, last_ns, count))
        named = {(span.marks.task_id, span.trace_id) for span in spans if span.marks is not None and span.marks.task_id}
        self.task_traces.extend(
            {(task_key(task_id), joined) for task_id, trace in named for joined in traces_named_by(task_id, trace)}
        )

    def table(self, *, arrived_ns: int, writer: int) -> Table:
        """
        Rows of `traces`, which last got spans at *arrived_ns* from *writer*.
        """
        names = ("is_ended", "settled", "revision", "first_ns", "last_ns", "spans")
        return table_of(
            {
                **trace_columns(self.traces),
                **trace_columns(self._groups, prefix="group"),
                **dict(zip(names, map(list, zip(*self._rows, strict=True)), strict=True)),
                "arrived_ns": [arrived_ns] * len(self.traces),
                "writer": [writer] * len(self.traces),
            }
        )

    def task_table(self) -> Table:
        """
        Rows of `task_traces`.
        """
        tasks, traces = zip(*self.task_traces, strict=True)
        return table_of({"task": numbers(tasks), **trace_columns(traces)})
