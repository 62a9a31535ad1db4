"""
`quality --format table`: which numbers and which tools not to believe.
"""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from toolspan.cli._quality_lines import finding_lines, quality_tasks_line, recording_lines, unhandled_lines
from toolspan.cli._tables import (
    Column,
    print_heading,
    print_lines,
    print_section,
    print_table,
    window_lines,
)
from toolspan.cli._text import inert, number, percent
from toolspan.documents import Quality, ToolQuality

_COLUMNS = (
    Column("tool", is_name=True),
    Column("failed\ncalls"),
    Column("unclassified"),
    Column("suspect\ncodes"),
    Column("longest\nstreak"),
    Column("links\npresumed"),
    Column("attempts\nper call"),
)
_NOTHING = "-"


def print_qualities(console: Console, qualities: Mapping[str, Quality], *, by: str | None) -> None:
    """
    Each of *qualities* under its value of *by*; without *by* there is one, and no heading.
    """
    for place, (value, quality) in enumerate(qualities.items()):
        print_heading(console, by, value, place)
        print_lines(console, [quality_tasks_line(quality["tasks"]), *window_lines(quality["window"])])
        if not quality["tools"]:
            print_lines(console, ["No tool was called."])
            continue
        console.print()
        print_table(console, _COLUMNS, [_row(name, tool) for name, tool in quality["tools"].items()])
        print_section(console, "Findings", finding_lines(quality["tools"]))
        print_section(console, "Unhandled failures", unhandled_lines(quality["unhandled_failures"]))
        print_section(console, "Presumed links", recording_lines(quality["tools"]))


def _row(name: str, tool: ToolQuality) -> list[str | Text]:
    suspects = sum(row["suspect"] for row in tool["class_audit"])
    links = tool["presumed"]["links"]
    return [
        inert(name),
        f"{tool['failures']:,} of {tool['calls']:,}",
        _share(tool["unclassified"]["share"]),
        Text(f"{suspects}!", style="bold red") if suspects else _NOTHING,
        f"{tool['streak']['longest']:,}" if tool["streak"]["longest"] else _NOTHING,
        f"{percent(tool['presumed']['share'] or 0)} of {links:,}" if links else _NOTHING,
        number(tool["local_attempts"]["attempts_per_call"] or 0),
    ]


def _share(share: float | None) -> str:
    return _NOTHING if share is None else percent(share)
