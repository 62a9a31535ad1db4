"""
CSV as programs and spreadsheets read it.

Names come from models. Two things are changed in a cell, and nothing else: what a spreadsheet would run begins with an
apostrophe, and control characters are written as escapes, so that a row is always one line. Quotes would not do: a
program that splits lines knows none, and Python 3.11 writes none around a carriage return, at which it ends a row.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Final

from toolspan.cli._output import Output

#: What begins a formula, in the two widths in which Excel knows them; blanks (and what shows as none) do not help.
_FORMULA: Final = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]")

#: What ends a line for one reader or another, or is dropped by some and then shows what stands behind it.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

Cell = str | int | float | None


def write_csv(stream: Output, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """
    *header* and *rows*; what is not known is empty, a text that would be a formula begins with an apostrophe.
    """
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_inert(cell) for cell in row] for row in rows)


def _inert(cell: Cell) -> Cell:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, str):
        text = cell.encode("utf-8", "backslashreplace").decode()  # a lone surrogate has no UTF-8
        text = _CONTROL.sub(_escape, text)
        return f"'{text}" if _FORMULA.match(text) else text
    return cell


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
