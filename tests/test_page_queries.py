"""
Each query of the pages against values computed by hand, on the tasks of `query_scene`.
"""

from typing import Any

import duckdb
import pytest

from tests.filled import empty_store, fill, filled_store, take_back
from tests.query_scene import MINUTE_MS, ended, scene
from tests.rows import MS, call, failed, retry, rows, task_tool
from toolspan.records import Rows
from toolspan_queries import fetch
from toolspan_queries import page_rows as of
from toolspan_queries._catalogue import ROWS

MINUTE_NS = MINUTE_MS * MS
HOUR_NS = 60 * MINUTE_NS
DAY_NS = 24 * HOUR_NS

#: One test for each query: its rows for everything.
ANSWERS: dict[type, list[tuple[Any, ...]]] = {
    # of t2: a wasted retry, and an escalation after it
    of.DamageOverTime: [
        ("", "book", HOUR_NS, HOUR_NS, 1, 0, 0),
        ("", "search", HOUR_NS, HOUR_NS, 1, 0, 0),
        ("", "search", 2 * HOUR_NS, HOUR_NS, 1, 2, 80 * MS),
        ("", "search", 3 * HOUR_NS, HOUR_NS, 1, 0, 0),
    ],
    of.RetriesOverTime: [
        ("", "book", HOUR_NS, HOUR_NS, 0, 1),
        ("", "search", HOUR_NS, HOUR_NS, 1, 1),
        ("", "search", 3 * HOUR_NS, HOUR_NS, 0, 1),
    ],
    of.NextActions: [
        ("", "search", "permission", "nothing", 2, 1, 0),
        ("", "search", "transient", "nothing", 1, 0, 0),
        ("", "search", "validation", "nothing", 1, 0, 0),
    ],
    of.CodesSeen: [
        ("", "search", "permission", "DENIED", 2, 0, 70 * MS),
        ("", "search", "transient", "BUSY", 1, 50 * MS, 50 * MS),
        ("", "search", "unclassified", "UNCLASSIFIED", 1, 0, 0),
        ("", "search", "validation", "FORMAT", 1, 0, 0),
        ("", "search", "validation", "RANGE", 1, 110 * MS, 110 * MS),
    ],
    of.WorstTasks: [("", "t2", "do t2", "unresolved", 130 * MINUTE_NS, 2, 1, 2, 80 * MS)],
    of.ExampleTasks: [("", "search", "late", 1, "t2", 1), ("", "search", "retried", 1, "t2", 1)],
}


@pytest.fixture(scope="module")
def store() -> duckdb.DuckDBPyConnection:
    """
    A store of the scene.
    """
    return filled_store(scene())


def test_no_query_of_the_pages_is_left_out() -> None:
    """
    Each has a value computed by hand.
    """
    assert {row for row in ROWS.values() if row.__module__ == of.__name__} == set(ANSWERS)


class TestEachQuery:
    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    def test_counts_everything(self, store: duckdb.DuckDBPyConnection, row: type) -> None:
        """
        Calls of open tasks count where single calls are counted.
        """
        assert ANSWERS[row] == sorted(fetch(store, row))

    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    @pytest.mark.parametrize("choice", [{"tool": "nobody"}, {"agent": "nobody"}, {"service": ""}, {"environment": "x"}])
    def test_keeps_to_its_filters(self, store: duckdb.DuckDBPyConnection, row: type, choice: dict[str, str]) -> None:
        """
        On tool, agent, service and environment.
        """
        assert [] == fetch(store, row, **choice)  # type: ignore[arg-type]  # one of the names that there are

    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    def test_groups_by_agent(self, store: duckdb.DuckDBPyConnection, row: type) -> None:
        """
        What planner did stands below its name.
        """
        grouped = {values[0] for values in fetch(store, row, by="agent")}

        assert "planner" in grouped
        assert grouped <= {"", "planner"}

    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    def test_keeps_to_its_window(self, store: duckdb.DuckDBPyConnection, row: type) -> None:
        """
        A window in which no task ended, between two that did.
        """
        assert [] == fetch(store, row, since_ns=131 * MINUTE_NS, until_ns=184 * MINUTE_NS)

    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    def test_forgets_what_was_taken_back(self, row: type) -> None:
        """
        A group that is derived again subtracts what it was.
        """
        connection = empty_store()
        fill(connection, scene())
        take_back(connection)

        assert [] == fetch(connection, row)


class TestTime:
    def test_is_cut_into_at_most_48_parts(self) -> None:
        """
        Ten days in parts of six hours, each beginning at a whole one.
        """
        minutes = [(7, 30), (24 * 10, 0)]
        many = _damaged([ended(f"t{place}", *time, "resolved") for place, time in enumerate(minutes)])

        answer = fetch(filled_store(many), of.DamageOverTime)

        expected = [(6 * HOUR_NS, 6 * HOUR_NS), (10 * DAY_NS, 6 * HOUR_NS)]
        assert expected == [(row.begin_ns, row.width_ns) for row in answer]

    def test_of_years_is_cut_into_weeks(self) -> None:
        """
        However long it was.
        """
        many = _damaged([ended("t0", 0, 30, "resolved"), ended("t1", 24 * 400, 0, "resolved")])

        assert {7 * DAY_NS} == {row.width_ns for row in fetch(filled_store(many), of.RetriesOverTime)}


class TestNextActions:
    def test_says_what_wasted_retries_cost(self) -> None:
        """
        The time stands with the failure's class and with what was done about it.
        """
        failure = failed(call(1, end=60), "business_rule", "SOLD_OUT")._replace(next_action="retry")
        again = retry(failed(call(2, start=70, end=90), "business_rule", "SOLD_OUT"), of=1, verdict="wasted")
        again = again._replace(next_action="other", wasted_ns=30 * MS)
        store = filled_store(rows([failure, again], [ended("t1", 1, 0, "resolved")], [task_tool()]))

        assert [
            ("", "search", "business_rule", "other", 1, 0, 0),
            ("", "search", "business_rule", "retry", 1, 1, 30 * MS),
        ] == sorted(fetch(store, of.NextActions))


class TestWorstTasks:
    def test_come_the_worst_first_and_a_hundred_at_most(self) -> None:
        """
        The list of a store of millions stays a list.
        """
        tasks = [ended(f"t{place}", 1, place % 60, "resolved") for place in range(120)]
        many = _damaged(tasks)

        damage = [row.damage for row in fetch(filled_store(many), of.WorstTasks)]

        assert list(range(119, 19, -1)) == damage

    def test_of_a_tool_count_what_that_tool_did(self) -> None:
        """
        A task is no worse for another tool.
        """
        two = [task_tool("t1")._replace(wasted=3, retries=3), task_tool("t1", "book")._replace(wasted=1, retries=1)]
        store = filled_store(rows([], [ended("t1", 1, 0, "resolved")], two))

        assert [4] == [row.damage for row in fetch(store, of.WorstTasks)]
        assert [1] == [row.damage for row in fetch(store, of.WorstTasks, tool="book")]


class TestExampleTasks:
    def test_are_three_of_each_kind_and_say_how_many_there_are(self) -> None:
        """
        Those that have most of it.
        """
        tasks = [ended(f"t{place}", 1, place, "resolved") for place in range(5)]
        answer = fetch(filled_store(_damaged(tasks)), of.ExampleTasks)

        assert [("retried", 4, "t4", 4), ("retried", 4, "t3", 3), ("retried", 4, "t2", 2)] == [
            (row.kind, row.tasks, row.task_id, row.cases) for row in answer
        ]

    def test_name_what_nobody_heard_of(self) -> None:
        """
        Permission episodes without an escalation, which is no damage, and lost validation failures, which are.
        """
        sums = task_tool()._replace(episodes=2, escalated=0, validation_failures=3, recovered=1)
        store = filled_store(rows([], [ended("t1", 1, 0, "unknown")], [sums]))

        assert [("lost", 2), ("unheard", 2)] == [(row.kind, row.cases) for row in fetch(store, of.ExampleTasks)]


def _damaged(tasks: list[Any]) -> Rows:
    """
    *tasks* of which the first has no damage, the second one wasted retry, and so on.
    """
    sums = [task_tool(each.task_id)._replace(retries=place, wasted=place) for place, each in enumerate(tasks)]
    return rows([], tasks, sums)
