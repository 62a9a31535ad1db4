"""
What one task did with one tool, summed: the row from which the three numbers are made.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from toolspan.calls import Execution
from toolspan.lineage import Link
from toolspan.links import REWRITE
from toolspan.records import Episode, TaskTool
from toolspan.taxonomy import ErrorClass

# looking up a member of an enum takes 60 ns, a constant 5
_VALIDATION: Final = ErrorClass.VALIDATION.value


def sum_clean(calls: Sequence[Execution]) -> TaskTool:
    """
    The sums over *calls*, of one task and tool, none of which failed.
    """
    first, steps = calls[0], _count_steps(calls)
    return TaskTool(first.task_id, first.tool, len(calls), 0, 0, 0, 0, 0, 0, 0, steps, 0, 0, 0, 0, 0, 0, 0, None)


def sum_up(calls: Sequence[Execution], links: Sequence[Link], episodes: Sequence[Episode]) -> TaskTool:
    """
    The sums over *calls*, of one task and tool and in order, with their *links* and *episodes*.
    """
    heads = [call for call, one in zip(calls, links, strict=True) if one.follows is None]
    retries, recovered, accepted = (0, 0, 0, 0, 0, 0, 0), 0, 0
    if len(heads) < len(calls):
        retries = _sum_retries(links)
        recovered, accepted = _sum_rewrites(calls, links)
    told = [episode for episode in episodes if episode.closed_ns is not None] if episodes else []
    streak, streak_code = longest_streak(calls)
    first = calls[0]
    return TaskTool(
        first.task_id,
        first.tool,
        len(calls),
        *retries,
        _count_steps(heads),
        [call.error_class for call in calls].count(_VALIDATION),
        recovered,
        accepted,
        len(episodes),
        len(told),
        [episode.retries for episode in told].count(0),
        streak,
        streak_code,
    )


def _count_steps(heads: Iterable[Execution]) -> int:
    """
    The steps of calls of which none answers another: those given, and one for every call without.
    """
    given: set[str] = set()
    own = 0
    for call in heads:
        if call.step_id:
            given.add(call.step_id)
        else:
            own += 1
    return len(given) + own


def _sum_retries(links: Iterable[Link]) -> tuple[int, int, int, int, int, int, int]:
    """
    Retries: all, presumed, then by verdict (allowed, early, over the cap, wasted), and the time wasted.
    """
    retries = [one for one in links if one.verdict is not None]
    verdicts = [one.verdict for one in retries]
    return (
        len(retries),
        sum(one.presumed for one in retries),
        verdicts.count("allowed"),
        verdicts.count("early"),
        verdicts.count("over_cap"),
        verdicts.count("wasted"),
        sum(one.wasted_ns for one in retries),
    )


def _sum_rewrites(calls: Sequence[Execution], links: Sequence[Link]) -> tuple[int, int]:
    """
    Rewrites: those that ended `ok`, and those that were no longer a validation failure.
    """
    rewrites = [call for call, one in zip(calls, links, strict=True) if one.follow_up == REWRITE]
    recovered = sum(call.outcome == "ok" for call in rewrites)
    accepted = sum(call.error_class != _VALIDATION for call in rewrites)
    return recovered, accepted


def longest_streak(calls: Iterable[Execution]) -> tuple[int, str | None]:
    """
    The length and the code of the longest run of failures with one code, of the first where there are several.

    A call that ended `ok` breaks a run; a cancelled or deferred one says nothing about the tool.
    """
    longest, longest_code = 0, None
    length, code = 0, None
    for call in calls:
        if call.outcome == "ok":
            length = 0
        elif call.outcome == "error":
            length = length + 1 if call.code == code else 1
            code = call.code
            if length > longest:
                longest, longest_code = length, code
    return longest, longest_code
