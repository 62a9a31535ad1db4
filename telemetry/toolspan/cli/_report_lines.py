"""
What `report` says in words: which target a tool breaks, where its damage comes from, what weakens its numbers.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from toolspan.cli._actions import action_for
from toolspan.cli._text import counted, duration, inert, number, percent, percent_below
from toolspan.documents import Recovery, Report, Tasks, ToolReport
from toolspan.numbers import Targets

#: Longer lines are hard to read on any terminal.
_MOST_COLUMNS: Final = 100


def tasks_line(tasks: Tasks) -> str:
    """
    The tasks by outcome: "12 tasks: 10 resolved, 1 escalated, 1 open".
    """
    outcomes = (
        (tasks["resolved"], "resolved"),
        (tasks["unresolved"], "unresolved"),
        (tasks["escalated"], "escalated"),
        (tasks["unknown"], "of unknown outcome"),
        (tasks["open"], "open"),
    )
    parts = ", ".join(f"{count:,} {name}" for count, name in outcomes if count)
    return f"{counted(tasks['total'], 'task')}{f': {parts}' if parts else ''}"


def broken_lines(tools: Mapping[str, ToolReport], targets: Targets) -> list[str]:
    """
    Each broken target and what to do about it, the tool with the most damage first.
    """
    return [
        _with_action(f"! {inert(name)}: {_broken(target, tool, targets)}", action_for(target, tool))
        for name, tool in tools.items()
        for target in tool["broken"]
    ]


def _with_action(line: str, action: str) -> str:
    """
    *line* and *action* on one line where they fit, else on two.
    """
    joined = f"{line}; {action}" if action else line
    return joined if len(joined) <= _MOST_COLUMNS else f"{line}\n  {action}" if action else line


def damage_lines(tools: Mapping[str, ToolReport]) -> list[str]:
    """
    What the damage of each tool is made of, the largest part first; tools without damage are left out.
    """
    return [f"{inert(name)}: {_damage(tool)}" for name, tool in tools.items() if tool["damage"]]


def note_lines(report: Report) -> list[str]:
    """
    What the columns count, what the shares in parentheses mean where there are any, and what to do about them.
    """
    details = [tool["detail"] for tool in report["tools"].values()]
    notes = [
        "retries/task: mean and p95 of resolved tasks; recovered: validation failures; at once: permission failures."
    ]
    if any(detail["unclassified_share"] for detail in details):
        notes.append("(unclassified): failures of which the evidence names no class; `toolspan quality` lists it.")
    if any(detail["presumed_share"]["retries"] or detail["presumed_share"]["rewrites"] for detail in details):
        notes.append(
            "(presumed): links that rest on unknown arguments; `toolspan doctor FILE` says how to record them."
        )
    return notes


def _broken(target: str, tool: ToolReport, targets: Targets) -> str:
    if target == "retries_per_step":
        return _retries_per_step(tool, targets)
    if target == "retries_p95":
        return _retries_p95(tool, targets)
    if target == "validation_recovery":
        return _validation_recovery(tool, targets)
    return _clean_escalations(tool, targets)


def _retries_per_step(tool: ToolReport, targets: Targets) -> str:
    retries = tool["retries"]
    return (
        f"{number(retries['per_step'] or 0)} retries per step in {counted(retries['steps'], 'step')}"
        f" (target under {number(targets.retries_per_step)}){_wasted_after(tool)}"
    )


def _retries_p95(tool: ToolReport, targets: Targets) -> str:
    per_task = tool["retries_per_resolved_task"]
    return (
        f"p95 of {per_task['resolved_tasks']:,} resolved tasks is {counted(per_task['p95'] or 0, 'retry')}"
        f" (target {targets.retries_p95}){_wasted_after(tool)}"
    )


def _validation_recovery(tool: ToolReport, targets: Targets) -> str:
    recovery = tool["validation_recovery"]
    share = percent_below(recovery["rate"] or 0, targets.validation_recovery)
    return (
        f"{share} of {recovery['failures']:,} validation failures recover"
        f" (target {percent(targets.validation_recovery)}){_worst_field(tool)}"
    )


def _clean_escalations(tool: ToolReport, targets: Targets) -> str:
    escalations = tool["escalations"]
    share = percent_below(escalations["rate"] or 0, targets.clean_escalations)
    return (
        f"{share} of {counted(escalations['escalated'], 'permission escalation')} came without a retry before"
        f" (target {percent(targets.clean_escalations)})"
    )


def _worst_field(tool: ToolReport) -> str:
    """
    The field, else the code, that loses most, where one is known.
    """
    for kind, by in (("field", tool["detail"]["recovery_by_field"]), ("code", tool["detail"]["recovery_by_code"])):
        name, worst = next(((name, recovery) for name, recovery in by.items() if name), ("", None))
        if worst is not None and _lost(worst):
            return f"; {kind} `{inert(name)}`, {_lost(worst):,} of {worst['failures']:,} lost"
    return ""


def _lost(recovery: Recovery) -> int:
    return recovery["failures"] - recovery["recovered"]


def _wasted_after(tool: ToolReport) -> str:
    wasted = tool["retries"]["wasted"]
    code = next(iter(tool["detail"]["wasted_by_code"]), None)
    if not wasted or code is None:
        return ""
    return f"; {wasted:,} of {counted(tool['retries']['total'], 'retry')} wasted, most after {inert(code)}"


def _damage(tool: ToolReport) -> str:
    parts = sorted(_damage_parts(tool), key=lambda part: -part[0])
    return ", ".join(text for count, text in parts if count)


def _damage_parts(tool: ToolReport) -> Iterator[tuple[int, str]]:
    retries, escalations = tool["retries"], tool["escalations"]
    lost = _lost(tool["validation_recovery"])
    yield lost, f"{counted(lost, 'validation failure')} not recovered"
    code = next(iter(tool["detail"]["wasted_by_code"]), None)
    after = "" if code is None else f", most after {inert(code)}"
    yield retries["wasted"], f"{counted(retries['wasted'], 'wasted retry')} ({duration(retries['wasted_ms'])}{after})"
    yield retries["over_cap"], f"{counted(retries['over_cap'], 'retry')} over the cap"
    yield retries["early"], f"{counted(retries['early'], 'early retry')}"
    late = escalations["escalated"] - escalations["without_prior_retry"]
    yield late, f"{counted(late, 'escalation')} after a retry"
