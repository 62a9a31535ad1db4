"""
Two reports side by side: which numbers differ, and whether there are enough cases to say so.

A rate is different where its Wilson intervals (95 %) do not overlap: that is stricter than a test at 5 %, so that what
is called better or worse is seldom chance.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from toolspan.documents import Report, ToolReport
from toolspan.quality import wilson
from toolspan_dashboard.words import NOTHING, number, percent


class Share(NamedTuple):
    """
    *part* of *whole* cases.
    """

    part: int
    whole: int

    @property
    def text(self) -> str:
        """
        The share in words, with its cases.
        """
        return f"{percent(self.part / self.whole)} of {self.whole:,}" if self.whole else NOTHING


class Compared(NamedTuple):
    """
    One number of one tool in two reports: as text, and what can be said of the two.
    """

    tool: str
    name: str
    before: str
    after: str
    verdict: str


class _Number(NamedTuple):
    name: str
    of: Callable[[ToolReport], Share]
    is_more_better: bool


def _tail(tool: ToolReport) -> Share:
    tasks, tail = tool["retries_per_resolved_task"]["resolved_tasks"], tool["detail"]["tail"]
    return Share(round((tail or 0) * tasks), tasks)


def _failing(tool: ToolReport) -> Share:
    return Share(sum(tool["errors"].values()), tool["calls"])


def _recovered(tool: ToolReport) -> Share:
    return Share(tool["validation_recovery"]["recovered"], tool["validation_recovery"]["failures"])


def _clean(tool: ToolReport) -> Share:
    return Share(tool["escalations"]["without_prior_retry"], tool["escalations"]["escalated"])


def _in_vain(tool: ToolReport) -> Share:
    retries = tool["retries"]
    return Share(retries["wasted"] + retries["over_cap"] + retries["early"], retries["total"])


_NUMBERS: Final[Sequence[_Number]] = (
    _Number("Resolved tasks with more than one retry", _tail, is_more_better=False),
    _Number("Validation failures that recover", _recovered, is_more_better=True),
    _Number("Escalations without a retry before", _clean, is_more_better=True),
    _Number("Calls that fail", _failing, is_more_better=False),
    _Number("Retries in vain", _in_vain, is_more_better=False),
)


def compare(before: Report, after: Report, *, min_cases: int, tool: str | None = None) -> list[Compared]:
    """
    Each number of each tool that both or either of the reports has, the tools in order of damage.
    """
    names = dict.fromkeys([*after["tools"], *before["tools"]])
    return [
        compared
        for name in names
        if tool in (None, name)
        for compared in _compare_tool(name, before["tools"].get(name), after["tools"].get(name), min_cases)
    ]


def _compare_tool(name: str, before: ToolReport | None, after: ToolReport | None, min_cases: int) -> list[Compared]:
    none = Share(0, 0)
    found: list[Compared] = []
    for each in _NUMBERS:
        first = none if before is None else each.of(before)
        second = none if after is None else each.of(after)
        if first.whole or second.whole:
            verdict = judge(first, second, is_more_better=each.is_more_better, min_cases=min_cases)
            found.append(Compared(name, each.name, first.text, second.text, verdict))
    means = [NOTHING if tool is None else _mean(tool) for tool in (before, after)]
    if means != [NOTHING, NOTHING]:
        found.append(Compared(name, "Retries per resolved task", means[0], means[1], verdict=""))
    return found


def _mean(tool: ToolReport) -> str:
    per_task = tool["retries_per_resolved_task"]
    if per_task["mean"] is None:
        return NOTHING
    return f"mean {number(per_task['mean'])}, p95 {per_task['p95']}"


def judge(before: Share, after: Share, *, is_more_better: bool, min_cases: int) -> str:
    """
    What can be said of two shares of the same kind.
    """
    fewest = min(before.whole, after.whole)
    if fewest < min_cases:
        return f"too few cases: {fewest:,} of the {min_cases:,} it takes"
    low, high = wilson(before.part, before.whole)
    low_after, high_after = wilson(after.part, after.whole)
    if low_after <= high and low <= high_after:
        return "no clear difference"
    is_more = low_after > high
    return "better" if is_more == is_more_better else "worse"
