"""
Damage orders the tools, targets say which are broken.
"""

import pytest

from tests.rows import MS, call, rows, task, task_tool, tasks_with_retries, tool_of
from toolspan.numbers import Targets, report


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
