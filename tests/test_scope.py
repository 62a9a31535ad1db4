"""
Which tasks and tools a report is about: window, filters, groups.
"""

import pytest

from tests.rows import MS, call, rows, task, task_tool, tool_of
from toolspan.numbers import Scope, report, report_by


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
        calls = [call(1), call(2, task="t2"), call(3, task="t3")]
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
