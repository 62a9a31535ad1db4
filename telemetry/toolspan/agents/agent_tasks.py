"""
Tasks and steps of an agent as context managers: their spans, what they carry to the spans below, the guard they ask.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final, Self

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Tracer

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.agents.callback_spans import current_context
from toolspan.agents.guard import Admission, Guard
from toolspan.agents.guarded_steps import Cause
from toolspan.agents.propagation import clean_id, step_id_of, task_id_of, with_step, with_task
from toolspan.agents.refusals import Refusal
from toolspan.agents.work_spans import WorkSpan, write_escalation
from toolspan.arguments import canonical
from toolspan.envelopes.envelope import Failure, failure
from toolspan.errors import InputError

RESOLVED: Final = "resolved"
UNRESOLVED: Final = "unresolved"
#: Two states that meet by chance: once in 10^19.
_DIGEST_BYTES: Final = 8


class AgentTask:
    """
    One unit of work that the agent tries to resolve; made by `task`, entered once.
    """

    def __init__(
        self,
        name: str,
        task_id: str,
        *,
        guard: Guard | None,
        agent: str | None,
        tracer: Tracer,
        clock: Callable[[], float],
    ) -> None:
        self.name: Final = name
        self.id: Final = task_id
        #: Pass it to a later `task` of the same id, and what was used up there stays used up here.
        self.guard: Final = guard
        self._agent: Final = agent
        self._tracer: Final = tracer
        self._clock: Final = clock
        self._outcome = ""
        self._span: WorkSpan | None = None
        self._binding: _Binding | None = None

    def step(self, name: str, id: str | None = None) -> "AgentStep":  # noqa: A002 - the word of the specification
        """
        A context manager for one item of the agent's plan. The same *id* (*name*, unless given) is the same step.
        """
        return AgentStep(name, id, task=self, tracer=self._tracer)

    def escalate(self, tool: str | None = None, reason: str | None = None) -> None:
        """
        Say that a human was asked, about *tool* or about none in particular.
        """
        write_escalation(self._tracer, self.bind_context(), tool, reason)
        if self.guard is not None:
            self.guard.escalate(tool or "")

    def resolve(self) -> None:
        """
        Say that the task is resolved. What is said last counts.
        """
        self._outcome = RESOLVED

    def fail(self) -> None:
        """
        Say that the task is not resolved and will not be.
        """
        self._outcome = UNRESOLVED

    @property
    def stopped(self) -> Failure | None:
        """
        The refusal by the stop criterion that ended this task; None while it may go on. An agent's loop looks at it.
        """
        refusal = self.guard.stopped if self.guard is not None else None
        return None if refusal is None else _as_failure(refusal)

    def spend(self, cost: float) -> None:
        """
        Count a cost that no tool call has, such as a model's tokens, towards the task's.
        """
        if self.guard is not None:
            self.guard.spend(cost)

    def see(self, state: object) -> None:
        """
        Count a state that the task has come to, as the program describes it, towards `max_repeats`.
        """
        if self.guard is not None:
            self.guard.see(self._digest(state))

    def admit(self, tool: str, args_hash: str | None, *, span_id: str, cost: float = 0.0) -> Admission | Failure:
        """
        Whether a call may run, asked once its span has started; what to answer where it may not.

        Args:
            args_hash: None where the call has no arguments, or unknown ones.
            span_id: hex, of the call's span.
            cost: what the call costs, as far as that is known before.
        """
        step = step_id_of() if task_id_of() == self.id else None
        if self.guard is None:
            return Admission(tool, args_hash, step or "")
        answer = self.guard.admit(tool, args_hash, step=step or "", span_id=span_id, now_s=self._clock(), cost=cost)
        return _as_failure(answer) if isinstance(answer, Refusal) else answer

    def record(self, admission: Admission, failed: Failure | None, *, cost: float = 0.0, state: object = None) -> None:
        """
        Say that an admitted call ended, before its span does: well, or with *failed*.

        Args:
            cost: what it cost, where that was not known before.
            state: what it returned; read only where the policy limits repeated states.
        """
        if self.guard is None:
            return
        cause = None
        if failed is not None:
            error = failed.error
            cause = Cause(error.error_class, error.code, error.retry_after_ms, error.field)
        self.guard.record(admission, cause, now_s=self._clock(), cost=cost, state=self._digest(state))

    def release(self, admission: Admission) -> None:
        """
        Say that an admitted call was cancelled, or waits for a human, before its span ends: neither well nor failed.
        """
        if self.guard is not None:
            self.guard.release(admission)

    def bind_context(self) -> Context:
        """
        The current context, made one of this task where it is not: a thread may have begun without it.
        """
        context = otel_context.get_current()
        if task_id_of(context) == self.id:
            return context
        context = with_task(self.id, context)
        return context if self._span is None else trace.set_span_in_context(self._span.span, context)

    def _digest(self, state: object) -> str | None:
        if state is None or self.guard is None or self.guard.policy.max_repeats is None:
            return None
        try:
            text = canonical(state)
        except Exception:  # noqa: BLE001 - the repr of a tool's own object may raise anything, and is no reason to fail
            text = type(state).__qualname__.encode()
        return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()

    def __enter__(self) -> Self:
        """
        Start the task's span; calls within ask its guard.
        """
        if self._span is not None:
            raise InputError(f"Task '{self.name}' was entered before; make another with task(…)")
        values = {attr.KIND: attr.KIND_TASK, attr.TASK_ID: self.id}
        if self._agent:
            values[conv.AGENT[0]] = self._agent
        self._span = WorkSpan(self._tracer, self.name, with_task(self.id), values)
        self._binding = _Binding(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        """
        End the task's span with its outcome; what left the task goes on.
        """
        if self._binding is not None:
            self._binding.undo()
        outcome = self._conclude(error)
        if self._span is not None:
            if outcome:
                self._span.span.set_attribute(attr.TASK_OUTCOME, outcome)
            self._span.end(error)

    async def __aenter__(self) -> Self:
        """
        As `__enter__`.
        """
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        """
        As `__exit__`.
        """
        self.__exit__(kind, error, trace_back)

    def _conclude(self, error: BaseException | None) -> str:
        """
        The outcome to write; empty where readers find it: the span's status and the escalations tell.
        """
        if isinstance(error, Exception):
            return UNRESOLVED
        # who gives up a task that is done does not undo it
        if self._outcome:
            return self._outcome
        is_stopped = self.guard is not None and self.guard.stopped is not None
        return UNRESOLVED if error is not None or is_stopped else ""


class AgentStep:
    """
    One item of the agent's plan; made by `step`, entered once.
    """

    def __init__(self, name: str, step_id: str | None, *, task: AgentTask | None, tracer: Tracer) -> None:
        self.name: Final = name
        self.id: Final = clean_id(str(step_id or name))
        self._task: Final = task
        self._tracer: Final = tracer
        self._span: WorkSpan | None = None
        self._binding: _Binding | None = None

    def __enter__(self) -> Self:
        """
        Start the step's span.
        """
        if self._span is not None:
            raise InputError(f"Step '{self.name}' was entered before; make another with step(…)")
        context = current_context() if self._task is None else self._task.bind_context()
        self._span = WorkSpan(self._tracer, self.name, with_step(self.id, context), {attr.STEP_ID: self.id})
        self._binding = None if self._task is None else _Binding(self._task)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        """
        End the step's span; what left the step goes on.
        """
        if self._binding is not None:
            self._binding.undo()
        if self._span is not None:
            self._span.end(error)

    async def __aenter__(self) -> Self:
        """
        As `__enter__`.
        """
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        """
        As `__exit__`.
        """
        self.__exit__(kind, error, trace_back)


#: The task of the current context; every call of a `@tool` asks it.
CURRENT: Final[ContextVar[AgentTask | None]] = ContextVar("toolspan_task", default=None)


class _Binding:
    """
    That a task is the current one, until undone.
    """

    def __init__(self, task: AgentTask) -> None:
        self._token: Final[Token[AgentTask | None]] = CURRENT.set(task)

    def undo(self) -> None:
        # a generator may be closed in another context than it began in, where the task never was the current one
        with suppress(ValueError):
            CURRENT.reset(self._token)


def _as_failure(refusal: Refusal) -> Failure:
    return failure(
        refusal.error_class,
        refusal.code,
        hint=refusal.hint,
        field=refusal.field,
        retry_after_ms=refusal.retry_after_ms,
    )
