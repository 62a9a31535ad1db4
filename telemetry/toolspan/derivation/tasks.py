"""
Tasks: which there are, what belongs to each, and what their spans say of them.

A task is what the nearest task id above names, else an outermost agent run, else a trace that has calls outside of
both. Its spans are those that stand for it: the run, the topmost spans that carry the id, the trace's parentless
ones. A tool span never stands for a task: that a tool succeeded does not say that anything was resolved.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolspan.derivation.ancestry import Trace
from toolspan.derivation.attempts import merge_same_calls
from toolspan.derivation.calls import Execution, find_executions
from toolspan.derivation.escalations import escalations_seen
from toolspan.derivation.order import by_end, by_start
from toolspan.records import Escalation, Marks, SpanFacts

_NO_MARKS: Final = Marks()

#: First start and last end.
Extent: TypeAlias = tuple[int, int]


class Work:
    """
    A task in the making: *spans* stand for it, *outcomes* are those of its spans that say how it ended.

    *trace* is set where the task is a trace. *carriers* are tool spans that carry the task's id, topmost.
    """

    __slots__ = ("calls", "carriers", "escalations", "outcomes", "spans", "task_id", "trace")

    def __init__(self, task_id: str, trace: Trace | None = None) -> None:
        self.task_id = task_id
        self.trace = trace
        self.spans: list[SpanFacts] = []
        self.carriers: list[SpanFacts] = []
        self.calls: list[Execution] = []
        self.escalations: list[Escalation] = []
        self.outcomes: list[SpanFacts] = []

    def take(self, tops: Iterable[SpanFacts]) -> None:
        """
        Take in the topmost spans of the task, or more of them.
        """
        for span in tops:
            (self.spans if span.call is None else self.carriers).append(span)


@dataclass(slots=True)
class Frame:
    """
    What the spans of a task say of it. *last* is the one that ended last, None where none was seen.
    """

    trace_id: bytes
    name: str
    agent: str
    service: str
    environment: str
    started_ns: int
    ended_ns: int
    last: SpanFacts | None


def find_work(traces: Collection[Trace]) -> list[Work]:
    """
    The tasks of *traces* with what belongs to each, calls in order.
    """
    works: dict[str, Work] = {}
    for trace in traces:
        for task_id, tops in trace.tops.items():
            work = works.get(task_id)
            if work is None:
                work = works[task_id] = Work(task_id)
            work.take(tops)
    for trace in traces:
        _assign(trace, works)
    for work in works.values():
        work.calls = merge_same_calls(work.calls)
        if len(work.spans) > 1:
            work.spans.sort(key=by_start)
    return list(works.values())


def _assign(trace: Trace, works: dict[str, Work]) -> None:
    """
    Give each task what of *trace* belongs to it.
    """
    for call in find_executions(trace):
        work = works.get(call.task_id)
        if work is None:
            work = works[call.task_id] = _whole(trace)
        work.calls.append(call)
    for escalation in escalations_seen(trace):
        work = works.get(escalation.task_id)
        if work is None and (trace.tools or trace.runs):
            work = works[escalation.task_id] = _whole(trace)
        # a trace with neither run nor call is no task: nobody's work was escalated
        if work is not None:
            work.escalations.append(escalation)
    for span in trace.outcomes:
        work = works.get(trace.task_of(trace.place(span)))
        if work is not None:
            work.outcomes.append(span)


def _whole(trace: Trace) -> Work:
    """
    The task that *trace* itself is.
    """
    work = Work(trace.id_hex, trace)
    work.take(span for span in trace.spans.values() if not span.parent_id and not trace.place(span).task_id)
    return work


def measure_unseen(traces: Iterable[Trace], works: Iterable[Work]) -> dict[str, Extent]:
    """
    First start and last end of what is known of the tasks for which no span stands, by task id.
    """
    known: dict[str, Extent] = {}
    # the spans of a task that is a trace are in that trace; those of a task id may be in any
    own: dict[bytes, str] = {}
    anywhere: set[str] = set()
    for work in works:
        if work.spans:
            continue
        if work.trace is None:
            anywhere.add(work.task_id)
        else:
            own[work.trace.trace_id] = work.task_id
    for trace in traces if own or anywhere else ():
        own_id = own.get(trace.trace_id)
        if own_id is None and not anywhere:
            continue
        for span in trace.spans.values():
            task_id = trace.task_of(trace.place(span))
            if task_id == own_id or task_id in anywhere:
                start_ns, end_ns = known.get(task_id, (span.start_ns, span.end_ns))
                known[task_id] = min(start_ns, span.start_ns), max(end_ns, span.end_ns)
    return known


def frame_of(work: Work, unseen: Mapping[str, Extent]) -> Frame:
    """
    What the spans of *work* say of it, or its first call where they say nothing.

    Args:
        unseen: the times of the tasks for which no span stands.
    """
    name = agent = service = environment = ""
    for span in work.spans:
        marks = span.marks or _NO_MARKS
        name, agent = name or marks.name, agent or marks.agent
        service, environment = service or marks.service, environment or marks.environment
    if work.calls:
        marks = work.calls[0].marks
        agent = agent or marks.agent
        service, environment = service or marks.service, environment or marks.environment
    last = max(work.spans, key=by_end) if work.spans else None
    started_ns, ended_ns = (work.spans[0].start_ns, last.end_ns) if last is not None else unseen[work.task_id]
    return Frame(_trace_id(work), name, agent, service, environment, started_ns, ended_ns, last)


def _trace_id(work: Work) -> bytes:
    if work.trace is not None:
        return work.trace.trace_id
    return work.spans[0].trace_id if work.spans else min(work.carriers, key=by_start).trace_id
