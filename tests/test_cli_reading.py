"""
What the commands say of input that is no OTLP trace, in whole or in part.
"""

import json
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, scene
from tests.otlp_files import field, framed, log_record, request, span
from toolspan.cli._problems import Problems

CONSOLE = b'{"name": "x", "context": {}, "parent_id": null, "start_time": "t"}\n'

#: Of each kind, what people hand over instead of traces, and a word of the reason.
FOREIGN = {
    "table": (b"tool,calls,ok\nbook,1,1\nbook,2,1\n", "looks like a table (CSV)"),
    "console": (CONSOLE * 40, "ConsoleSpanExporter"),
    "logs": (b'{"resourceLogs": []}\n' * 3, "holds OTLP logs"),
    "log_records": (request(log_record()), "holds OTLP logs"),
    "cut": (framed([request(span())], "u32")[:-9], "cut short"),
    "rejected": (build.json_line([{**build.tool_span(2), "traceId": "00" * 16}]) * 2, "2 spans rejected"),
    "field": (field(9, b"x" * 40), "is "),
}


def put(folder: Path, content: bytes, name: str = "given") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


class TestNothingReadable:
    @pytest.mark.parametrize("command", ["report", "quality", "calls"])
    @pytest.mark.parametrize("kind", FOREIGN)
    def test_is_an_error_that_says_why_once(self, toolspan: Cli, tmp_path: Path, command: str, kind: str) -> None:
        """
        Exit 2, nothing on standard output; the reason, and where to go from here.
        """
        content, reason = FOREIGN[kind]

        result = toolspan(command, put(tmp_path, content))

        said, way_out = result.err.splitlines()
        assert (2, "") == (result.status, result.out)
        assert reason in said
        assert "toolspan: Nothing was read as OTLP traces; toolspan doctor FILE says what to change." == way_out

    @pytest.mark.parametrize("kind", FOREIGN)
    def test_is_explained_by_doctor_with_a_change(self, toolspan: Cli, tmp_path: Path, kind: str) -> None:
        """
        Exit 0: an explanation was asked for and given.
        """
        content, reason = FOREIGN[kind]

        result = toolspan("doctor", put(tmp_path, content), "--format", "json")

        [finding] = json.loads(result.out)["findings"]
        assert (0, "") == (result.status, result.err)
        assert 1 == finding["seen"].count(reason)
        assert all(finding["change"])
        assert finding["change"]

    def test_of_several_files_names_each(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        With how often and where first.
        """
        table, console = put(tmp_path, FOREIGN["table"][0], "a"), put(tmp_path, CONSOLE * 40, "a b")

        lines = toolspan("report", table, console).err.splitlines()

        assert f"toolspan: {table}: looks like a table (CSV); export OTLP instead." == lines[0]
        assert lines[1].startswith(f"toolspan: {console}: looks like the SDK's ConsoleSpanExporter; ")
        assert lines[1].endswith(" (40 times, first in line 1).")


class TestNothingThere:
    @pytest.mark.parametrize("content", [b"", b"\n", b'{"resourceSpans": []}\n'])
    def test_is_no_error(self, toolspan: Cli, tmp_path: Path, content: bytes) -> None:
        """
        A quiet night writes an empty file.
        """
        result = toolspan("report", put(tmp_path, content))

        assert (0, "") == (result.status, result.err)
        assert result.out.startswith("No tool calls found; ")


class TestPartOfIt:
    def test_counts_and_the_rest_is_said(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The report on standard output, reasons on standard error, exit 0.
        """
        result = toolspan("report", scene(tmp_path), put(tmp_path, CONSOLE * 3))

        assert (0, 1) == (result.status, result.err.count("\n"))
        assert "(3 times, first in line 1)." in result.err
        assert "book" in result.out


class TestProblems:
    def test_are_told_up_to_a_limit(self) -> None:
        """
        And counted beyond it.
        """
        problems = Problems(f"f{number}" for number in range(2000))
        for number in range(2000):
            problems(f"f{number}: is no JSON")

        lines = problems.lines()

        assert (11, "f0: is no JSON.", "And 1,990 more like these.") == (len(lines), lines[0], lines[-1])

    def test_a_name_that_begins_another_is_told_apart(self) -> None:
        """
        Names may hold spaces and colons.
        """
        problems = Problems(["a", "a: b"])
        for line in ("a: b line 2: is cut", "a line 7: is cut", "a line 8: is cut"):
            problems(line)

        assert ["a: b line 2: is cut.", "a: is cut (2 times, first in line 7)."] == problems.lines()
