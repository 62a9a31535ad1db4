"""
Lineage: what to say of a retry, and what the agent did after a failure.
"""

import pytest

from tests.span_facts import MS, OK, A, B, escalation, failed, run, tool
from toolspan.derive import derive
from toolspan.records import Call, Judgement, Marks, SpanFacts

INVALID = failed("validation", "BAD_DATE")
DOWN = failed("transient", "UNAVAILABLE")
DENIED = failed("permission", "DENIED")
CONFLICT = failed("business_rule", "CONFLICT")


def row(*endings: tuple[Judgement, str | None], step: str = "") -> list[SpanFacts]:
    """
    Calls `a`, `b`, … one after the other, 10 ms each, 10 ms apart, each with its ending and arguments.
    """
    return [
        tool("abcdefgh"[n], at=(n * 20, n * 20 + 10), ending=ending, args=args, marks=Marks(step_id=step))
        for n, (ending, args) in enumerate(endings)
    ]


def calls(*spans: SpanFacts) -> list[Call]:
    """
    The calls below an agent run.
    """
    return derive([run(), *spans]).calls


def verdicts(*spans: SpanFacts) -> list[str | None]:
    """
    The verdict on each call.
    """
    return [call.verdict for call in calls(*spans)]


class TestVerdicts:
    """
    What to say of a retry.
    """

    @pytest.mark.parametrize(
        ("error_class", "verdict"),
        [
            ("transient", "allowed"),
            ("unclassified", "allowed"),
            ("validation", "wasted"),
            ("permission", "wasted"),
            ("business_rule", "wasted"),
            ("fatal", "wasted"),
        ],
    )
    def test_the_class_decides(self, error_class: str, verdict: str) -> None:
        """
        What the identical call cannot cure is wasted on it.
        """
        ending = failed(None if error_class == "unclassified" else error_class)

        assert verdicts(*row((ending, A), (OK, A))) == [None, verdict]

    def test_a_wasted_retry_costs_from_end_to_end(self) -> None:
        """
        From the end of the failure that it repeats to its own: waiting is part of it.
        """
        assert [call.wasted_ns for call in calls(*row((CONFLICT, A), (OK, A)))] == [0, 20 * MS]

    def test_the_second_retry_in_a_step_is_over_the_cap(self) -> None:
        """
        Wasted ones counted, in a chain or in a given step, whatever they repeat.
        """
        assert verdicts(*row((DOWN, A), (DOWN, A), (DOWN, A), (OK, A))) == [None, "allowed", "over_cap", "over_cap"]
        assert verdicts(*row((CONFLICT, A), (DOWN, A), (OK, A))) == [None, "wasted", "over_cap"]
        assert verdicts(*row((DOWN, A), (DOWN, B), (OK, A), (OK, B), step="s1"))[2:] == ["allowed", "over_cap"]
        assert verdicts(*row((DOWN, A), (DOWN, B), (OK, A), (OK, B)))[2:] == ["allowed", "allowed"]

    def test_a_rewrite_is_no_retry(self) -> None:
        """
        It has no verdict and does not count towards the cap.
        """
        assert verdicts(*row((INVALID, A), (DOWN, B), (OK, B))) == [None, None, "allowed"]

    @pytest.mark.parametrize(("wait", "verdict"), [(10, "allowed"), (11, "early"), (None, "allowed"), (0, "allowed")])
    def test_a_retry_before_the_backoff_is_early(self, wait: int | None, verdict: str) -> None:
        """
        It started before the failure's end and the wait it asked for.
        """
        ending = DOWN._replace(retry_after_ms=wait)

        assert verdicts(*row((ending, A), (OK, A))) == [None, verdict]

    def test_over_the_cap_comes_before_early(self) -> None:
        """
        The second retry came too early as well.
        """
        ending = DOWN._replace(retry_after_ms=99)

        assert verdicts(*row((ending, A), (ending, A), (OK, A))) == [None, "early", "over_cap"]

    @pytest.mark.parametrize(
        ("asked", "verdict"),
        [
            (escalation("e", at=10), "allowed"),
            (escalation("e", at=20, tool="s"), "allowed"),
            (escalation("e", at=15, tool="other"), "wasted"),
            (escalation("e", at=9), "wasted"),
            (escalation("e", at=21), "wasted"),
        ],
    )
    def test_a_human_may_have_changed_what_a_permission_takes(self, asked: SpanFacts, verdict: str) -> None:
        """
        Asked between the failure's end and the retry's start, about this tool or none.
        """
        assert verdicts(*row((DENIED, A), (OK, A)), asked) == [None, verdict]
        assert verdicts(*row((CONFLICT, A), (OK, A)), asked) == [None, "wasted"]

    def test_a_second_retry_after_approval_is_over_the_cap(self) -> None:
        """
        Approval lifts the waste, not the cap.
        """
        spans = (*row((DENIED, A), (DENIED, A), (OK, A)), escalation("e", at=12), escalation("f", at=32))

        assert verdicts(*spans) == [None, "allowed", "over_cap"]

    def test_a_retry_that_asks_a_human_itself_was_not_approved(self) -> None:
        """
        The repeated call of an escalation tool does not come after itself.
        """
        rows = derive([run(), *row((DENIED, A), (OK, A))], escalation_tools=("s",))

        assert [call.verdict for call in rows.calls] == [None, "wasted"]


class TestNextAction:
    """
    What the agent did after a failure.
    """

    def test_a_follow_up_comes_first(self) -> None:
        """
        Retry and rewrite, though a human was asked as well; calls that did not fail have no next action.
        """
        spans = (*row((DOWN, A), (INVALID, A), (OK, B)), escalation("e", at=15))

        assert [call.next_action for call in calls(*spans)] == ["retry", "rewrite", None]

    def test_without_one_an_escalation_then_any_call_tells(self) -> None:
        """
        At or after the failure's end, of its tool or of none, or a call of whatever tool.
        """
        failure, later = tool("a", at=(0, 10), ending=CONFLICT), tool("x", at=(10, 20), tool="other")

        assert calls(failure, later, escalation("e", at=10, tool="s"))[0].next_action == "escalated"
        assert calls(failure, later, escalation("e", at=10, tool="other"))[0].next_action == "other"
        assert calls(failure, later, escalation("e", at=9))[0].next_action == "other"
        assert calls(failure, tool("x", at=(9, 20)))[0].next_action == "nothing"

    def test_a_failure_of_no_length_is_not_after_itself(self) -> None:
        """
        What starts at its own end counts, but not the failure.
        """
        failure = tool("a", at=(5, 5), ending=CONFLICT)

        assert calls(failure)[0].next_action == "nothing"
        assert calls(failure, tool("b", at=(5, 6), args=B))[0].next_action == "other"
