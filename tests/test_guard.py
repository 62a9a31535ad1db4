"""
The guard: what stops a call before its tool runs, and what does not.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.guarded import BROKEN, BUSY, CAUSES, DENIED, DOWN, INVALID, TAKEN, UNNAMED, Play
from toolspan.agents import refusals
from toolspan.agents.guard import Admission, Guard, Policy
from toolspan.agents.guarded_steps import Cause
from toolspan.agents.refusals import Refusal
from toolspan.envelopes.envelope import Failure, failure

#: As often as a model in a loop asks.
LOOP = 30


def admit(guard: Guard, args: str | None = "A", *, cost: float = 0.0, now_s: float = 0.0) -> Admission | Refusal:
    """
    A call of one tool.
    """
    return guard.admit("s", args, step="", span_id="1", now_s=now_s, cost=cost)


def run(
    guard: Guard, args: str | None = "A", cause: Cause | None = None, *, before: float = 0.0, cost: float = 0.0
) -> str:
    """
    A call whose cost is *before* as far as it was known, then *cost*: `ran`, or why not.
    """
    answer = admit(guard, args, cost=before)
    if isinstance(answer, Refusal):
        return answer.code
    guard.record(answer, cause, now_s=0.0, cost=cost)
    return "ran"


def same(_: int) -> str:
    """
    The arguments of a model that does not change its mind.
    """
    return "A"


def new(turn: int) -> str:
    """
    The arguments of a model that tries whatever it can think of.
    """
    return f"a{turn}"


class TestLoops:
    """
    A model that goes on calling a tool which goes on failing.
    """

    @pytest.mark.parametrize("step", ["", "one"])
    @pytest.mark.parametrize(
        ("cause", "arguments", "runs", "code"),
        [
            (DOWN, same, 2, "RETRY_LIMIT"),
            (INVALID, same, 1, "IDENTICAL_CALL"),
            (INVALID, new, 2, "REWRITE_LIMIT"),
            (DENIED, same, 1, "ESCALATION_REQUIRED"),
            (DENIED, new, 1, "ESCALATION_REQUIRED"),
            (TAKEN, same, 1, "RULE_UNCHANGED"),
            (BROKEN, same, 1, "TOOL_ABANDONED"),
            (BROKEN, new, 1, "TOOL_ABANDONED"),
            (UNNAMED, same, 1, "CAUSE_UNKNOWN"),
        ],
    )
    def test_runs_a_tool_of_each_class_as_often_as_the_policy_says(
        self, cause: Cause, arguments: Callable[[int], str], runs: int, code: str, step: str
    ) -> None:
        """
        The tool runs as often as its class allows, and every other call is told why not.
        """
        play = Play()
        said = [play.call(arguments(turn), cause, step=step) for turn in range(LOOP)]

        assert ["ran"] * runs + [code] * (LOOP - runs) == said

    @pytest.mark.parametrize("cause", CAUSES)
    def test_runs_a_tool_twice_at_most_when_it_is_given_no_arguments(self, cause: Cause) -> None:
        """
        Unknown arguments are no way around the policy.
        """
        play = Play()
        said: list[str] = []
        for _ in range(LOOP):
            said.append(play.call(None, cause))
            play.wait(50)

        assert (2 if cause.error_class == "transient" else 1) == said.count("ran")

    def test_runs_a_denied_tool_once_for_each_time_that_a_human_is_asked(self) -> None:
        """
        However often it is tried, asking is what lets one call through.
        """
        play = Play()
        said: list[str] = []
        for turn in range(3):
            said.append(play.call(f"a{turn}", DENIED))
            said.append(play.call(f"a{turn}", DENIED))
            play.escalate("s")
            play.escalate()

        assert ["ran", "ESCALATION_REQUIRED"] * 3 == said

    def test_goes_on_in_another_step(self) -> None:
        """
        What was used up in one step of the plan is not in another; what holds for the tool is.
        """
        play = Play()
        for step in ("one", "two"):
            for cause in (DOWN, DOWN, DOWN):
                play.call("A", cause, step=step)
        play.call("A", DENIED, step="three")
        play.call("A", DENIED, step="four")

        assert ["RETRY_LIMIT", "RETRY_LIMIT", "ESCALATION_REQUIRED"] == play.refused


class TestTransient:
    """
    One retry, and not before its time.
    """

    def test_the_retry_waits_for_as_long_as_the_tool_asked(self) -> None:
        """
        A call that comes too early is told how long to wait, and uses nothing up.
        """
        play = Play()
        play.call("A", BUSY)  # ends at 2 ms, to be repeated after 20
        play.wait(7)
        early = play.begin("A")  # at 10
        play.wait(11)

        assert refusals.RETRY_TOO_EARLY._replace(retry_after_ms=12) == early
        assert "ran" == play.call("A", BUSY)  # at 22
        assert "RETRY_LIMIT" == play.call("A", BUSY)

    def test_who_waits_exactly_that_long_is_let_through(self) -> None:
        """
        The wait that a refusal names is enough.
        """
        play = Play()
        play.call("A", BUSY)
        refused = play.begin("A")
        assert isinstance(refused, Refusal)
        play.wait((refused.retry_after_ms or 0) - 1)

        assert "ran" == play.call("A")

    def test_a_retry_under_way_is_the_retry(self) -> None:
        """
        Of ten identical retries at once, one runs; when it has succeeded the call is as good as new.
        """
        play = Play()
        play.call("A", DOWN)
        names = [name for name in (play.begin("A") for _ in range(10)) if isinstance(name, str)]
        [name] = names
        play.end(name)

        assert ["RETRY_LIMIT"] * 9 == play.refused
        assert "ran" == play.call("A")

    def test_failures_at_once_have_a_retry_each(self) -> None:
        """
        Without a named step each failure is the beginning of one; a retry that is given up leaves its failure open.
        """
        play = Play()
        failed = [str(play.begin("A")) for _ in range(2)]
        for name in failed:
            play.end(name, DOWN)
        play.end(str(play.begin("A")), is_cancelled=True)
        retries = [str(play.begin("A")) for _ in range(3)]
        for name in retries[:2]:
            play.end(name)

        assert ["RETRY_LIMIT"] == play.refused
        assert failed == [call.admission.follows for call in play.played[-2:]]

    def test_a_cancelled_retry_leaves_its_place(self) -> None:
        """
        What was given up answered nothing.
        """
        play = Play()
        play.call("A", DOWN)
        name = play.begin("A")
        assert isinstance(name, str)
        play.end(name, is_cancelled=True)

        assert ["ran", "RETRY_LIMIT"] == [play.call("A", DOWN), play.call("A", DOWN)]

    def test_other_arguments_are_a_new_plan(self) -> None:
        """
        Without a named step, each plan has a retry of its own; a named step has one for all.
        """
        for step, said in (("", ["ran"] * 4), ("one", ["ran", "ran", "ran", "RETRY_LIMIT"])):
            play = Play()

            assert said == [play.call(args, DOWN, step=step) for args in "AABB"]


class TestValidation:
    """
    One rewrite, and never the identical call.
    """

    def test_names_the_argument_at_fault(self) -> None:
        """
        The refusal says which argument is to be rewritten, where the tool did.
        """
        play = Play()
        play.call("A", INVALID)

        assert refusals.IDENTICAL_CALL._replace(field="date") == play.begin("A")

    def test_arguments_stay_refused_after_others_were_accepted(self) -> None:
        """
        That a rewrite succeeded does not make the old arguments valid.
        """
        play = Play()

        assert ["ran", "ran", "IDENTICAL_CALL"] == [play.call("A", INVALID), play.call("B"), play.call("A")]

    def test_nobody_is_told_to_rewrite_when_that_is_used_up(self) -> None:
        """
        The identical call after the last rewrite is refused for good.
        """
        play = Play()
        play.call("A", INVALID)
        play.call("B", INVALID)

        assert ["REWRITE_LIMIT"] * 3 == [play.call("A"), play.call("B"), play.call("C")]

    def test_nobody_is_told_to_rewrite_while_a_rewrite_is_under_way(self) -> None:
        """
        There is one, and it may succeed; if it does, the old arguments are as invalid as before.
        """
        play = Play()
        play.call("A", INVALID)
        rewrite = play.begin("B")
        codes = [play.call("A")]
        play.end(str(rewrite))

        assert ["REWRITE_LIMIT", "IDENTICAL_CALL"] == [*codes, play.call("A")]

    def test_a_rewrite_under_way_is_the_rewrite(self) -> None:
        """
        Of ten other arguments at once, one set is tried.
        """
        play = Play()
        play.call("A", INVALID)
        begun = [play.begin(f"a{number}") for number in range(10)]

        assert 1 == len([name for name in begun if isinstance(name, str)])

    def test_a_rewrite_that_fails_otherwise_is_judged_by_that(self) -> None:
        """
        The retry of a rewrite is a retry like any other.
        """
        play = Play()

        assert ["ran", "ran", "ran", "RETRY_LIMIT"] == [
            play.call("A", INVALID),
            play.call("B", DOWN),
            play.call("B", DOWN),
            play.call("B", DOWN),
        ]


class TestRefusals:
    """
    What the agent is told.
    """

    def test_are_envelopes(self) -> None:
        """
        Each keeps every rule of the envelope, and no two share a code.
        """
        made = [failure(refusal.error_class, refusal.code, hint=refusal.hint) for refusal in refusals.ALL]

        assert all(isinstance(envelope, Failure) for envelope in made)
        assert len(refusals.ALL) == len({refusal.code for refusal in refusals.ALL})

    def test_only_the_one_that_asks_to_wait_may_be_repeated(self) -> None:
        """
        No other refusal can be mended by the identical call.
        """
        retryable = [refusal.code for refusal in refusals.ALL if refusal.error_class == "transient"]

        assert ["RETRY_TOO_EARLY"] == retryable


@pytest.fixture
def impatience() -> Iterator[None]:
    """
    Threads that take turns after every few instructions.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class TestThreads:
    """
    Calls at once.
    """

    @pytest.mark.usefixtures("impatience")
    def test_threads_share_one_retry(self) -> None:
        """
        Of identical retries from many threads, one runs.
        """
        threads = 8
        for _ in range(50):
            guard, barrier = Guard(Policy()), Barrier(threads)
            run(guard, "A", DOWN)

            def ask(guard: Guard = guard, barrier: Barrier = barrier) -> str:
                barrier.wait()
                return run(guard, "A", DOWN)

            with ThreadPoolExecutor(threads) as pool:
                said = sorted(future.result() for future in [pool.submit(ask) for _ in range(threads)])

            assert ["RETRY_LIMIT"] * (threads - 1) + ["ran"] == said

    def test_an_end_that_is_reported_twice_counts_once(self) -> None:
        """
        Nothing is given back or used up twice.
        """
        guard = Guard(Policy(max_cost=10.0))
        answer = admit(guard, cost=1.0)
        assert isinstance(answer, Admission)
        guard.record(answer, DOWN, now_s=0.0)
        guard.record(answer, INVALID, now_s=0.0)
        guard.release(answer)

        assert 1.0 == guard.cost
        assert ["ran", "RETRY_LIMIT"] == [run(guard, "A", DOWN), run(guard, "A", DOWN)]
