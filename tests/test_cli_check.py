"""
`toolspan check`: the targets, judged on enough cases, and the exit code that a pipeline stops at.
"""

import json
from pathlib import Path

import pytest

from tests.cli_runner import Cli, scene
from tests.rows import call, failed, rows, task, task_tool
from tests.stored import EXAMPLE
from toolspan.cli._judging import TARGETS, Judged, judge, judged_lines
from toolspan.documents import Report
from toolspan.numbers import report
from toolspan.records import TaskTool

#: Every target has this limit where a test is about another.
LAX = {
    "retries_per_step": 1e9,
    "retries_p95": 1e9,
    "tail": 1.0,
    "validation_recovery": 0.0,
    "clean_escalations": 0.0,
    "wasted_seconds": 1e9,
    "unclassified": 1.0,
    "cluster": 1.0,
}


def report_of(sums: TaskTool, *, failures: int = 0, unclassified: int = 0, tasks: int = 1) -> Report:
    """
    The numbers of one tool with *sums* in each of so many resolved tasks, and so many failures in the first.
    """
    calls = [
        failed(call(place, task="t0"), "unclassified" if place < unclassified else "fatal", "X")
        for place in range(failures)
    ]
    return report(
        rows(
            calls or [call(1, task="t0")],
            [task(f"t{number}") for number in range(tasks)],
            [sums._replace(task_id=f"t{number}") for number in range(tasks)],
        )
    )


def only(document: Report, target: str, limit: float, *, min_cases: int = 20) -> Judged:
    """
    What becomes of one target of the only tool.
    """
    [found] = judge(document, {target: limit}, min_cases=min_cases)
    return found


class TestJudging:
    @pytest.mark.parametrize(
        ("target", "document", "kept", "broken", "value", "cases"),
        [
            ("retries_per_step", report_of(task_tool(steps=20)._replace(retries=10)), 0.51, 0.5, 0.5, 20),
            ("retries_p95", report_of(task_tool()._replace(retries=2), tasks=20), 2, 1, 2, 20),
            ("tail", report_of(task_tool()._replace(retries=2), tasks=20), 1, 0.99, 1.0, 20),
            (
                "validation_recovery",
                report_of(task_tool()._replace(validation_failures=20, recovered=15)),
                0.75,
                0.76,
                0.75,
                20,
            ),
            (
                "clean_escalations",
                report_of(task_tool()._replace(episodes=30, escalated=20, clean=15)),
                0.75,
                0.76,
                0.75,
                20,
            ),
            ("unclassified", report_of(task_tool(), failures=20, unclassified=5), 0.25, 0.24, 0.25, 20),
            ("cluster", report_of(task_tool(), failures=20, unclassified=5), 0.75, 0.74, 0.75, 20),
            ("cluster", report_of(task_tool(), failures=20, unclassified=15), 0.25, 0.24, 0.25, 20),
            (
                "wasted_seconds",
                report_of(task_tool()._replace(retries=1, wasted=1, wasted_ns=3 * 10**9), failures=20),
                3,
                2.9,
                3.0,
                20,
            ),
        ],
    )
    def test_compares_each_number_with_its_limit(
        self, target: str, document: Report, kept: float, broken: float, value: float, cases: int
    ) -> None:
        """
        Retries per step stay under it, the others may reach it.
        """
        assert Judged("search", target, value, kept, cases, "kept") == only(document, target, kept)
        assert Judged("search", target, value, broken, cases, "broken") == only(document, target, broken)

    def test_knows_every_target(self) -> None:
        """
        Each is judged once per tool, in the order in which they are listed.
        """
        assert list(TARGETS) == [each.target for each in judge(report_of(task_tool()), LAX, min_cases=1)]

    @pytest.mark.parametrize(("cases", "verdict"), [(19, "unjudged"), (20, "broken")])
    def test_takes_enough_cases(self, cases: int, verdict: str) -> None:
        """
        Of the number's own denominator: the tool has many more calls.
        """
        sums = task_tool(steps=500)._replace(validation_failures=cases)

        assert verdict == only(report_of(sums), "validation_recovery", 0.8).verdict

    def test_of_no_cases_is_not_judged(self) -> None:
        """
        Null is neither kept nor broken.
        """
        assert Judged("search", "clean_escalations", None, 0.9, 0, "unjudged") == only(
            report_of(task_tool()), "clean_escalations", 0.9, min_cases=1
        )


class TestLines:
    def test_name_tool_number_target_and_cases(self) -> None:
        """
        One for each broken target, then how many were judged.
        """
        judged = [
            Judged("book", "retries_per_step", 1.25, 1.0, 20, "broken"),
            Judged("book", "validation_recovery", 0.79999, 0.8, 99999, "broken"),
            Judged("book", "unclassified", 0.10001, 0.1, 99999, "broken"),
            Judged("pay", "tail", 0.0, 0.1, 20, "kept"),
            Judged("pay", "clean_escalations", None, 0.9, 0, "unjudged"),
        ]

        assert [
            "! book: retries_per_step 1.25 of 20 steps, target under 1",
            "! book: validation_recovery 0.799 of 99,999 validation failures, target at least 0.8",
            "! book: unclassified 0.101 of 99,999 failures, target at most 0.1",
            "3 of 4 judged numbers break their target; 1 more rests on fewer than 20 cases.",
        ] == list(judged_lines(judged, min_cases=20))

    def test_say_when_all_are_kept(self) -> None:
        """
        With how many that are.
        """
        judged = [Judged("pay", "tail", 0.0, 0.1, 20, "kept"), Judged("pay", "retries_p95", 1, 1, 20, "kept")]

        assert ["All 2 judged numbers keep their target."] == list(judged_lines(judged, min_cases=20))

    def test_say_when_nothing_is_judged(self) -> None:
        """
        A new store breaks nothing, and proves nothing.
        """
        judged = [Judged("pay", "tail", 0.0, 0.1, 4, "unjudged")]

        assert ["Nothing is judged: no number rests on 5 cases."] == list(judged_lines(judged, min_cases=5))


@pytest.mark.usefixtures("folder")
class TestCommand:
    def test_names_what_is_broken_and_ends_with_1(self, toolspan: Cli) -> None:
        """
        By the targets that hold without any option.
        """
        result = toolspan("check", EXAMPLE)

        assert (1, "") == (result.status, result.err)
        assert [
            "! search_flights: validation_recovery 0.236 of 93 validation failures, target at least 0.8",
            "! book_room: retries_p95 3 of 55 resolved tasks, target at most 1",
            "! refund: clean_escalations 0.72 of 25 permission escalations, target at least 0.9",
            "3 of 9 judged numbers break their target; 7 more rest on fewer than 20 cases.",
        ] == result.out.splitlines()

    def test_says_the_same_of_a_store(self, toolspan: Cli) -> None:
        """
        Whatever is asked of it.
        """
        toolspan("ingest", EXAMPLE)
        options = ("--max-tail", "0.2", "--max-unclassified", "0.1", "--min-cases", "5", "--format", "json")

        assert toolspan("check", EXAMPLE, *options) == toolspan("check", *options)

    @pytest.mark.parametrize(
        ("options", "broken"),
        [
            (("--tool", "get_invoice"), []),
            (("--tool", "book_room", "--max-retries-p95", "3"), []),
            (("--tool", "book_room", "--max-retries-p95", "2"), ["retries_p95"]),
            (("--tool", "book_room", "--max-retries-p95", "3", "--max-tail", "0.2"), ["tail"]),
            (("--tool", "search_flights", "--min-recovery", "0.2"), []),
            (("--tool", "refund", "--min-clean-escalations", "0.72"), []),
            (("--tool", "refund", "--min-cases", "26"), []),
            (("--tool", "get_invoice", "--max-unclassified", "0.1"), ["unclassified"]),
            (("--agent", "nobody"), []),
            (("--until", "2000-01-01"), []),
        ],
    )
    def test_takes_targets_and_filters(self, toolspan: Cli, options: tuple[str, ...], broken: list[str]) -> None:
        """
        The exit code tells whether one is broken.
        """
        result = toolspan("check", EXAMPLE, *options, "--format", "json")

        document = json.loads(result.out)
        found = [each["target"] for each in document["numbers"] if each["verdict"] == "broken"]
        assert (broken, not broken, bool(broken)) == (found, document["kept"], result.status == 1)

    def test_takes_targets_from_the_configuration(self, toolspan: Cli, folder: Path) -> None:
        """
        An option wins over it.
        """
        (folder / "lax.toml").write_text("[targets]\nvalidation_recovery = 0.1\nmin_cases = 90\n")
        given = ("check", EXAMPLE, "--config", "lax.toml")

        kept, broken = toolspan(*given), toolspan(*given, "--min-recovery", "0.5")

        assert (0, 1) == (kept.status, broken.status)
        assert "90 cases" in kept.out
        assert broken.out.startswith("! search_flights: validation_recovery 0.236")

    def test_says_why_there_is_nothing_to_judge(self, toolspan: Cli, folder: Path) -> None:
        """
        On standard error: nothing is broken, and a mistyped name shows.
        """
        result = toolspan("check", scene(folder), "--tool", "boook")

        said = "toolspan: No call of the tool 'boook'; did you mean 'book'?\n"
        assert (0, said) == (result.status, result.err)
        assert "Nothing is judged: no number rests on 20 cases.\n" == result.out

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            (("--tool", "boook"), "No call of the tool 'boook'; did you mean 'book'?"),
            (("--agent", "trip_dek"), "No task of the agent 'trip_dek'; did you mean 'trip_desk'?"),
            (("--service", "x"), "No task of the service 'x'; there are 'travel-agent'."),
            (("--environment", "x"), "No task of the environment 'x'; there are ''."),
            (
                ("--since", "2030-01-01"),
                "No tool calls in this window and with these filters; without them there are 4.",
            ),
        ],
    )
    def test_never_passes_for_kept_where_nothing_is_judged(
        self, toolspan: Cli, folder: Path, options: tuple[str, ...], why: str
    ) -> None:
        """
        The exit code stays, but it is said why, to people and to programs; who demands cases gets exit 1.
        """
        given: list[str] = ["check", str(scene(folder)), *options, "--format", "json"]

        lenient, strict = toolspan(*given), toolspan(*given, "--require-cases")

        assert [(0, f"toolspan: {why}\n"), (1, f"toolspan: {why}\n")] == [
            (each.status, each.err) for each in (lenient, strict)
        ]
        assert [(0, True, why), (0, False, why)] == [
            (found["judged"], found["kept"], found["nothing"]) for found in map(json.loads, (lenient.out, strict.out))
        ]

    def test_says_in_the_document_that_cases_are_too_few(self, toolspan: Cli, folder: Path) -> None:
        """
        Nothing is wrong with what was asked, so nobody is told twice.
        """
        result = toolspan("check", scene(folder), "--format", "json")

        document = json.loads(result.out)
        assert (0, "") == (result.status, result.err)
        assert (0, True, "No number rests on 20 cases.") == (document["judged"], document["kept"], document["nothing"])

    def test_of_an_empty_store_can_fail(self, toolspan: Cli, folder: Path) -> None:
        """
        A pipeline that lost its spans must not stay green; the line is like that of a broken target.
        """
        (folder / "empty.jsonl").write_bytes(b"")
        toolspan("ingest", "empty.jsonl")

        result = toolspan("check", "--require-cases")

        assert (1, "! nothing is judged: no number rests on 20 cases, and --require-cases demands one.\n") == (
            result.status,
            result.out,
        )
        assert "toolspan: No tool calls found; toolspan doctor --store " in result.err

    def test_that_demands_cases_passes_with_one(self, toolspan: Cli) -> None:
        """
        One judged number is enough.
        """
        result = toolspan("check", EXAMPLE, "--tool", "get_invoice", "--require-cases", "--format", "json")

        document = json.loads(result.out)
        assert (0, "", True, None) == (result.status, result.err, document["kept"], document["nothing"])
        assert document["judged"] == sum(each["verdict"] != "unjudged" for each in document["numbers"]) > 0

    @pytest.mark.parametrize(
        ("option", "value", "says"),
        [
            ("--max-tail", "nan", "nan is not in the range 0<=x<=1"),
            ("--min-recovery", "80", "80.0 is not in the range 0<=x<=1"),
            ("--max-unclassified", "-0.1", "-0.1 is not in the range 0<=x<=1"),
            ("--min-clean-escalations", "inf", "inf is not in the range 0<=x<=1"),
            ("--min-clean-escalations", "90%", "'90%' is not a valid number"),
            ("--max-retries-p95", "1.5", "'1.5' is not a valid whole number"),
            ("--max-retries-p95", "-1", "-1 is not in the range x>=0"),
            ("--min-cases", "0", "0 is not in the range x>=1"),
        ],
    )
    def test_refuses_what_is_no_target(self, toolspan: Cli, folder: Path, option: str, value: str, says: str) -> None:
        """
        Exit 2, which is no broken target.
        """
        result = toolspan("check", scene(folder), f"{option}={value}")

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))
        assert f"toolspan: Invalid value for '{option}': {says}" in result.err
