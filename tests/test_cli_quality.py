"""
`toolspan quality`: which numbers and tools not to believe, in words.
"""

import csv
import io
import json
from pathlib import Path

from tests import otlp_builder as build
from tests.cli_runner import Cli, scene, write
from tests.rows import call, failed, retry, rewrite, rows, task, task_tool
from toolspan.cli._quality_lines import finding_lines, quality_tasks_line, recording_lines, unhandled_lines
from toolspan.lint import LintFlag
from toolspan.quality import quality
from toolspan.records import Call


def findings(calls: list[Call], *, streak: int = 0) -> list[str]:
    """
    What is said of one settled task with *calls* and such a streak.
    """
    sums = task_tool()._replace(streak=streak, streak_code="GONE")
    return finding_lines(quality(rows(calls, [task()], [sums]))["tools"])


class TestFindings:
    def test_a_code_that_lies(self) -> None:
        """
        With counts and interval, and the class it may be.
        """
        calls: list[Call] = []
        for place in range(0, 20, 2):
            calls += [failed(call(place), "fatal", "GONE"), retry(call(place + 1), of=place, verdict="wasted")]

        assert [
            "search: GONE is fatal, yet 10 of 10 identical retries (72 % to 100 %) succeeded: it may be transient"
        ] == findings(calls)

    def test_a_transient_code_that_never_recovers(self) -> None:
        """
        It may need another class.
        """
        calls: list[Call] = []
        for place in range(0, 20, 2):
            answer = retry(call(place + 1), of=place, verdict="allowed")._replace(outcome="cancelled")
            calls += [failed(call(place), "transient", "BUSY"), answer]

        counts = "0 of 10 identical retries (0 % to 28 %)"
        assert findings(calls) == [f"search: BUSY is transient, yet {counts} succeeded: it may need another class"]

    def test_one_code_of_two_classes(self) -> None:
        """
        One code, one class.
        """
        calls = [failed(call(1), "transient", "BUSY"), failed(call(2), "fatal", "BUSY")]

        assert ["search: BUSY was seen as fatal (1) and transient (1): one code, one class"] == findings(calls)

    def test_a_cluster(self) -> None:
        """
        One class dominates.
        """
        assert ["search: 100 % of 20 failures are fatal: an envelope problem more than a prompt problem"] == findings(
            [failed(call(place), "fatal", "GONE") for place in range(20)]
        )

    def test_unclassified_failures_with_their_evidence(self) -> None:
        """
        What to classify first.
        """
        calls = [failed(call(1), "unclassified", "UNCLASSIFIED", evidence=text) for text in ("status", "")]

        assert ["search: 100 % of 2 failures unclassified; most frequent evidence: (none) 1, status 1"] == findings(
            calls
        )

    def test_envelopes_that_break_rules(self) -> None:
        """
        By the name of the rule.
        """
        calls = [failed(call(1), "validation", "V")._replace(lint=int(LintFlag.FIELD_MISSING))]

        assert ["search: envelope lint: field_missing 1"] == findings(calls)

    def test_a_streak(self) -> None:
        """
        From three in a row on, with the task to look at.
        """
        calls = [failed(call(1), "fatal", "GONE")]

        assert ["search: 3 failures in a row with GONE, in task t1"] == findings(calls, streak=3)
        assert [] == findings(calls, streak=2)

    def test_a_budget_that_is_used_up(self) -> None:
        """
        With the time that was waited.
        """
        calls = [call(1)._replace(attempts=3, waited_ms=1500, budget_exhausted=True)]

        assert ["search: 1 call used up the retry budget; 1.5 s waited inside the tool"] == findings(calls)


class TestLines:
    def test_unhandled_failures_name_task_and_call(self) -> None:
        """
        What to look up, and when it was.
        """
        given = rows([failed(call(1), "fatal", "GONE")], [task()._replace(unhandled=True), task("t2", "unknown")])
        document = quality(given)

        assert "2 settled tasks, 1 resolved; 1 of these (100 %) end in an unhandled failure" == quality_tasks_line(
            document["tasks"]
        )
        assert ["task t1: last call search failed, fatal GONE, at 1970-01-01T00:00:00Z"] == unhandled_lines(
            document["unhandled_failures"]
        )

    def test_presumed_links_send_to_doctor(self) -> None:
        """
        It has seen the spans, and names the one setting; nothing where nothing is presumed.
        """
        certain = [failed(call(1), "validation", "V"), rewrite(call(2), of=1)]
        presumed = [certain[0], certain[1]._replace(presumed=True)]

        [line] = recording_lines(quality(rows(presumed, [task()]))["tools"])

        assert line.startswith("1 of 1 link rest on unknown arguments; `toolspan doctor FILE` says how to record them")
        assert [] == recording_lines(quality(rows(certain, [task()]))["tools"])


class TestFormats:
    def test_the_table_says_what_to_doubt(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        One row per tool, then findings and unhandled failures.
        """
        result = toolspan("quality", scene(tmp_path))

        expected = """\
1 settled task, 1 resolved

                failed                suspect  longest     links  attempts
tool             calls  unclassified    codes   streak  presumed  per call
book            2 of 2           0 %        -        2  0 % of 1         1
search_flights  1 of 2           0 %        -        1  0 % of 1         1
"""
        assert (0, expected, "") == result

    def test_json_is_the_document(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        What the library returns.
        """
        document = json.loads(toolspan("quality", scene(tmp_path), "--format", "json").out)

        assert ["window", "tasks", "tools", "unhandled_failures"] == list(document)
        assert {"links": 1, "presumed": 0, "share": 0.0} == document["tools"]["book"]["presumed"]

    def test_csv_has_one_row_per_tool(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Flat columns.
        """
        book, _ = csv.DictReader(io.StringIO(toolspan("quality", scene(tmp_path), "--format", "csv").out))

        assert ("book", "2", "SOLD_OUT", "0.0") == (
            book["tool"],
            book["streak_longest"],
            book["streak_code"],
            book["presumed_share"],
        )

    def test_groups_have_their_own_section(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        In every format.
        """
        file = scene(tmp_path)

        assert toolspan("quality", file, "--by", "agent").out.startswith("agent trip_desk\n1 settled task")
        assert toolspan("quality", file, "--by", "agent", "--format", "csv").out.startswith("agent,tool,")
        assert ["trip_desk"] == list(
            json.loads(toolspan("quality", file, "--by", "agent", "--format", "json").out)["groups"]
        )

    def test_a_group_without_calls_says_so(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        A run that called nothing is a task.
        """
        spans = [build.run_span(1), {**build.tool_span(3, "b"), "traceId": "77" * 16}]

        out = toolspan("quality", write(tmp_path / "s.jsonl", spans), "--by", "agent").out

        assert "agent trip_desk\n1 settled task, 1 resolved\nNo tool was called.\n" in out

    def test_nothing_to_show_is_said_in_one_line(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        As in the report.
        """
        result = toolspan("quality", scene(tmp_path), "--service", "zzz")

        assert "No task of the service 'zzz'; there are 'travel-agent'.\n" == result.out
