"""
What follows from what, for one tool in one task: steps, verdicts on retries, what the agent did after a failure.

Most tools of most tasks have no failure, and then there is nothing to link: every call is a step of its own.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from toolspan.derivation.calls import Execution
from toolspan.derivation.escalations import Heard
from toolspan.derivation.links import RETRY, link
from toolspan.taxonomy import ErrorClass

_NS_PER_MS: Final = 1_000_000

#: Classes after which the identical call may succeed, as far as anybody knows.
_MAY_PASS: Final = (ErrorClass.TRANSIENT, ErrorClass.UNCLASSIFIED)


def relate(calls: Sequence[Execution], heard: Heard, starts_ns: Sequence[int]) -> None:
    """
    Write into *calls*, of one task and tool and in order, what they answer and what was done about those that failed.

    Args:
        heard: the escalations of the task.
        starts_ns: when each call of the task started, of any tool, in order.
    """
    # by the step's id, else by its first call: span ids may repeat across traces
    retries: dict[str | tuple[bytes, bytes], int] = {}
    heads: dict[tuple[bytes, bytes], tuple[bytes, bytes]] = {}
    # a call that is the tool's only one answers nothing
    for failure, call, kind, presumed in link(calls) if len(calls) > 1 else ():
        failure.next_action = kind
        call.step, call.follows, call.follow_up, call.presumed = failure.step, failure.span_id, kind, presumed
        failed_key = (failure.trace_id, failure.span_id)
        head = heads[call.trace_id, call.span_id] = heads.get(failed_key, failed_key)
        if kind == RETRY:
            step = call.step_id or head
            nth = retries[step] = retries.get(step, 0) + 1
            call.verdict = _verdict(call, failure, heard, nth=nth)
            if call.verdict == "wasted":
                call.wasted_ns = call.ended_ns - failure.ended_ns
    for call in calls:
        if call.outcome == "error" and call.next_action is None:
            call.next_action = _reaction(call, heard, starts_ns)


def _verdict(retry: Execution, failure: Execution, heard: Heard, *, nth: int) -> str:
    """
    What to say of a *retry* of *failure*, the *nth* of the tool in its step.
    """
    if failure.error_class not in _MAY_PASS and not _may_be_approved(retry, failure, heard):
        return "wasted"
    if nth > 1:
        return "over_cap"
    if failure.error_class == ErrorClass.TRANSIENT and failure.retry_after_ms is not None:
        is_early = retry.started_ns < failure.ended_ns + failure.retry_after_ms * _NS_PER_MS
        return "early" if is_early else "allowed"
    return "allowed"


def _may_be_approved(retry: Execution, failure: Execution, heard: Heard) -> bool:
    """
    Whether a human was asked between a permission *failure* and its *retry*, and so may have changed what it takes.
    """
    if failure.error_class != ErrorClass.PERMISSION:
        return False
    asked = heard.first(failure.tool, failure.ended_ns, but=retry)
    return asked is not None and asked.at_ns <= retry.started_ns


def _reaction(failure: Execution, heard: Heard, starts_ns: Sequence[int]) -> str:
    """
    What the agent did after a *failure* that no call answers.
    """
    if heard.first(failure.tool, failure.ended_ns, but=failure) is not None:
        return "escalated"
    later = len(starts_ns) - bisect_left(starts_ns, failure.ended_ns)
    if failure.started_ns >= failure.ended_ns:
        later -= 1  # a failure of no length starts at its own end
    return "other" if later else "nothing"
