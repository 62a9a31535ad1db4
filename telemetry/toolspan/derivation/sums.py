"""
What one task did with one tool, summed: the row from which the three numbers are made.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from toolspan.derivation.calls import Execution
from toolspan.derivation.links import RETRY, REWRITE
from toolspan.records import Episode, TaskTool
from toolspan.taxonomy import ErrorClass

# looking up a member of an enum takes 60 ns, a constant 5
# 0.23 µs, `TaskTool(…)` 0.43
_NO_RETRIES: Final = (0, 0, 0, 0, 0, 0, 0)
_NO_REWRITES: Final = (0, 0)
_make_sums: Final = TaskTool._make
_VALIDATION: Final = ErrorClass.VALIDATION.value


def sum_clean(calls: Sequence[Execution]) -> TaskTool:
    """
    The sums over *calls*, of one task and tool, none of which failed.
    """
    first = calls[0]
    return sums_of_clean(first.task_id, first.tool, len(calls), steps=_count_steps(calls))


def sums_of_clean(task_id: str, tool: str, calls: int, *, steps: int) -> TaskTool:
    """
    The sums over so many *calls* of a tool, none of which failed.
    """
    return _make_sums((task_id, tool, calls, 0, 0, 0, 0, 0, 0, 0, steps, 0, 0, 0, 0, 0, 0, 0, None))


def sum_up(calls: Sequence[Execution], episodes: Sequence[Episode]) -> TaskTool:
    """
    The sums over *calls*, of one task and tool, in order and linked, with their *episodes*.
    """
    answers = [call for call in calls if call.follows is not None]
    told = [episode for episode in episodes if episode.closed_ns is not None] if episodes else []
    streak, streak_code = longest_streak(calls)
    first = calls[0]
    return _make_sums(
        (
            first.task_id,
            first.tool,
            len(calls),
            *(_sum_retries(answers) if answers else _NO_RETRIES),
            _count_steps(calls),
            [call.error_class for call in calls].count(_VALIDATION),
            *(_sum_rewrites(answers) if answers else _NO_REWRITES),
            len(episodes),
            len(told),
            [episode.retries for episode in told].count(0) if told else 0,
            streak,
            streak_code,
        )
    )


def _count_steps(calls: Iterable[Execution]) -> int:
    """
    The steps of *calls*: those given, and one for every call without that answers none.
    """
    given: set[str] = set()
    own = 0
    for call in calls:
        if call.step_id:
            given.add(call.step_id)
        elif call.follows is None:
            own += 1
    return len(given) + own


def _sum_retries(answers: Iterable[Execution]) -> tuple[int, int, int, int, int, int, int]:
    """
    Retries: all, presumed, then by verdict (allowed, early, over the cap, wasted), and the time wasted.
    """
    retries = [call for call in answers if call.follow_up == RETRY]
    verdicts = [call.verdict for call in retries]
    return (
        len(retries),
        sum(call.presumed for call in retries),
        verdicts.count("allowed"),
        verdicts.count("early"),
        verdicts.count("over_cap"),
        verdicts.count("wasted"),
        sum(call.wasted_ns for call in retries),
    )


def _sum_rewrites(answers: Iterable[Execution]) -> tuple[int, int]:
    """
    Rewrites: those that ended `ok`, and those that were no longer a validation failure.
    """
    rewrites = [call for call in answers if call.follow_up == REWRITE]
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
