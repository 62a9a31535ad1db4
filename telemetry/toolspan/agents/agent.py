"""
The agent's side: tasks, steps, escalations, and the guard that every call of a `@tool` within a task asks.

    with toolspan.task("book a trip") as task:
        with task.step("find a flight"):
            result = search_flights(date="2026-05-04")
        task.escalate(tool="refund", reason="needs approval")
        task.resolve()

All of it also works with `async with`, and in threads that carry the context (`asyncio.to_thread`,
`contextvars.copy_context().run`); elsewhere `with task.step(…)` brings the task along.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.trace import Tracer

from toolspan import attributes as attr
from toolspan.agents.agent_tasks import CURRENT, RESOLVED, AgentStep, AgentTask
from toolspan.agents.callback_spans import current_context
from toolspan.agents.guard import Guard, Policy
from toolspan.agents.propagation import clean_id
from toolspan.agents.work_spans import tracer_of_toolspan, write_escalation
from toolspan.envelopes.envelope import Failure

__all__ = ["CURRENT", "AgentStep", "AgentTask", "current_task", "escalate", "resolve", "step", "stop_tags", "task"]

_CANCELLED: Final = "cancelled"


def task(  # noqa: PLR0913 - keywords, each of which a task may have
    name: str,
    *,
    id: str | None = None,  # noqa: A002 - the word of the specification
    policy: Policy | None = Policy(),  # noqa: B008 - frozen
    max_calls: int | None = None,
    max_cost: float | None = None,
    max_repeats: int | None = None,
    agent: str | None = None,
    guard: Guard | None = None,
    tracer: Tracer | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AgentTask:
    """
    A context manager, also asynchronous, for one task of an agent: its span, and the policy that its calls obey.

    Args:
        name: of the span.
        id: joins traces to one task; a new one unless given. Within a task of the same id both share one guard.
        policy: None lets every call run.
        max_calls: as in `Policy`, and so the next two; they win over those of *policy*.
        agent: name of the agent.
        guard: of an earlier part of the same task (`AgentTask.guard`), instead of a policy.
        tracer: the one of the global provider unless given.

    Raises:
        InputError: a limit is no limit.
    """
    task_id = clean_id(str(id)) if id else uuid4().hex
    if guard is None and policy is not None:
        policy = replace(
            policy,
            max_calls=policy.max_calls if max_calls is None else max_calls,
            max_cost=policy.max_cost if max_cost is None else max_cost,
            max_repeats=policy.max_repeats if max_repeats is None else max_repeats,
        )
        guard = _guard(task_id, policy)
    return AgentTask(name, task_id, guard=guard, agent=agent, tracer=tracer or tracer_of_toolspan(), clock=clock)


def _guard(task_id: str, policy: Policy) -> Guard:
    outer = CURRENT.get()
    if outer is None or outer.guard is None:
        return Guard(policy)
    return outer.guard if outer.id == task_id else Guard(policy, outer=outer.guard)


def current_task() -> AgentTask | None:
    """
    The task that the caller works in.
    """
    return CURRENT.get()


def step(name: str, id: str | None = None) -> AgentStep:  # noqa: A002 - the word of the specification
    """
    A step of the current task; without one, of whatever task the current span belongs to.
    """
    current = CURRENT.get()
    return AgentStep(name, id, task=None, tracer=tracer_of_toolspan()) if current is None else current.step(name, id)


def escalate(tool: str | None = None, reason: str | None = None) -> None:
    """
    Say, in the current task, that a human was asked, about *tool* or about none in particular.
    """
    current = CURRENT.get()
    if current is not None:
        current.escalate(tool, reason)
    else:
        write_escalation(tracer_of_toolspan(), current_context(), tool, reason)


def resolve() -> None:
    """
    Say that the current task is resolved; without one, the current span says so of the task that it belongs to.
    """
    current = CURRENT.get()
    if current is not None:
        current.resolve()
    else:
        trace.get_current_span().set_attribute(attr.TASK_OUTCOME, RESOLVED)


def stop_tags(refusal: Failure) -> dict[str, str | int]:
    """
    What the span of a call says that the guard stopped with *refusal*; its status stays unset.

    It ends `cancelled`: the tool did not fail, nothing was retried, and no later call answers it.
    """
    error = refusal.error
    tags: dict[str, str | int] = {
        attr.CALL_OUTCOME: _CANCELLED,
        attr.CALL_STOPPED: error.code,
        attr.ERROR_CLASS: str(error.error_class),
        attr.ERROR_CODE: error.code,
    }
    if error.retry_after_ms is not None:
        tags[attr.ERROR_RETRY_AFTER_MS] = error.retry_after_ms
    return tags
