"""
Each query against values computed by hand, on the tasks of `query_scene`.
"""

from typing import Any

import duckdb
import pytest

from tests.filled import empty_store, fill, filled_store, take_back
from tests.query_scene import ended, scene
from tests.rows import MS, call, failed, retry, rewrite, rows, task, task_tool, tasks_with_retries
from toolspan.records import Call
from toolspan_queries import Asked, fetch
from toolspan_queries import rows as of
from toolspan_queries._catalogue import ROWS

HOUR_NS = 3600 * 10**9


@pytest.fixture(scope="module")
def store() -> duckdb.DuckDBPyConnection:
    """
    A store of the scene.
    """
    return filled_store(scene())


#: One test for each query: its rows for everything.
ANSWERS: dict[type, list[tuple[Any, ...]]] = {
    of.Tasks: [("", 4, 2, 1, 0, 0, 1)],
    of.Calls: [("", "book", 1, 1, 0, 0, 0, 1, 0), ("", "search", 10, 4, 6, 0, 0, 11, 1)],
    of.Errors: [
        ("", "search", "permission", 2),
        ("", "search", "transient", 1),
        ("", "search", "unclassified", 1),
        ("", "search", "validation", 2),
    ],
    of.Codes: [
        ("", "search", "permission", "DENIED", 2),
        ("", "search", "transient", "BUSY", 1),
        ("", "search", "unclassified", "UNCLASSIFIED", 1),
        ("", "search", "validation", "FORMAT", 1),
        ("", "search", "validation", "RANGE", 1),
    ],
    of.UnclassifiedShare: [("", "search", 6, 1, 1 / 6)],
    # 10, 20, 30, 40, 60, 70, 80, 90, 100, 110 ms
    of.Durations: [("", "book", 1, 50 * MS, 50 * MS), ("", "search", 10, 60 * MS, 110 * MS)],
    of.RetriesPerResolvedTask: [
        ("", "book", 1, 0, 0.0, 0, 0, 0, 0, 0, 0.0),
        ("", "search", 2, 1, 0.5, 0, 1, 1, 1, 0, 0.0),
    ],
    of.Retries: [
        ("", "book", 1, 0, 0, 0, 0, 0, 0, 0, 0.0, None),
        ("", "search", 5, 2, 1, 1, 0, 0, 1, 80 * MS, 0.4, 0.5),
    ],
    of.RetriedInVain: [("", "search", "permission", "DENIED", 0, 0, 1, 1)],
    of.ValidationRecovery: [("", "book", 0, 0, None, 0, 0, 0, None), ("", "search", 1, 1, 1.0, 1, 1, 0, 0.0)],
    of.RecoveryByCode: [("", "search", "FORMAT", 1, 1, 1.0, 1)],
    of.RecoveryByField: [("", "search", "date", 1, 1, 1.0, 1)],
    of.Escalations: [("", "book", 0, 0, 0, None), ("", "search", 1, 1, 0, 0.0)],
    of.UnresolvedTasks: [("", "search", 1)],
}


def test_no_query_of_the_report_is_left_out() -> None:
    """
    Each has a value computed by hand.
    """
    assert {row for row in ROWS.values() if row.__module__ == of.__name__} == set(ANSWERS)


class TestEachQuery:
    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    def test_counts_everything(self, store: duckdb.DuckDBPyConnection, row: type) -> None:
        """
        Without a window, calls of open tasks count where single calls are counted.
        """
        assert ANSWERS[row] == sorted(fetch(store, row))

    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    def test_of_nothing_has_no_row(self, row: type) -> None:
        """
        An empty store.
        """
        assert [] == fetch(empty_store(), row)

    @pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row.__name__)
    def test_leaves_no_trace_of_what_was_taken_back(self, row: type) -> None:
        """
        Totals are signed: a key that comes to nothing is no row.
        """
        store = filled_store(scene())
        take_back(store)
        fill(store, rows([call(1, "other", task="t9")], [ended("t9", 1, 10, "escalated")], [task_tool("t9", "other")]))

        assert all("search" not in answer for answer in fetch(store, row))


class TestFilters:
    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            (Asked(), 11),
            (Asked(tool="book"), 1),
            (Asked(agent="planner"), 9),
            (Asked(agent=""), 2),
            (Asked(agent="nobody"), 0),
            (Asked(service="travel", environment="prod"), 11),
            (Asked(service=""), 0),
            (Asked(environment="test"), 0),
            (Asked(agent="planner", tool="search", until_ns=2 * HOUR_NS), 4),
        ],
    )
    def test_choose_tasks_and_tools(self, store: duckdb.DuckDBPyConnection, asked: Asked, expected: int) -> None:
        """
        All that are given must fit; an empty text means tasks that do not say.
        """
        assert expected == sum(row.calls for row in fetch(store, of.Calls, **asked))

    def test_find_names_that_no_database_takes(self) -> None:
        """
        Lone surrogates, made of bytes that are no UTF-8, are replaced as they were where spans were read.
        """
        store = filled_store(rows([call(1, "a\ufffd")], [task()], [task_tool("t1", "a\ufffd")]))

        assert 1 == len(fetch(store, of.Calls, tool="a\udcff"))

    def test_on_a_tool_leaves_the_tasks_alone(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        "Of four tasks, this is what `book` did".
        """
        assert [4] == [row.total for row in fetch(store, of.Tasks, tool="book")]


class TestGroups:
    def test_have_their_value_in_the_first_column(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        An unknown agent is "".
        """
        expected = [("", "search", 2), ("planner", "book", 1), ("planner", "search", 8)]

        assert expected == [row[:3] for row in fetch(store, of.Calls, by="agent")]

    def test_have_percentiles_of_their_own(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        t3 never retried, t1 once.
        """
        answers = fetch(store, of.RetriesPerResolvedTask, by="agent", tool="search")

        assert [("", 1, 0), ("planner", 1, 1)] == [(row.group_value, row.resolved_tasks, row.max) for row in answers]

    def test_of_what_all_share_are_one(self, store: duckdb.DuckDBPyConnection) -> None:
        """
        By service and by environment.
        """
        assert [("travel", 4)] == [row[:2] for row in fetch(store, of.Tasks, by="service")]
        assert [("prod", 4)] == [row[:2] for row in fetch(store, of.Tasks, by="environment")]


class TestRetries:
    def test_of_tasks_that_retried_as_often_add_up(self) -> None:
        """
        The totals keep how many tasks retried how often: five tasks with two retries are ten.
        """
        store = filled_store(tasks_with_retries([2] * 5 + [0]))

        assert [(6, 10)] == [(row.steps, row.total) for row in fetch(store, of.Retries)]

    @pytest.mark.parametrize("until_ns", [None, 1001 * MS])
    def test_in_vain_are_told_apart_by_verdict(self, until_ns: int | None) -> None:
        """
        One early, two over the cap, three wasted, of three codes; the same from the totals and at an edge.
        """
        retried = [("BUSY", "early"), ("DOWN", "allowed"), *[("GONE", "wasted")] * 3, *[("SLOW", "over_cap")] * 2]
        calls: list[Call] = []
        for first, (code, verdict) in zip(range(1, 20, 2), retried, strict=False):
            calls += [failed(call(first), "transient", code), retry(call(first + 1, start=20), first, verdict)]
        store = filled_store(rows(calls, [task()], [task_tool()]))

        answers = fetch(store, of.RetriedInVain, until_ns=until_ns)

        expected = [("BUSY", 1, 0, 0, 1), ("GONE", 0, 0, 3, 3), ("SLOW", 0, 2, 0, 2)]
        assert expected == [row[3:] for row in answers]


class TestRecovery:
    @pytest.mark.parametrize("until_ns", [None, 1001 * MS])
    def test_is_not_what_was_only_accepted(self, until_ns: int | None) -> None:
        """
        Of three failures one recovered, one ran into something else, one was retried unchanged; one field is unknown.
        """
        calls = [
            failed(call(1), "validation", "FORMAT", field="date"),
            rewrite(call(2, start=20), of=1),
            failed(call(3, start=40), "validation", "FORMAT", field="date"),
            rewrite(failed(call(4, start=60), "business_rule", "SOLD_OUT"), of=3, presumed=True),
            failed(call(5, start=80), "validation", "RANGE"),
            retry(call(6, start=100), of=5, verdict="wasted"),
        ]
        sums = task_tool()._replace(validation_failures=3, recovered=1, accepted=2)
        store = filled_store(rows(calls, [task()], [sums]))

        [whole] = fetch(store, of.ValidationRecovery, until_ns=until_ns)
        by_code = fetch(store, of.RecoveryByCode, until_ns=until_ns)
        by_field = fetch(store, of.RecoveryByField, until_ns=until_ns)

        assert (3, 1, 1 / 3, 2, 2, 1, 0.5) == whole[2:]
        assert [("FORMAT", 2, 1, 0.5, 2), ("RANGE", 1, 0, 0.0, 0)] == [row[2:] for row in by_code]
        assert [("", 1, 0, 0.0, 0), ("date", 2, 1, 0.5, 2)] == [row[2:] for row in by_field]


class TestPercentiles:
    def test_are_nearest_rank_over_counts(self) -> None:
        """
        94 tasks without a retry, five with one, one with seven.
        """
        retries = [0] * 94 + [1] * 5 + [7]
        store = filled_store(tasks_with_retries(retries))

        [row] = fetch(store, of.RetriesPerResolvedTask)

        assert (100, 12, 0.12, 0, 1, 1, 7, 1, 0.01) == row[2:]

    @pytest.mark.parametrize(
        ("duration_ns", "expected"),
        [
            (12_345_678, 12_300_000),
            (12_350_000, 12_400_000),
            (999_499, 999_000),
            (999_500, 1_000_000),
            (1_234, 1_230),
            (999, 999),
            (0, 0),
            (-5, 0),
            (86_399_000_000_000, 86_400_000_000_000),
        ],
    )
    @pytest.mark.parametrize("until_ns", [None, 1001 * MS])
    def test_of_durations_are_rounded_half_up(self, duration_ns: int, expected: int, until_ns: int | None) -> None:
        """
        The same from the totals of a whole hour and at the edge of a window.
        """
        one = call(1)._replace(started_ns=0, ended_ns=duration_ns)
        store = filled_store(rows([one], [task()], [task_tool()]))

        assert [("", "search", 1, expected, expected)] == fetch(store, of.Durations, until_ns=until_ns)
