"""
Sums: permission episodes, and what one task did with one tool.
"""

from tests.span_facts import MS, OK, A, B, escalation, failed, run, tool
from toolspan.derive import derive
from toolspan.records import Call, Episode, Judgement, Marks, SpanFacts, TaskTool

INVALID = failed("validation", "BAD_DATE")
DOWN = failed("transient", "UNAVAILABLE")
DENIED = failed("permission", "DENIED")
CONFLICT = failed("business_rule", "CONFLICT")
CANCELLED = Judgement("cancelled", evidence="cancellation")
DEFERRED = Judgement("deferred", evidence="deferral")


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


def sums(*spans: SpanFacts) -> TaskTool:
    """
    The sums of the one tool below an agent run.
    """
    (found,) = derive([run(), *spans]).task_tools
    return found


class TestEpisodes:
    """
    From a permission failure to a human.
    """

    def test_an_episode_closes_with_the_first_escalation_of_the_tool_or_none(self) -> None:
        """
        Calls of the tool in between are retries, whatever their arguments and endings.
        """
        spans = (
            *row((DENIED, A), (OK, B), (CANCELLED, A), (DENIED, A)),
            escalation("e", at=9),
            escalation("f", at=45, tool="other"),
            escalation("g", at=60, tool="s"),
        )
        rows = derive([run(), *spans])

        assert [(one.opened_ns // MS, one.closed_ns and one.closed_ns // MS, one.retries) for one in rows.episodes] == [
            (10, 60, 2),
            (70, None, 0),
        ]

    def test_an_episode_that_nobody_heard_of_stays_open(self) -> None:
        """
        It is no escalated one, and later failures belong to it.
        """
        found = sums(*row((DENIED, A), (DENIED, B)))

        assert (found.episodes, found.escalated, found.clean) == (1, 0, 0)

    def test_a_failure_that_began_before_the_human_was_asked_opens_none(self) -> None:
        """
        Two parallel failures are one episode, and no retries of each other.
        """
        spans = (
            tool("a", at=(0, 10), ending=DENIED),
            tool("b", at=(2, 50), ending=DENIED),
            escalation("e", at=40),
        )
        found = sums(*spans)

        assert (found.episodes, found.escalated, found.clean) == (1, 1, 1)

    def test_a_deferred_call_is_no_retry_before_its_own_escalation(self) -> None:
        """
        It asks as it ends; another call before it is a retry.
        """
        spans = row((DENIED, A), (DEFERRED, A))

        assert sums(*spans).clean == 1
        assert sums(*spans, tool("x", at=(12, 14), args=B)).clean == 0

    def test_a_resumed_call_is_no_retry_before_its_own_escalation(self) -> None:
        """
        Also where the pause is one of several executions of a call.
        """
        spans = (
            tool("a", at=(0, 10), ending=DENIED),
            tool("b", at=(20, 30), ending=failed("fatal"), call_id="c"),
            tool("d", at=(40, 50), ending=DEFERRED, call_id="c"),
        )

        assert derive([run(), *spans]).episodes[0].retries == 0

    def test_each_tool_has_its_own(self) -> None:
        """
        An escalation without a tool closes every open episode.
        """
        spans = [run(), tool("a", ending=DENIED), tool("b", ending=DENIED, tool="mail"), escalation("e", at=20)]
        rows = derive(spans)

        assert rows.episodes == [
            Episode(rows.tasks[0].task_id, "mail", rows.calls[1].span_id, 10 * MS, 20 * MS, 0),
            Episode(rows.tasks[0].task_id, "s", rows.calls[0].span_id, 10 * MS, 20 * MS, 0),
        ]

    def test_the_first_of_those_that_name_the_tool_and_those_that_name_none_closes(self) -> None:
        """
        Whichever it is, and both where they come at once.
        """
        for named, unnamed in ((20, 30), (30, 20), (20, 20)):
            asked = escalation("e", at=named, tool="s"), escalation("f", at=unnamed), escalation("g", at=12, tool="x")
            [episode] = derive([run(), tool("a", ending=DENIED), *asked]).episodes

            assert episode.closed_ns == 20 * MS

    def test_a_failure_of_no_length_is_no_retry_of_itself(self) -> None:
        """
        It starts at its own end, as a parallel one does, which counts.
        """
        failure = tool("a", at=(5, 5), ending=DENIED)

        assert sums(failure, escalation("e", at=6)).clean == 1
        assert sums(failure, tool("b", at=(5, 6)), escalation("e", at=6)).clean == 0


class TestSums:
    """
    What one task did with one tool.
    """

    def test_every_sum(self) -> None:
        """
        A scene with each kind of link, counted by hand.
        """
        spans = row((INVALID, A), (INVALID, B), (INVALID, B), (CONFLICT, A), (DOWN, A), (DOWN, None), (OK, A), (OK, B))
        found = sums(*spans)

        assert found == TaskTool(
            task_id=found.task_id,
            tool="s",
            calls=8,
            retries=4,
            presumed=2,
            allowed=0,
            early=0,
            over_cap=2,
            wasted=2,
            wasted_ns=40 * MS,
            steps=2,
            validation_failures=3,
            recovered=0,
            accepted=1,
            episodes=0,
            escalated=0,
            clean=0,
            streak=3,
            streak_code="BAD_DATE",
        )

    def test_a_rewrite_that_ends_ok_recovers(self) -> None:
        """
        One that is stopped by something else is accepted, one that is invalid again is neither.
        """
        found = [sums(*row((INVALID, A), (ending, B))) for ending in (OK, DOWN, INVALID)]

        assert [(one.recovered, one.accepted) for one in found] == [(1, 1), (0, 1), (0, 0)]

    def test_the_streak_is_of_one_code(self) -> None:
        """
        `ok` and another code break it, a cancelled call does not, whatever the arguments; the first longest counts.
        """
        spans = row((DOWN, A), (CANCELLED, A), (DOWN, B), (CONFLICT, A), (CONFLICT, B), (DOWN, A), (OK, A), (DOWN, A))

        assert (sums(*spans).streak, sums(*spans).streak_code) == (2, "UNAVAILABLE")

    def test_a_tool_without_failures_has_only_calls_and_steps(self) -> None:
        """
        All else is nothing.
        """
        found = sums(*row((OK, A), (CANCELLED, A)))

        assert found == TaskTool(found.task_id, "s", 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, None)
