"""
Tasks, steps and escalations: what their spans say, what they carry, and how they end.
"""

from collections.abc import Iterator

import pytest
from opentelemetry import context as otel_context
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

import toolspan
from tests.agents import Desk, working_desk
from toolspan import failure
from toolspan.agents import agent
from toolspan.agents.guard import Admission, Policy
from toolspan.agents.propagation import clean_id
from toolspan.errors import InputError

DOWN = failure("transient", "UNAVAILABLE")
DENIED = failure("permission", "NEEDS_APPROVAL", hint="Ask the desk.")


@pytest.fixture
def desk() -> Iterator[Desk]:
    """
    Where the agents of a test work.
    """
    with working_desk() as desk:
        yield desk


def said(span: ReadableSpan) -> dict[str, object]:
    """
    The attributes of a span without the task's id.
    """
    return {name: value for name, value in (span.attributes or {}).items() if name != "toolspan.task.id"}


class TestTask:
    """
    The span of a task.
    """

    def test_is_a_task_with_an_id_of_its_own(self, desk: Desk) -> None:
        """
        Two tasks of one name are two tasks, each with its calls.
        """
        for _ in range(2):
            with desk.task("trip") as task:
                desk.call(task)
        rows = desk.rows

        assert [("trip", "resolved", "status", 1)] * 2 == [
            (row.name, row.outcome, row.outcome_source, row.calls) for row in rows.tasks
        ]
        assert 2 == len({row.task_id for row in rows.tasks})

    def test_of_a_given_id_goes_on_in_another_trace(self, desk: Desk) -> None:
        """
        The id joins them; the guard that is passed on joins what was used up.
        """
        with agent.task("trip", id="T-1", agent="planner", clock=desk.clock.monotonic) as first:
            desk.call(first, "a", DENIED)
        with agent.task("trip", id="T-1", guard=first.guard) as second:
            refused = desk.call(second, "a")
            second.resolve()
        [row] = desk.rows.tasks

        assert ("T-1", "planner", "resolved", 2) == (row.task_id, row.agent, row.outcome, row.calls)
        assert "ESCALATION_REQUIRED" == refused

    @pytest.mark.parametrize(
        ("says", "outcome"),
        [
            ((), ("resolved", "status")),
            (("resolve",), ("resolved", "attribute")),
            (("fail",), ("unresolved", "attribute")),
            (("fail", "resolve"), ("resolved", "attribute")),
            (("escalate",), ("escalated", "escalation")),
            (("escalate", "resolve"), ("resolved", "attribute")),
        ],
    )
    def test_ends_as_it_says(self, desk: Desk, says: tuple[str, ...], outcome: tuple[str, str]) -> None:
        """
        What is said last counts; where nothing is said, the escalations and the status tell.
        """
        with desk.task() as task:
            for what in says:
                getattr(task if what == "fail" else toolspan, what)()
        [row] = desk.rows.tasks

        assert outcome == (row.outcome, row.outcome_source)

    def test_that_fails_with_an_exception_is_unresolved(self, desk: Desk) -> None:
        """
        The exception goes on; the span names its type, and not its text.
        """

        def work() -> None:
            with desk.task() as task:
                task.resolve()
                raise InputError("a secret of the customer")

        with pytest.raises(InputError, match="secret"):
            work()
        span = desk.named("trip")

        assert StatusCode.ERROR == span.status.status_code
        assert {
            "toolspan.kind": "task",
            "toolspan.task.outcome": "unresolved",
            "error.type": "toolspan.errors.InputError",
        } == said(span)
        assert "secret" not in span.to_json()

    @pytest.mark.parametrize(("is_done", "outcome"), [(False, "unresolved"), (True, "resolved")])
    def test_that_is_cancelled_is_unresolved_unless_it_was_done(self, desk: Desk, is_done: bool, outcome: str) -> None:
        """
        Who gives up a task that is resolved does not undo it.
        """

        def work() -> None:
            with desk.task() as task:
                if is_done:
                    task.resolve()
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            work()
        [row] = desk.rows.tasks

        assert (outcome, "attribute") == (row.outcome, row.outcome_source)

    @pytest.mark.parametrize(("is_done", "outcome"), [(False, "unresolved"), (True, "resolved")])
    def test_that_was_stopped_is_unresolved_unless_it_says_otherwise(
        self, desk: Desk, is_done: bool, outcome: str
    ) -> None:
        """
        The loop that is told to stop can see why.
        """
        with desk.task(policy=Policy(max_calls=1)) as task:
            before = task.stopped
            turns = 0
            while task.stopped is None:
                desk.call(task)
                turns += 1
            if is_done:
                task.resolve()
        [row] = desk.rows.tasks

        assert before is None
        assert (2, "CALL_LIMIT", outcome) == (turns, task.stopped.error.code, row.outcome)

    def test_is_entered_once(self, desk: Desk) -> None:
        """
        A task that was over does not begin again.
        """
        task = desk.task()
        with task:
            pass

        with pytest.raises(InputError, match="entered before"), task:
            pass

    def test_is_the_current_one_inside(self, desk: Desk) -> None:
        """
        And no longer than that.
        """
        with desk.task() as task:
            inside = toolspan.current_task()

        assert (task, None) == (inside, toolspan.current_task())

    @pytest.mark.parametrize("given", ["x" * 500, "line\nbreak", "\x00"])
    def test_of_an_odd_id_runs(self, desk: Desk, given: str) -> None:
        """
        An id may be made of what a user typed; an agent does not fail for that.
        """
        with agent.task("trip", id=given) as task, task.step(given):
            desk.call(task)
        [call] = desk.rows.calls

        assert (task.id, clean_id(given)) == (call.task_id, call.step_id)

    def test_without_a_policy_lets_everything_run(self, desk: Desk) -> None:
        """
        The numbers then tell what an agent does on its own.
        """
        with desk.task(policy=None) as task:
            calls = [desk.call(task, "a", DENIED) for _ in range(3)]
            task.escalate("s")
            task.see("anything")
            task.spend(1.0)

        assert (["ran"] * 3, None) == (calls, task.stopped)
        assert ["wasted", "wasted"] == [call.verdict for call in desk.rows.calls if call.verdict]

    def test_takes_limits_beside_a_policy(self) -> None:
        """
        What is given beside it wins; a limit that limits nothing is refused.
        """
        task = agent.task("trip", policy=Policy(retries=2, max_calls=5, max_cost=1.0), max_calls=0, max_repeats=3)

        assert task.guard is not None
        assert Policy(retries=2, max_calls=0, max_cost=1.0, max_repeats=3) == task.guard.policy
        with pytest.raises(InputError, match="max_repeats is 0"):
            agent.task("trip", max_repeats=0)


class TestNested:
    """
    A task within a task.
    """

    def test_is_a_task_of_its_own(self, desk: Desk) -> None:
        """
        Its calls are its own, its step is none of the outer one's, and what was used up outside is there inside.
        """
        with desk.task("outer") as outer, outer.step("one"):
            desk.call(outer, "a", DENIED)
            with desk.task("inner") as inner:
                ran = desk.call(inner, "a")
        calls = desk.rows.calls

        assert "ran" == ran
        assert [(outer.id, "one"), (inner.id, "")] == [(call.task_id, call.step_id) for call in calls]

    def test_has_steps_that_are_none_of_the_outer_one(self, desk: Desk) -> None:
        """
        Who asks the outer task from within the inner one is in no step of it.
        """
        with desk.task("outer") as outer, desk.task("inner") as inner, inner.step("one"):
            answers = [task.admit("s", "a", span_id="1") for task in (outer, inner)]

        assert ["", "one"] == [answer.step for answer in answers if isinstance(answer, Admission)]

    def test_of_the_same_id_is_the_same_task(self, desk: Desk) -> None:
        """
        Entering it again gives nobody a second retry.
        """
        with agent.task("trip", id="T") as outer:
            desk.call(outer, "a", DENIED)
            with agent.task("trip", id="T") as inner:
                refused = desk.call(inner, "a")

        assert "ESCALATION_REQUIRED" == refused
        assert 1 == len(desk.rows.tasks)

    def test_spends_what_is_left_outside(self) -> None:
        """
        The outer task pays.
        """
        with agent.task("outer", max_cost=1.0) as outer, agent.task("inner", max_cost=9.0) as inner:
            inner.spend(2.0)
            answer = outer.admit("s", "a", span_id="1")

        assert not isinstance(answer, Admission)
        assert "COST_LIMIT" == answer.error.code


class TestEscalation:
    """
    A human is asked.
    """

    def test_closes_the_episode_of_its_tool(self, desk: Desk) -> None:
        """
        A clean escalation, then the one call that it opens.
        """
        with desk.task() as task:
            calls = [desk.call(task, "a", DENIED)]
            toolspan.escalate("s", "needs approval")
            calls += [desk.call(task, "a")]
        rows = desk.rows
        [sums] = rows.task_tools

        assert ["ran", "ran"] == calls
        assert [("s", "needs approval")] == [(row.tool, row.reason) for row in rows.escalations]
        assert (1, 1, 1, 1, 0) == (sums.episodes, sums.escalated, sums.clean, sums.allowed, sums.wasted)

    def test_of_no_tool_is_of_all(self, desk: Desk) -> None:
        """
        A long reason is cut.
        """
        with desk.task() as task:
            for tool in "st":
                desk.call(task, "a", DENIED, tool=tool)
            task.escalate(reason="x" * 999)
            calls = [desk.call(task, "a", tool=tool) for tool in "st"]
        [row] = desk.rows.escalations

        reason = str((desk.named("escalate").attributes or {})["toolspan.escalation.reason"])

        assert (["ran", "ran"], "", 256) == (calls, row.tool, len(reason))


def test_nothing_of_a_task_is_left_when_it_is_over(desk: Desk) -> None:
    """
    The context is the one of before, also after a failure.
    """
    before = otel_context.get_current()
    with pytest.raises(KeyError), desk.task() as task, task.step("one"):
        raise KeyError

    assert before == otel_context.get_current()
