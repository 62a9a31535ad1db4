"""
Tools that fail and are left alone: nothing is retried, so they do no damage and break no target, and still nobody gets
anything out of them.

Damage is what an agent adds to a failure; this is the failure itself. The document of `report` counts classes and codes
apart and knows no tasks of a tool, so the rows are read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from toolspan.cli._text import counted, inert
from toolspan.documents import Report, ToolReport
from toolspan.records import Rows
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass

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


def failing_lines(tools: Mapping[str, ToolReport], names: Iterable[str], rows: Rows) -> list[str]:
    """
    A line for each of *names*: how often it failed, mostly of what, and how many unresolved tasks called it.

    Args:
        rows: those that *tools* were counted from.
    """
    return [f"{inert(name)}: {_told(name, tools[name], rows)}" for name in names]


def _told(name: str, tool: ToolReport, rows: Rows) -> str:
    causes = Counter(
        (call.error_class or ErrorClass.UNCLASSIFIED, call.code or UNCLASSIFIED_CODE)
        for call in rows.calls
        if call.tool == name and call.outcome == "error"
    )
    (error_class, code), count = min(causes.items(), key=lambda item: (-item[1], item[0]))
    cause = error_class if code == UNCLASSIFIED_CODE else f"{error_class} {inert(code)}"
    line = f"{_failures(tool):,} of {counted(tool['calls'], 'call')} failed, {count:,} {cause}"
    called = {call.task_id for call in rows.calls if call.tool == name}
    stuck = sum(task.outcome == "unresolved" and task.task_id in called for task in rows.tasks if task.settled)
    return f"{line}; {counted(stuck, 'unresolved task')} called it" if stuck else line


def _failures(tool: ToolReport) -> int:
    return sum(tool["errors"].values())
