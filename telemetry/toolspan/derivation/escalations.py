"""
Escalations: where a human was asked, and what of it one tool's calls can claim to have come after.

An escalation that names no tool is one of every tool. A call that itself is the escalation (it ended deferred, or
its tool is one by which the agent asks a human) neither comes after it nor is a retry before it.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from toolspan.derivation.ancestry import Place, Trace
from toolspan.derivation.calls import Execution
from toolspan.records import Escalation

_AT_NS = attrgetter("at_ns")
_IN_TIME = attrgetter("at_ns", "trace_id", "span_id", "source")


def escalations_seen(trace: Trace) -> list[Escalation]:
    """
    The escalations for which spans of *trace* stand, in no order.
    """
    found: list[Escalation] = []
    for span, said in trace.escalations:
        place = trace.place(span)
        # a run that ends waiting asks as it ends; everything else stands for the moment in which it asks
        at_ns = span.end_ns if said.source == "run" else span.start_ns
        tool = said.tool
        if not tool and said.source == "elicitation":
            tool = _nearest_tool(trace.above(span))
        task_id = trace.task_of(place)
        found.append(Escalation(task_id, span.trace_id, span.span_id, at_ns, tool, said.reason, said.source))
    for span, call in trace.tools:
        if call.judgement.outcome == "deferred":
            task_id = trace.task_of(trace.place(span))
            found.append(Escalation(task_id, span.trace_id, span.span_id, span.end_ns, call.tool, "", "deferred"))
    return found


def _nearest_tool(place: Place | None) -> str:
    while place is not None:
        if place.tool is not None:
            return place.tool[1].tool
        place = place.outer
    return ""


def escalating_calls(calls: Iterable[Execution], escalation_tools: Collection[str]) -> list[Escalation]:
    """
    The escalations that *calls* of the tools named in *escalation_tools* are.
    """
    return [
        Escalation(call.task_id, call.trace_id, call.span_id, call.started_ns, "", "", "tool")
        for call in calls
        if call.tool in escalation_tools
    ]


class Heard:
    """
    What a human heard of in one task, and when.
    """

    __slots__ = ("_by_tool", "escalations")

    def __init__(self, escalations: Sequence[Escalation]) -> None:
        self.escalations = sorted(escalations, key=_IN_TIME) if escalations else []
        # in order of time; those of none are under "" alone, so that thousands of tools do not each copy them
        self._by_tool: dict[str, list[Escalation]] = {}
        for escalation in self.escalations:
            self._by_tool.setdefault(escalation.tool, []).append(escalation)

    def first(self, tool: str, since_ns: int, *, but: Execution | None = None) -> Escalation | None:
        """
        The first escalation of *tool*, or of none, at or after *since_ns*, other than the call *but* itself.
        """
        if not self.escalations:
            return None
        own, of_none = self._first(tool, since_ns, but), self._first("", since_ns, but)
        if own is None or of_none is None:
            return own or of_none
        return min(own, of_none, key=_IN_TIME)

    def _first(self, tool: str, since_ns: int, but: Execution | None) -> Escalation | None:
        """
        The first escalation whose tool is exactly *tool*.
        """
        of_tool = self._by_tool.get(tool, ())
        for index in range(bisect_left(of_tool, since_ns, key=_AT_NS), len(of_tool)):
            if but is None or not is_itself(of_tool[index], but):
                return of_tool[index]
        return None


def is_itself(escalation: Escalation, call: Execution) -> bool:
    """
    Whether *escalation* is what *call* itself did.
    """
    key = (escalation.trace_id, escalation.span_id)
    if escalation.source == "tool":
        return key == (call.trace_id, call.span_id)
    return escalation.source == "deferred" and key in call.deferred
