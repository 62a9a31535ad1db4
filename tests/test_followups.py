"""
Which failure a call answers, as far as one process sees while it runs.
"""

from tests.facts import run, tool_span
from toolspan.instrumentation.followups import Answer, FollowUps
from toolspan.records import SpanFacts

TRANSIENT, VALIDATION = ("transient", "UNAVAILABLE"), ("validation", "DATE_FORMAT")
OTHER_ARGS, OTHER_KEY = "1111000000000000000b", "2222000000000000000a"


def span_id(number: int) -> bytes:
    return number.to_bytes(8, "big")


def answers(*spans: SpanFacts) -> list[Answer | None]:
    """
    What each of *spans* answers, in the order in which they end.
    """
    follow_ups = FollowUps()
    return [follow_ups.see(span) for span in spans]


class TestFollowUps:
    """
    The rules of links.
    """

    def test_an_identical_call_is_a_retry(self) -> None:
        """Once: the failure is answered then."""
        found = answers(tool_span(1, 2, start=0, error=TRANSIENT), tool_span(1, 3, start=20), tool_span(1, 4, start=40))

        assert [None, Answer(span_id(2), "retry"), None] == found

    def test_other_arguments_after_validation_are_a_rewrite(self) -> None:
        """And after anything else a new plan."""
        rewrite = answers(tool_span(1, 2, start=0, error=VALIDATION), tool_span(1, 3, start=20, args=OTHER_ARGS))
        fresh = answers(tool_span(1, 2, start=0, error=TRANSIENT), tool_span(1, 3, start=20, args=OTHER_ARGS))

        assert ([None, Answer(span_id(2), "rewrite")], [None, None]) == (rewrite, fresh)

    def test_unknown_arguments_are_presumed_to_be_the_same(self) -> None:
        """Also those that were hashed with another key."""
        unknown = answers(tool_span(1, 2, start=0, error=TRANSIENT, args=None), tool_span(1, 3, start=20))
        foreign = answers(tool_span(1, 2, start=0, error=TRANSIENT), tool_span(1, 3, start=20, args=OTHER_KEY))

        assert [Answer(span_id(2), "retry")] * 2 == [unknown[1], foreign[1]]

    def test_what_began_before_the_failure_ended_does_not_answer_it(self) -> None:
        """Parallel calls know nothing of one another."""
        assert [None, None] == answers(tool_span(1, 2, start=0, error=TRANSIENT), tool_span(1, 3, start=5))

    def test_other_tools_and_other_tasks_do_not_answer(self) -> None:
        """A trace is a task where nobody named one."""
        found = answers(
            tool_span(1, 2, start=0, error=TRANSIENT),
            tool_span(1, 3, start=20, tool="book"),
            tool_span(2, 4, start=40),
        )

        assert [None, None, None] == found

    def test_a_task_may_have_several_traces(self) -> None:
        """An id joins them."""
        found = answers(tool_span(1, 2, start=0, error=TRANSIENT, task_id="t"), tool_span(2, 3, start=20, task_id="t"))

        assert Answer(span_id(2), "retry") == found[1]

    def test_a_span_within_another_of_the_tool_is_no_failure_of_its_own(self) -> None:
        """One call traced twice is answered once, by the id of the outer span."""
        inner = tool_span(1, 3, start=1, error=TRANSIENT)
        outer = tool_span(1, 2, start=0, error=TRANSIENT)._replace(end_ns=20 * 10**6)

        found = answers(inner, outer, tool_span(1, 4, start=30), tool_span(1, 5, start=50))

        assert [None, None, Answer(span_id(2), "retry"), None] == found

    def test_what_is_no_call_answers_nothing(self) -> None:
        """Nor does a call that was cancelled."""
        cancelled = tool_span(1, 3, start=20)
        assert cancelled.call is not None
        call = cancelled.call._replace(judgement=cancelled.call.judgement._replace(outcome="cancelled"))

        found = answers(tool_span(1, 2, start=0, error=TRANSIENT), run(1), cancelled._replace(call=call))

        assert [None, None, None] == found


class TestBounds:
    """
    What an agent in a loop cannot fill.
    """

    def test_the_oldest_failures_of_a_task_are_forgotten(self) -> None:
        """Links are provisional; memory is not."""
        follow_ups = FollowUps(most_failures=2)
        for number, args in enumerate(("a", "b", "c")):
            follow_ups.see(tool_span(1, number + 2, start=20 * number, error=TRANSIENT, args=f"1111{args * 16}"))

        found = [follow_ups.see(tool_span(1, 9, start=90, args=f"1111{args * 16}")) for args in ("a", "b")]

        assert [None, Answer(span_id(3), "retry")] == found

    def test_the_task_touched_longest_ago_is_forgotten(self) -> None:
        """However many there are."""
        follow_ups = FollowUps(most_tasks=1)
        for trace in (1, 2):
            follow_ups.see(tool_span(trace, 2, start=0, error=TRANSIENT))

        assert [None, Answer(span_id(2), "retry")] == [
            follow_ups.see(tool_span(trace, 3, start=20)) for trace in (1, 2)
        ]
