"""
What follows from what, for one tool in one task: steps, verdicts on retries, what the agent did after a failure.

Most tools of most tasks have no failure, and then there is nothing to link: every call is a step of its own.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolspan.calls import Execution
from toolspan.escalations import Heard
from toolspan.links import RETRY, link
from toolspan.taxonomy import ErrorClass

_NS_PER_MS: Final = 1_000_000

#: Classes after which the identical call may succeed, as far as anybody knows.
_MAY_PASS: Final = (ErrorClass.TRANSIENT, ErrorClass.UNCLASSIFIED)


@dataclass(slots=True)
class Link:
    """
    What ties a call to those before and after it; the fields are those of `Call`.
    """

    step: str
    follows: bytes | None = None
    follow_up: str | None = None
    presumed: bool = False
    verdict: str | None = None
    wasted_ns: int = 0
    next_action: str | None = None


def relate(calls: Sequence[Execution], heard: Heard, starts_ns: Sequence[int]) -> list[Link]:
    """
    The link of each of *calls*, of one task and tool and in order.

    Args:
        heard: the escalations of the task.
        starts_ns: when each call of the task started, of any tool, in order.
    """
    follow_ups = link(calls)
    answers = {follow_up.failure: follow_up.kind for follow_up in follow_ups.values()} if follow_ups else {}
    chains: dict[int, str | int] = {}
    retries: dict[str | int, int] = {}
    links: list[Link] = []
    for index, call in enumerate(calls):
        next_action = None
        if call.outcome == "error":
            next_action = answers.get(index) or _reaction(call, heard, starts_ns)
        follow_up = follow_ups.get(index)
        if follow_up is None:
            step = call.step_id or call.span_id.hex()
            links.append(Link(step, None, None, False, None, 0, next_action))
            continue
        failure, step = calls[follow_up.failure], links[follow_up.failure].step
        # a step is told from others by its id, or by the place of its first call: span ids may repeat across traces
        chain = chains[index] = call.step_id or chains.get(follow_up.failure, follow_up.failure)
        verdict, wasted_ns = None, 0
        if follow_up.kind == RETRY:
            nth = retries[chain] = retries.get(chain, 0) + 1
            verdict = _verdict(call, failure, heard, nth=nth)
            wasted_ns = call.ended_ns - failure.ended_ns if verdict == "wasted" else 0
        _, kind, presumed = follow_up
        links.append(Link(step, failure.span_id, kind, presumed, verdict, wasted_ns, next_action))
    return links


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
