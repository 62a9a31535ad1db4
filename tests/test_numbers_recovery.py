"""
The validation recovery of `report`, by code and by field.
"""

from tests.rows import call, failed, retry, rewrite, rows, task, tool_of
from toolspan.numbers import report


class TestRecovery:
    def test_is_told_by_code_and_by_field_the_worst_first(self) -> None:
        """
        `date` loses two of two, `fare` none; an identical retry that succeeds is no recovery.
        """
        calls = [
            failed(call(1), "validation", "FORMAT", field="fare"),
            rewrite(call(2, start=20), of=1),
            failed(call(3, start=40), "validation", "FORMAT", field="date"),
            retry(failed(call(4, start=60), "validation", "RANGE", field="date"), of=3, verdict="wasted"),
            retry(call(5, start=80), of=4, verdict="wasted"),
            failed(call(6, start=100), "validation", "RANGE"),
        ]

        detail = tool_of(report(rows(calls, [task()])))["detail"]

        assert list(detail["recovery_by_field"].items()) == [
            ("date", {"failures": 2, "recovered": 0, "rate": 0.0, "accepted": 0}),
            ("", {"failures": 1, "recovered": 0, "rate": 0.0, "accepted": 0}),
            ("fare", {"failures": 1, "recovered": 1, "rate": 1.0, "accepted": 1}),
        ]
        assert list(detail["recovery_by_code"].items()) == [
            ("RANGE", {"failures": 2, "recovered": 0, "rate": 0.0, "accepted": 0}),
            ("FORMAT", {"failures": 2, "recovered": 1, "rate": 0.5, "accepted": 1}),
        ]

    def test_a_rewrite_that_fails_validation_again_is_not_accepted(self) -> None:
        """
        Accepted means: no longer a validation failure.
        """
        calls = [
            failed(call(1), "validation", "V"),
            rewrite(failed(call(2, start=20), "validation", "V"), of=1),
        ]

        by_code = tool_of(report(rows(calls, [task()])))["detail"]["recovery_by_code"]

        assert by_code == {"V": {"failures": 2, "recovered": 0, "rate": 0.0, "accepted": 0}}

    def test_a_call_of_another_task_answers_nothing(self) -> None:
        """
        Span ids are unique in a trace, not between tasks.
        """
        calls = [failed(call(1), "validation", "V"), rewrite(call(2, task="t2", start=20), of=1)]

        by_code = tool_of(report(rows(calls, [task("t1"), task("t2")])))["detail"]["recovery_by_code"]

        assert by_code == {"V": {"failures": 1, "recovered": 0, "rate": 0.0, "accepted": 0}}
