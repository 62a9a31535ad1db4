"""
CSV holds names that models make up: no cell is run, and no row is more than one line.
"""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolspan.cli._csv import write_csv


def written(cell: str) -> str:
    """
    What is written of one row with *cell* in the middle.
    """
    stream = io.StringIO()
    write_csv(stream, ["a", "b", "c"], [["x", cell, 1]])
    return stream.getvalue().removeprefix("a,b,c\n")


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("=1+1", "'=1+1"),
        ("  =1+1", "'  =1+1"),
        ("\u00a0=1", "'\u00a0=1"),
        ("\ufeff=1", "'\ufeff=1"),
        ("\uff1d1", "'\uff1d1"),
        ("-1", "'-1"),
        ("@f", "'@f"),
        ("+1", "'+1"),
        ("x\r=1+1", "x\\r=1+1"),
        ("\n=1", "\\n=1"),
        ("\t=1", "\\t=1"),
        ("x\u2028=1", "x\\u2028=1"),
        ("x\x00y", "x\\x00y"),
        ("a-b = c", "a-b = c"),
        ("b\u00fasqueda", "b\u00fasqueda"),
        ("\ud800", "\\ud800"),
    ],
)
def test_no_cell_is_a_formula_or_a_line_of_its_own(cell: str, expected: str) -> None:
    """
    An apostrophe stands before what a spreadsheet would run; what breaks lines is written as its escape.
    """
    assert f"x,{expected},1\n" == written(cell)


@settings(max_examples=200)
@given(st.text(st.sampled_from("=+-@ \t\r\n\v\x1c\x85\u2028\u2029'\",;x\x00"), max_size=8))
def test_a_row_is_one_line_and_its_cells_are_text(cell: str) -> None:
    """
    For every reader: one that knows quotes and one that only splits lines.
    """
    text = written(cell)

    [[first, read, last]] = csv.reader(io.StringIO(text, newline=""))
    assert ("x", "1", 1) == (first, last, len(text.splitlines()))
    assert not read.lstrip().startswith(("=", "+", "-", "@"))
