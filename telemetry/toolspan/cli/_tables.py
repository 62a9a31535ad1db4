"""
Tables and lines on a terminal or in a pipe, through rich.

No boxes: columns are parted by two spaces, which reads as well in a log as on a screen. Colour only marks what the
text says already (a broken target also ends in `!`), so nothing is lost with `NO_COLOR` or in a pipe. In a pipe
nothing is folded to a width either: each tool stays on its own lines for `grep`.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolspan.cli._text import inert
from toolspan.documents import Window

#: Wide enough that a pipe never folds a row; rich's own answer for a pipe is 80.
_PIPE_WIDTH = 1000
#: Of a section: more would push the table above it off the screen.
_MOST_LINES = 10


class Column(NamedTuple):
    """
    A column: its *heading* (lines parted by a newline) and whether it holds names, which may fold, or values.
    """

    heading: str
    is_name: bool = False


def open_console() -> Console:
    """
    A console on standard output that interprets nothing in the texts it is given.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def make_table(columns: Sequence[Column], rows: Iterable[Sequence[str | Text]]) -> Table:
    """
    A table without lines; names stand left and fold where the terminal is narrow, values stand right and never do.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(
            Text(column.heading),
            justify="left" if column.is_name else "right",
            overflow="fold",
            no_wrap=not column.is_name,
        )
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def print_table(console: Console, table: Table) -> None:
    """
    *table*; in a pipe without the spaces that fill up the last column.
    """
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_lines(console: Console, lines: Iterable[str], *, style: str = "") -> None:
    """
    Each of *lines*, wrapped between words where the terminal is narrow.
    """
    for line in lines:
        console.print(Text(line, style=style))


def print_heading(console: Console, by: str | None, value: str, place: int) -> None:
    """
    The heading of the group at *place*: its *value* of *by*; nothing where nothing is grouped.
    """
    if by is None:
        return
    if place:
        console.print()
    console.print(Text(f"{by} {inert(value) if value else '(unknown)'}", style="bold underline"))


def window_lines(window: Window) -> list[str]:
    """
    The window in words; nothing where it is open at both ends.
    """
    bounds = [
        f"from {window['since']}" if window["since"] else "",
        f"before {window['until']}" if window["until"] else "",
    ]
    said = " ".join(bound for bound in bounds if bound)
    return [f"ended {said}"] if said else []


def print_section(console: Console, heading: str, lines: Sequence[str], *, style: str = "") -> None:
    """
    The first of *lines* under a *heading*, and how many more there are; nothing where there are none.
    """
    if not lines:
        return
    console.print()
    console.print(Text(heading, style="bold"))
    print_lines(console, lines[:_MOST_LINES], style=style)
    if len(lines) > _MOST_LINES:
        print_lines(console, [f"and {len(lines) - _MOST_LINES:,} more; --format json has all."])
