"""
Laws of the guard: whatever an agent asks for, in whatever order, at once or one by one, no tool runs against the
policy.
"""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.guarded import BROKEN, CAUSES, DENIED, INVALID, TAKEN, Play, Played
from tests.span_facts import names
from toolspan.agents.guard import Policy
from toolspan.agents.guarded_steps import Cause
from toolspan.agents.refusals import Refusal
from toolspan.records import Call

#: Every example is up to 40 moves: 300 take about two seconds.
laws = settings(max_examples=300, deadline=None)
ARGS = ("A", "B", "C", None)
TOOLS = ("s", "t")
#: Steps that the program names, and none.
STEPS = ("", "", "one", "two")

Move = tuple[str, object, object, object]


def moves() -> st.SearchStrategy[list[Move]]:
    """
    What an agent may do, with several tools and steps and every class, or with one tool of one class.
    """
    some = [script(("A", "B"), ("s",), ("",), (cause,)) for cause in CAUSES]
    return st.one_of(script(ARGS, TOOLS, STEPS, CAUSES), script(("A", "B"), ("s",), STEPS, CAUSES), *some)


def script(
    args: tuple[str | None, ...], tools: tuple[str, ...], steps: tuple[str, ...], causes: tuple[Cause, ...]
) -> st.SearchStrategy[list[Move]]:
    """
    Begin a call, end one, ask a human, wait.
    """
    endings = (*causes, *causes, None, "cancelled")
    begin = st.tuples(st.just("begin"), st.sampled_from(args), st.sampled_from(tools), st.sampled_from(steps))
    end = st.tuples(st.just("end"), st.integers(0, 9), st.sampled_from(endings), st.none())
    escalate = st.tuples(st.just("escalate"), st.sampled_from((*tools, "")), st.none(), st.none())
    wait = st.tuples(st.just("wait"), st.sampled_from((5, 25)), st.none(), st.none())
    return st.lists(st.one_of(begin, begin, begin, end, end, end, escalate, wait), max_size=40)


def play(moves: list[Move], policy: Policy | None = None, *, one_by_one: bool = False) -> Play:
    """
    The play of *moves*; where *one_by_one*, every call ends before anything else is done.
    """
    scene = Play(policy)
    ends: list[object] = [ending for move, _, ending, _ in moves if move == "end"]
    for move, one, two, three in moves:
        if move == "begin":
            begun = scene.begin(one, tool=two, step=three)  # type: ignore[arg-type]  # as drawn
            if one_by_one and not isinstance(begun, Refusal):
                finish(scene, begun, ends.pop() if ends else None)
        elif move == "end" and scene.running and isinstance(one, int):
            finish(scene, scene.running[one % len(scene.running)], two)
        elif move == "escalate":
            scene.escalate(one)  # type: ignore[arg-type]  # as drawn
        elif move == "wait" and isinstance(one, int):
            scene.wait(one)
    return scene


def finish(scene: Play, name: str, ending: object) -> None:
    """
    End a call as drawn.
    """
    scene.end(name, ending if isinstance(ending, Cause) else None, is_cancelled=ending == "cancelled")


def ran(scene: Play, rows: list[Call]) -> list[Call]:
    """
    The derived calls whose tool ran.
    """
    played = {call.name for call in scene.played}
    return [call for call in rows if names([call])[0] in played]


def before(call: Played, calls: list[Played]) -> list[Played]:
    """
    The calls of the same tool that had ended when *call* started, in the order in which they ended.
    """
    ended = [other for other in calls if other.tool == call.tool and other.ended_ms <= call.started_ms]
    return sorted(ended, key=lambda other: other.ended_ms)


@laws
@given(moves())
def test_no_retry_that_ran_is_blamed(drawn: list[Move]) -> None:
    """
    Of all retries whose tool ran, none is early, over the cap or wasted in the numbers.
    """
    scene = play(drawn)

    assert {call.verdict for call in ran(scene, scene.rows().calls)} <= {None, "allowed"}


@laws
@given(moves())
def test_a_step_has_one_retry_and_one_rewrite(drawn: list[Move]) -> None:
    """
    Of a tool's calls in one step, at most one is a retry and at most one a rewrite, however many were asked for.
    """
    scene = play(drawn)
    follow_ups = Counter((call.tool, call.step, call.follow_up) for call in scene.rows().calls if call.follow_up)

    assert max(follow_ups.values(), default=0) <= 1


@laws
@given(moves())
def test_a_refused_call_is_no_number_of_its_tool(drawn: list[Move]) -> None:
    """
    A refused call is a record that is neither a failure nor linked to one.
    """
    scene = play(drawn)
    rows = scene.rows().calls
    refused = [call for call in rows if call not in ran(scene, rows)]

    assert len(scene.refused) == len(refused)
    assert {("cancelled", None, None)} >= {(call.outcome, call.error_class, call.follow_up) for call in refused}


@laws
@given(moves())
def test_the_policy_holds_read_literally(drawn: list[Move]) -> None:
    """
    No call with arguments found invalid in its step, or forbidden by a rule there; none of a broken tool; of a denied
    one, one after each time that a human was asked, until it is let in.
    """
    scene = play(drawn)
    scene.rows()
    for call in scene.played:
        earlier = before(call, scene.played)
        step = [other.cause for other in earlier if other.step == call.step and other.args == call.args]

        assert INVALID not in step
        assert TAKEN not in step
        assert BROKEN not in [other.cause for other in earlier]
        assert is_let_in(call, scene)


def is_let_in(call: Played, scene: Play) -> bool:
    """
    Whether *call* is of a tool that was never denied, or that a human was asked about since, and is the first since.
    """
    denials = [other for other in before(call, scene.played) if other.cause == DENIED]
    if not denials:
        return True
    denied_ms = denials[-1].ended_ms
    asked = [at for at, tool in scene.escalations if tool in ("", call.tool) and denied_ms < at < call.started_ms]
    # what was let in after an earlier question, and not denied, shows that the tool is open
    opened = [
        other
        for other in before(call, scene.played)
        if other.started_ms > denied_ms and not other.is_cancelled and other.cause != DENIED
    ]
    if not asked or opened:
        return bool(asked)
    since = [
        other
        for other in scene.played
        if other.tool == call.tool and asked[-1] < other.started_ms < call.started_ms
        # a cancelled call leaves its place to another
        if not (other.is_cancelled and other.ended_ms <= call.started_ms)
    ]
    return not since


@laws
@given(moves())
def test_links_are_those_derived_afterwards(drawn: list[Move]) -> None:
    """
    Where calls are made one by one, what the guard says a call answers is what is derived of the spans.
    """
    scene = play(drawn, one_by_one=True)
    derived = {
        names([call])[0]: (call.follows.lstrip(b"\0").decode() if call.follows else None, call.follow_up)
        for call in scene.rows().calls
    }
    said = {
        call.name: (None, None) if call.is_cancelled else (call.admission.follows, call.admission.follow_up)
        for call in scene.played
    }

    assert said == {name: derived[name] for name in said}


@laws
@given(moves(), st.integers(0, 6))
def test_no_more_calls_run_than_the_task_may_make(drawn: list[Move], most: int) -> None:
    """
    However calls overlap, at most `max_calls` run.
    """
    scene = play(drawn, Policy(max_calls=most))

    assert len(scene.played) + len(scene.running) <= most
