"""
The queries of `quality`, each against values computed by hand.

Tasks end in three hours, so that a window without end is made of whole hours and one from `HALF` on has an edge, too.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pandas as pd
import pytest

from tests.filled import empty_store, filled_store, take_back
from tests.rows import MS, call, failed, retry, rewrite, rows, task, task_tool
from toolspan.lint import LintFlag
from toolspan.records import Call, Rows, Task, TaskTool
from toolspan_queries import (
    Connection,
    class_audit,
    cluster,
    codes_with_two_classes,
    lint,
    local_attempts,
    presumed,
    streaks,
    unclassified_evidence,
    unhandled_failures,
    unhandled_tasks,
)

HOUR: Final = 3_600_000
HALF: Final = HOUR // 2 * MS
#: One task in each of three hours, and one that is open.
TASKS: Final = (
    task("t1", end=HOUR // 4),
    task("t2", end=HOUR + 1, agent="booker"),
    task("t3", end=3 * HOUR - 1),
    task("open", end=3 * HOUR)._replace(settled=False),
)
ALL: Final[list[Callable[..., pd.DataFrame]]] = [
    class_audit,
    cluster,
    codes_with_two_classes,
    lint,
    local_attempts,
    presumed,
    streaks,
    unclassified_evidence,
    unhandled_failures,
    unhandled_tasks,
]


def store_of(
    calls: Sequence[Call] = (), task_tools: Sequence[TaskTool] = (), *, tasks: Sequence[Task] = TASKS
) -> Connection:
    """
    A store with *calls* and sums of *tasks*; a call has the agent of its task.
    """
    agents = {each.task_id: each.agent for each in tasks}
    return filled_store(rows([each._replace(agent=agents[each.task_id]) for each in calls], tasks, task_tools))


def told(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """
    The rows of *frame* without the group.
    """
    return list(frame.drop(columns="group_value").itertuples(index=False, name=None))


@pytest.fixture(scope="module")
def audited() -> Connection:
    """
    Failures that were retried, those of which no retry tells, and an open task.
    """
    return store_of(
        [
            *(failed(call(place, task=f"t{place}"), "fatal", "GONE") for place in (1, 2, 3)),
            retry(call(11, task="t1", start=20), of=1, verdict="wasted"),
            retry(call(12, task="t2", start=20), of=2, verdict="wasted")._replace(outcome="cancelled"),
            failed(call(20, task="t3", start=30), "permission", "DENIED"),
            retry(call(21, task="t3", start=50), of=20, verdict="allowed"),
            failed(call(30, task="t3", start=60), "transient", "DOWN"),
            retry(call(31, task="t3", start=80), of=30, verdict="allowed", presumed=True),
            failed(call(40, task="open"), "fatal", "GONE"),
            retry(call(41, task="open", start=20), of=40, verdict="wasted"),
        ]
    )


class TestClassAudit:
    def test_counts_identical_retries_that_tell_of_the_class(self, audited: Connection) -> None:
        """
        Of settled tasks; neither a presumed one nor that of a permission failure after an escalation.
        """
        assert [("search", "fatal", "GONE", 3, 2, 1, 0.5)] == told(class_audit(audited))

    def test_a_window_leaves_out_what_ended_before(self, audited: Connection) -> None:
        """
        The first task ended in the first half of an hour.
        """
        assert [("search", "fatal", "GONE", 2, 1, 0, 0.0)] == told(class_audit(audited, since_ns=HALF))

    def test_groups_stand_apart(self, audited: Connection) -> None:
        """
        In order of name.
        """
        assert [("booker", 1, 0), ("planner", 1, 1)] == list(
            class_audit(audited, by="agent")[["group_value", "identical_retries", "succeeded"]].itertuples(
                index=False, name=None
            )
        )


@pytest.fixture(scope="module")
def streaky() -> Connection:
    """
    Equal streaks of two tools and two groups, none, and an open task.
    """
    return store_of(
        task_tools=[
            task_tool("t1")._replace(streak=3, streak_code="B"),
            task_tool("t2")._replace(streak=3, streak_code="A"),
            task_tool("t3")._replace(streak=3, streak_code="A"),
            task_tool("t1", "book")._replace(streak=3, streak_code="A"),
            task_tool("t3", "book"),
            task_tool("open")._replace(streak=9, streak_code="A"),
        ]
    )


class TestStreaks:
    def test_names_the_longest_of_each_tool(self, streaky: Connection) -> None:
        """
        Among equals the first code, then the first task; that of an open task may yet grow.
        """
        assert [("book", 3, "A", "t1"), ("search", 3, "A", "t2")] == told(streaks(streaky))

    def test_a_window_and_a_filter_choose_tasks(self, streaky: Connection) -> None:
        """
        What is left is the one of the third task.
        """
        assert [("search", 3, "A", "t3")] == told(streaks(streaky, since_ns=HALF, agent="planner"))

    def test_each_group_has_its_own(self, streaky: Connection) -> None:
        """
        Equals in another group are not looked at.
        """
        assert ["t2", "t3"] == list(streaks(streaky, tool="search", by="agent")["task_id"])


@pytest.mark.parametrize(
    ("validation", "fatal", "unclassified", "expected"),
    [
        (11, 9, 0, [("search", "validation", 11, 0.55)]),
        (10, 10, 0, []),
        (11, 8, 0, []),
        (9, 0, 11, []),
    ],
)
def test_a_cluster_is_a_class_of_more_than_half_of_twenty(
    validation: int, fatal: int, unclassified: int, expected: list[tuple[object, ...]]
) -> None:
    """
    Half is not more than half, nineteen failures are too few, and unclassified is no class.
    """
    classes = ["validation"] * validation + ["fatal"] * fatal + ["unclassified"] * unclassified
    tasks = ("t1", "t2", "t3", "open")
    calls = [failed(call(n, task=tasks[n % 4]), name, name.upper()) for n, name in enumerate(classes)]

    found = cluster(store_of([*calls, call(99)]))

    assert expected == told(found)


def test_codes_with_two_classes_come_with_their_failures() -> None:
    """
    Those of open tasks, too; a code that is otherwise unclassified has but one class.
    """
    store = store_of(
        [
            failed(call(1), "transient", "BUSY"),
            failed(call(2, task="t2"), "business_rule", "BUSY"),
            failed(call(3, task="open"), "business_rule", "BUSY"),
            failed(call(4), "fatal", "GONE"),
            failed(call(5), "unclassified", "GONE"),
            failed(call(6, "book"), "fatal", "BUSY"),
        ]
    )

    assert [("search", "BUSY", "business_rule", 2), ("search", "BUSY", "transient", 1)] == told(
        codes_with_two_classes(store)
    )
    assert [] == told(codes_with_two_classes(store, agent="planner", until_ns=4 * HOUR * MS))


def test_lint_is_counted_by_the_set_of_broken_rules() -> None:
    """
    Whole calls, those of open tasks, too, where the window has no end.
    """
    both = int(LintFlag.FIELD_MISSING | LintFlag.HINT_TOO_LONG)
    bits = {1: both, 2: both, 3: 1, 4: 0}
    calls = [call(place, task=f"t{place % 3 + 1}")._replace(lint=lint) for place, lint in bits.items()]
    store = store_of([*calls, call(9, task="open")._replace(lint=both)])

    assert [("search", 1, 1), ("search", 6, 3)] == told(lint(store))
    assert [("search", 6, 2)] == told(lint(store, since_ns=HALF, until_ns=4 * HOUR * MS))


def test_local_attempts_are_summed() -> None:
    """
    Calls, tries, calls with more than one, tries per call, time waited, budgets used up; a call of two hours, one of a
    part of an hour, one of an open task.
    """
    store = store_of(
        [
            call(1, task="t1")._replace(attempts=9, waited_ms=9000),
            call(2, task="t2")._replace(attempts=3, waited_ms=500, budget_exhausted=True),
            call(3, task="t3"),
            call(4, task="open")._replace(attempts=2, waited_ms=20, budget_exhausted=True),
        ]
    )

    assert [("search", 3, 6, 2, 2.0, 520, 2)] == told(local_attempts(store, since_ns=HALF))
    assert [("search", 4, 15, 3, 3.75, 9520, 2)] == told(local_attempts(store))


def test_presumed_links_are_those_of_retries_and_rewrites() -> None:
    """
    Three retries in two tasks, of which one is presumed, and a presumed rewrite; an open task does not count.
    """
    store = store_of(
        [
            failed(call(1, task="t1"), "validation", "V"),
            rewrite(call(2, task="t1", start=20), of=1, presumed=True),
            failed(call(9, task="open"), "validation", "V"),
            rewrite(call(10, task="open", start=20), of=9, presumed=True),
        ],
        [
            task_tool("t1")._replace(retries=2, presumed=1),
            task_tool("t2")._replace(retries=1),
            task_tool("t3", "book"),
            task_tool("open")._replace(retries=5),
        ],
    )

    found = presumed(store)

    assert [("book", 0, 0), ("search", 4, 2)] == told(found[["group_value", "tool", "links", "presumed"]])
    assert [True, False] == list(found["share"].isna())
    assert 0.5 == found["share"][1]


def test_unclassified_evidence_comes_with_the_most_frequent_first() -> None:
    """
    Ties by name; failures of a class have no say.
    """
    evidence = ["e2", "e1", "e3", "e3"]
    store = store_of(
        [
            *(
                failed(call(n, task=f"t{n % 3 + 1}"), "unclassified", "UNCLASSIFIED", evidence=each)
                for n, each in enumerate(evidence)
            ),
            failed(call(8, task="open"), "unclassified", "UNCLASSIFIED", evidence="e3"),
            failed(call(9), "fatal", "GONE", evidence="e9"),
        ]
    )

    assert [("search", "e3", 3), ("search", "e1", 1), ("search", "e2", 1)] == told(unclassified_evidence(store))
    assert [("search", "e1", 1), ("search", "e3", 1)] == told(
        unclassified_evidence(store, since_ns=HALF, until_ns=4 * HOUR * MS)
    )


@pytest.fixture(scope="module")
def unhandled() -> Connection:
    """
    Two unhandled tasks, a resolved one, and an open task.
    """
    return store_of(
        [
            failed(call(1, "book", task="t1", start=50), "transient", "TIMEOUT"),
            failed(call(2, task="t1"), "fatal", "EARLIER"),
            failed(call(3, task="t2", start=500), "fatal", "GONE"),
            # the last by its end, not by its start
            failed(call(4, task="t2", start=400, end=600), "unclassified", "UNCLASSIFIED"),
            call(5, task="t3"),
            failed(call(6, task="open"), "fatal", "GONE"),
        ],
        tasks=[each._replace(unhandled=each.task_id != "t3") for each in TASKS],
    )


class TestUnhandled:
    def test_the_last_call_of_each_task_is_named_the_latest_first(self, unhandled: Connection) -> None:
        """
        With the task's id and name, the tool, what it failed with, and when it ended.
        """
        assert [
            ("t2", "do t2", "search", "unclassified", "UNCLASSIFIED", 600 * MS),
            ("t1", "do t1", "book", "transient", "TIMEOUT", 60 * MS),
        ] == told(unhandled_failures(unhandled))

    def test_of_calls_that_ended_together_the_one_that_began_last_counts(self) -> None:
        """
        And of these the one with the largest span id.
        """
        codes = {4: ("EARLY", 10), 1: ("SMALL", 20), 3: ("LAST", 20), 2: ("MIDDLE", 20)}
        calls = [failed(call(n, start=at, end=90), "fatal", code) for n, (code, at) in codes.items()]
        store = store_of(calls, tasks=[task("t1")._replace(unhandled=True)])

        assert ["LAST"] == list(unhandled_failures(store)["code"])

    def test_a_tool_chooses_among_last_calls(self, unhandled: Connection) -> None:
        """
        The other tool failed in that task, too, but not last.
        """
        assert ["t1"] == list(unhandled_failures(unhandled, tool="book")["task_id"])
        assert ["t2"] == list(unhandled_failures(unhandled, tool="search")["task_id"])

    def test_tasks_are_counted_by_how_they_settled(self, unhandled: Connection) -> None:
        """
        Two of three; of those that ended later one of two; a filter on tool is no filter on tasks.
        """
        assert [(3, 3, 2, 2 / 3)] == told(unhandled_tasks(unhandled, tool="book"))
        assert [(2, 2, 1, 0.5)] == told(unhandled_tasks(unhandled, since_ns=HALF))

    def test_a_group_of_open_tasks_only_is_there(self) -> None:
        """
        With nothing to share; no window with an end holds them.
        """
        store = store_of(tasks=[task("open")._replace(settled=False), task("t1", "unresolved", agent="booker")])

        found = unhandled_tasks(store, by="agent")

        assert [("booker", 1, 0, 0), ("planner", 0, 0, 0)] == list(
            found.drop(columns="unhandled_share").itertuples(index=False, name=None)
        )
        assert [True, True] == list(found["unhandled_share"].isna())
        assert ["booker"] == list(unhandled_tasks(store, by="agent", until_ns=4 * HOUR * MS)["group_value"])


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.__name__)
class TestAll:
    def everything(self) -> Rows:
        """
        Rows that make every query answer.
        """
        calls = [
            failed(call(place, task="t2", start=place * 10), "fatal", "BOTH")._replace(lint=1) for place in range(21)
        ]
        calls += [
            failed(call(30, task="t2"), "transient", "BOTH"),
            retry(failed(call(31, task="t2", start=20), "unclassified", "UNCLASSIFIED"), of=30, verdict="allowed"),
        ]
        sums = [task_tool("t2")._replace(retries=1, streak=21, streak_code="BOTH")]
        return rows(calls, [TASKS[1]._replace(unhandled=True)], sums)

    def test_what_was_taken_back_is_gone(self, query: Callable[..., pd.DataFrame]) -> None:
        """
        Also where totals keep rows that come to nothing.
        """
        store = filled_store(self.everything())

        before = len(query(store))
        take_back(store)

        assert before > 0
        assert [] == told(query(store))

    def test_nothing_is_answered_of_nothing_with_the_same_types(self, query: Callable[..., pd.DataFrame]) -> None:
        """
        Columns and their types do not depend on what is found.
        """
        found, empty = query(filled_store(self.everything())), query(empty_store())

        assert [] == told(empty)
        assert list(found.dtypes.items()) == list(empty.dtypes.items())
