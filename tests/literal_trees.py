"""
Ancestors, tasks and calls traced twice once more, word by word from their definitions and as slow as those read.

MCP client and server spans are not paired here.
"""

from collections.abc import Sequence

from toolspan.records import Call, Escalation, Marks, Role, SpanFacts

NO_MARKS = Marks()
OUTCOMES = ("resolved", "unresolved", "escalated")
MS = 1_000_000


class Forest:
    """
    All spans of a group, each once.
    """

    def __init__(self, spans: Sequence[SpanFacts]) -> None:
        self.spans = spans

    def find(self, trace_id: bytes, span_id: bytes) -> SpanFacts | None:
        for span in self.spans:
            if (span.trace_id, span.span_id) == (trace_id, span_id):
                return span
        return None

    def chain(self, span: SpanFacts) -> tuple[list[SpanFacts], bool]:
        """
        The span and its ancestors, nearest first, and whether the chain is broken.
        """
        chain = [span]
        while chain[-1].parent_id:
            parent = self.find(span.trace_id, chain[-1].parent_id)
            if parent is None:
                return chain, True
            if parent in chain:
                circle = chain[chain.index(parent) :]
                cut = min(circle, key=lambda member: (member.start_ns, member.span_id))
                return chain[: chain.index(cut) + 1], True
            chain.append(parent)
        return chain, False

    def outermost_runs(self, trace_id: bytes) -> list[SpanFacts]:
        """
        The agent runs of a trace that lie below no other.
        """
        runs = [span for span in self.spans if span.trace_id == trace_id and span.role == Role.RUN]
        return [run for run in runs if not any(above.role == Role.RUN for above in self.chain(run)[0][1:])]

    def task_id(self, span: SpanFacts) -> str:
        """
        The task to which a span belongs.
        """
        chain, is_broken = self.chain(span)
        for above in chain:
            if (above.marks or NO_MARKS).task_id:
                return (above.marks or NO_MARKS).task_id
        runs = [above for above in chain if above.role == Role.RUN]
        if runs:
            return f"{span.trace_id.hex()}-{runs[-1].span_id.hex()}"
        outermost = self.outermost_runs(span.trace_id)
        if is_broken and len(outermost) == 1:
            return self.task_id(outermost[0])
        return span.trace_id.hex()

    def step_id(self, span: SpanFacts) -> str:
        """
        The step given on the span or on its nearest ancestor inside the task.
        """
        chain, _ = self.chain(span)
        ids = [self.given_id(above) for above in chain]
        runs = [place for place, above in enumerate(chain) if above.role == Role.RUN]
        for place, above in enumerate(chain):
            is_inside = ids[place] == ids[0] if ids[0] else not runs or place <= runs[-1]
            if is_inside and (above.marks or NO_MARKS).step_id:
                return (above.marks or NO_MARKS).step_id
        return ""

    def given_id(self, span: SpanFacts) -> str:
        """
        The nearest task id at or above a span.
        """
        ids = [(above.marks or NO_MARKS).task_id for above in self.chain(span)[0]]
        return next((task_id for task_id in ids if task_id), "")

    def parent_run(self, span: SpanFacts) -> bytes:
        """
        The nearest agent run above.
        """
        return next((above.span_id for above in self.chain(span)[0][1:] if above.role == Role.RUN), b"")

    def outermost(self, span: SpanFacts) -> SpanFacts:
        """
        The outermost span of the call that a tool span traces.
        """
        found = span
        for above in self.chain(span)[0][1:]:
            if above.role == Role.RUN:
                break
            if above.call is not None and span.call is not None and above.call.tool == span.call.tool:
                found = above
        return found

    def call_of(self, span: SpanFacts, calls: Sequence[Call]) -> Call:
        """
        Of *calls*, the one to which a tool span belongs, where one call id never goes with two arguments.
        """
        top = self.outermost(span)
        task_id, call_id = self.task_id(top), self.call_id(top)
        for call in calls:
            first = self.find(call.trace_id, call.span_id)
            assert first is not None
            if first == top:
                return call
            tool = top.call.tool if top.call is not None else ""
            if call_id and (task_id, tool, call_id) == (call.task_id, call.tool, self.call_id(first)):
                return call
        raise AssertionError(span)

    def call_id(self, top: SpanFacts) -> str:
        """
        The call id of the call whose outermost span is *top*: of its spans, the outermost that has one says it.
        """
        members = [span for span in self.spans if span.call is not None and self.outermost(span) == top]
        members.sort(key=lambda span: (self.depth(span), span.start_ns, span.span_id))
        return next((member.call.call_id for member in members if member.call and member.call.call_id), "")

    def depth(self, span: SpanFacts) -> int:
        """
        How many spans of its call lie above.
        """
        depth = 0
        for above in self.chain(span)[0][1:]:
            if above.role == Role.RUN:
                break
            depth += above.call is not None and span.call is not None and above.call.tool == span.call.tool
        return depth

    def escalations(self) -> list[Escalation]:
        """
        The escalations for which spans stand.
        """
        found: list[Escalation] = []
        for span in self.spans:
            base = (self.task_id(span), span.trace_id, span.span_id)
            said = span.escalation
            if said is not None:
                tool = said.tool
                if said.source == "elicitation":
                    above = (above.call.tool for above in self.chain(span)[0][1:] if above.call is not None)
                    tool = next(above, "")
                at_ns = span.end_ns if said.source == "run" else span.start_ns
                found.append(Escalation(*base, at_ns, tool, said.reason, said.source))
            if span.call is not None and span.call.judgement.outcome == "deferred":
                found.append(Escalation(*base, span.end_ns, span.call.tool, "", "deferred"))
        return found

    def task_ids(self) -> set[str]:
        """
        The tasks there are.
        """
        found = {self.given_id(span) for span in self.spans if (span.marks or NO_MARKS).task_id}
        for span in self.spans:
            whole = [other for other in self.spans if other.trace_id == span.trace_id]
            is_task = any(other.call is not None or other.role == Role.RUN for other in whole)
            asks = span.escalation is not None or (span.call is not None)
            if is_task and (asks or span.role == Role.RUN):
                found.add(self.task_id(span))
        return found

    def task_spans(self, task_id: str) -> list[SpanFacts]:
        """
        The spans that stand for a task, by start.
        """
        found: list[SpanFacts] = []
        for span in self.spans:
            if span.role == Role.TOOL or self.task_id(span) != task_id:
                continue
            chain, _ = self.chain(span)
            carried = (span.marks or NO_MARKS).task_id == task_id
            if carried and not any(self.given_id(above) == task_id for above in chain[1:]):
                found.append(span)
            is_run_task = f"{span.trace_id.hex()}-{span.span_id.hex()}" == task_id
            if is_run_task or (not span.parent_id and task_id == span.trace_id.hex()):
                found.append(span)
        return sorted(found, key=lambda span: (span.start_ns, span.span_id, span.trace_id))

    def members(self, task_id: str) -> list[SpanFacts]:
        """
        All spans that belong to a task.
        """
        return [span for span in self.spans if self.task_id(span) == task_id]

    def outcome(self, task_id: str, calls: Sequence[Call], escalations: Sequence[Escalation]) -> tuple[str, str]:
        """
        How a task ended, and what says so.
        """
        standing = sorted(self.task_spans(task_id), key=by_end)
        said = [span for span in standing[-1:] if (span.marks or NO_MARKS).outcome in OUTCOMES]
        said += sorted(
            (span for span in self.members(task_id) if (span.marks or NO_MARKS).outcome in OUTCOMES),
            key=by_end,
            reverse=True,
        )
        if said:
            return (said[0].marks or NO_MARKS).outcome, "attribute"
        for escalation in escalations:
            after = [
                call
                for call in calls
                if call.outcome == "ok"
                and call.ended_ns > escalation.at_ns
                and escalation.tool in ("", call.tool)
                and (escalation.source != "tool" or escalation.span_id != call.span_id)
            ]
            if not after:
                return "escalated", "escalation"
        if not standing:
            return "unknown", "unseen"
        last = standing[-1]
        runs = [run for run in self.spans if run.trace_id == last.trace_id and self.parent_run(run) == last.span_id]
        together = [run for run in runs if run.role == Role.RUN and abs(run.end_ns - last.end_ns) <= MS]
        return ("unresolved" if any(span.is_error for span in (last, *together)) else "resolved"), "status"


def by_end(span: SpanFacts) -> tuple[int, int, bytes, bytes]:
    """
    The order in which spans ended.
    """
    return span.end_ns, span.start_ns, span.span_id, span.trace_id
