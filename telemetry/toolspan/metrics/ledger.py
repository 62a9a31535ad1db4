"""
What has been counted already, so that each call and each task counts once.

A group is derived again whenever spans of it arrive, and then the same calls come again. What was counted is therefore
remembered, by trace: the ids of calls and of tasks that settled, about 0.3 kB a call. Nobody can be known for ever, so
a group that is gone (pruned, or settled for so long that nothing of it is accepted any more) is *forgotten* when the
writer says so, and beyond a limit the traces that were not touched for longest are: their calls would count again if
spans of them still came. A writer that bounds what it keeps itself has no such limit set: which groups it still counts
is known to nobody else.

**A call whose id changes.** A call is known by its outermost span, and that one ends last: the span of an MCP server,
or of an inner instrumentation, may have been counted before the span around it arrived, which from then on stands for
the call. So where a counted call is no longer among the rows of its group, the earliest call of the same tool that had
started before it ended and was not counted yet is taken for the same call. Batches of two processes arrive seconds
apart; without this, such calls would count twice.

**A task whose id changes.** So does that of a task, when the run around its run arrives or a task id joins traces. A
task is one that settled before where its id is known or one of its calls settled in another.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from sys import intern
from typing import Final, NamedTuple

from toolspan.records import Call, Rows, Task


class _Counted(NamedTuple):
    """
    A call that was counted; a call that contains it starts before *until_ns*.
    """

    tool: str
    until_ns: int
    is_settled: bool


_UNTIL: Final = attrgetter("until_ns")


def _counted(call: Call, *, is_settled: bool) -> _Counted:
    # every span brings a string of its own; and a call without length contains what starts with it
    started_ns, ended_ns = call.started_ns, call.ended_ns
    return _Counted(intern(call.tool), ended_ns if ended_ns > started_ns else started_ns + 1, is_settled)


@dataclass(slots=True)
class _Trace:
    """
    What is remembered of a trace: its calls by span id, and the tasks that began in it.
    """

    calls: dict[bytes, _Counted] = field(default_factory=dict[bytes, _Counted])
    tasks: set[str] = field(default_factory=set[str])


class Taken(NamedTuple):
    """
    What of some rows is to be counted now: *calls*, and *tasks* that settled for the first time, by id.

    *resettled* is how many settled again.
    """

    calls: list[Call]
    tasks: dict[str, Task]
    resettled: int


class Ledger:
    """
    Remembers at most *limit* traces, calls and tasks together, or one group where that has more; all where it is None.
    """

    __slots__ = ("_size", "_tasks", "_traces", "limit")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._size = 0
        self._traces: OrderedDict[bytes, _Trace] = OrderedDict()  # touched longest ago first
        self._tasks: set[str] = set()

    def take(self, rows: Rows, *, is_due: Callable[[Call], bool]) -> Taken:
        """
        What of *rows*, all rows of a group, is to be counted now; it counts as counted from then on.

        Calls of settled tasks are, of others those that are due and not deferred.
        """
        traces = self._touch(rows)
        uncounted, grown = self._uncounted(rows.calls, traces)
        settled = {task.task_id for task in rows.tasks if task.settled}
        taken = [call for call in uncounted if call.task_id in settled or (call.outcome != "deferred" and is_due(call))]
        self._size += len(taken)
        for call in taken:
            if call.task_id not in settled:
                traces[call.trace_id].calls[call.span_id] = _counted(call, is_settled=False)
        first = self._settle(rows, settled, grown, traces) if settled else {}
        self._shrink(spared=traces)
        return Taken(taken, first, len(settled) - len(first))

    def forget(self, traces: Iterable[bytes]) -> None:
        """
        Remember nothing of *traces* any more.
        """
        for trace_id in traces:
            trace = self._traces.pop(trace_id, None)
            if trace is not None:
                self._drop(trace)

    def _touch(self, rows: Rows) -> dict[bytes, _Trace]:
        """
        The traces of *rows* by id, which are now those touched last.
        """
        touched: dict[bytes, _Trace] = {}
        for trace_id in (*[call.trace_id for call in rows.calls], *[task.trace_id for task in rows.tasks]):
            if trace_id not in touched:
                trace = self._traces.get(trace_id)
                if trace is None:
                    trace = self._traces[trace_id] = _Trace()
                    self._size += 1
                else:
                    self._traces.move_to_end(trace_id)
                touched[trace_id] = trace
        return touched

    def _uncounted(self, calls: Iterable[Call], traces: dict[bytes, _Trace]) -> tuple[list[Call], set[str]]:
        """
        Those of *calls* that were not counted yet, under whatever id, and the tasks of those that settled before.
        """
        uncounted: list[Call] = []
        grown: set[str] = set()
        present = 0
        for call in calls:
            counted = traces[call.trace_id].calls.get(call.span_id)
            if counted is None:
                uncounted.append(call)
            else:
                present += 1
                if counted.is_settled:
                    grown.add(call.task_id)
        if present < sum([len(trace.calls) for trace in traces.values()]):
            gone = self._remove_gone({(call.trace_id, call.span_id) for call in calls}, traces)
            uncounted = self._inherit(uncounted, gone, traces, grown)
        return uncounted, grown

    def _remove_gone(self, present: set[tuple[bytes, bytes]], traces: dict[bytes, _Trace]) -> list[_Counted]:
        """
        The calls that were counted and are no longer *present*, remembered no more.
        """
        gone: list[_Counted] = []
        for trace_id, trace in traces.items():
            lost = [span_id for span_id in trace.calls if (trace_id, span_id) not in present]
            gone.extend(trace.calls.pop(span_id) for span_id in lost)
        self._size -= len(gone)
        return gone

    def _inherit(
        self, uncounted: list[Call], gone: list[_Counted], traces: dict[bytes, _Trace], grown: set[str]
    ) -> list[Call]:
        """
        *uncounted* without the calls of which one of *gone* has become part; those count as counted instead.
        """
        # calls come in order of start, so that the first of a tool fits if any does
        candidates: dict[str, deque[Call]] = {}
        for call in uncounted:
            candidates.setdefault(call.tool, deque()).append(call)
        heirs: set[tuple[bytes, bytes]] = set()
        for part in sorted(gone, key=_UNTIL):
            waiting = candidates.get(part.tool)
            if waiting and waiting[0].started_ns < part.until_ns:
                heir = waiting.popleft()
                heirs.add((heir.trace_id, heir.span_id))
                traces[heir.trace_id].calls[heir.span_id] = _counted(heir, is_settled=part.is_settled)
                if part.is_settled:
                    grown.add(heir.task_id)
        self._size += len(heirs)
        return [call for call in uncounted if (call.trace_id, call.span_id) not in heirs]

    def _settle(self, rows: Rows, settled: set[str], grown: set[str], traces: dict[bytes, _Trace]) -> dict[str, Task]:
        """
        The tasks of *rows* that settled for the first time, by id; all of *settled* have settled from now on.

        *grown* have a call that settled before, maybe in another task.
        """
        first: dict[str, Task] = {}
        for task in rows.tasks:
            if task.task_id in settled and task.task_id not in self._tasks:
                if task.task_id not in grown:
                    first[task.task_id] = task
                self._tasks.add(task.task_id)
                traces[task.trace_id].tasks.add(task.task_id)
                self._size += 1
        for call in rows.calls:
            if call.task_id in settled:
                traces[call.trace_id].calls[call.span_id] = _counted(call, is_settled=True)
        return first

    def _shrink(self, *, spared: dict[bytes, _Trace]) -> None:
        """
        Forget the traces that were not touched for longest, but none of *spared*, until the rest is within the limit.
        """
        if self.limit is None:
            return
        while self._size > self.limit and next(iter(self._traces)) not in spared:
            self._drop(self._traces.popitem(last=False)[1])

    def _drop(self, trace: _Trace) -> None:
        self._tasks -= trace.tasks
        self._size -= 1 + len(trace.calls) + len(trace.tasks)
