"""
Steps, and tasks in coroutines and threads: who works in which, and what is carried to whom.
"""

import asyncio
import contextvars
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry.sdk.trace import ReadableSpan

import toolspan
from tests.agents import Desk, working_desk
from toolspan import failure
from toolspan.agents import agent
from toolspan.agents.guard import Admission
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


class TestStep:
    """
    One item of the plan.
    """

    def test_of_one_name_is_one_step(self, desk: Desk) -> None:
        """
        A loop that enters it again gets no second retry; an id tells steps of one name apart.
        """
        with desk.task() as task:
            first: list[str] = []
            for _ in range(3):
                with task.step("search"):
                    first.append(desk.call(task, "a", DOWN))
            with task.step("search", id="search 2"):
                second = desk.call(task, "a", DOWN)
        ids = [call.step_id for call in desk.rows.calls]

        assert (["ran", "ran", "RETRY_LIMIT"], "ran") == (first, second)
        assert ["search", "search", "search", "search 2"] == ids

    def test_is_over_when_it_ends(self, desk: Desk) -> None:
        """
        What comes after it is in no step, and below the task.
        """
        with desk.task() as task:
            with task.step("one"), task.step("two"):
                desk.call(task)
            desk.call(task)

        assert ["two", ""] == [call.step_id for call in desk.rows.calls]
        assert desk.parent_of("trip") is None
        assert ["trip", "one"] == [desk.parent_of(name) for name in ("one", "two")]

    def test_that_fails_says_so(self, desk: Desk) -> None:
        """
        The exception goes on; a task that copes with it is not failed by it.
        """
        with desk.task() as task:
            with pytest.raises(KeyError), task.step("one"):
                raise KeyError("of the customer")
            task.resolve()

        assert {"toolspan.step.id": "one", "error.type": "KeyError"} == said(desk.named("one"))
        assert ["resolved"] == [row.outcome for row in desk.rows.tasks]

    def test_brings_the_task_into_a_thread_that_began_without_it(self, desk: Desk) -> None:
        """
        A plain thread pool carries no context; a step does.
        """

        def work(task: agent.AgentTask, step: str) -> tuple[str, str]:
            with task.step(step):
                return desk.call(task, "a", DOWN), desk.call(task, "a", DOWN)

        with desk.task() as task, ThreadPoolExecutor(1) as pool:
            ran = [pool.submit(work, task, step).result() for step in ("one", "one")]
            pool.submit(task.escalate, "s").result()
            after = pool.submit(toolspan.current_task).result()
        rows = desk.rows

        assert ([("ran", "ran"), ("RETRY_LIMIT", "RETRY_LIMIT")], None) == (ran, after)
        assert {task.id} == {row.task_id for row in rows.calls} | {row.task_id for row in rows.escalations}
        assert [task.id] == [row.task_id for row in rows.tasks]
        assert {task.id} == {str((span.attributes or {}).get("toolspan.task.id")) for span in desk.spans}
        assert "trip" == desk.parent_of("escalate s")

    def test_is_entered_once(self, desk: Desk) -> None:
        """
        Two of one name are two objects.
        """
        with desk.task() as task, task.step("one") as step, pytest.raises(InputError, match="'one' was entered"), step:
            pass

    def test_without_a_task_is_a_step_of_whatever_runs(self, desk: Desk) -> None:
        """
        A service whose framework makes the spans has steps, too.
        """
        with toolspan.step("find"):
            toolspan.escalate("refund", "needs approval")
            toolspan.resolve()

        assert [
            {
                "toolspan.kind": "escalation",
                "toolspan.escalation.tool": "refund",
                "toolspan.escalation.reason": "needs approval",
                "toolspan.step.id": "find",
            },
            {"toolspan.step.id": "find", "toolspan.task.outcome": "resolved"},
        ] == [dict(span.attributes or {}) for span in desk.spans]


class TestAsync:
    """
    The same, in coroutines.
    """

    def test_tasks_at_once_know_their_own(self, desk: Desk) -> None:
        """
        Each coroutine sees its task and step, whoever runs between.
        """

        async def work(step: str) -> tuple[str, bool]:
            async with desk.task(step) as task, task.step(step):
                await asyncio.sleep(0)
                answer = task.admit("s", "a", span_id="1")
                assert isinstance(answer, Admission)
                return answer.step, toolspan.current_task() is task

        async def all_of_it() -> list[tuple[str, bool]]:
            return await asyncio.gather(*(work(f"step {number}") for number in range(5)))

        assert [(f"step {number}", True) for number in range(5)] == asyncio.run(all_of_it())

    def test_calls_at_once_share_one_retry(self, desk: Desk) -> None:
        """
        Of identical retries that are gathered, one runs.
        """

        async def retry(task: agent.AgentTask) -> str:
            answer = task.admit("s", "a", span_id="1")
            await asyncio.sleep(0)
            if not isinstance(answer, Admission):
                return answer.error.code
            task.record(answer, DOWN)
            return "ran"

        async def work() -> list[str]:
            async with desk.task() as task:
                await retry(task)
                return await asyncio.gather(*(retry(task) for _ in range(5)))

        assert ["ran"] + ["RETRY_LIMIT"] * 4 == asyncio.run(work())

    def test_a_cancelled_task_is_unresolved(self, desk: Desk) -> None:
        """
        The cancellation goes on.
        """

        async def work() -> None:
            async with desk.task():
                await asyncio.Event().wait()

        async def give_up() -> None:
            working = asyncio.create_task(work())
            await asyncio.sleep(0)
            working.cancel()
            await working

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(give_up())
        assert {
            "toolspan.kind": "task",
            "toolspan.task.outcome": "unresolved",
            "error.type": "asyncio.exceptions.CancelledError",
        } == said(desk.named("trip"))

    def test_a_generator_may_be_closed_elsewhere(self, desk: Desk) -> None:
        """
        A stream begun in one context and closed in another ends its task, and leaves none behind.
        """

        def stream() -> Iterator[int]:
            with desk.task(), toolspan.step("one"):
                yield 1

        begun = stream()
        first = contextvars.copy_context().run(next, begun)
        with desk.task("other") as other:
            rest = list(begun)
            current = toolspan.current_task()

        assert (1, [], other) == (first, rest, current)
        assert ["one", "trip", "other"] == [span.name for span in desk.spans]
        assert toolspan.current_task() is None
