"""
Open groups and when their calls are due: what feeds the metrics, for whoever writes one transaction after the other.

A call counts one grace period after its last span arrived, a task when it first settles. So the rows of a group that
got spans are kept until it settles; then all of it is counted, and nothing of it remembered. A group that is not kept
(it settled before, an earlier process wrote it, there were too many) comes with the rows that the store had of it, and
these were counted: by that process, or before they were let go of here.

A call whose row a new span did not change keeps its own time: a task that gets spans for an hour does not keep its
first calls from being counted.

**Bounds.** What is kept here and what the metrics remember are the same groups. So this alone lets go of them: metrics
that did so by themselves would count the calls of a group that is still kept a second time.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from toolspan.changes import Derived, Settled
from toolspan.metrics import Metrics
from toolspan.records import Call, Rows

_CallKey = tuple[bytes, bytes]


@dataclass(slots=True, eq=False)
class _Group:
    """
    An open group: its *rows*, which arrived at *arrived_ns*, but for the calls that did so *earlier* and are unchanged.
    """

    traces: frozenset[bytes]
    rows: Rows
    arrived_ns: int
    earlier: dict[_CallKey, int] = field(default_factory=dict[_CallKey, int])

    @property
    def size(self) -> int:
        """
        How much of it there is to remember: traces, calls and tasks.
        """
        return len(self.traces) + len(self.rows.calls) + len(self.rows.tasks)

    def arrived(self, call: Call) -> int:
        """
        When the last span of *call* arrived.
        """
        return self.earlier.get((call.trace_id, call.span_id), self.arrived_ns)


class Tracker:
    """
    Counts in *metrics* what is written; from then on they forget only what is let go of here.

    *grace_ns* is how long after its last span a call is due. *most* traces, calls and tasks are kept: 1 kB each where
    every trace has a task of some calls.

    Times are of any clock that never goes back.
    """

    def __init__(self, metrics: Metrics, *, grace_ns: int, most: int) -> None:
        metrics.forget_nothing_else()
        self._metrics = metrics
        self._grace_ns = grace_ns
        self._most = most
        self._size = 0
        self._groups: OrderedDict[_Group, None] = OrderedDict()  # touched longest ago first
        self._of_trace: dict[bytes, _Group] = {}
        self._waiting: deque[tuple[int, bytes]] = deque()  # when a group got spans, and a trace of it

    def knows(self, traces: frozenset[bytes]) -> bool:
        """
        Whether the rows of the group with *traces* are kept here.
        """
        return all(trace in self._of_trace for trace in traces)

    def written(self, derived: Iterable[Derived], settled: Iterable[Settled], *, now_ns: int) -> None:
        """
        Takes over what one transaction changed: the groups it *derived*, then those that *settled* in it.
        """
        for change in derived:
            self._metrics.recall(change.before)
            self._keep(change.traces, change.rows, now_ns)
        self._settle(settled)
        self._shrink()
        if len(self._waiting) > 2 * self._size:
            self._tidy()

    def tick(self, now_ns: int) -> None:
        """
        Counts the calls that are due by now.
        """
        due_ns = now_ns - self._grace_ns
        ripe: dict[_Group, None] = {}
        while self._waiting and self._waiting[0][0] <= due_ns:
            group = self._of_trace.get(self._waiting.popleft()[1])
            if group is not None:
                ripe[group] = None
        if ripe:
            self._metrics.count(
                [group.rows for group in ripe],
                is_due=lambda call: self._of_trace[call.trace_id].arrived(call) <= due_ns,
            )

    def _keep(self, traces: frozenset[bytes], rows: Rows, now_ns: int) -> None:
        group = _Group(traces, rows, now_ns)
        for old in {self._of_trace[trace] for trace in traces if trace in self._of_trace}:
            known = {(call.trace_id, call.span_id): call for call in old.rows.calls}
            for call in rows.calls:
                key = call.trace_id, call.span_id
                if known.get(key) == call:
                    group.earlier[key] = old.arrived(call)
            self._remove(old)
        self._groups[group] = None
        self._size += group.size
        for trace in traces:
            self._of_trace[trace] = group
        self._waiting.append((now_ns, min(traces)))

    def _settle(self, settled: Iterable[Settled]) -> None:
        groups: list[Rows] = []
        ended: list[bytes] = []
        for change in settled:
            group = next((self._of_trace[trace] for trace in change.traces if trace in self._of_trace), None)
            if group is not None:
                self._remove(group)
                groups.append(_settled(group.rows))
            elif change.rows is not None:
                self._metrics.recall([change.rows])
                groups.append(_settled(change.rows))
            ended.extend(change.traces)
        if groups:
            self._metrics.count(groups)
            self._metrics.forget(ended)

    def _shrink(self) -> None:
        """
        Counts the groups that got spans longest ago as they are, and lets go of them, until there are few enough.
        """
        while self._size > self._most and len(self._groups) > 1:
            group = next(iter(self._groups))
            self._remove(group)
            self._metrics.count([group.rows])
            self._metrics.forget(group.traces)

    def _tidy(self) -> None:
        """
        Waits no longer for groups that are gone, nor at times at which no call of a group is due: with a long grace
        period these would be many more than what is kept.
        """
        arrivals = {group: {group.arrived_ns, *group.earlier.values()} for group in self._groups}
        kept: dict[tuple[int, _Group], None] = {}
        for at_ns, trace in self._waiting:
            group = self._of_trace.get(trace)
            if group is not None and at_ns in arrivals[group]:
                kept[at_ns, group] = None
        self._waiting = deque((at_ns, next(iter(group.traces))) for at_ns, group in kept)

    def _remove(self, group: _Group) -> None:
        del self._groups[group]
        self._size -= group.size
        for trace in group.traces:
            if self._of_trace.get(trace) is group:
                del self._of_trace[trace]


def _settled(rows: Rows) -> Rows:
    return rows._replace(tasks=[task._replace(settled=True) for task in rows.tasks])
