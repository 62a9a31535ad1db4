"""
Tables on terminals of any width: every tool is named, no number is cut.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import BAD_DATE, Cli, call_of, write

WIDTHS = (40, 50, 60, 80, 200)
LONG = "get_the_complete_order_history_of_a_customer"
BUSY = 1234

Show = Callable[..., list[str]]


@pytest.fixture
def show(toolspan: Cli, monkeypatch: pytest.MonkeyPatch) -> Show:
    """
    The lines of a command on a terminal of a given width.
    """

    def run(width: int, *args: str | Path) -> list[str]:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        return re.sub(r"\x1b\[[\d;]*m", "", toolspan(*args).out).splitlines()

    return run


def many(folder: Path) -> Path:
    """
    A tool with a long name and a failure, and one with thousands of calls.
    """
    spans = [build.run_span(1, end_ms=1000), call_of(2, LONG, '{"date": "May"}', BAD_DATE)]
    spans += [build.tool_span(100 + place, "busy", parent=1, status=2 * (place % 2)) for place in range(BUSY)]
    return write(folder / "many.jsonl", spans)


@pytest.mark.parametrize("width", WIDTHS)
class TestEveryWidth:
    @pytest.mark.parametrize("command", ["report", "quality", "calls", "doctor"])
    def test_is_kept(self, show: Show, tmp_path: Path, width: int, command: str) -> None:
        """
        No line is longer than the terminal is wide, and nothing is cut to an ellipsis.
        """
        lines = show(width, command, many(tmp_path), "--format", "table")

        assert max(map(len, lines)) <= width
        assert not [line for line in lines if "…" in line]

    @pytest.mark.parametrize(
        ("command", "numbers"), [("report", ["50 % of 1,234", "100 % of 1"]), ("quality", ["617 of 1,234", "1 of 1"])]
    )
    def test_shows_tools_and_numbers_whole(
        self, show: Show, tmp_path: Path, width: int, command: str, numbers: list[str]
    ) -> None:
        """
        As a table, or where that does not fit as one block per tool.
        """
        lines = show(width, command, many(tmp_path))

        text = "\n".join(lines)
        assert [] == [number for number in numbers if number not in text]
        assert any(line.startswith("busy") for line in lines)
        assert any(line.startswith("get_the_comp") for line in lines)

    def test_shows_each_call(self, show: Show, tmp_path: Path, width: int) -> None:
        """
        Time, span, tool and class.
        """
        lines = show(width, "calls", many(tmp_path), "--format", "table", "--tool", LONG)

        text = " ".join(" ".join(lines).split())
        assert "13:06:40.000" in text
        assert "0000000000000002" in text
        assert "DATE_FORMAT" in text


def test_a_block_has_a_line_for_each_column(show: Show, tmp_path: Path) -> None:
    """
    Under the name of the tool; a share stands on the line that says what it is of.
    """
    spans = [build.run_span(1, end_ms=1000), build.tool_span(2, "book", parent=1, status=2)]

    lines = show(40, "report", write(tmp_path / "s.jsonl", spans))

    assert [
        "book",
        "  damage             0",
        "  calls failed       100 % of 1",
        "  (unclassified)     (100 %)",
        "  retries/task       0 p95 0",
        "  recovered          -",
        "  escalated at once  -",
    ] == lines[2:9]


def test_what_is_empty_has_no_line_in_a_block(show: Show, tmp_path: Path) -> None:
    """
    A call that answers no other.
    """
    lines = show(40, "calls", write(tmp_path / "s.jsonl", [build.tool_span(2, "book")]), "--format", "table")

    assert [
        "book",
        "  started  13:06:40.000",
        "  span     0000000000000002",
        "  outcome  ok",
        "  ms       10",
    ] == lines[-5:]
