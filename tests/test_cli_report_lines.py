"""
What `report` says in words.
"""

from tests.rows import call, failed, rewrite, rows, task, task_tool
from toolspan.cli._report_lines import broken_lines, damage_lines, tasks_line
from toolspan.numbers import DEFAULT_TARGETS, report
from toolspan.records import TaskTool


class TestLines:
    @staticmethod
    def broken(sums: TaskTool) -> list[str]:
        """
        What is said of a tool with such *sums* in its only task.
        """
        return broken_lines(report(rows([call(1)], [task()], [sums]))["tools"], DEFAULT_TARGETS)

    def test_retries_per_step(self) -> None:
        """
        With the share that was wasted, where one was.
        """
        assert ["! search: 1.25 retries per step in 20 steps (target under 1)"] == self.broken(
            task_tool(steps=20)._replace(retries=25)
        )

    def test_clean_escalations(self) -> None:
        """
        Of the episodes that a human heard of.
        """
        expected = ["! search: 75 % of 20 permission escalations came without a retry before (target 90 %)"]
        assert expected == self.broken(task_tool()._replace(episodes=30, escalated=20, clean=15))

    def test_a_rate_just_below_its_target_reads_as_below_it(self) -> None:
        """
        159 of 199 are 79.8 %, which is not 80 %.
        """
        expected = ["! search: 79.8 % of 199 validation failures recover (target 80 %)"]
        assert expected == self.broken(task_tool()._replace(validation_failures=199, recovered=159))

    def test_the_code_is_named_where_no_field_is(self) -> None:
        """
        What loses most stands for the rest.
        """
        calls = [
            *(failed(call(place), "validation", "RANGE") for place in range(20)),
            failed(call(50), "validation", "FORMAT"),
            rewrite(call(51, start=60), of=50),
        ]
        sums = task_tool()._replace(validation_failures=21, recovered=1)

        lines = broken_lines(report(rows(calls, [task()], [sums]))["tools"], DEFAULT_TARGETS)

        assert ["! search: 5 % of 21 validation failures recover (target 80 %); code `RANGE`, 20 of 20 lost"] == lines

    def test_damage_is_told_by_its_parts_the_largest_first(self) -> None:
        """
        Parts that are zero are left out.
        """
        sums = task_tool()._replace(
            retries=5, early=2, over_cap=3, validation_failures=9, recovered=5, episodes=2, escalated=2, clean=1
        )

        lines = damage_lines(report(rows([call(1)], [task()], [sums]))["tools"])

        parts = (
            "4 validation failures not recovered",
            "3 retries over the cap",
            "2 early retries",
            "1 escalation after a retry",
        )
        assert lines == [f"search: {', '.join(parts)}"]

    def test_tasks_are_told_by_outcome(self) -> None:
        """
        Open ones apart.
        """
        tasks = [task("t1"), task("t2", "unknown"), task("t3")._replace(settled=False)]

        assert "3 tasks: 1 resolved, 1 of unknown outcome, 1 open" == tasks_line(report(rows([], tasks))["tasks"])
