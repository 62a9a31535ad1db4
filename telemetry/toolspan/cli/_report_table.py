"""
`report --format table`: which tool hurts, and how.

The worst tool stands first. Beside each number stand the cases it rests on, below it in parentheses the share of them
that is presumed or unclassified; a number that breaks its target ends in `!` and is said in words below the table.
"""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from toolspan.cli._failing import failing_lines, failing_tools
from toolspan.cli._report_lines import broken_lines, damage_lines, note_lines, tasks_line
from toolspan.cli._tables import (
    Column,
    print_heading,
    print_lines,
    print_section,
    print_table,
    window_lines,
)
from toolspan.cli._text import inert, number, percent
from toolspan.documents import Report, ToolReport
from toolspan.numbers import Targets
from toolspan.records import Rows

_COLUMNS = (
    Column("tool", is_name=True),
    Column("damage"),
    Column("calls failed\n(unclassified)"),
    Column("retries/task\n(presumed)"),
    Column("recovered\n(presumed)"),
    Column("escalated\nat once"),
)
_NOTHING = "-"


def print_reports(
    console: Console, reports: Mapping[str, Report], *, rows: Mapping[str, Rows], by: str | None, targets: Targets
) -> None:
    """
    Each of *reports* under its value of *by*; without *by* there is one, and no heading.

    Args:
        rows: the rows that each report was counted from.
    """
    for place, (value, report) in enumerate(reports.items()):
        print_heading(console, by, value, place)
        _print_report(console, report, rows[value], targets)


def _print_report(console: Console, report: Report, rows: Rows, targets: Targets) -> None:
    print_lines(console, [tasks_line(report["tasks"]), *window_lines(report["window"])])
    if not report["tools"]:
        print_lines(console, ["No tool was called."])
        return
    console.print()
    print_table(console, _COLUMNS, [_row(name, tool) for name, tool in report["tools"].items()])
    print_section(console, "Broken targets", broken_lines(report["tools"], targets), style="red")
    print_section(console, "Damage", damage_lines(report["tools"]))
    failing = failing_tools(report, min_calls=targets.min_cases)
    print_section(console, "Failing", failing_lines(report["tools"], failing, rows))
    console.print()
    print_lines(console, note_lines(report), style="dim")


def _row(name: str, tool: ToolReport) -> list[str | Text]:
    failed = sum(tool["errors"].values())
    detail, broken = tool["detail"], tool["broken"]
    recovery, escalations = tool["validation_recovery"], tool["escalations"]
    return [
        inert(name),
        f"{tool['damage']:,}",
        _cell(_of(failed, tool["calls"]), detail["unclassified_share"]),
        _cell(
            _retries(tool),
            detail["presumed_share"]["retries"],
            is_broken="retries_per_step" in broken or "retries_p95" in broken,
        ),
        _cell(
            _of(recovery["recovered"], recovery["failures"]),
            detail["presumed_share"]["rewrites"],
            is_broken="validation_recovery" in broken,
        ),
        _cell(
            _of(escalations["without_prior_retry"], escalations["escalated"]), is_broken="clean_escalations" in broken
        ),
    ]


def _of(part: int, whole: int) -> str:
    return f"{percent(part / whole)} of {whole:,}" if whole else _NOTHING


def _retries(tool: ToolReport) -> str:
    """
    Mean and 95th percentile per resolved task; where none is resolved, retries per step.
    """
    per_task, per_step = tool["retries_per_resolved_task"], tool["retries"]["per_step"]
    if per_task["mean"] is not None:
        return f"{number(per_task['mean'])} p95 {per_task['p95']}"
    return _NOTHING if per_step is None else f"{number(per_step)} a step"


def _cell(value: str, weak_share: float | None = None, *, is_broken: bool = False) -> Text:
    text = Text(f"{value}!" if is_broken else value, style="bold red" if is_broken else "")
    if weak_share:
        text.append(f"\n({percent(weak_share)})", style="yellow")
    return text
