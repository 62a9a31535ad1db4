"""
The numbers of `report`, each against values computed by hand.
"""

import pytest

from tests.rows import call, failed, retry, rewrite, rows, task, task_tool, tasks_with_retries, tool_of
from toolspan.documents import Report
from toolspan.numbers import report

NO_ERRORS = {"transient": 0, "validation": 0, "permission": 0, "business_rule": 0, "fatal": 0, "unclassified": 0}


SCENE: Report = {
    "window": {"since": None, "until": None},
    "tasks": {"total": 1, "resolved": 1, "unresolved": 0, "escalated": 0, "unknown": 0, "open": 0},
    "tools": {
        "search": {
            "calls": 2,
            "ok": 0,
            "cancelled": 0,
            "deferred": 0,
            "errors": {**NO_ERRORS, "validation": 1, "business_rule": 1},
            "codes": {"DATE_FORMAT": 1, "NO_SEATS_IN_FARE": 1},
            "retries_per_resolved_task": {
                "resolved_tasks": 1,
                "retries": 0,
                "mean": 0.0,
                "p50": 0,
                "p95": 0,
                "p99": 0,
                "max": 0,
            },
            "retries": {
                "total": 0,
                "presumed": 0,
                "allowed": 0,
                "early": 0,
                "over_cap": 0,
                "wasted": 0,
                "wasted_ms": 0,
                "steps": 1,
                "per_step": 0.0,
            },
            "validation_recovery": {"failures": 1, "recovered": 0, "rate": 0.0, "accepted": 1},
            "escalations": {"episodes": 0, "escalated": 0, "without_prior_retry": 0, "rate": None},
            "attempts": {"total": 2, "calls_with_local_retry": 0},
            "damage": 1,
            "broken": [],
            "duration_ms": {"p50": 10.0, "p95": 200.0},
            "detail": {
                "tail": 0.0,
                "presumed_share": {"retries": None, "rewrites": 0.0},
                "unclassified_share": 0.0,
                "recovery_by_code": {"DATE_FORMAT": {"failures": 1, "recovered": 0, "rate": 0.0, "accepted": 1}},
                "recovery_by_field": {"date": {"failures": 1, "recovered": 0, "rate": 0.0, "accepted": 1}},
                "wasted_by_code": {},
                "causes": [
                    {"class": "business_rule", "code": "NO_SEATS_IN_FARE", "failures": 1},
                    {"class": "validation", "code": "DATE_FORMAT", "failures": 1},
                ],
                "retried_in_vain": [],
                "unresolved_tasks": 0,
            },
        }
    },
}


def test_the_document_is_the_fixed_one_and_detail() -> None:
    """
    A malformed date, rewritten, then sold out: the scene of the interface, with every key in its order.
    """
    scene = rows(
        [
            failed(call(1, start=0, end=10), "validation", "DATE_FORMAT", field="date"),
            rewrite(failed(call(2, start=20, end=220), "business_rule", "NO_SEATS_IN_FARE"), of=1),
        ],
        [task()],
        [task_tool(calls=2)._replace(validation_failures=1, accepted=1, streak=1)],
    )

    document = report(scene)

    assert SCENE == document
    assert list(tool_of(SCENE)) == list(tool_of(document))


def test_no_rows_make_an_empty_document() -> None:
    """
    Nothing in, zeros out.
    """
    expected = {
        "window": {"since": None, "until": None},
        "tasks": {"total": 0, "resolved": 0, "unresolved": 0, "escalated": 0, "unknown": 0, "open": 0},
        "tools": {},
    }
    assert expected == report(rows())


class TestCalls:
    def test_every_outcome_is_counted_apart(self) -> None:
        """
        Cancelled and deferred calls are calls, and neither successes nor failures.
        """
        calls = [
            call(1),
            call(2)._replace(outcome="cancelled", code="REJECTED"),
            call(3)._replace(outcome="deferred"),
            failed(call(4), "fatal", "NOT_IMPLEMENTED"),
        ]

        tool = tool_of(report(rows(calls, [task()], [task_tool()])))

        assert (
            tool["calls"],
            tool["ok"],
            tool["cancelled"],
            tool["deferred"],
            tool["errors"]["fatal"],
        ) == (4, 1, 1, 1, 1)

    def test_codes_are_of_errors_only_the_most_frequent_first(self) -> None:
        """
        A refused call has a code but did not fail; ties are by name.
        """
        calls = [
            failed(call(1), "fatal", "B"),
            failed(call(2), "fatal", "C"),
            failed(call(3), "fatal", "C"),
            failed(call(4), "fatal", "A"),
            call(5)._replace(outcome="cancelled", code="REJECTED"),
        ]

        tool = tool_of(report(rows(calls, [task()])))

        assert list(tool["codes"].items()) == [("C", 2), ("A", 1), ("B", 1)]

    def test_a_failure_without_class_is_unclassified(self) -> None:
        """
        What a store cannot name is counted where nothing is guessed.
        """
        tool = tool_of(report(rows([call(1)._replace(outcome="error")], [task()])))

        assert (tool["errors"]["unclassified"], tool["codes"]) == (1, {"UNCLASSIFIED": 1})

    def test_attempts_inside_the_tool_are_added_up(self) -> None:
        """
        Three tries and one try are four attempts in two calls.
        """
        tool = tool_of(report(rows([call(1)._replace(attempts=3), call(2)], [task()])))

        assert tool["attempts"] == {"total": 4, "calls_with_local_retry": 1}

    def test_calls_of_open_tasks_count_and_their_retries_do_not(self) -> None:
        """
        What happened has happened; what follows from it is not known yet.
        """
        calls = [failed(call(1), "transient", "UNAVAILABLE"), retry(call(2, start=20), of=1, verdict="allowed")]
        open_task = task()._replace(settled=False, outcome="unknown")

        document = report(rows(calls, [open_task], [task_tool(calls=2)._replace(retries=1, allowed=1)]))

        assert (document["tasks"]["total"], document["tasks"]["open"]) == (1, 1)
        assert document["tasks"]["unknown"] == 0
        assert tool_of(document)["calls"] == 2
        assert tool_of(document)["retries"]["total"] == 0
        assert tool_of(document)["retries"]["steps"] == 0
        assert tool_of(document)["detail"]["presumed_share"]["retries"] is None

    def test_causes_are_class_and_code_together_the_most_frequent_first(self) -> None:
        """
        One code may stand for two classes; ties are by class.
        """
        calls = [
            failed(call(1), "validation", "A"),
            failed(call(2), "fatal", "A"),
            failed(call(3), "transient", "B"),
            failed(call(4), "transient", "B"),
        ]

        causes = tool_of(report(rows(calls, [task()])))["detail"]["causes"]

        assert [("transient", "B", 2), ("fatal", "A", 1), ("validation", "A", 1)] == [
            tuple(cause.values()) for cause in causes
        ]

    def test_unresolved_tasks_that_called_the_tool_are_counted(self) -> None:
        """
        Not the resolved ones, the open ones, or those that called other tools.
        """
        tasks = [task("t1", "unresolved"), task("t2"), task("t3", "unresolved"), task("t4", "unresolved")]
        tasks[3] = tasks[3]._replace(settled=False)
        calls = [call(1), call(2, task="t2"), call(3, "other", task="t3"), call(4, task="t4")]
        sums = [task_tool("t1"), task_tool("t2"), task_tool("t3", "other"), task_tool("t4")]

        tool = tool_of(report(rows(calls, tasks, sums)))

        assert tool["detail"]["unresolved_tasks"] == 1


class TestDurations:
    @pytest.mark.parametrize(
        ("duration_ns", "expected"),
        [
            (12_345_678, 12.3),
            (12_350_000, 12.4),
            (999_500, 1.0),
            (1_234, 0.001),
            (999, 0.001),
            (499, 0.0),
            (0, 0.0),
            (-5_000_000, 0.0),
            (86_399_000_000_000, 86_400_000.0),
        ],
    )
    def test_are_rounded_to_three_significant_digits(self, duration_ns: int, expected: float) -> None:
        """
        Half up, while they are nanoseconds; then milliseconds with three decimals; an end before its start is 0.
        """
        one = call(1)._replace(started_ns=10**18, ended_ns=10**18 + duration_ns)

        tool = tool_of(report(rows([one], [task()])))

        assert {"p50": expected, "p95": expected} == tool["duration_ms"]

    def test_percentiles_are_values_that_occurred(self) -> None:
        """
        Of 1…20 ms the median is 10 and the 95th percentile 19: nearest rank, nothing between.
        """
        calls = [call(ms, start=0, end=ms) for ms in range(1, 21)]

        tool = tool_of(report(rows(calls, [task()])))

        assert tool["duration_ms"] == {"p50": 10.0, "p95": 19.0}


class TestRetriesPerResolvedTask:
    def test_a_heavy_tail_shows_in_p95_not_in_p50(self) -> None:
        """
        Nine clean tasks and one with nine retries.
        """
        tool = tool_of(report(tasks_with_retries([0] * 9 + [9])))

        expected = {"resolved_tasks": 10, "retries": 9, "mean": 0.9, "p50": 0, "p95": 9, "p99": 9, "max": 9}
        assert expected == tool["retries_per_resolved_task"]
        assert tool["detail"]["tail"] == 0.1

    def test_one_retry_is_no_tail(self) -> None:
        """
        The tail begins at more than one.
        """
        assert tool_of(report(tasks_with_retries([1, 2])))["detail"]["tail"] == 0.5

    def test_only_resolved_tasks_that_called_the_tool_count(self) -> None:
        """
        Neither an unresolved task nor one that never called the tool is a task with zero retries of it.
        """
        tasks = [task("t1"), task("t2", "unresolved"), task("t3")]
        calls = [call(1), call(2, task="t2"), call(3, "other", task="t3")]
        sums = [task_tool("t1")._replace(retries=1), task_tool("t2")._replace(retries=5), task_tool("t3", "other")]

        tool = tool_of(report(rows(calls, tasks, sums)))

        assert (
            tool["retries_per_resolved_task"]["resolved_tasks"],
            tool["retries_per_resolved_task"]["retries"],
        ) == (1, 1)
        assert (tool["retries"]["total"], tool["retries"]["steps"]) == (6, 2)

    def test_no_resolved_task_is_null_and_not_zero(self) -> None:
        """
        A rate or percentile of nothing is not known.
        """
        tool = tool_of(report(rows([call(1)], [task(outcome="unknown")], [task_tool()])))

        expected = {
            "resolved_tasks": 0,
            "retries": 0,
            "mean": None,
            "p50": None,
            "p95": None,
            "p99": None,
            "max": None,
        }
        assert expected == tool["retries_per_resolved_task"]
        assert tool["detail"]["tail"] is None


class TestRetries:
    def test_verdicts_and_wasted_time_are_sums_over_settled_tasks(self) -> None:
        """
        Time is added in nanoseconds and written in milliseconds.
        """
        first = task_tool("t1", steps=2)._replace(retries=3, presumed=1, allowed=1, wasted=2, wasted_ns=1_500_000)
        second = task_tool("t2", steps=2)._replace(retries=2, early=1, over_cap=1, wasted_ns=400)

        tool = tool_of(
            report(rows([call(1), call(2, task="t2")], [task("t1"), task("t2", "unresolved")], [first, second]))
        )

        expected = {
            "total": 5,
            "presumed": 1,
            "allowed": 1,
            "early": 1,
            "over_cap": 1,
            "wasted": 2,
            "wasted_ms": 1.5,
            "steps": 4,
            "per_step": 1.25,
        }
        assert expected == tool["retries"]

    def test_wasted_retries_are_counted_by_the_code_they_repeat(self) -> None:
        """
        That code is where a hint or another class would save most.
        """
        calls = [
            failed(call(1), "permission", "DENIED"),
            retry(failed(call(2, start=20), "permission", "DENIED"), of=1, verdict="wasted"),
            retry(failed(call(3, start=40), "fatal", "GONE"), of=2, verdict="wasted"),
            retry(call(4, start=60), of=3, verdict="wasted"),
        ]

        tool = tool_of(report(rows(calls, [task()], [task_tool()._replace(retries=3, wasted=3)])))

        assert list(tool["detail"]["wasted_by_code"].items()) == [("DENIED", 2), ("GONE", 1)]

    def test_retries_in_vain_are_told_by_class_code_and_verdict(self) -> None:
        """
        What an agent should not have repeated, the most first; an allowed retry is not among it.
        """
        calls = [
            failed(call(1), "transient", "BUSY"),
            retry(failed(call(2, start=20), "transient", "BUSY"), of=1, verdict="allowed"),
            retry(failed(call(3, start=40), "transient", "BUSY"), of=2, verdict="over_cap"),
            retry(failed(call(4, start=60), "fatal", "GONE"), of=3, verdict="over_cap"),
            retry(call(5, start=80), of=4, verdict="wasted"),
        ]

        tool = tool_of(report(rows(calls, [task()])))

        expected = [
            {"class": "transient", "code": "BUSY", "early": 0, "over_cap": 2, "wasted": 0},
            {"class": "fatal", "code": "GONE", "early": 0, "over_cap": 0, "wasted": 1},
        ]
        assert expected == tool["detail"]["retried_in_vain"]

    def test_the_presumed_share_is_of_links_of_that_kind(self) -> None:
        """
        One of two retries and the only rewrite rest on unknown arguments.
        """
        sums = task_tool()._replace(retries=2, presumed=1)
        calls = [
            failed(call(1), "transient", "T"),
            retry(failed(call(2), "transient", "T"), of=1, verdict="allowed"),
            retry(failed(call(3), "validation", "V"), of=2, verdict="over_cap", presumed=True),
            rewrite(call(4), of=3, presumed=True),
        ]

        tool = tool_of(report(rows(calls, [task()], [sums])))

        assert tool["detail"]["presumed_share"] == {"retries": 0.5, "rewrites": 1.0}
