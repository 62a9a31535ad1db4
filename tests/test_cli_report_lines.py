"""
What `report` says in words.
"""

from tests.rows import call, failed, retry, rewrite, rows, task, task_tool
from toolspan.cli._report_lines import broken_lines, damage_lines, tasks_line
from toolspan.numbers import DEFAULT_TARGETS, report
from toolspan.records import Call, TaskTool


class TestLines:
    @staticmethod
    def broken(sums: TaskTool) -> list[str]:
        """
        What is said of a tool with such *sums* in its only task.
        """
        given = rows([call(1)], [task()], [sums])
        return broken_lines(report(given)["tools"], DEFAULT_TARGETS)

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
        line = "! search: 75 % of 20 permission escalations came without a retry before (target 90 %)"
        assert [f"{line}\n  permission: stop calling this tool, escalate"] == self.broken(
            task_tool()._replace(episodes=30, escalated=20, clean=15)
        )

    def test_a_rate_just_below_its_target_reads_as_below_it(self) -> None:
        """
        159 of 199 are 79.8 %, which is not 80 %.
        """
        [line] = self.broken(task_tool()._replace(validation_failures=199, recovered=159))

        assert line.startswith("! search: 79.8 % of 199 validation failures recover (target 80 %)\n")

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

        given = rows(calls, [task()], [sums])

        [line] = broken_lines(report(given)["tools"], DEFAULT_TARGETS)

        expected = """\
! search: 5 % of 21 validation failures recover (target 80 %); code `RANGE`, 20 of 20 lost
  validation: rewrite the argument named in `field`, call once more"""
        assert expected == line

    @staticmethod
    def retried(error_class: str, code: str, verdict: str) -> list[str]:
        """
        What is said of 20 failures, each with one retry of such a verdict.
        """
        calls: list[Call] = []
        for place in range(0, 40, 2):
            again = retry(call(place + 1, start=20), of=place, verdict=verdict)
            calls += [failed(call(place), error_class, code), again]
        sums = task_tool(steps=20)._replace(retries=20)
        given = rows(calls, [task()], [sums._replace(wasted=20) if verdict == "wasted" else sums])
        return broken_lines(report(given)["tools"], DEFAULT_TARGETS)

    def test_what_to_do_is_the_action_of_the_class_that_is_retried_most(self) -> None:
        """
        On a second line where one would be too long.
        """
        line = "! search: 1 retries per step in 20 steps (target under 1); 20 of 20 retries wasted, most after CONFLICT"
        action = "business_rule: explain the rule, offer its alternatives"

        assert [f"{line}\n  {action}"] == self.retried("business_rule", "CONFLICT", "wasted")

    def test_the_class_is_that_of_the_code_which_the_line_names(self) -> None:
        """
        Other codes may together be of another class.
        """
        codes = [("business_rule", "CONFLICT")] * 8 + [("fatal", "GONE")] * 6 + [("fatal", "LOST")] * 6
        calls: list[Call] = []
        for place, (error_class, code) in enumerate(codes):
            again = retry(call(2 * place + 1, start=20), of=2 * place, verdict="wasted")
            calls += [failed(call(2 * place), error_class, code), again]
        given = rows(calls, [task()], [task_tool(steps=20)._replace(retries=20, wasted=20)])

        [line] = broken_lines(report(given)["tools"], DEFAULT_TARGETS)

        assert "most after CONFLICT\n  business_rule: " in line

    def test_a_short_line_tells_it_at_once(self) -> None:
        """
        Of retries that were too many or too early, no code is named.
        """
        line = "! search: 1 retries per step in 20 steps (target under 1)"

        assert [f"{line}; transient: retry once"] == self.retried("transient", "BUSY", "over_cap")

    def test_nothing_is_advised_where_no_class_is_known(self) -> None:
        """
        It would be a guess.
        """
        line = "! search: 1 retries per step in 20 steps (target under 1)"

        assert [line] == self.retried("unclassified", "UNCLASSIFIED", "over_cap")

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
