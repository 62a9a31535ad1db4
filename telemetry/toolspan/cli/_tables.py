"""
Tables and lines on a terminal or in a pipe, through rich.

No boxes: columns are parted by two spaces, which reads as well in a log as on a screen. Colour only marks what the
text says already (a broken target also ends in `!`), so nothing is lost with `NO_COLOR` or in a pipe. In a pipe
nothing is folded to a width either: each tool stays on its own lines for `grep`. Where a terminal is too narrow for
a table, each row becomes a block of lines: rich would drop columns and cut numbers without a word.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolspan.cli._text import inert
from toolspan.documents import Window

#: Wide enough that a pipe never folds a row; rich's own answer for a pipe is 80.
_PIPE_WIDTH: Final = 1000
#: Of a section: more would push the table above it off the screen.
_MOST_LINES: Final = 10


#: Between columns.
_GAP: Final = 2
#: A name folded to less than this is no longer read as one.
_LEAST_NAME: Final = 12
#: Of a time, what comes before its fraction.
_SECONDS: Final = len("2026-05-04T13:06:40")


class Column(NamedTuple):
    """
    A column: its *heading* (lines parted by a newline) and whether it holds names, which may fold, or values.

    Values stand right, unless they are *aligned* already.
    """

    heading: str
    is_name: bool = False
    is_aligned: bool = False


class _Console(Console):
    """
    A console that leaves a broken pipe to the command line, which ends with 141; rich's own ends with 1.
    """

    def on_broken_pipe(self) -> None:
        """
        The pipe's reader went away.
        """
        raise BrokenPipeError


def open_console() -> Console:
    """
    A console on standard output that interprets nothing in the texts it is given.
    """
    console = _Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def print_table(console: Console, columns: Sequence[Column], rows: Iterable[Sequence[str | Text]]) -> None:
    """
    *rows* under *columns*; where the terminal is too narrow for them, each row as a block of lines.
    """
    table_rows = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    widths = [_widths(column, [row[place] for row in table_rows]) for place, column in enumerate(columns)]
    if sum(least + _GAP for least, _ in widths) > console.width:
        _print_blocks(console, columns, table_rows)
        return
    table = _make_table(columns, widths, table_rows)
    if console.is_terminal:
        console.print(table)
        return
    # without the spaces that fill up the last column
    with console.capture() as captured:
        console.print(table)
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def is_wide_enough(console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]) -> bool:
    """
    Whether *rows* fit on the terminal with no name folded.
    """
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    widths = [_widths(column, [row[place] for row in cells])[1] for place, column in enumerate(columns)]
    return sum(width + _GAP for width in widths) <= console.width


def _widths(column: Column, cells: Iterable[Text]) -> tuple[int, int]:
    """
    The least and the full width of a column: values need all of it, names can be folded.
    """
    heading = cell_len(max(column.heading.split("\n"), key=cell_len))
    full = max([heading, *(cell_len(line) for cell in cells for line in cell.plain.split("\n"))])
    return (max(heading, min(full, _LEAST_NAME)) if column.is_name else full), full


def _make_table(columns: Sequence[Column], widths: Sequence[tuple[int, int]], rows: Iterable[Sequence[Text]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column, (least, _) in zip(columns, widths, strict=True):
        table.add_column(
            Text(column.heading),
            justify="left" if column.is_name or column.is_aligned else "right",
            overflow="fold",
            no_wrap=not column.is_name,
            min_width=least,
        )
    for row in rows:
        table.add_row(*row)
    return table


def _print_blocks(console: Console, columns: Sequence[Column], rows: Iterable[Sequence[Text]]) -> None:
    """
    Each of *rows* under its first name, a line for each other column.
    """
    title = next(place for place, column in enumerate(columns) if column.is_name)
    labels = [column.heading.split("\n") for column in columns]
    longest = max(cell_len(_joined(label)) for place, label in enumerate(labels) if place != title)
    for number, row in enumerate(rows):
        if number:
            console.print()
        console.print(Text(row[title].plain, style="bold", overflow="fold"))
        for place, (label, cell) in enumerate(zip(labels, row, strict=True)):
            if place != title and cell.plain:
                for said, line in _paired(label, cell):
                    console.print(Text(f"  {said:<{longest}}  ").append_text(line), overflow="fold")


def _paired(label: Sequence[str], cell: Text) -> list[tuple[str, Text]]:
    """
    Each line of *cell* beside the line of *label* that tells what it is.
    """
    lines = list(cell.split("\n"))
    return [(_joined(label), lines[0])] if len(lines) == 1 else list(zip(label, lines, strict=True))


def _joined(label: Sequence[str]) -> str:
    """
    *label* on one line; what only explains a second line of the cell (in parentheses) is left out.
    """
    return " ".join(part for part in label if not part.startswith("("))


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
    The window in words, to the second; nothing where it is open at both ends.
    """
    bounds = [
        f"from {window['since'][:_SECONDS]}Z" if window["since"] else "",
        f"before {window['until'][:_SECONDS]}Z" if window["until"] else "",
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
