"""
CSV as programs and spreadsheets read it.
"""

import csv
from collections.abc import Iterable, Sequence
from typing import IO

#: A spreadsheet takes a cell that begins with one of these for a formula, and names come from models.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

Cell = str | int | float | None


def write_csv(stream: IO[str], header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
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
        return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
    return cell
