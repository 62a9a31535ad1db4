"""
The numbers of `report`, each against values computed by hand.
"""

from collections.abc import Sequence

import pytest

from tests.rows import MS, call, failed, retry, rewrite, rows, task, task_tool
from toolspan.documents import Report, ToolReport
from toolspan.numbers import Scope, Targets, report, report_by
from toolspan.records import Call, Rows

NO_ERRORS = {"transient": 0, "validation": 0, "permission": 0, "business_rule": 0, "fatal": 0, "unclassified": 0}


def tool_of(document: Report, name: str = "search") -> ToolReport:
    """
    The part of one tool.
    """
    return document["tools"][name]


def tasks_with_retries(retries: Sequence[int]) -> Rows:
    """
    One resolved task for each number, which retried the tool that often.
    """
    ids = [f"t{place}" for place in range(len(retries))]
    return rows(
        [call(place, task=task_id) for place, task_id in enumerate(ids)],
        [task(task_id) for task_id in ids],
        [task_tool(task_id)._replace(retries=count) for task_id, count in zip(ids, retries, strict=True)],
    )


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

    expected: Report = {
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
                },
            }
        },
    }
    assert expected == document
    assert list(tool_of(expected)) == list(tool_of(document))


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
            (-5, 0.0),
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

    def test_the_presumed_share_is_of_links_of_that_kind(self) -> None:
        """
        One of two retries and the only rewrite rest on unknown arguments.
        """
        calls = [
            failed(call(1), "transient", "T"),
            retry(failed(call(2), "transient", "T"), of=1, verdict="allowed"),
            retry(failed(call(3), "validation", "V"), of=2, verdict="over_cap", presumed=True),
            rewrite(call(4), of=3, presumed=True),
        ]

        tool = tool_of(report(rows(calls, [task()])))

        assert tool["detail"]["presumed_share"] == {"retries": 0.5, "rewrites": 1.0}


class TestRecovery:
    def test_is_told_by_code_and_by_field_the_worst_first(self) -> None:
        """
        `date` loses two of two, `fare` none; an identical retry that succeeds is no recovery.
        """
        calls = [
            failed(call(1), "validation", "FORMAT", field="fare"),
            rewrite(call(2, start=20), of=1),
            failed(call(3, start=40), "validation", "FORMAT", field="date"),
            retry(failed(call(4, start=60), "validation", "RANGE", field="date"), of=3, verdict="wasted"),
            retry(call(5, start=80), of=4, verdict="wasted"),
            failed(call(6, start=100), "validation", "RANGE"),
        ]

        detail = tool_of(report(rows(calls, [task()])))["detail"]

        assert list(detail["recovery_by_field"].items()) == [
            ("date", {"failures": 2, "recovered": 0, "rate": 0.0, "accepted": 0}),
            ("", {"failures": 1, "recovered": 0, "rate": 0.0, "accepted": 0}),
            ("fare", {"failures": 1, "recovered": 1, "rate": 1.0, "accepted": 1}),
        ]
        assert list(detail["recovery_by_code"].items()) == [
            ("RANGE", {"failures": 2, "recovered": 0, "rate": 0.0, "accepted": 0}),
            ("FORMAT", {"failures": 2, "recovered": 1, "rate": 0.5, "accepted": 1}),
        ]

    def test_a_rewrite_that_fails_validation_again_is_not_accepted(self) -> None:
        """
        Accepted means: no longer a validation failure.
        """
        calls = [
            failed(call(1), "validation", "V"),
            rewrite(failed(call(2, start=20), "validation", "V"), of=1),
        ]

        by_code = tool_of(report(rows(calls, [task()])))["detail"]["recovery_by_code"]

        assert by_code == {"V": {"failures": 2, "recovered": 0, "rate": 0.0, "accepted": 0}}

    def test_a_call_of_another_task_answers_nothing(self) -> None:
        """
        Span ids are unique in a trace, not between tasks.
        """
        calls = [failed(call(1), "validation", "V"), rewrite(call(2, task="t2", start=20), of=1)]

        by_code = tool_of(report(rows(calls, [task("t1"), task("t2")])))["detail"]["recovery_by_code"]

        assert by_code == {"V": {"failures": 1, "recovered": 0, "rate": 0.0, "accepted": 0}}


class TestDamage:
    def test_is_what_a_better_agent_would_have_saved(self) -> None:
        """
        1 wasted + 2 over cap + 3 early + (5 - 1) validation failures lost + (4 - 2) escalations after a retry.
        """
        sums = task_tool()._replace(
            retries=7,
            allowed=1,
            wasted=1,
            over_cap=2,
            early=3,
            validation_failures=5,
            recovered=1,
            episodes=6,
            escalated=4,
            clean=2,
        )

        assert tool_of(report(rows([call(1)], [task()], [sums])))["damage"] == 12

    def test_orders_the_tools_then_wasted_time_then_the_name(self) -> None:
        """
        The tool that hurts most stands first.
        """
        names = ("calm", "idle", "slow", "worst")
        calls = [call(place, name) for place, name in enumerate(names)]
        sums = [
            task_tool(tool="calm"),
            task_tool(tool="idle")._replace(retries=1, wasted=1, wasted_ns=1 * MS),
            task_tool(tool="slow")._replace(retries=1, wasted=1, wasted_ns=2 * MS),
            task_tool(tool="worst")._replace(retries=2, early=2),
        ]

        document = report(rows(calls, [task()], sums))

        assert list(document["tools"]) == ["worst", "slow", "idle", "calm"]


class TestBroken:
    def test_nothing_is_judged_below_twenty_cases(self) -> None:
        """
        Nineteen bad tasks raise no alarm, the twentieth does.
        """
        assert tool_of(report(tasks_with_retries([2] * 19)))["broken"] == []
        assert tool_of(report(tasks_with_retries([2] * 20)))["broken"] == ["retries_per_step", "retries_p95"]

    def test_one_retry_per_step_is_too_many_and_a_p95_of_one_is_not(self) -> None:
        """
        The targets are *under* one per step, and *at most* one at the 95th percentile.
        """
        assert tool_of(report(tasks_with_retries([1] * 20)))["broken"] == ["retries_per_step"]

    @pytest.mark.parametrize(("recovered", "expected"), [(16, []), (15, ["validation_recovery"])])
    def test_recovery_of_exactly_the_target_is_kept(self, recovered: int, expected: list[str]) -> None:
        """
        Sixteen of twenty are 0.8.
        """
        sums = task_tool()._replace(validation_failures=20, recovered=recovered)

        assert expected == tool_of(report(rows([call(1)], [task()], [sums])))["broken"]

    @pytest.mark.parametrize(("clean", "expected"), [(18, []), (17, ["clean_escalations"])])
    def test_clean_escalations_are_judged_on_escalated_episodes(self, clean: int, expected: list[str]) -> None:
        """
        Eighteen of twenty are 0.9, however many episodes nobody heard of.
        """
        sums = task_tool()._replace(episodes=50, escalated=20, clean=clean)

        assert expected == tool_of(report(rows([call(1)], [task()], [sums])))["broken"]

    def test_targets_are_settings(self) -> None:
        """
        A team that wants more, sooner, says so.
        """
        targets = Targets(retries_per_step=3.0, retries_p95=0, min_cases=1)

        assert tool_of(report(tasks_with_retries([2]), targets=targets))["broken"] == ["retries_p95"]

    def test_no_cases_break_nothing_even_where_none_are_asked_for(self) -> None:
        """
        A rate of nothing misses no target.
        """
        assert tool_of(report(rows([call(1)], [task()]), targets=Targets(min_cases=0)))["broken"] == []


class TestScope:
    TASKS = (task("t1", end=1000), task("t2", end=2000))
    CALLS = (call(1), call(2, task="t2"))

    @pytest.mark.parametrize(
        ("scope", "expected"),
        [
            (Scope(), 2),
            (Scope(since_ns=1000 * MS), 2),
            (Scope(since_ns=1000 * MS + 1), 1),
            (Scope(until_ns=2000 * MS), 1),
            (Scope(until_ns=2000 * MS + 1), 2),
            (Scope(since_ns=1000 * MS, until_ns=1000 * MS + 1), 1),
        ],
    )
    def test_a_window_holds_its_first_moment_and_not_its_last(self, scope: Scope, expected: int) -> None:
        """
        `[since, until)` on the task's end, so that windows side by side count each task once.
        """
        document = report(rows(self.CALLS, self.TASKS), scope=scope)

        assert (expected, expected) == (document["tasks"]["total"], tool_of(document)["calls"])

    def test_the_window_is_written_in_utc(self) -> None:
        """
        The document says what was asked.
        """
        document = report(rows(), scope=Scope(since_ns=0, until_ns=10**9))

        assert document["window"] == {
            "since": "1970-01-01T00:00:00.000000000Z",
            "until": "1970-01-01T00:00:01.000000000Z",
        }

    def test_a_window_that_ends_holds_no_open_task(self) -> None:
        """
        An open task has not ended, so a window of the past does not change while agents work.
        """
        open_task = task()._replace(settled=False)

        assert report(rows([call(1)], [open_task]), scope=Scope(until_ns=9000 * MS))["tasks"]["total"] == 0
        assert report(rows([call(1)], [open_task]), scope=Scope(since_ns=500 * MS))["tasks"]["open"] == 1
        assert report(rows([call(1)], [open_task]), scope=Scope(since_ns=1001 * MS))["tasks"]["open"] == 0

    @pytest.mark.parametrize(
        ("scope", "expected"),
        [
            (Scope(agent="planner"), 1),
            (Scope(agent=""), 1),
            (Scope(service="travel"), 2),
            (Scope(service="none"), 0),
            (Scope(environment="prod"), 1),
            (Scope(environment="test", agent=""), 1),
            (Scope(environment="test", agent="planner"), 0),
        ],
    )
    def test_filters_are_of_the_task(self, scope: Scope, expected: int) -> None:
        """
        All that are given must fit; an empty text means tasks that do not say.
        """
        tasks = [task("t1"), task("t2")._replace(agent="", environment="test")]

        document = report(rows(self.CALLS, tasks), scope=scope)

        assert expected == document["tasks"]["total"]
        assert expected == sum(tool["calls"] for tool in document["tools"].values())

    def test_a_tool_filter_leaves_the_tasks_alone(self) -> None:
        """
        "Of two tasks, this is what `search` did"; one of them called it.
        """
        calls = [call(1), call(2, "other", task="t2")]
        sums = [task_tool("t1"), task_tool("t2", "other")]

        document = report(rows(calls, self.TASKS, sums), scope=Scope(tool="search"))

        assert (document["tasks"]["total"], list(document["tools"])) == (2, ["search"])
        assert tool_of(document)["retries_per_resolved_task"]["resolved_tasks"] == 1


class TestReportBy:
    def test_each_value_has_its_own_document(self) -> None:
        """
        The group with the most damage first, an unknown agent is "".
        """
        calls: list[Call] = [call(1), call(2, task="t2"), call(3, task="t3")]
        tasks = [task("t1"), task("t2", agent=""), task("t3", agent="booker")]
        sums = [task_tool("t1"), task_tool("t2")._replace(retries=1, early=1), task_tool("t3")]

        grouped = report_by(rows(calls, tasks, sums), by="agent")

        assert (grouped["by"], list(grouped["groups"])) == ("agent", ["", "booker", "planner"])
        assert [tool_of(document)["calls"] for document in grouped["groups"].values()] == [1, 1, 1]
        assert [tool_of(document)["damage"] for document in grouped["groups"].values()] == [1, 0, 0]

    def test_only_groups_in_scope_are_shown(self) -> None:
        """
        Filters choose before anything is grouped; a task without calls is still a task.
        """
        tasks = [task("t1"), task("t2")._replace(environment="test")]

        grouped = report_by(rows([], tasks), by="environment", scope=Scope(environment="test"))

        assert {value: document["tasks"]["total"] for value, document in grouped["groups"].items()} == {"test": 1}
