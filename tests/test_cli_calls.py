"""
`toolspan calls`: the records.
"""

import csv
import io
import json
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, scene, write
from tests.rows import call, rows, task
from toolspan.call_records import FIELDS
from toolspan.cli._calls_table import latest_of, print_calls
from toolspan.cli._reading import select_calls


class TestJsonl:
    def test_is_one_record_per_call_in_order_of_start(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Every field of the interface, in its order; the rewrite points at what it answers.
        """
        result = toolspan("calls", scene(tmp_path))

        records = [json.loads(line) for line in result.out.splitlines()]
        assert ["search_flights", "search_flights", "book", "book"] == [record["tool"] for record in records]
        assert {
            "trace_id": build.TRACE_ID,
            "span_id": "0000000000000003",
            "task_id": records[0]["task_id"],
            "step_id": None,
            "tool": "search_flights",
            "agent": "trip_desk",
            "service": "travel-agent",
            "started_at": "2026-05-04T13:06:40.020000000Z",
            "duration_ms": 10.0,
            "outcome": "ok",
            "class": None,
            "code": None,
            "evidence": None,
            "attempts": 1,
            "follows": "0000000000000002",
            "follow_up": "rewrite",
            "presumed": False,
            "verdict": None,
        } == records[1]
        assert list(FIELDS) == list(records[1])

    def test_what_is_not_known_is_null(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        A tool span alone names neither agent nor step, and answers nothing.
        """
        file = tmp_path / "s.jsonl"
        file.write_bytes(build.json_line([build.tool_span(2)], resource={"x": "y"}))

        record = json.loads(toolspan("calls", file).out)

        assert [None] * 7 == [
            record[name] for name in ("step_id", "agent", "service", "evidence", "follows", "follow_up", "verdict")
        ]

    def test_no_call_prints_nothing(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        A program that reads lines gets none, and a person why.
        """
        said = (
            "toolspan: No tool calls found; toolspan doctor FILE says which spans are there and why none is a call.\n"
        )

        assert (0, "", said) == toolspan("calls", write(tmp_path / "s.jsonl", [build.run_span(1)]))

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--tool", "boook"), "No call of the tool 'boook'; did you mean 'book'?"),
            (("--agent", "trip_dek"), "No task of the agent 'trip_dek'; did you mean 'trip_desk'?"),
            (
                ("--since", "2030-01-01"),
                "No tool calls in this window and with these filters; without them there are 4.",
            ),
        ],
    )
    @pytest.mark.parametrize(
        "command",
        [
            ("calls",),
            ("calls", "--format", "csv"),
            ("report", "--format", "json"),
            ("report", "--format", "csv"),
            ("quality", "--format", "json"),
            ("quality", "--format", "csv"),
        ],
    )
    def test_what_leaves_nothing_is_said_beside_what_programs_read(
        self, toolspan: Cli, tmp_path: Path, command: tuple[str, ...], options: tuple[str, ...], said: str
    ) -> None:
        """
        As the table says it: an empty answer alone would not tell a misspelt name from a quiet day.
        """
        result = toolspan(*command, scene(tmp_path), *options)

        assert (0, f"toolspan: {said}\n") == (result.status, result.err)
        assert said not in result.out


class TestSelection:
    def test_by_tool_and_task(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Both must fit.
        """
        file = scene(tmp_path)
        task_id = json.loads(toolspan("calls", file).out.splitlines()[0])["task_id"]

        lines = toolspan("calls", file, "--task", task_id, "--tool", "book").out.splitlines()

        assert ["book", "book"] == [json.loads(line)["tool"] for line in lines]

    def test_an_unknown_task_is_an_error(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        An id is copied from somewhere: an empty answer would hide that it is of another file.
        """
        result = toolspan("calls", scene(tmp_path), "--task", "t9")

        assert (2, "") == (result.status, result.out)
        assert "No task 't9'" in result.err

    def test_calls_of_all_tasks_stand_in_order_of_start(self) -> None:
        """
        Whatever order their tasks are in.
        """
        given = rows([call(1, start=50), call(2, task="t2", start=0)], [task("t1"), task("t2")])

        assert [2, 1] == [found.span_id[-1] for found in select_calls(given)]


class TestCsv:
    def test_has_the_same_fields(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Null is empty, a truth value is `true` or `false`.
        """
        out = toolspan("calls", scene(tmp_path), "--format", "csv").out

        records = list(csv.DictReader(io.StringIO(out)))
        assert list(FIELDS) == list(records[0])
        assert ("", "false", "wasted") == (records[0]["follows"], records[0]["presumed"], records[3]["verdict"])


class TestTable:
    def test_shows_what_the_agent_did_by_task(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Time, span, outcome and which answer a call was.
        """
        out = toolspan("calls", scene(tmp_path), "--format", "table").out

        [heading, columns, *lines] = out.splitlines()
        assert heading.endswith(", agent trip_desk, 2026-05-04")
        assert ["started", "span", "tool", "outcome", "ms", "answer"] == columns.split()
        assert [
            "13:06:40.000  0000000000000002  search_flights  validation DATE_FORMAT  10",
            "13:06:40.020  0000000000000003  search_flights  ok                      10  rewrite",
            "13:06:40.040  0000000000000004  book            business_rule SOLD_OUT  10",
            "13:06:40.060  0000000000000005  book            business_rule SOLD_OUT  10  wasted retry",
        ] == lines

    def test_shows_the_last_calls_where_there_are_very_many(self, capsys: pytest.CaptureFixture[str]) -> None:
        """
        And says so.
        """
        print_calls(latest_of(call(place, task=f"t{place % 2}", start=place) for place in range(600)))

        lines = capsys.readouterr().out.splitlines()
        assert "The last 500 of 600 calls; --format jsonl has all." == lines[-1]
        assert 500 + 2 * 2 + 1 + 1 == len(lines)

    def test_an_empty_one_says_why(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        As in the report.
        """
        out = toolspan("calls", scene(tmp_path), "--tool", "bok", "--format", "table").out

        assert "No call of the tool 'bok'; did you mean 'book'?\n" == out


class TestExplain:
    def test_tells_what_a_call_answers_and_how_it_counts(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The first digits that tell it apart are enough.
        """
        out = toolspan("calls", scene(tmp_path), "--explain", "0000000000000005").out

        assert f"span 0000000000000005 in trace {build.TRACE_ID}" in out
        assert "0000000000000004 (error SOLD_OUT)" in out
        assert "retry, wasted" in out

    @pytest.mark.parametrize(
        ("span", "expected"),
        [
            ("xyz", "'xyz' is no span id"),
            ("00", "'00' is no span id"),
            ("xyz/0000000000000002", "'xyz/0000000000000002' is no span id"),
            ("/0000000000000002", "'/0000000000000002' is no span id"),
            ("0000000000000099", "No call has the span id 0000000000000099"),
            ("000000000000000", "4 calls have a span id that begins with 000000000000000"),
        ],
    )
    def test_a_span_that_is_no_call_is_an_error(self, toolspan: Cli, tmp_path: Path, span: str, expected: str) -> None:
        """
        One line, exit 2.
        """
        result = toolspan("calls", scene(tmp_path), "--explain", span)

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))
        assert expected in result.err

    def test_a_span_id_of_two_traces_is_told_apart_by_trace_or_task(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        All digits were given: what is missing is which of the traces.
        """
        other = "ab" * 16
        file = write(tmp_path / "s.jsonl", [build.tool_span(2, "book"), build.tool_span(2, "fly", trace_id=other)])
        span = f"{2:016x}"

        vague = toolspan("calls", file, "--explain", span)
        by_trace = toolspan("calls", file, "--explain", f"{other}/{span}")
        by_start = toolspan("calls", file, "--explain", f"ABAB/{span[:5]}")
        by_tool = toolspan("calls", file, "--explain", span, "--tool", "fly")
        by_task = toolspan("calls", file, "--explain", span, "--task", other)
        nowhere = toolspan("calls", file, "--explain", f"cdcd/{span}")

        said = f"toolspan: 2 calls have the span id {span}; say whose: {other}/{span}, or with --task.\n"
        assert (2, "", said) == vague
        assert f"fly, span {span} in trace {other}" in by_trace.out
        assert {by_trace.out} == {by_start.out, by_tool.out, by_task.out}
        assert (2, 1) == (nowhere.status, nowhere.err.count("\n"))
