"""
`toolspan report`: what a person sees first, and what programs read.
"""

import csv
import io
import json
import re
from pathlib import Path
from typing import cast

import pytest

from tests import otlp_builder as build
from tests.cli_runner import BAD_DATE, Cli, call_of, scene, write
from tests.rows import call, rows, task, task_tool
from toolspan.cli._report_table import MOST_TOOLS
from toolspan.cli.report import NUMBERS
from toolspan.numbers import report


def many_bad_dates(folder: Path) -> Path:
    """
    25 tasks whose date is never right, and one with a retry that is wasted on unknown arguments.
    """
    spans: list[dict[str, object]] = []
    for place in range(25):
        run, first = 1 + place * 10, 2 + place * 10
        trace = f"{place + 1:032x}"
        spans.append({**build.run_span(run, end_ms=1000), "traceId": trace})
        spans.append({**call_of(first, "search", '{"date": "May"}', BAD_DATE), "traceId": trace})
    return write(folder / "dates.jsonl", spans)


def weak(folder: Path) -> Path:
    """
    A tool with a failure of no class and a presumed rewrite, and one with nothing to doubt.
    """
    spans = [
        build.run_span(1, end_ms=1000),
        build.tool_span(2, "s", {"gen_ai.tool.call.result": BAD_DATE}, parent=1, end_ms=10),
        build.tool_span(3, "s", parent=1, start_ms=20, end_ms=30),
        build.tool_span(4, "s", parent=1, start_ms=5, end_ms=100, status=2),
        build.tool_span(5, "plain", parent=1),
    ]
    return write(folder / "weak.jsonl", spans)


class TestTable:
    def test_answers_which_tool_hurts_and_how(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Tasks, one row per tool with the worst first, where the damage is from, and what the columns mean.
        """
        result = toolspan("report", scene(tmp_path))

        expected = """\
1 task: 1 resolved

                                                                escalated
tool            damage  calls failed  retries/task   recovered    at once
book                 1    100 % of 2       1 p95 1           -          -
search_flights       0     50 % of 2       0 p95 0  100 % of 1          -

Damage
book: 1 wasted retry (20 ms, most after SOLD_OUT)

retries/task: mean and p95 of resolved tasks; recovered: validation failures; at once: permission failures.
"""
        assert (0, expected, "") == result

    def test_names_a_broken_target_in_words(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The number is marked, and the sentence says how many, of what, against which target, and where.
        """
        result = toolspan("report", many_bad_dates(tmp_path))

        assert "0 % of 25!" in result.out
        assert (
            "Broken targets\n"
            "! search: 0 % of 25 validation failures recover (target 80 %); field `date`, 25 of 25 lost\n"
        ) in result.out

    def test_fits_eighty_columns(self, toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        On a terminal of that width a long name folds and no number is cut.
        """
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "80")
        name = "get_the_complete_order_history_of_a_customer"
        spans = [build.run_span(1, end_ms=1000), call_of(2, name, '{"date": "May"}', BAD_DATE)]

        out = toolspan("report", write(tmp_path / "s.jsonl", spans)).out

        lines = re.sub(r"\x1b\[\d*m", "", out).splitlines()
        assert max(len(line) for line in lines) <= 80
        assert any("100 % of 1" in line and "0 % of 1" in line for line in lines)

    def test_a_pipe_gets_no_colour_and_no_folding(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        So that `grep` finds the row of a tool, and a log has nothing to strip.
        """
        name = "a_tool_with_quite_a_long_name_as_servers_prefix_them"

        out = toolspan("report", write(tmp_path / "s.jsonl", [build.tool_span(2, name)])).out

        assert f"\n{name}  " in out
        assert out.isprintable() is False
        assert out.replace("\n", "").isascii()
        assert "\x1b" not in out
        assert [] == [line for line in out.splitlines() if line != line.rstrip()]

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("[red]x[/red]", "[red]x[/red]"),
            ("a\x1b[2Jb", "a\\x1b[2Jb"),
            ("a\u202eb", "a\\u202eb"),
            ("a\nb", "a\\nb"),
            (":smile:", ":smile:"),
        ],
    )
    def test_a_name_is_only_text(self, toolspan: Cli, tmp_path: Path, name: str, shown: str) -> None:
        """
        Neither markup nor an escape sequence in it acts.
        """
        out = toolspan("report", write(tmp_path / "s.jsonl", [build.tool_span(2, name)])).out

        assert f"\n{shown} " in out

    def test_shows_the_shares_that_weaken_a_number_beside_it(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        One of two failures unclassified, the only rewrite presumed; headings and notes say what that is.
        """
        out = toolspan("report", weak(tmp_path)).out

        expected = """\
               calls failed                          recovered                 escalated
tool   damage  (unclassified)          retries/task  (presumed)                  at once
plain       0   0 % of 1                    0 p95 0           -                        -
s           0  67 % of 3 (50 % uncl.)       0 p95 0  100 % of 1 (100 % pres.)          -
"""
        assert expected in out
        assert "(unclassified): " in out
        assert "(presumed): links that rest on unknown arguments; `toolspan doctor FILE` says how to " in out

    def test_shows_them_below_it_where_the_terminal_is_narrow(
        self, toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        The heading says what they are of.
        """
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "80")

        out = re.sub(r"\x1b\[[\d;]*m", "", toolspan("report", weak(tmp_path)).out)

        assert [["(50 %)", "(100 %)"]] == [
            found for line in out.splitlines() if (found := re.findall(r"\(\d.*?\)", line))
        ]
        assert ("(unclassified)" in out, "(presumed)" in out) == (True, True)

    def test_a_table_of_thousands_of_tools_is_cut(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Where models make names up, the table shows the worst and says how many it leaves out; CSV has all.
        """
        spans = [build.run_span(1), *(build.tool_span(n + 2, f"tool{n}", parent=1) for n in range(MOST_TOOLS + 30))]
        path = write(tmp_path / "many.jsonl", spans)

        result, everything = toolspan("report", path), toolspan("report", path, "--format", "csv")

        assert "and 30 tools more, of less damage; --format csv has all, --tool any one.\n" in result.out
        assert MOST_TOOLS + 30 == everything.out.count("\ntool")

    def test_a_long_list_ends_with_how_many_more(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Ten lines of a section, so that the table above stays in sight.
        """
        spans = [build.run_span(1, end_ms=1000)]
        spans += [call_of(10 + place, f"t{place}", '{"date": "May"}', BAD_DATE) for place in range(12)]

        out = toolspan("report", write(tmp_path / "s.jsonl", spans)).out

        assert "t7: 1 validation failure not recovered\nand 2 more; --format json has all.\n" in out

    def test_groups_stand_under_their_name(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The one that names no agent as unknown.
        """
        spans = [
            *[build.run_span(1, end_ms=1000), build.tool_span(2, "a", parent=1)],
            {**build.tool_span(3, "b"), "traceId": "77" * 16},
        ]

        out = toolspan("report", write(tmp_path / "s.jsonl", spans), "--by", "agent").out

        assert out.startswith("agent (unknown)\n1 task")
        assert "\nagent trip_desk\n1 task" in out

    def test_a_group_without_calls_says_so(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        A run that called nothing is a task.
        """
        spans = [build.run_span(1), {**build.tool_span(3, "b"), "traceId": "77" * 16}]

        out = toolspan("report", write(tmp_path / "s.jsonl", spans), "--by", "agent").out

        assert "agent trip_desk\n1 task: 1 resolved\nNo tool was called.\n" in out

    def test_the_window_is_said(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        As it was understood, in UTC, to the second.
        """
        out = toolspan("report", scene(tmp_path), "--since", "2026-01-01", "--until", "2027-01-01").out

        assert "\nended from 2026-01-01T00:00:00Z before 2027-01-01T00:00:00Z\n" in out


class TestNothing:
    def test_no_call_at_all_sends_to_doctor(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        One line.
        """
        result = toolspan("report", write(tmp_path / "s.jsonl", [build.run_span(1)]))

        expected = "No tool calls found; toolspan doctor FILE says which spans are there and why none is a call.\n"
        assert (0, expected, "") == result

    @pytest.mark.parametrize(
        ("option", "expected"),
        [
            ("--tool=serch_flights", "No call of the tool 'serch_flights'; did you mean 'search_flights'?\n"),
            ("--tool=zzz", "No call of the tool 'zzz'; 2 other tools were called.\n"),
            ("--agent=zzz", "No task of the agent 'zzz'; there are 'trip_desk'.\n"),
            ("--agent=trip_dsk", "No task of the agent 'trip_dsk'; did you mean 'trip_desk'?\n"),
            ("--service=travel", "No task of the service 'travel'; did you mean 'travel-agent'?\n"),
            ("--environment=prod", "No task of the environment 'prod'; there are ''.\n"),
            (
                "--until=2001-01-01",
                "No tool calls in this window and with these filters; without them there are 4.\n",
            ),
        ],
    )
    def test_filters_that_leave_nothing_are_named(
        self, toolspan: Cli, tmp_path: Path, option: str, expected: str
    ) -> None:
        """
        So that nobody takes a slip of the pen for a quiet night.
        """
        assert (0, expected, "") == toolspan("report", scene(tmp_path), option)


class TestJson:
    def test_is_the_document(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        What the library returns.
        """
        document = json.loads(toolspan("report", scene(tmp_path), "--format", "json").out)

        assert ["window", "tasks", "tools"] == list(document)
        assert ["book", "search_flights"] == list(document["tools"])
        assert {"failures": 1, "recovered": 1, "rate": 1.0, "accepted": 1} == document["tools"]["search_flights"][
            "validation_recovery"
        ]

    def test_groups_are_one_document(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        By the task's service.
        """
        document = json.loads(toolspan("report", scene(tmp_path), "--format", "json", "--by", "service").out)

        assert ("service", ["travel-agent"]) == (document["by"], list(document["groups"]))

    def test_a_lone_surrogate_breaks_nothing(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        JSON can carry one, UTF-8 cannot.
        """
        result = toolspan("report", write(tmp_path / "s.jsonl", [build.tool_span(2, "a\ud800")]), "--format", "json")

        assert (0, 1) == (result.status, len(json.loads(result.out)["tools"]))


def paths(value: object, path: str = "") -> list[str]:
    """
    The paths to everything in *value* that is neither an object nor a list.
    """
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value).items()
        return [found for key, part in parts for found in paths(part, f"{path}.{key}".removeprefix("."))]
    return [] if isinstance(value, list) else [path]


class TestCsv:
    def test_has_one_row_per_tool(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Flat columns; what is not known is empty.
        """
        out = toolspan("report", scene(tmp_path), "--format", "csv").out

        book, search = csv.DictReader(io.StringIO(out))
        assert ("book", "2", "1", "SOLD_OUT=2", "") == (
            book["tool"],
            book["calls"],
            book["retries_wasted"],
            book["codes"],
            book["validation_recovery_rate"],
        )
        assert ("search_flights", "1.0") == (search["tool"], search["validation_recovery_rate"])

    def test_groups_are_the_first_column(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        One row per tool and group.
        """
        out = toolspan("report", scene(tmp_path), "--format", "csv", "--by", "environment").out

        assert out.startswith("environment,tool,calls,")
        assert "\n,book,2," in out

    def test_leaves_no_number_out(self) -> None:
        """
        Every number of a tool's document that is not a table of its own has a column.
        """
        document = report(rows([call(1)], [task()], [task_tool()]))["tools"]["search"]

        tables = ("codes", "detail.recovery_by_code", "detail.recovery_by_field", "detail.wasted_by_code")
        assert list(NUMBERS) == [path for path in paths(document) if path not in tables]

    def test_no_cell_is_a_formula(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        A name that a spreadsheet would run is a text.
        """
        out = toolspan("report", write(tmp_path / "s.jsonl", [build.tool_span(2, "=1+1")]), "--format", "csv").out

        assert "\n'=1+1,1," in out


class TestReading:
    def test_what_cannot_be_read_is_said_and_the_rest_counts(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The report goes to standard output, problems to standard error.
        """
        file = scene(tmp_path)
        file.write_bytes(b"this is no JSON\n" + file.read_bytes())

        result = toolspan("report", file)

        assert "book" in result.out
        assert result.err.startswith("toolspan: ")
        assert "scene.otlp.jsonl" in result.err

    def test_a_file_of_rubbish_is_not_said_line_by_line(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The reason once, with how many spans it cost.
        """
        rejected = [{**build.tool_span(2), "traceId": "00" * 16} for _ in range(30)]
        file = tmp_path / "s.jsonl"
        file.write_bytes(b"".join(build.json_line([span]) for span in rejected))

        said = toolspan("report", file).err.splitlines()[0]

        reason = "30 spans rejected: trace id is not 16 bytes, or zero (30 times, first in line 1)."
        assert f"toolspan: {file}: {reason}" == said

    def test_a_conflict_is_said(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The same span with other content: the first stays.
        """
        spans = [build.tool_span(2, "a"), build.tool_span(2, "b"), build.tool_span(2, "a")]

        result = toolspan("report", write(tmp_path / "s.jsonl", spans))

        assert "toolspan: 1 span came again with other content; the first of each counts.\n" == result.err
        assert "\na " in result.out

    def test_settings_come_from_a_file(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Targets that a team sets are the ones that are judged.
        """
        config = tmp_path / "toolspan.toml"
        config.write_text("[targets]\nmin_cases = 1\nvalidation_recovery = 1.0\nretries_p95 = 0\n")

        out = toolspan("report", scene(tmp_path), "--config", config).out

        assert "! book: p95 of 1 resolved tasks is 1 retry (target 0); 1 of 1 retry wasted, most after SOLD_OUT" in out
