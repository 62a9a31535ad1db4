"""
A denied tool under the guard: one call after each time that a human was asked about it.
"""

import pytest

from tests.guarded import DENIED, DOWN, TAKEN, Play


@pytest.mark.parametrize(("tool", "said"), [("s", "ran"), ("", "ran"), ("t", "ESCALATION_REQUIRED")])
def test_an_escalation_is_of_its_tool_or_of_all(tool: str, said: str) -> None:
    """
    Asking about another tool opens nothing.
    """
    play = Play()
    play.call("A", DENIED)
    play.escalate(tool)

    assert said == play.call("A")


def test_an_escalation_before_the_failure_opens_nothing() -> None:
    """
    A human was not asked about what had not happened yet.
    """
    play = Play()
    play.escalate("s")
    play.call("A", DENIED)

    assert "ESCALATION_REQUIRED" == play.call("A")


def test_a_tool_that_let_a_call_in_is_open_again() -> None:
    """
    Whatever else comes of the call: it was not denied.
    """
    for ending in (None, TAKEN, DOWN):
        play = Play()
        play.call("A", DENIED)
        play.escalate("s")
        play.call("B", ending)

        assert ["ran", "ran"] == [play.call("C"), play.call("A")]


def test_a_cancelled_call_leaves_its_place() -> None:
    """
    What was given up used nothing up.
    """
    play = Play()
    play.call("A", DENIED)
    play.escalate("s")
    name = play.begin("A")
    assert isinstance(name, str)
    play.end(name, is_cancelled=True)

    assert "ran" == play.call("A")


def test_an_escalation_opens_nothing_for_a_call_that_is_denied_later() -> None:
    """
    A call that was under way when a human was asked about another is not what the human heard of.
    """
    play = Play()
    late = play.begin("B")
    play.call("A", DENIED)
    play.escalate("s")
    play.end(str(late), DENIED)

    assert ["ESCALATION_REQUIRED"] * 2 == [play.call("B"), play.call("C")]


def test_a_tool_that_is_open_is_not_open_for_what_it_denied_meanwhile() -> None:
    """
    The identical call stays refused until a human hears of it.
    """
    play = Play()
    late = play.begin("B")
    play.call("A", DENIED)
    play.escalate("s")
    approved = play.begin("A")
    play.end(str(late), DENIED)
    play.end(str(approved))

    assert ["ran", "ESCALATION_REQUIRED"] == [play.call("C"), play.call("B")]


def test_one_escalation_lets_one_call_run_at_a_time() -> None:
    """
    Others wait until it is known whether the tool is open, however often was asked.
    """
    play = Play()
    play.call("A", DENIED)
    play.escalate("s")
    play.escalate("s")
    begun = [play.begin(args) for args in "ABC"]

    assert 1 == len([name for name in begun if isinstance(name, str)])
