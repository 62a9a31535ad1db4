"""
Tools that fail and are left alone: nothing is retried, so they do no damage and break no target, and still nobody gets
anything out of them.

Damage is what an agent adds to a failure; this is the failure itself.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from toolspan.cli._text import counted, inert
from toolspan.documents import Report, ToolReport
from toolspan.taxonomy import UNCLASSIFIED_CODE

#: From half on, failing is what the tool does.
_FAILING_SHARE: Final = 0.5


def failing_tools(report: Report, *, min_calls: int) -> list[str]:
    """
    The tools of *report* of whose calls, at least *min_calls*, half or more failed, and of which it says nothing else.
    """
    found = [
        (name, _failures(tool))
        for name, tool in report["tools"].items()
        if tool["calls"] >= min_calls and not tool["broken"] and not tool["damage"]
        if _failures(tool) >= _FAILING_SHARE * tool["calls"]
    ]
    return [name for name, _ in sorted(found, key=lambda item: (-item[1], item[0]))]


def failing_lines(tools: Mapping[str, ToolReport], names: Iterable[str]) -> list[str]:
    """
    A line for each of *names*: how often it failed, mostly of what, and how many unresolved tasks called it.
    """
    return [f"{inert(name)}: {_told(tools[name])}" for name in names]


def _told(tool: ToolReport) -> str:
    cause, stuck = tool["detail"]["causes"][0], tool["detail"]["unresolved_tasks"]
    named = cause["class"] if cause["code"] == UNCLASSIFIED_CODE else f"{cause['class']} {inert(cause['code'])}"
    line = f"{_failures(tool):,} of {counted(tool['calls'], 'call')} failed, {cause['failures']:,} {named}"
    return f"{line}; {counted(stuck, 'unresolved task')} called it" if stuck else line


def _failures(tool: ToolReport) -> int:
    return sum(tool["errors"].values())
