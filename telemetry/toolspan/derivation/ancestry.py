"""
What lies above a span: its task, its step, the agent run and the tool span nearest to it.

One climb per span, remembered. Most spans add nothing to what holds above them and share the record of their
parent, so a trace of ten spans makes two or three records. A tool span gets one only when something lies below it.

A parent chain that ends at a span that never came is *broken*. So is one that runs in a circle: it is cut at the
member that started first, whatever the order of arrival.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolspan.records import CallFacts, EscalationFacts, Role, SpanFacts

ToolSpan: TypeAlias = tuple[SpanFacts, CallFacts]

_RUN: Final = int(Role.RUN)


@dataclass(slots=True)
class Place:
    """
    What holds at a span and below it.

    *task_id* is empty where neither a task id nor an agent run was met; *is_broken* tells whether the chain ended at
    a span that never came. *run* is the id of the nearest agent run, empty where there is none. *tool* is the
    nearest tool span with no agent run in between. *outer* is the place above.
    """

    task_id: str = ""
    step_id: str = ""
    run: bytes = b""
    tool: ToolSpan | None = None
    outer: "Place | None" = None
    is_broken: bool = False


TOP: Final = Place()
BROKEN: Final = Place(is_broken=True)


def run_task_id(run: SpanFacts) -> str:
    """
    The id of the task that an agent *run* is, where nobody gave one.
    """
    return f"{run.trace_id.hex()}-{run.span_id.hex()}"


class Trace:
    """
    The spans of one trace, sorted out, and the place of each.

    *tops* are the topmost spans of tasks, by task id: the outermost agent run, or the topmost spans that carry the id.
    *failed_runs* are the agent runs that ended with an error, by the nearest run above. *carriers* carry a task id.
    """

    __slots__ = (
        "_cuts",
        "_joined",
        "_places",
        "carriers",
        "escalations",
        "failed_http",
        "failed_runs",
        "id_hex",
        "outcomes",
        "runs",
        "spans",
        "tools",
        "tops",
        "trace_id",
    )

    def __init__(self, trace_id: bytes) -> None:
        self.trace_id = trace_id
        self.id_hex = trace_id.hex()
        self.spans: dict[bytes, SpanFacts] = {}
        self.tools: list[ToolSpan] = []
        self.runs: list[SpanFacts] = []
        self.escalations: list[tuple[SpanFacts, EscalationFacts]] = []
        self.carriers: list[SpanFacts] = []
        self.outcomes: list[SpanFacts] = []
        self.failed_http: list[SpanFacts] = []
        self.failed_runs: dict[bytes, list[SpanFacts]] = {}
        self.tops: dict[str, list[SpanFacts]] = {}
        self._places: dict[bytes, Place] = {}
        self._cuts: set[bytes] = set()
        self._joined: str | None = None

    def place(self, span: SpanFacts) -> Place:
        """
        What holds at *span* itself.
        """
        return self._places.get(span.span_id) or self._climb(span.span_id)

    def above(self, span: SpanFacts) -> Place:
        """
        What holds above *span*.
        """
        parent_id = span.parent_id
        if not parent_id:
            return TOP
        place = self._places.get(parent_id) or self._climb(parent_id)
        if self._cuts and span.span_id in self._cuts:
            return BROKEN
        return place

    def task_of(self, place: Place) -> str:
        """
        The id of the task to which what is at *place* belongs.
        """
        return place.task_id or (self._only_run() if place.is_broken else self.id_hex)

    def _only_run(self) -> str:
        """
        The task of the trace's only outermost run, else the trace's own.
        """
        if self._joined is None:
            outermost = [run for run in self.runs if not self.above(run).run]
            self._joined = self.place(outermost[0]).task_id if len(outermost) == 1 else self.id_hex
        return self._joined

    def _climb(self, first_id: bytes) -> Place:
        """
        Enter the spans from *first_id* up to one whose place is known, topmost first.
        """
        spans, places, cuts = self.spans, self._places, self._cuts
        path: dict[bytes, SpanFacts] = {}
        span_id, place = first_id, None
        while place is None:
            span = spans.get(span_id)
            if span is None:
                place = places[span_id] = BROKEN
            elif span_id in path:
                on_path = list(path.values())
                circle = on_path[list(path).index(span_id) :]
                cuts.add(min((member.start_ns, member.span_id) for member in circle)[1])
                return self._climb(first_id)  # a chain meets one circle at most, and this one is open now
            else:
                path[span_id] = span
                if span_id in cuts:
                    place = BROKEN
                else:
                    span_id = span.parent_id
                    place = places.get(span_id) if span_id else TOP
        for span in reversed(path.values()):
            places[span.span_id] = place = self._enter(span, place)
        return place

    def _enter(self, span: SpanFacts, above: Place) -> Place:
        """
        What holds at *span*, below *above*.
        """
        role, marks, call = span.role, span.marks, span.call
        given_task, given_step = (marks.task_id, marks.step_id) if marks is not None else ("", "")
        if not (given_task or given_step or role == _RUN or call is not None):
            return above
        task_id, step_id, run, tool = above.task_id, above.step_id, above.run, above.tool
        if given_task and given_task != task_id:
            task_id, step_id = given_task, self._return_to(given_task, span, above)
        elif role == _RUN and not task_id:
            task_id, step_id = run_task_id(span), ""
            self.tops[task_id] = [span]
        if role == _RUN:
            run, tool = span.span_id, None
        elif call is not None:
            tool = (span, call)
        return Place(task_id, given_step or step_id, run, tool, above, above.is_broken)

    def _return_to(self, task_id: str, span: SpanFacts, above: Place) -> str:
        """
        The step that holds where *span* names *task_id* below another task; it is a top unless that id is further up.
        """
        # whatever is further up is a top already: an id that is new to the trace needs no climb
        outer: Place | None = above if task_id in self.tops else None
        while outer is not None:
            if outer.task_id == task_id:
                return outer.step_id
            outer = outer.outer
        self.tops.setdefault(task_id, []).append(span)
        return ""


def read_traces(spans: Iterable[SpanFacts]) -> dict[bytes, Trace]:
    """
    The traces of *spans* by trace id; of spans with one id the first stays.
    """
    traces: dict[bytes, Trace] = {}
    for span in spans:
        # taking all fields at once costs less than asking for four of them by name
        trace_id, span_id, _, _, _, role, _, marks, call, escalation, http_status = span
        trace = traces.get(trace_id)
        if trace is None:
            trace = traces[trace_id] = Trace(trace_id)
        if span_id in trace.spans:
            continue
        trace.spans[span_id] = span
        if call is not None:
            trace.tools.append((span, call))
        elif role == _RUN:
            trace.runs.append(span)
        if escalation is not None:
            trace.escalations.append((span, escalation))
        if http_status:
            trace.failed_http.append(span)
        if marks is not None:
            if marks.task_id:
                trace.carriers.append(span)
            if marks.outcome:
                trace.outcomes.append(span)
    for trace in traces.values():
        _place_tops(trace)
    return traces


def _place_tops(trace: Trace) -> None:
    """
    Find the topmost spans of tasks, before anything asks to which task it belongs.
    """
    for span in trace.carriers:
        trace.place(span)
    for span in trace.runs:
        trace.place(span)
        if span.is_error and (run := trace.above(span).run):
            trace.failed_runs.setdefault(run, []).append(span)
