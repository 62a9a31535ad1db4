"""
Two reports side by side: what is better, what is worse, and of what there are too few cases.
"""

import pytest

from tests.rows import call, failed, rewrite, rows, task, task_tool
from toolspan.documents import Report
from toolspan.errors import InputError
from toolspan.numbers import report
from toolspan.scope import Scope
from toolspan_dashboard.comparing import Share, compare, judge
from toolspan_dashboard.pages.compare import split
from toolspan_dashboard.view import View, view_of

HOUR_NS = 3600 * 10**9
NOW_NS = 1_777_888_800 * 10**9


def recovering(recovered: int, failures: int) -> Report:
    """
    A report in which so many of a tool's validation failures recover.
    """
    calls = [failed(call(place + 1, start=place), "validation", "FORMAT") for place in range(failures)]
    calls += [rewrite(call(1000 + place, start=1000), of=place + 1) for place in range(recovered)]
    sums = task_tool(calls=len(calls), steps=failures)
    return report(rows(calls, [task()], [sums._replace(validation_failures=failures, recovered=recovered)]))


class TestJudging:
    @pytest.mark.parametrize(
        ("before", "after", "is_more_better", "expected"),
        [
            (Share(10, 100), Share(90, 100), True, "better"),
            (Share(90, 100), Share(10, 100), True, "worse"),
            (Share(10, 100), Share(90, 100), False, "worse"),
            (Share(50, 100), Share(55, 100), True, "no clear difference"),
            (Share(0, 19), Share(100, 100), True, "too few cases: 19 of the 20 it takes"),
            (Share(0, 0), Share(100, 100), True, "too few cases: 0 of the 20 it takes"),
        ],
    )
    def test_says_no_more_than_the_cases_do(
        self, before: Share, after: Share, is_more_better: bool, expected: str
    ) -> None:
        """
        Where intervals overlap, or a side is small, nothing is claimed.
        """
        assert expected == judge(before, after, is_more_better=is_more_better, min_cases=20)


class TestComparing:
    def test_shows_both_sides_with_their_cases(self) -> None:
        """
        A new hint, and what came of it.
        """
        found = {row.name: row for row in compare(recovering(3, 30), recovering(28, 30), min_cases=20)}

        row = found["Validation failures that recover"]
        assert ("search", "10 % of 30", "93 % of 30", "better") == (row.tool, row.before, row.after, row.verdict)

    def test_keeps_to_one_tool(self) -> None:
        """
        Where one was chosen.
        """
        assert [] == compare(recovering(1, 2), recovering(1, 2), min_cases=1, tool="book")


class TestSplit:
    def view(self, **choices: str) -> View:
        """
        A view of the day before some ten o'clock.
        """
        return view_of(choices, zone="UTC", now_ns=NOW_NS)

    def test_halves_the_window_where_nobody_says(self) -> None:
        """
        The later half goes on until now.
        """
        before, after = split(self.view(), "", first_ns=0)

        assert Scope(NOW_NS - 24 * HOUR_NS, NOW_NS - 12 * HOUR_NS) == before
        assert Scope(NOW_NS - 12 * HOUR_NS) == after

    def test_takes_the_moment_of_a_change(self) -> None:
        """
        A time or an age.
        """
        assert NOW_NS - 2 * HOUR_NS == split(self.view(), "2h", first_ns=0)[0].until_ns
        assert NOW_NS - 2 * HOUR_NS == split(self.view(), "2026-05-04T08:00", first_ns=0)[1].since_ns

    def test_begins_with_the_first_task_where_the_window_has_no_beginning(self) -> None:
        """
        Half of all time since 1970 would hold nothing.
        """
        before, _ = split(self.view(range="all"), "", first_ns=NOW_NS - 4 * HOUR_NS)

        assert NOW_NS - 2 * HOUR_NS == before.until_ns

    def test_refuses_a_change_outside_the_window(self) -> None:
        """
        One side would be empty.
        """
        with pytest.raises(InputError, match="is not inside the window"):
            split(self.view(), "2020-01-01", first_ns=0)
