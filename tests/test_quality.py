"""
The document of `quality`, each part against values computed by hand.
"""

import pytest

from tests.rows import MS, call, failed, retry, rewrite, rows, task, task_tool
from toolspan.documents import AuditedCode, ToolQuality
from toolspan.lint import LintFlag
from toolspan.quality import quality, quality_by, wilson
from toolspan.records import Call, Rows
from toolspan.scope import Scope


def tool_of(given: Rows, name: str = "search") -> ToolQuality:
    """
    The part of one tool.
    """
    return quality(given)["tools"][name]


def retried(
    count: int, succeeded: int, error_class: str = "fatal", code: str = "GONE", verdict: str = "wasted"
) -> list[Call]:
    """
    *count* failures, each retried once, *succeeded* of the retries with success.
    """
    calls: list[Call] = []
    for place in range(count):
        failure = failed(call(2 * place, start=place * 100), error_class, code)
        answer = retry(call(2 * place + 1, start=place * 100 + 50), of=2 * place, verdict=verdict)
        calls += [failure, answer if place < succeeded else answer._replace(outcome="cancelled")]
    return calls


def audit(calls: list[Call]) -> list[AuditedCode]:
    """
    The class audit of one settled task with *calls*.
    """
    return tool_of(rows(calls, [task()]))["class_audit"]


class TestClassAudit:
    def test_counts_identical_retries_by_code(self) -> None:
        """
        Failures, their retries, those that succeeded, and the interval around the rate.
        """
        [row] = audit([*retried(3, 3), failed(call(99, start=900), "fatal", "GONE")])

        assert {
            "code": "GONE",
            "class": "fatal",
            "failures": 4,
            "identical_retries": 3,
            "succeeded": 3,
            "rate": 1.0,
            "interval": [pytest.approx(0.4385, abs=1e-4), 1.0],
            "suspect": False,
        } == row

    @pytest.mark.parametrize(
        ("error_class", "count", "succeeded", "expected"),
        [
            ("fatal", 3, 3, False),
            ("fatal", 4, 4, False),
            ("fatal", 5, 5, True),
            ("fatal", 5, 3, False),
            ("fatal", 20, 12, True),
            ("fatal", 100, 2, False),
            ("business_rule", 10, 9, True),
            ("validation", 10, 9, True),
            ("permission", 10, 9, True),
            ("transient", 3, 0, False),
            ("transient", 8, 0, False),
            ("transient", 9, 0, True),
            ("transient", 50, 5, True),
            ("transient", 50, 25, False),
            ("transient", 50, 50, False),
            ("unclassified", 50, 50, False),
            ("unclassified", 50, 0, False),
        ],
    )
    def test_suspects_a_class_that_outcomes_contradict(
        self, error_class: str, count: int, succeeded: int, expected: bool
    ) -> None:
        """
        Identical retries of a transient failure mostly succeed, of others hardly ever; a few samples prove nothing.
        """
        verdict = "wasted" if error_class not in ("transient", "unclassified") else "allowed"

        [row] = audit(retried(count, succeeded, error_class, verdict=verdict))

        assert expected is row["suspect"]

    def test_a_permission_retry_after_an_escalation_says_nothing(self) -> None:
        """
        A human may have changed what it takes, so its success is no lie.
        """
        assert audit(retried(10, 10, "permission", verdict="allowed")) == []

    def test_a_presumed_retry_says_nothing(self) -> None:
        """
        Nobody knows whether it was the identical call.
        """
        calls = [row._replace(presumed=row.follows is not None) for row in retried(10, 10)]

        assert audit(calls) == []

    def test_a_rewrite_is_no_identical_call(self) -> None:
        """
        Other arguments tell nothing of the class.
        """
        assert audit([failed(call(1), "validation", "V"), rewrite(call(2, start=20), of=1)]) == []

    def test_suspects_stand_first(self) -> None:
        """
        Then the code with the most retries.
        """
        honest = retried(30, 0, code="HONEST")
        lying = [
            row._replace(span_id=bytes([1]) + row.span_id[1:], follows=row.follows and bytes([1]) + row.follows[1:])
            for row in retried(5, 5, code="LYING")
        ]

        assert [row["code"] for row in audit(honest + lying)] == ["LYING", "HONEST"]


@pytest.mark.parametrize(
    ("successes", "cases", "expected"),
    [(0, 0, (0.0, 1.0)), (0, 10, (0.0, 0.2775)), (10, 10, (0.7225, 1.0)), (5, 10, (0.2366, 0.7634))],
)
def test_wilson_keeps_the_interval_inside_zero_and_one(
    successes: int, cases: int, expected: tuple[float, float]
) -> None:
    """
    Published values of the Wilson score interval at 95 %.
    """
    assert expected == pytest.approx(wilson(successes, cases), abs=1e-4)


class TestStreak:
    def test_is_the_longest_of_all_settled_tasks(self) -> None:
        """
        With its code and the task to look at.
        """
        sums = [
            task_tool("t1")._replace(streak=2, streak_code="A"),
            task_tool("t2")._replace(streak=7, streak_code="B"),
        ]

        tool = tool_of(rows([call(1), call(2, task="t2")], [task("t1"), task("t2")], sums))

        assert tool["streak"] == {"longest": 7, "code": "B", "task_id": "t2"}

    def test_is_the_same_in_whatever_order_rows_come(self) -> None:
        """
        Among equals the first code, then the first task.
        """
        sums = [task_tool(name)._replace(streak=2, streak_code=code) for name, code in (("t2", "A"), ("t1", "A"))]

        streak = tool_of(rows([call(1), call(2, task="t2")], [task("t1"), task("t2")], sums))["streak"]

        assert streak == {"longest": 2, "code": "A", "task_id": "t1"}

    def test_is_zero_where_nothing_failed(self) -> None:
        """
        And names nothing.
        """
        assert tool_of(rows([call(1)], [task()]))["streak"] == {"longest": 0, "code": None, "task_id": None}


class TestCluster:
    @pytest.mark.parametrize(
        ("validation", "fatal", "expected"),
        [(11, 9, {"class": "validation", "failures": 11, "share": 0.55}), (10, 10, None), (11, 8, None), (0, 0, None)],
    )
    def test_is_a_class_of_more_than_half_of_twenty(
        self, validation: int, fatal: int, expected: dict[str, object] | None
    ) -> None:
        """
        Half is not more than half, and nineteen failures are too few.
        """
        classes = ["validation"] * validation + ["fatal"] * fatal
        calls = [call(99), *(failed(call(place), name, "C") for place, name in enumerate(classes))]

        assert expected == tool_of(rows(calls, [task()]))["cluster"]

    def test_unclassified_is_no_class(self) -> None:
        """
        Its share is a number of its own.
        """
        calls = [failed(call(place), "unclassified", "UNCLASSIFIED") for place in range(30)]

        assert tool_of(rows(calls, [task()]))["cluster"] is None


class TestEnvelopes:
    def test_every_broken_rule_is_counted_by_name(self) -> None:
        """
        A call that breaks two rules counts for both; the most frequent first.
        """
        both = int(LintFlag.FIELD_MISSING | LintFlag.HINT_TOO_LONG)
        calls = [call(1)._replace(lint=both), call(2)._replace(lint=int(LintFlag.HINT_TOO_LONG)), call(3)]

        lint = tool_of(rows(calls, [task()]))["lint"]

        assert list(lint.items()) == [("hint_too_long", 2), ("field_missing", 1)]

    def test_a_code_of_two_classes_is_named(self) -> None:
        """
        Unclassified is no second class.
        """
        calls = [
            failed(call(1), "transient", "BUSY"),
            failed(call(2), "business_rule", "BUSY"),
            failed(call(3), "business_rule", "BUSY"),
            failed(call(4), "fatal", "GONE"),
            failed(call(5), "unclassified", "GONE"),
        ]

        assert tool_of(rows(calls, [task()]))["codes_with_two_classes"] == {
            "BUSY": {"business_rule": 2, "transient": 1}
        }


def test_local_attempts_are_counted_with_their_waits() -> None:
    """
    Four tries in two calls, half a second of waiting, one budget used up.
    """
    calls = [call(1)._replace(attempts=3, waited_ms=500, budget_exhausted=True), call(2)]

    assert tool_of(rows(calls, [task()]))["local_attempts"] == {
        "calls_with_local_retry": 1,
        "attempts_per_call": 2.0,
        "waited_ms": 500,
        "budget_exhausted": 1,
    }


def test_presumed_links_are_a_share_of_all_links() -> None:
    """
    Retries and rewrites alike, of settled tasks.
    """
    calls = [
        failed(call(1), "validation", "V"),
        rewrite(failed(call(2, start=20), "validation", "V"), of=1, presumed=True),
        retry(call(3, start=40), of=2, verdict="wasted"),
    ]

    assert tool_of(rows(calls, [task()]))["presumed"] == {"links": 2, "presumed": 1, "share": 0.5}


def test_unclassified_failures_come_with_their_most_frequent_evidence() -> None:
    """
    Five kinds at most, the most frequent first: that is the order in which to classify them.
    """
    evidence = ["e1"] * 3 + ["e2"] * 2 + ["e3", "e4", "e5", "e6"]
    calls = [
        failed(call(place), "unclassified", "UNCLASSIFIED", evidence=text) for place, text in enumerate(evidence)
    ] + [failed(call(99), "fatal", "GONE")]

    unclassified = tool_of(rows(calls, [task()]))["unclassified"]

    assert (unclassified["failures"], unclassified["share"]) == (9, 0.9)
    assert list(unclassified["evidence"].items()) == [("e1", 3), ("e2", 2), ("e3", 1), ("e4", 1), ("e5", 1)]


class TestUnhandled:
    ROWS = rows(
        [
            failed(call(1, "book", start=50), "transient", "TIMEOUT"),
            failed(call(2, start=0), "fatal", "EARLIER"),
            failed(call(3, task="t2", start=500), "fatal", "GONE"),
            call(4, task="t3"),
        ],
        [task("t1")._replace(unhandled=True), task("t2")._replace(unhandled=True), task("t3"), task("t4", "unknown")],
    )

    def test_names_the_last_call_of_each_such_task_the_latest_first(self) -> None:
        """
        The task, the tool, and what it failed with.
        """
        assert quality(self.ROWS)["unhandled_failures"] == [
            {
                "task_id": "t2",
                "task": "do t2",
                "tool": "search",
                "class": "fatal",
                "code": "GONE",
                "ended_at": "1970-01-01T00:00:00.510000000Z",
            },
            {
                "task_id": "t1",
                "task": "do t1",
                "tool": "book",
                "class": "transient",
                "code": "TIMEOUT",
                "ended_at": "1970-01-01T00:00:00.060000000Z",
            },
        ]

    def test_is_a_share_of_resolved_tasks(self) -> None:
        """
        Two of three.
        """
        tasks = quality(self.ROWS)["tasks"]

        assert {"settled": 4, "resolved": 3, "unhandled": 2, "unhandled_share": pytest.approx(2 / 3)} == tasks

    def test_a_tool_filter_shows_those_of_the_tool(self) -> None:
        """
        The counts of tasks stay, as in the report.
        """
        document = quality(self.ROWS, scope=Scope(tool="book"))

        assert (
            [failure["task_id"] for failure in document["unhandled_failures"]],
            document["tasks"]["unhandled"],
        ) == (["t1"], 2)

    def test_an_open_task_is_not_judged(self) -> None:
        """
        Its last call may yet be answered.
        """
        given = rows([failed(call(1), "fatal", "GONE")], [task()._replace(settled=False, unhandled=True)])

        assert quality(given)["unhandled_failures"] == []


def test_tools_stand_in_order_of_failures() -> None:
    """
    Ties by name.
    """
    calls = [call(1, "a"), call(2, "b"), failed(call(3, "c"), "fatal", "GONE")]

    assert list(quality(rows(calls, [task()]))["tools"]) == ["c", "a", "b"]


def test_groups_are_documents_of_their_own() -> None:
    """
    By name; a window applies to each.
    """
    tasks = [task("t1"), task("t2", agent="booker"), task("t3", agent="late", end=9000)]
    calls = [call(1), call(2, task="t2"), call(3, task="t3")]

    grouped = quality_by(rows(calls, tasks), by="agent", scope=Scope(until_ns=5000 * MS))

    assert (grouped["by"], list(grouped["groups"])) == ("agent", ["booker", "planner"])
    assert grouped["groups"]["booker"]["tools"]["search"]["calls"] == 1
