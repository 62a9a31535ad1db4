"""
Links: which call answers which failure, and the steps they make.
"""

import pytest

from tests.span_facts import FOREIGN, OK, A, B, failed, names, run, tool
from toolspan.derive import derive
from toolspan.records import Call, Judgement, Marks, SpanFacts, TaskTool

INVALID = failed("validation", "BAD_DATE")
DOWN = failed("transient", "UNAVAILABLE")
CONFLICT = failed("business_rule", "CONFLICT")
CANCELLED = Judgement("cancelled", evidence="cancellation")
DEFERRED = Judgement("deferred", evidence="deferral")
#: Of the hashes of seven answers.
KEYS = ("k1k1", "k2k2", "k1k1", "k3k3", "k1k1", "k1k1", "k2k2")


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


def links(*spans: SpanFacts) -> list[tuple[str, str, str, bool]]:
    """
    Call, what it answers, how, and whether that is presumed.
    """
    return [
        (names([call])[0], call.follows.lstrip(b"\0").decode(), call.follow_up or "", call.presumed)
        for call in calls(*spans)
        if call.follows is not None
    ]


def sums(*spans: SpanFacts) -> TaskTool:
    """
    The sums of the one tool below an agent run.
    """
    (found,) = derive([run(), *spans]).task_tools
    return found


class TestLinks:
    """
    Which call answers which failure.
    """

    @pytest.mark.parametrize(
        ("first", "second", "link"),
        [
            ((DOWN, A), (OK, A), ("retry", False)),
            ((INVALID, A), (OK, A), ("retry", False)),
            ((INVALID, A), (OK, B), ("rewrite", False)),
            ((INVALID, None), (OK, B), ("rewrite", True)),
            ((INVALID, A), (OK, None), ("rewrite", True)),
            ((INVALID, A), (OK, FOREIGN), ("rewrite", True)),
            ((DOWN, None), (OK, A), ("retry", True)),
            ((DOWN, A), (OK, None), ("retry", True)),
            ((DOWN, None), (OK, None), ("retry", True)),
            ((DOWN, A), (DOWN, FOREIGN), ("retry", True)),
            ((DOWN, A), (OK, B), None),
            ((CONFLICT, A), (DOWN, B), None),
            ((OK, A), (OK, A), None),
            ((DOWN, A), (CANCELLED, A), None),
            ((DEFERRED, A), (OK, A), None),
            ((CANCELLED, A), (OK, A), None),
        ],
    )
    def test_the_kind_of_link(
        self, first: tuple[Judgement, str | None], second: tuple[Judgement, str | None], link: tuple[str, bool] | None
    ) -> None:
        """
        Identical is a retry, after validation other arguments are a rewrite, the unknown is presumed, the rest is new.
        """
        assert links(*row(first, second)) == ([] if link is None else [("b", "a", *link)])

    def test_an_identical_failure_comes_before_an_older_one(self) -> None:
        """
        A call answers what it repeats, else the oldest validation failure, else the oldest of unknown arguments.
        """
        failures = (
            tool("a", at=(0, 10), ending=DOWN, args=None),
            tool("b", at=(1, 10), ending=INVALID, args=None),
            tool("c", at=(2, 10), ending=CONFLICT),
        )
        answers = [tool(name, at=(start, start + 1)) for name, start in (("x", 20), ("y", 30), ("z", 40))]

        assert links(*failures, *answers) == [
            ("x", "c", "retry", False),
            ("y", "b", "rewrite", True),
            ("z", "a", "retry", True),
        ]

    def test_the_failure_that_started_first_is_meant(self) -> None:
        """
        Of two identical failures that overlap the first is answered, though it ended last.
        """
        spans = (
            tool("a", at=(0, 30), ending=CONFLICT),
            tool("b", at=(5, 20), ending=CONFLICT),
            tool("c", at=(40, 50), ending=CONFLICT),
            tool("d", at=(60, 70)),
        )

        assert links(*spans) == [("c", "a", "retry", False), ("d", "b", "retry", False)]

    def test_a_call_that_starts_as_the_failure_ends_answers_it(self) -> None:
        """
        One that began a moment earlier does not.
        """
        failure = tool("a", at=(0, 20), ending=DOWN)

        assert links(failure, tool("b", at=(20, 30))) == [("b", "a", "retry", False)]
        assert links(failure, tool("b", at=(19, 30))) == []

    def test_a_failure_is_answered_once(self) -> None:
        """
        A chain of failures is answered link by link.
        """
        assert links(*row((DOWN, A), (DOWN, A), (OK, A), (OK, A))) == [
            ("b", "a", "retry", False),
            ("c", "b", "retry", False),
        ]

    def test_only_failures_that_have_ended_can_be_meant(self) -> None:
        """
        Of several open ones, and in the very moment in which one ends.
        """
        still, ended = tool("a", at=(0, 100), ending=DOWN, args=B), tool("b", at=(1, 10), ending=DOWN)

        assert links(still, ended, tool("c", at=(10, 20))) == [("c", "b", "retry", False)]
        assert links(still, ended, tool("c", at=(9, 20))) == []
        assert links(still, ended, tool("c", at=(20, 30), args=None)) == [("c", "b", "retry", True)]

    def test_a_cancelled_repetition_is_no_answer(self) -> None:
        """
        The one after it answers the failure, whether one failure is open or two.
        """
        cancelled, again = tool("x", at=(50, 60), ending=CANCELLED), tool("y", at=(70, 80))

        assert links(*row((DOWN, A)), cancelled, again) == [("y", "a", "retry", False)]
        assert links(*row((DOWN, A), (DOWN, B)), cancelled, again) == [("y", "a", "retry", False)]

    def test_steps_and_tools_are_apart(self) -> None:
        """
        A failure in one step is not answered by a call in another, nor by another tool.
        """
        spans = (
            tool("a", at=(0, 1), ending=DOWN, marks=Marks(step_id="s1")),
            tool("b", at=(2, 3), marks=Marks(step_id="s2")),
            tool("c", at=(4, 5)),
            tool("d", at=(6, 7), tool="other", marks=Marks(step_id="s1")),
            tool("e", at=(8, 9), marks=Marks(step_id="s1")),
        )

        assert links(*spans) == [("e", "a", "retry", False)]

    def test_unknown_arguments_answer_the_oldest_failure_of_any_key(self) -> None:
        """
        Whatever its arguments were, and whatever key they were hashed with.
        """
        spans = [*row((DOWN, A), (DOWN, "k2k2b"), (DOWN, B))[::2], tool("x", at=(100, 110), args=None)]

        assert links(*spans) == [("x", "a", "retry", True)]

    def test_a_foreign_hash_answers_only_what_it_cannot_be_compared_with(self) -> None:
        """
        Failures of its own key with other arguments are no candidates.
        """
        spans = [
            tool("a", at=(0, 9), ending=DOWN, args=FOREIGN),
            tool("b", at=(1, 9), ending=DOWN, args=A),
            tool("c", at=(10, 19), args="k2k2b"),
        ]

        assert links(*spans) == [("c", "b", "retry", True)]

    def test_among_many_keys_the_oldest_failure_of_another_is_meant(self) -> None:
        """
        One after the other, whatever was answered in between.
        """
        hashes = ("k1k1a", "k1k1b", "k2k2a", "k1k1c", None, "k3k3a")
        failures = [tool(str(n), at=(n, 20 - n), ending=DOWN, args=args) for n, args in enumerate(hashes)]
        answers = [tool(f"x{n}", at=(30 + 2 * n, 31 + 2 * n), args=f"{key}z") for n, key in enumerate(KEYS)]

        assert [(call, failure) for call, failure, _, _ in links(*failures, *answers)] == [
            ("x0", "2"),
            ("x1", "0"),
            ("x2", "4"),
            ("x3", "1"),
            ("x4", "5"),
            ("x6", "3"),
        ]

    def test_thousands_of_open_failures_are_no_obstacle(self) -> None:
        """
        An agent in a loop, every call with other arguments, and one repetition of the first.
        """
        spans = [tool(f"{n:05}", at=(n, n + 1), ending=DOWN, args=f"k1k1{n}") for n in range(5000)]

        assert links(*spans, tool("x", at=(9000, 9001), args="k1k10")) == [("x", "00000", "retry", False)]


class TestSteps:
    """
    Given steps, and chains of linked calls.
    """

    def test_a_chain_is_a_step(self) -> None:
        """
        Its key is the span of its first call; a call that answers nothing is a step of its own.
        """
        spans = row((DOWN, A), (INVALID, A), (OK, B), (OK, A))

        assert [call.step for call in calls(*spans)] == [
            *[calls(*spans)[0].span_id.hex()] * 3,
            calls(*spans)[3].span_id.hex(),
        ]
        assert sums(*spans).steps == 2

    def test_a_given_step_is_one_step(self) -> None:
        """
        Linked or not, all calls of a given step are one.
        """
        spans = row((DOWN, A), (OK, B), (OK, A), step="s1")

        assert ({call.step for call in calls(*spans)}, sums(*spans).steps) == ({"s1"}, 1)
        assert sums(*row((OK, A), (OK, B), step="s1"), tool("x", at=(200, 210))).steps == 2

    def test_a_step_in_which_a_tool_was_only_cancelled_counts(self) -> None:
        """
        Every step in which the tool was called.
        """
        assert sums(*row((CANCELLED, A), (DEFERRED, A))).steps == 2
