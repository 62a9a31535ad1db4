"""
`report --format table`: which tool hurts, and how.

The worst tool stands first. Beside each number stand the cases it rests on and, where there is one, in parentheses the
share of them that is presumed or unclassified (below the number where the terminal is narrow); a number that breaks its
target ends in `!` and is said in words below the table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

from toolspan.cli._failing import failing_lines, failing_tools
from toolspan.cli._report_lines import broken_lines, damage_lines, note_lines, tasks_line
from toolspan.cli._tables import (
    Column,
    is_wide_enough,
    print_heading,
    print_lines,
    print_section,
    print_table,
    window_lines,
)
from toolspan.cli._text import counted, inert, number, percent
from toolspan.documents import Report, ToolReport
from toolspan.numbers import Targets

_NOTHING = "-"
#: A table beyond this is no table for a person; where models make tool names up there can be thousands.
MOST_TOOLS: Final = 200


class _Cell(NamedTuple):
    """
    A number, and the share of its cases that weakens it.
    """

    value: str
    weak_share: float | None = None
    is_broken: bool = False


class _Weakness(NamedTuple):
    """
    What the shares of a column are of, as its heading says it and as it stands beside a number.
    """

    heading: str
    short: str


class _Number(NamedTuple):
    """
    A column of numbers.
    """

    heading: str
    weakness: _Weakness | None = None


_UNCLASSIFIED: Final = _Weakness("(unclassified)", "uncl.")
_PRESUMED: Final = _Weakness("(presumed)", "pres.")
_NUMBERS: Final = (
    _Number("damage"),
    _Number("calls failed", _UNCLASSIFIED),
    _Number("retries/task", _PRESUMED),
    _Number("recovered", _PRESUMED),
    _Number("escalated\nat once"),
)


def print_reports(console: Console, reports: Mapping[str, Report], *, by: str | None, targets: Targets) -> None:
    """
    Each of *reports* under its value of *by*; without *by* there is one, and no heading.
    """
    for place, (value, report) in enumerate(reports.items()):
        print_heading(console, by, value, place)
        _print_report(console, report, targets)


def _print_report(console: Console, report: Report, targets: Targets) -> None:
    print_lines(console, [tasks_line(report["tasks"]), *window_lines(report["window"])])
    if not report["tools"]:
        print_lines(console, ["No tool was called."])
        return
    console.print()
    _print_numbers(console, dict(islice(report["tools"].items(), MOST_TOOLS)))
    if len(report["tools"]) > MOST_TOOLS:
        more = len(report["tools"]) - MOST_TOOLS
        print_lines(
            console, [f"and {counted(more, 'tool')} more, of less damage; --format csv has all, --tool any one."]
        )
    print_section(console, "Broken targets", broken_lines(report["tools"], targets), style="red")
    print_section(console, "Damage", damage_lines(report["tools"]))
    failing = failing_tools(report, min_calls=targets.min_cases)
    print_section(console, "Failing", failing_lines(report["tools"], failing))
    console.print()
    print_lines(console, note_lines(report), style="dim")


def _print_numbers(console: Console, tools: Mapping[str, ToolReport]) -> None:
    names = [inert(name) for name in tools]
    numbers = list(zip(*map(_row, tools.values()), strict=True))
    columns = [Column("tool", is_name=True), *map(_column, _NUMBERS, numbers)]
    beside = list(zip(names, *map(_beside, _NUMBERS, numbers), strict=True))
    if is_wide_enough(console, columns, beside):
        print_table(console, columns, beside)
        return
    below = zip(names, *([_below(cell) for cell in cells] for cells in numbers), strict=True)
    print_table(console, [column._replace(is_aligned=False) for column in columns], list(below))


def _column(number: _Number, cells: Iterable[_Cell]) -> Column:
    if number.weakness is None or not any(cell.weak_share for cell in cells):
        return Column(number.heading)
    return Column(f"{number.heading}\n{number.weakness.heading}", is_aligned=True)


def _row(tool: ToolReport) -> Iterator[_Cell]:
    """
    The cells of a tool, one for each of `_NUMBERS`.
    """
    failed = sum(tool["errors"].values())
    detail, broken = tool["detail"], tool["broken"]
    recovery, escalations = tool["validation_recovery"], tool["escalations"]
    is_over = "retries_per_step" in broken or "retries_p95" in broken
    yield _Cell(f"{tool['damage']:,}")
    yield _Cell(_of(failed, tool["calls"]), detail["unclassified_share"])
    yield _Cell(_retries(tool), detail["presumed_share"]["retries"], is_over)
    yield _Cell(
        _of(recovery["recovered"], recovery["failures"]),
        detail["presumed_share"]["rewrites"],
        "validation_recovery" in broken,
    )
    yield _Cell(
        _of(escalations["without_prior_retry"], escalations["escalated"]),
        is_broken="clean_escalations" in broken,
    )


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


def _beside(number: _Number, cells: Sequence[_Cell]) -> list[Text]:
    """
    The *cells* with each share beside its number; the numbers stay below one another.
    """
    if number.weakness is None or not any(cell.weak_share for cell in cells):
        return [_value(cell) for cell in cells]
    longest = max(len(_value(cell)) for cell in cells)
    texts: list[Text] = []
    for cell in cells:
        text = _value(cell)
        text.pad_left(longest - len(text))
        texts.append(text.append(_share(cell, f" {number.weakness.short}", before=" "), style="yellow"))
    return texts


def _below(cell: _Cell) -> Text:
    return _value(cell).append(_share(cell, before="\n"), style="yellow")


def _value(cell: _Cell) -> Text:
    return Text(f"{cell.value}!", style="bold red") if cell.is_broken else Text(cell.value)


def _share(cell: _Cell, of: str = "", *, before: str) -> str:
    return f"{before}({percent(cell.weak_share)}{of})" if cell.weak_share else ""
