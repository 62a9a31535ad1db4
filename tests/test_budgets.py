"""
The stop criteria of a task: calls, cost, a state that comes again.
"""

from math import inf, nan

import pytest

from tests.guarded import TAKEN
from toolspan.agents import refusals
from toolspan.agents.guard import Admission, Guard, Policy
from toolspan.agents.guarded_steps import Cause
from toolspan.agents.refusals import Refusal
from toolspan.errors import InputError

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


def test_refused_calls_count() -> None:
    """
    Who asks again and again for what is refused is in a loop.
    """
    guard = Guard(Policy(max_calls=3))
    said = [run(guard, "A", TAKEN) for _ in range(4)]

    assert ["ran", "RULE_UNCHANGED", "RULE_UNCHANGED", "CALL_LIMIT"] == said
    assert refusals.CALL_LIMIT == guard.stopped


def test_a_known_cost_is_never_exceeded() -> None:
    """
    What a call costs is set aside when it begins, so that calls at once do not spend it twice.
    """
    guard = Guard(Policy(max_cost=0.3))
    begun = [admit(guard, f"a{number}", cost=0.1) for number in range(5)]

    assert 3 == len([answer for answer in begun if isinstance(answer, Admission)])
    assert refusals.COST_LIMIT == guard.stopped


def test_a_cost_that_is_known_afterwards_ends_the_task() -> None:
    """
    The call that exceeds the budget is the last one.
    """
    guard = Guard(Policy(max_cost=1.0))

    assert ["ran", "ran", "COST_LIMIT"] == [run(guard, args, cost=0.7) for args in "ABC"]
    assert 1.4 == guard.cost


def test_what_was_set_aside_and_not_spent_is_there_again() -> None:
    """
    What a call really cost replaces what it was expected to.
    """
    guard = Guard(Policy(max_cost=1.0))

    assert ["ran", "ran"] == [run(guard, args, before=0.9, cost=0.1) for args in "AB"]


def test_a_cancelled_call_costs_what_it_was_expected_to() -> None:
    """
    Whoever gives it up cannot know what it had cost by then.
    """
    guard = Guard(Policy(max_cost=1.0))
    answer = admit(guard, cost=0.8)
    assert isinstance(answer, Admission)
    guard.release(answer)

    assert ["COST_LIMIT", "ran"] == [run(guard, before=0.8), run(guard, before=0.2)]


def test_a_refused_call_costs_nothing() -> None:
    """
    Nothing stays set aside for it.
    """
    guard = Guard(Policy(max_cost=1.0))
    run(guard, "A", TAKEN)
    for _ in range(LOOP):
        run(guard, "A", before=0.5)

    assert "ran" == run(guard, "B", before=0.9)


def test_what_a_model_costs_counts() -> None:
    """
    Costs of other things than calls are spent, too.
    """
    guard = Guard(Policy(max_cost=1.0))
    guard.spend(1.0)

    assert "COST_LIMIT" == run(guard)


@pytest.mark.parametrize("cost", [nan, inf])
def test_a_cost_that_cannot_be_read_is_no_licence(cost: float) -> None:
    """
    Where costs are limited, what may cost anything is refused; and a negative one earns nothing.
    """
    guard = Guard(Policy(max_cost=1.0))

    assert "COST_LIMIT" == run(guard, before=cost)
    assert "ran" == run(guard, before=-5.0)
    assert "ran" == run(guard, before=1.0)
    assert "COST_LIMIT" == run(guard)


def test_a_cost_that_cannot_be_read_is_none_where_nothing_limits_costs() -> None:
    """
    Nothing that is set aside and given back makes the sum unreadable.
    """
    guard = Guard(Policy())

    assert ["ran", "ran"] == [run(guard, before=nan), run(guard, before=0.5)]
    assert 0.5 == guard.cost


def test_a_task_within_pays_from_the_outer_one() -> None:
    """
    A task cannot spend more by handing its work to another.
    """
    outer = Guard(Policy(max_cost=1.0))
    inner = Guard(Policy(max_cost=5.0), outer=outer)

    begun = admit(inner, "A", cost=0.5)
    assert isinstance(begun, Admission)

    assert "COST_LIMIT" == run(inner, "B", before=0.6)
    inner.record(begun, None, now_s=0.0)
    assert ["ran", "COST_LIMIT"] == [run(inner, args, before=0.5) for args in "BC"]
    assert 1.0 == outer.cost


def test_a_state_that_comes_again_too_often_ends_the_task() -> None:
    """
    The same call that ends in the same way is the same state; another ending or another result is not.
    """
    guard = Guard(Policy(max_repeats=2))
    progress = Guard(Policy(max_repeats=2))

    assert ["ran", "ran", "ran", "REPEATED_STATE"] == [run(guard) for _ in range(4)]
    for number in range(LOOP):
        answer = admit(progress)
        assert isinstance(answer, Admission)
        progress.record(answer, None, now_s=0.0, state=number)
    assert progress.stopped is None


def test_a_program_may_say_its_state() -> None:
    """
    What comes again may be the agent's own state.
    """
    guard = Guard(Policy(max_repeats=1))
    guard.see("no seat chosen")
    assert "ran" == run(guard, "A")
    guard.see("no seat chosen")

    assert "REPEATED_STATE" == run(guard, "B")


@pytest.mark.parametrize(
    "limits", [{"retries": -1}, {"rewrites": -1}, {"max_calls": -1}, {"max_cost": nan}, {"max_repeats": 0}]
)
def test_a_limit_that_limits_nothing_is_refused(limits: dict[str, int]) -> None:
    """
    The error names the limit.
    """
    with pytest.raises(InputError, match=next(iter(limits))):
        Policy(**limits)


@pytest.mark.parametrize("cost", [-1.0, nan, inf])
def test_what_is_no_cost_is_not_spent(cost: float) -> None:
    """
    The error names it.
    """
    with pytest.raises(InputError, match="is no cost"):
        Guard(Policy()).spend(cost)
