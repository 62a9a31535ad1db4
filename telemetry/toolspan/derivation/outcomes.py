"""
How a task ended, and whether a failure was passed over on the way.

What the agent says of itself comes first. Then an escalation that no success came after: the human has it now. Then
the status of the task's span, or of an agent run that ended with it, because frameworks set the status of the inner
span and leave the outer one unset.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from toolspan.derivation.ancestry import Trace
from toolspan.derivation.calls import CALL_ENDS, Execution
from toolspan.derivation.escalations import Heard, is_itself
from toolspan.derivation.order import by_end
from toolspan.derivation.tasks import Work
from toolspan.records import Call, Escalation, SpanFacts
from toolspan.taxonomy import ErrorClass

_OUTCOMES: Final = frozenset(("resolved", "unresolved", "escalated"))
#: A run that ends this close to the task's span ended with it.
_TOGETHER_NS: Final = 1_000_000
_ended_ns = attrgetter("ended_ns")


class Outcome(NamedTuple):
    """
    How a task ended, and what says so: `attribute`, `escalation`, `status`, `unseen`.
    """

    outcome: str
    source: str


def conclude(work: Work, last: SpanFacts | None, heard: Heard, traces: Mapping[bytes, Trace]) -> Outcome:
    """
    How *work* ended, *last* being the span that ended last of those that stand for it.
    """
    stated = _stated(work, last)
    if stated:
        return Outcome(stated, "attribute")
    if heard.escalations and _is_with_a_human(work.calls, heard.escalations):
        return Outcome("escalated", "escalation")
    if last is None:
        return Outcome("unknown", "unseen")
    has_failed = last.is_error or _has_failed_within(traces[last.trace_id], last)
    return Outcome("unresolved" if has_failed else "resolved", "status")


def _stated(work: Work, last: SpanFacts | None) -> str:
    """
    What the task's span says, else the span of the task that ended last and says something; else nothing.
    """
    if not work.outcomes:
        return ""
    if last is not None and last.marks is not None and last.marks.outcome in _OUTCOMES:
        return last.marks.outcome
    for span in sorted(work.outcomes, key=by_end, reverse=True):
        if span.marks is not None and span.marks.outcome in _OUTCOMES:
            return span.marks.outcome
    return ""


def _is_with_a_human(calls: Sequence[Execution], escalations: Sequence[Escalation]) -> bool:
    """
    Whether no call of the escalated tool ended `ok` after one of *escalations*.
    """
    successes = sorted((call for call in calls if call.outcome == "ok"), key=_ended_ns, reverse=True)
    # a call that is the escalation itself is no success after it, so of all calls the two latest are looked at
    latest = {"": successes[:2]}
    for call in successes:
        latest.setdefault(call.tool, [call])
    return not all(
        any(
            call.ended_ns > escalation.at_ns and not (escalation.source == "tool" and is_itself(escalation, call))
            for call in latest.get(escalation.tool, ())
        )
        for escalation in escalations
    )


def _has_failed_within(trace: Trace, span: SpanFacts) -> bool:
    """
    Whether an agent run directly below the task's *span* failed and ended with it.
    """
    below = trace.failed_runs.get(span.span_id, ())
    return any(abs(run.end_ns - span.end_ns) <= _TOGETHER_NS for run in below)


def is_unhandled(outcome: str, calls: Sequence[Execution | Call], heard: Heard) -> bool:
    """
    Whether a task resolved although its last call failed and no human heard of it.

    A business rule is no such failure: that the world forbids something can be the answer.
    """
    if outcome != "resolved" or not calls:
        return False
    last = max(calls, key=CALL_ENDS)
    if last.outcome != "error" or last.error_class == ErrorClass.BUSINESS_RULE:
        return False
    return not any(escalation.at_ns >= last.ended_ns for escalation in heard.escalations)
