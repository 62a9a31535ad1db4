"""
The window of a query: whole hours come from totals, its edges from the rows of tasks, and nothing is counted twice.

From 1:45 until 3:10 the hour of t2 is whole and t3 is at the edge.
"""

from functools import cache
from typing import Any

import duckdb
import pytest

from tests.filled import filled_store
from tests.query_scene import scene
from tests.rows import call, rows, task, task_tool
from toolspan.scope import Scope
from toolspan_queries import Asked, fetch
from toolspan_queries import rows as of
from toolspan_queries._catalogue import ROWS

MINUTE_NS = 60 * 10**9
HOUR_NS = 60 * MINUTE_NS
#: The queries of `report`, by the type of their rows.
OF_REPORT = [row for row in ROWS.values() if row.__module__ == of.__name__]


@pytest.fixture(scope="module")
def store() -> duckdb.DuckDBPyConnection:
    """
    A store of the scene.
    """
    return filled_store(scene())


def windows() -> list[Scope]:
    """
    Every window between these moments, some of them ends of tasks.
    """
    moments = ((1, 0), (1, 30), (2, 0), (2, 10), (2, 40), (3, 0), (3, 5), (3, 20), (4, 0))
    bounds = [None, *map(nanoseconds, moments)]
    pairs = [(since, until) for since in bounds for until in bounds]
    return [Scope(since, until) for since, until in pairs if since is None or until is None or since < until]


@cache
def store_of(task_ids: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    """
    A store of these tasks of the scene, and nothing else.
    """
    calls, tasks, _, _, sums = scene()
    return filled_store(
        rows(
            [row for row in calls if row.task_id in task_ids],
            [row for row in tasks if row.task_id in task_ids],
            [row for row in sums if row.task_id in task_ids],
        )
    )


@cache
def answer_of(row: type, task_ids: tuple[str, ...]) -> list[Any]:
    """
    What such a store answers to a query.
    """
    return fetch(store_of(task_ids), row)


def nanoseconds(at: tuple[int, int] | None) -> int | None:
    """
    Hours and minutes as nanoseconds.
    """
    return None if at is None else at[0] * HOUR_NS + at[1] * MINUTE_NS


class TestWindow:
    @pytest.mark.parametrize(
        ("since", "until", "calls", "steps"),
        [
            ((1, 45), (3, 10), [4], [3]),  # an hour that is whole, and an edge
            ((2, 0), (3, 0), [2], [1]),  # exactly that hour
            ((2, 5), (2, 15), [2], [1]),  # inside it
            ((2, 11), (2, 50), [], []),  # inside it, past its task
            ((2, 10), (2, 11), [2], [1]),  # begins with the moment in which it ended
            ((2, 0), (2, 10), [], []),  # ends with it
            ((3, 0), None, [4], [2]),  # without an end: the open task, too
            ((3, 10), None, [2], []),  # which so far ended later
            ((3, 21), None, [], []),
            (None, (3, 5), [6], [3]),
            (None, (1, 30), [], []),
        ],
    )
    def test_is_of_the_end_of_the_task(
        self,
        store: duckdb.DuckDBPyConnection,
        since: tuple[int, int] | None,
        until: tuple[int, int] | None,
        calls: list[int],
        steps: list[int],
    ) -> None:
        """
        Calls of `search`, and its steps in settled tasks; no row where there are none.
        """
        asked = Asked(since_ns=nanoseconds(since), until_ns=nanoseconds(until), tool="search")

        assert calls == [row.calls for row in fetch(store, of.Calls, **asked)]
        assert steps == [row.steps for row in fetch(store, of.Retries, **asked)]

    @pytest.mark.parametrize("row", OF_REPORT, ids=lambda row: row.__name__)
    def test_leaves_what_a_store_without_the_other_tasks_holds(
        self, store: duckdb.DuckDBPyConnection, row: type
    ) -> None:
        """
        Whatever it begins and ends with: hours, moments inside them, ends of tasks.
        """
        wrong = [
            scope
            for scope in windows()
            if fetch(store, row, since_ns=scope.since_ns, until_ns=scope.until_ns)
            != answer_of(row, tuple(task.task_id for task in scene().tasks if scope.holds(task)))
        ]

        assert [] == wrong

    def test_reaches_as_far_as_times_do(self) -> None:
        """
        Clocks that are broken say the last moment that 64 bits can count.
        """
        last_ns = 2**63 - 1
        store = filled_store(rows([call(1)], [task()._replace(ended_ns=last_ns)], [task_tool()]))

        assert 1 == len(fetch(store, of.Calls, since_ns=last_ns))
        assert 1 == len(fetch(store, of.Calls, since_ns=0))
        assert 0 == len(fetch(store, of.Calls, until_ns=last_ns))
