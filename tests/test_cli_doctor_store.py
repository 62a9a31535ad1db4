"""
`toolspan doctor` on a store: read as somebody does who ingested something and sees less than expected.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, call_of, scene, write
from tests.facts import run, tool_span
from tests.stored import EXAMPLE, LONG_AGO_NS, leave_open
from tests.stores import NOW_NS, Clock, open_store
from toolspan.config import Settings
from toolspan.store.held import HeldStore


def document(toolspan: Cli, *args: str | Path) -> Any:
    """
    What `doctor --format json` says of the store.
    """
    result = toolspan("doctor", *args, "--format", "json")

    assert (0, "") == (result.status, result.err)
    return json.loads(result.out)


def severities(found: Mapping[str, Any]) -> dict[str, str]:
    """
    The findings by key, in their order.
    """
    return {finding["key"]: finding["severity"] for finding in found["findings"]}


def only(found: Mapping[str, Any], key: str) -> Any:
    """
    The finding of that key.
    """
    [finding] = [each for each in found["findings"] if each["key"] == key]
    assert all(finding["change"])
    assert finding["change"]
    return finding


class TestHealthy:
    @pytest.mark.usefixtures("folder")
    def test_says_what_was_looked_at_and_what_a_store_cannot_tell(self, toolspan: Cli) -> None:
        """
        With the way to find out.
        """
        toolspan("ingest", EXAMPLE)

        text = " ".join(toolspan("doctor").out.split())

        assert text.startswith("432 calls of 4 tools in 80 tasks; nothing weakens the numbers. checked schema 1,")
        assert "of 537 spans that came 0 were repeats; arguments known in 432 of 432 calls," in text
        assert "2 % of the failures unclassified, the span found of 80 of 80 tasks, 0 of them open;" in text
        assert "does not know of sampling, results and frameworks: toolspan doctor FILE does." in text

    @pytest.mark.usefixtures("folder")
    def test_is_a_document_for_programs(self, toolspan: Cli) -> None:
        """
        What is in the store, and the findings as of files.
        """
        toolspan("ingest", EXAMPLE)

        found = document(toolspan)

        last_arrival = found["store"].pop("last_arrival")
        assert 30 == len(last_arrival)
        assert {
            "path": "toolspan.duckdb",
            "exists": True,
            "is_last_arrival_exact": True,
            "schema": 1,
            "commits": 3,
            "intake": {"received": 537},
        } == found["store"]
        assert {
            "calls": 432,
            "arguments_known": 432,
            "tasks": 80,
            "task_spans_found": 80,
            "open_tasks": 0,
            "waiting_tasks": 0,
            "clock_skew_ms": 0.0,
            "failures": 257,
            "unclassified": 4,
        } == found["checked"]
        assert (537, 80, []) == (found["spans"], found["traces"], found["findings"])


class TestNothing:
    def test_of_a_store_that_is_missing_names_the_others(self, toolspan: Cli, folder: Path) -> None:
        """
        The usual reason is the folder.
        """
        toolspan("ingest", scene(folder), "--store", "here.duckdb")

        found = document(toolspan, "--store", "there.duckdb")

        assert {"path": "there.duckdb", "exists": False} == found["store"]
        assert {"no_store": "blocks"} == severities(found)
        assert (
            f"No file {folder / 'there.duckdb'}. In its folder there are: here.duckdb."
            == only(found, "no_store")["seen"]
        )
        assert "No tool calls found. There is no store there.duckdb." == found["verdict"]

    @pytest.mark.parametrize(
        ("content", "key", "title"),
        [
            (b"", "empty", "No span ever came"),
            (build.json_line([{**build.tool_span(2), "traceId": "abcd"}]), "empty", "No span could be kept"),
            (build.json_line([build.run_span(1)]), "no_calls", "Spans came, and none is a tool call"),
        ],
    )
    def test_to_show_is_explained(self, toolspan: Cli, folder: Path, content: bytes, key: str, title: str) -> None:
        """
        An empty file, rejected spans, spans that are no calls.
        """
        (folder / "s.jsonl").write_bytes(content)
        toolspan("ingest", "s.jsonl")

        found = document(toolspan)

        assert "blocks" == severities(found)[key]
        assert title == only(found, key)["title"]
        assert found["verdict"].startswith("No tool calls found. ")

    @pytest.mark.parametrize(
        ("option", "value", "title", "seen"),
        [
            ("--tool", "boook", "--tool boook leaves none", "There are: 'book', 'search_flights'."),
            ("--agent", "nobody", "--agent nobody leaves none", "There are: 'trip_desk'."),
            ("--since", "2030-01-01", "The window leaves none", "Tasks ended from 2026-05-04T13:06:41Z to 2026-05-04"),
        ],
    )
    def test_that_a_filter_leaves_is_explained(
        self, toolspan: Cli, folder: Path, option: str, value: str, title: str, seen: str
    ) -> None:
        """
        With what it could have been.
        """
        toolspan("ingest", scene(folder))

        found = document(toolspan, option, value)

        assert (title, "blocks") == (only(found, "filtered")["title"], severities(found)["filtered"])
        assert only(found, "filtered")["seen"].startswith(seen)


class TestPruned:
    """
    What is not there any more is told from what never was.
    """

    def test_tasks_are_not_taken_for_spans_that_are_no_calls(self, toolspan: Cli, folder: Path) -> None:
        """
        The file holds nothing, and still says that something came; when is known to the hour.
        """
        toolspan("ingest", scene(folder))
        toolspan("prune", "--before", "1d")

        found = document(toolspan)
        text = " ".join(toolspan("doctor").out.split())

        gone = only(found, "pruned")
        assert ("No tool call is left of what came", "5 spans came; 0 tasks and 0 spans are left.") == (
            gone["title"],
            gone["seen"],
        )
        assert "toolspan prune deleted" in gone["why"]
        assert "no_calls" not in severities(found)
        assert not found["store"]["is_last_arrival_exact"]
        assert "T" in found["store"]["last_arrival"]
        assert found["store"]["last_arrival"][13:] == ":00:00.000000000Z"
        assert "the last span came in the hour of 20" in text

    def test_what_is_left_without_calls_proves_nothing(self, toolspan: Cli, folder: Path) -> None:
        """
        A task with calls was deleted, one without is kept.
        """
        toolspan("ingest", scene(folder))
        toolspan("prune", "--before", "1d")
        late = build.run_span(9, trace_id="0a" * 16, start_ms=10**11, end_ms=10**11 + 5)
        toolspan("ingest", write(folder / "late.jsonl", [late]))

        found = document(toolspan)

        assert "6 spans came; 1 task and 1 span are left." == only(found, "pruned")["seen"]

    def test_repeats_are_not_missed(self, toolspan: Cli, folder: Path) -> None:
        """
        They came and are not kept, and nothing was deleted.
        """
        file = write(folder / "s.jsonl", [build.run_span(1)])
        toolspan("ingest", file)
        toolspan("ingest", file)

        found = document(toolspan)

        assert "Spans came, and none is a tool call" == only(found, "no_calls")["title"]
        assert "pruned" not in severities(found)

    def test_a_task_that_stands_for_everything_is_told(self, toolspan: Cli, folder: Path) -> None:
        """
        Its spans were not kept, and doctor says what to change.
        """
        settings = replace(Settings(), task_spans=2)
        held = HeldStore(folder / "toolspan.duckdb", url="", settings=settings, tell=pytest.fail)
        for _ in range(2):
            held.write([run(1), tool_span(1, 2, start=0)], knows=bool)
        held.write([tool_span(1, 3, start=20)], knows=bool)
        held.close()

        found = document(toolspan)

        assert "weakens" == severities(found)["overflow"]
        assert only(found, "overflow")["seen"].startswith("1 span of tasks that had as many as")

    def test_of_what_is_not_there_nothing_is_said(self, toolspan: Cli, folder: Path) -> None:
        """
        No last span in 1970, no shares of nothing, no clocks of no spans.
        """
        (folder / "empty.jsonl").write_bytes(b"")
        toolspan("ingest", "empty.jsonl")

        text = " ".join(toolspan("doctor").out.split())

        checked = text.partition("checked ")[2]
        assert checked.startswith("schema 1, ")
        assert not [word for word in ("1970", "clocks", "repeats", "last span", "of 0 ") if word in checked]
        assert checked.endswith("A store does not know of sampling, results and frameworks: toolspan doctor FILE does.")
        assert (None, False) == tuple(
            document(toolspan)["store"][name] for name in ("last_arrival", "is_last_arrival_exact")
        )

    def test_a_span_that_is_kept_does_not_stand_for_a_later_one(self, toolspan: Cli, folder: Path) -> None:
        """
        That came hours after it and was deleted, since its task had ended long before.
        """
        clock = Clock()
        store = open_store(folder / "toolspan.duckdb", clock=clock)
        store.append([run(1)._replace(start_ns=0, end_ns=NOW_NS)])
        clock.pass_s(2 * 3600)
        store.append([run(2)._replace(start_ns=0, end_ns=1)])
        store.prune(NOW_NS)

        found = document(toolspan)

        assert (1, False) == (found["spans"], found["store"]["is_last_arrival_exact"])
        assert "2027-01-15T10:00:00.000000000Z" == found["store"]["last_arrival"]

    def test_spans_that_went_leave_the_hour(self, toolspan: Cli, folder: Path) -> None:
        """
        Of spans that were pruned with their groups the tasks stay; when the last came, nobody knows to the second.
        """
        (folder / "few.toml").write_text("[store]\nmax_spans = 1\n")
        toolspan("ingest", scene(folder), "--config", "few.toml")

        found = document(toolspan)
        text = " ".join(toolspan("doctor").out.split())

        assert (False, 0) == (found["store"]["is_last_arrival_exact"], found["spans"])
        assert "in the hour of" in text
        assert "clocks" not in text


class TestWeak:
    def test_what_did_not_count_is_told_by_reason(self, toolspan: Cli, folder: Path) -> None:
        """
        Rejected, late and conflicting spans; plain repeats are no finding.
        """
        (folder / "now.toml").write_text("[settle]\nlate = 0\n")
        toolspan("ingest", scene(folder))
        changed = call_of(4, "book", '{"fare": "B"}', start=40)
        toolspan("ingest", write(folder / "2.jsonl", [changed, {**build.tool_span(9), "spanId": "ab"}]))
        toolspan("ingest", write(folder / "3.jsonl", [call_of(7, "book", "{}")]), "--config", "now.toml")

        found = document(toolspan)

        assert {"rejected": "weakens", "late": "weakens", "repeats": "weakens"} == severities(found)
        assert [
            "1 span without usable ids or times, beside 7 that were kept.",
            "1 span of tasks that were closed.",
            "0 came again the same, 1 with other content.",
        ] == [only(found, key)["seen"] for key in ("rejected", "late", "repeats")]

    def test_what_waits_to_be_settled_is_told(self, toolspan: Cli, folder: Path) -> None:
        """
        With what settles it, and since when nothing has come.
        """
        leave_open(folder / "toolspan.duckdb", tasks=2)

        found = document(toolspan)

        assert "2 of 2 open tasks are over, and nobody wrote to the store since." == only(found, "waiting")["seen"]
        assert "note" == severities(found)["silent"]
        assert only(found, "silent")["seen"].startswith("The last span came at 2023-11-14T22:13:20Z, ")

    def test_what_is_open_still_is_no_weakness(self, toolspan: Cli, folder: Path) -> None:
        """
        More of it may come.
        """
        (folder / "patient.toml").write_text("[settle]\nopen_timeout = 1e9\n")
        open_store(folder / "toolspan.duckdb", clock=Clock(LONG_AGO_NS)).append([tool_span(1, 2, start=0)])

        found = document(toolspan, "--config", "patient.toml")

        assert "1 of 1 task." == only(found, "open")["seen"]
        assert "note" == severities(found)["open"]

    def test_arguments_that_are_not_known_are_told_by_tool(self, toolspan: Cli, folder: Path) -> None:
        """
        Links then rest on a presumption.
        """
        spans = [
            build.run_span(1, end_ms=1000),
            *(
                build.tool_span(number, "pay", parent=1, start_ms=number * 20, end_ms=number * 20 + 5, status=2)
                for number in (2, 3)
            ),
            call_of(4, "book", '{"a": 1}'),
        ]
        toolspan("ingest", write(folder / "s.jsonl", spans))

        found = document(toolspan)

        said = "Unknown: pay (2 of 2 calls). Links between calls that are therefore presumed: 1 of 1."
        assert (said, "Arguments are never recorded") == (
            only(found, "arguments")["seen"],
            only(found, "arguments")["title"],
        )
        assert "2 of 2 failures; most frequent evidence: status (2)." == only(found, "unclassified")["seen"]
        assert ["weakens", "weakens"] == [severities(found)[key] for key in ("arguments", "unclassified")]

    def test_tasks_without_a_span_of_their_own_are_told(self, toolspan: Cli, folder: Path) -> None:
        """
        Of all of them; why is told of those that came last.
        """
        toolspan("ingest", write(folder / "s.jsonl", [build.tool_span(2), call_of(5, "book", "{}")]))

        found = document(toolspan)

        assert "1 of 1 task." == only(found, "unseen")["seen"]
        assert {"unseen", "top_of_trace", "missing_parents"} <= severities(found).keys()

    def test_clocks_and_units_are_looked_at(self, toolspan: Cli, folder: Path) -> None:
        """
        In the spans that are kept.
        """
        seconds = [run(1)._replace(start_ns=2 * 10**6), tool_span(1, 2, start=2)]
        early = [run(2)._replace(start_ns=62 * 10**6), tool_span(2, 2, start=2)]
        open_store(folder / "toolspan.duckdb").append([*seconds, *early])

        found = document(toolspan)

        assert "Spans that start before their parent: 1, by up to 60 ms" in only(found, "clock")["seen"]
        assert "The first span starts at 1970-01-01T00:00:00" in only(found, "units")["seen"]
        assert 60.0 == found["checked"]["clock_skew_ms"]

    def test_a_loss_is_a_finding(self, toolspan: Cli, folder: Path) -> None:
        """
        The file says how many commits it had; what was noted beside it says that there were more.
        """
        toolspan("ingest", scene(folder))
        older = (folder / "toolspan.duckdb").read_bytes()
        toolspan("ingest", EXAMPLE)
        (folder / "toolspan.duckdb").write_bytes(older)

        found = document(toolspan)

        assert "toolspan.duckdb has lost 3 of 6 commits, 537 of 542 spans" in only(found, "lost")["seen"]
