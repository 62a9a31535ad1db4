"""
Permission episodes: from a tool's first permission failure to the moment in which a human heard of it.

The promise is that a tool which answers "not allowed" is not called again before somebody was asked, so every call
of the tool in between counts, whatever its arguments: an agent that varies a denied call has still tried again.
"""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from toolspan.derivation.calls import Execution
from toolspan.derivation.escalations import Heard, is_itself
from toolspan.records import Episode, Escalation
from toolspan.taxonomy import ErrorClass

# looking up a member of an enum takes 60 ns, a constant 5
_PERMISSION: Final = ErrorClass.PERMISSION.value
_STARTED_NS: Final = attrgetter("started_ns")


def find_episodes(calls: Sequence[Execution], heard: Heard) -> list[Episode]:
    """
    The permission episodes among *calls*, of one task and tool and in order.
    """
    episodes: list[Episode] = []
    reopens_ns: int | None = None
    for call in calls:
        if call.error_class != _PERMISSION:
            continue
        if reopens_ns is not None and call.started_ns < reopens_ns:
            continue
        closing = heard.first(call.tool, call.ended_ns)
        closed_ns = None if closing is None else closing.at_ns
        retries = _calls_between(calls, call, closing)
        episodes.append(Episode(call.task_id, call.tool, call.span_id, call.ended_ns, closed_ns, retries))
        if closed_ns is None:
            break
        reopens_ns = closed_ns
    return episodes


def _calls_between(calls: Sequence[Execution], opening: Execution, closing: Escalation | None) -> int:
    """
    How many of *calls* start at or after the end of *opening* and before *closing*, beside those two themselves.
    """
    first = bisect_left(calls, opening.ended_ns, key=_STARTED_NS)
    end = len(calls) if closing is None else bisect_left(calls, closing.at_ns, key=_STARTED_NS)
    between = calls[first:end]
    return sum(call is not opening and (closing is None or not is_itself(closing, call)) for call in between)
