"""
One tool and its calls: the acts that `calling` asks for are done here, within the span, as the guard allows.
"""

import asyncio
import inspect
import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from pydantic_core import to_json

from toolspan.agents.agent import stop_tags
from toolspan.agents.agent_tasks import CURRENT, AgentTask
from toolspan.agents.work_spans import tracer_of_toolspan
from toolspan.classify import Classifier
from toolspan.envelopes.envelope import Failure, Success, success
from toolspan.errors import ConfigError
from toolspan.interception import ACTIVE
from toolspan.tools.calling import Act, Answer, Plan, Progress, calling
from toolspan.tools.failures import Explainer, unclassified
from toolspan.tools.process_settings import process_hasher, process_settings
from toolspan.tools.retry import Retry
from toolspan.tools.signatures import Parameters
from toolspan.tools.spans import CallSpan, arguments_tag, result_tag, span_name, start_attributes
from toolspan.tools.tool_faults import FAULTS
from toolspan.tools.writes import Keys, Write, new_key

if TYPE_CHECKING:
    from toolspan.agents.guard import Admission

#: The form of an envelope that a model sees.
EnvelopeDict: TypeAlias = dict[str, object]
Cost: TypeAlias = float | Callable[[Mapping[str, object]], float]
Refresh: TypeAlias = Callable[[], object] | Callable[[], Awaitable[object]]

_CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURES: Final = frozenset(("true", "1", "span_only", "span_and_event"))
#: Ends of a call that are neither a success nor a failure.
_NEITHER: Final = frozenset(("cancelled", "deferred"))


class Timing(NamedTuple):
    """
    What tells and passes time.
    """

    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time
    sleep: Callable[[float], object] = time.sleep
    sleep_async: Callable[[float], Awaitable[object]] = asyncio.sleep


class Tool:
    """
    A tool: what is known of it, and how it is called. It is the attribute `tool` of what `@tool` makes.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        name: str | None = None,
        retry: Retry | None = None,
        write: Write | None = None,
        refresh: Refresh | None = None,
        capture: bool | None = None,
        cost: Cost = 0.0,
        timing: Timing = Timing(),  # noqa: B008 - frozen
    ) -> None:
        self.function: Final = function
        self.name: Final = name or function.__name__
        self.retry: Final = retry
        self.write: Final = write
        self.is_async: Final = inspect.iscoroutinefunction(function)
        self.key_name: Final = write.idempotency_key if write is not None else ""
        self.parameters: Final = Parameters(function, self.key_name)
        #: As the tool is shown: without the idempotency key.
        self.signature: Final = self.parameters.shown
        self._refresh: Final = refresh
        self.capture: Final = capture
        self._cost: Final = cost
        self._timing: Final = timing
        self.start: Final = start_attributes(self.name)
        self.span_name: Final = span_name(self.name)
        self.tracer: Final = tracer_of_toolspan()
        self.keys: Final = Keys()
        self._plan: Plan | None = None
        self._check()

    def _check(self) -> None:
        """
        Refuses what would fail, or do nothing, only once it is needed.
        """
        asides = {"refresh": self._refresh, "read_back": self.write and self.write.read_back}
        for name, function in asides.items():
            if inspect.iscoroutinefunction(function) and not self.is_async:
                raise ConfigError(f"@tool: {name} of {self.name} is a coroutine function, and the tool is none")
        cost = cast("object", self._cost)
        if not callable(cost) and not isinstance(cost, int | float):
            raise ConfigError(f"@tool: cost of {self.name} is {cost!r}; give a number, or a function that does")

    def run_sync(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Answer:
        """
        Calls a function.
        """
        call = _Call(self, args, kwargs)
        if call.answer is not None:
            return call.answer
        try:
            acts = calling(call.plan, call.progress, call.span, call.key)
            asked = next(acts)
            while True:
                try:
                    given = self._do(asked, call)
                except Exception as error:  # noqa: BLE001 - what to make of it is decided there
                    asked = acts.throw(error)
                else:
                    asked = acts.send(given)
        except StopIteration as end:
            answer: Answer = end.value
        except Exception as fault:  # noqa: BLE001 - of the clock or the sleep: the tool's own went to `calling`
            answer = call.broken(fault)
        except BaseException:
            call.cancel()
            raise
        finally:
            call.span.leave()
        return call.close(answer)

    async def run_async(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Answer:
        """
        Calls a coroutine function.
        """
        call = _Call(self, args, kwargs)
        if call.answer is not None:
            return call.answer
        try:
            acts = calling(call.plan, call.progress, call.span, call.key)
            asked = next(acts)
            while True:
                try:
                    given = await self._do_async(asked, call)
                except Exception as error:  # noqa: BLE001 - what to make of it is decided there
                    asked = acts.throw(error)
                else:
                    asked = acts.send(given)
        except StopIteration as end:
            answer: Answer = end.value
        except Exception as fault:  # noqa: BLE001 - of the clock or the sleep: the tool's own went to `calling`
            answer = call.broken(fault)
        except BaseException:
            call.cancel()
            raise
        finally:
            call.span.leave()
        return call.close(answer)

    def _do(self, asked: tuple[Act, object], call: "_Call") -> object:
        act, value = asked
        if act is Act.ATTEMPT:
            interceptor = ACTIVE.get()
            if interceptor is None:
                return self.function(*call.args, **call.kwargs)
            return interceptor.call(self.name, cast("int", value), partial(self.function, *call.args, **call.kwargs))
        if act is Act.PAUSE:
            return self._timing.sleep(cast("float", value))
        return self._aside(act)(*_arguments_of(act, value))

    async def _do_async(self, asked: tuple[Act, object], call: "_Call") -> object:
        act, value = asked
        if act is Act.ATTEMPT:
            function = cast("Callable[..., Awaitable[object]]", self.function)
            interceptor = ACTIVE.get()
            if interceptor is None:
                return await function(*call.args, **call.kwargs)
            made = partial(function, *call.args, **call.kwargs)
            return await interceptor.call_async(self.name, cast("int", value), made)
        if act is Act.PAUSE:
            return await self._timing.sleep_async(cast("float", value))
        found = self._aside(act)(*_arguments_of(act, value))
        return await cast("Awaitable[object]", found) if inspect.isawaitable(found) else found

    def _aside(self, act: Act) -> Callable[..., object]:
        """
        The function of the tool's author that does *act*.
        """
        read_back = None if self.write is None else self.write.read_back
        function: Callable[..., object] | None = self._refresh if act is Act.REFRESH else read_back
        if function is None:
            raise ConfigError(f"{self.name} has nothing for {act.name}")
        return function

    @property
    def plan(self) -> Plan:
        """
        How each call goes; made at the first one, when the settings are read.
        """
        if self._plan is None:
            explainer = Explainer(Classifier(process_settings().rules), wall_clock=self._timing.wall_clock)
            self._plan = Plan(
                self.name,
                self.retry,
                self.write,
                self._refresh is not None,
                explainer,
                self._timing.clock,
                self.parameters.names,
            )
        return self._plan

    def cost_of(self, arguments: Mapping[str, object]) -> float:
        """
        What a call with *arguments* costs, as far as its author says; all there is where that fails.
        """
        if not callable(self._cost):
            return self._cost
        try:
            return float(self._cost(arguments))
        except Exception:  # noqa: BLE001 - what cannot be reckoned is no licence
            return math.inf


class _Call:
    """
    One call: its span, what the guard said, the key of its write. *answer* is there where the guard stopped it.
    """

    __slots__ = (
        "_admission",
        "_is_captured",
        "_same",
        "_task",
        "_tool",
        "answer",
        "args",
        "key",
        "kwargs",
        "plan",
        "progress",
        "span",
    )

    def __init__(self, tool: Tool, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self._tool = tool
        self.args, self.kwargs = args, kwargs
        self.plan = tool.plan
        self.progress = Progress()
        self.answer: Answer | None = None
        self.key = ""
        self._admission: Admission | None = None
        arguments = tool.parameters.given(args, kwargs)
        args_hash = _hash_of(arguments, tool.name)
        self.span = CallSpan(tool.tracer, tool.span_name, tool.start, args_hash)
        self._is_captured = self.span.is_recording and _is_wanted(tool.capture)
        if self._is_captured:
            self.span.note(arguments_tag(arguments))
        self._task: AgentTask | None = CURRENT.get()
        #: What the same call of the same task has, too; without a task no two calls are known to be the same.
        is_known = args_hash is not None or not arguments
        self._same = f"{self._task.id} {args_hash}" if self._task is not None and is_known else ""
        if self._task is not None and (refused := self._ask(self._task, args_hash, arguments)) is not None:
            self.span.stop(stop_tags(refused))
            self.span.leave()
            self.answer = Answer("stopped", failure=refused)
        elif tool.write is not None:
            self._add_key()

    def _ask(self, task: AgentTask, args_hash: str | None, arguments: Mapping[str, object]) -> Failure | None:
        """
        Asks the guard of *task*, and gives its refusal.
        """
        cost = self._tool.cost_of(arguments)
        admitted = task.admit(self._tool.name, args_hash, span_id=self.span.span_id, cost=cost)
        if isinstance(admitted, Failure):
            return admitted
        self._admission = admitted
        if admitted.follows is not None and admitted.follow_up is not None:
            self.span.link(admitted.follows, admitted.follow_up)
        return None

    def close(self, answer: Answer) -> Answer:
        """
        Ends the call with *answer*.
        """
        if answer.outcome in _NEITHER:
            self._give_up(answer.outcome)
            if answer.raised is not None:
                raise answer.raised
            return answer
        failed = answer.failure
        if self._task is not None and self._admission is not None:
            self._task.record(self._admission, failed, state=answer.plain)
        if self._is_captured:
            self.span.note(result_tag(document_of(answer)))
        if failed is None:
            self.span.succeed(answer.attempts, answer.waited_s)
        else:
            if self.key and self._same:
                self._tool.keys.keep(self._same, self.key)
            self.span.fail(failed, answer.attempts, answer.waited_s, is_exhausted=answer.is_exhausted)
        return answer

    def broken(self, fault: Exception) -> Answer:
        """
        How a call ended that met a *fault* of what is around its tool: nobody can tell.
        """
        FAULTS.caught("a call of a tool", fault)
        failed = unclassified(type(fault).__name__)
        return Answer("error", failure=failed, attempts=self.progress.attempts, waited_s=self.progress.waited_s)

    def cancel(self) -> None:
        """
        Ends a call that its caller gave up, or that the framework took back.
        """
        self._give_up("cancelled")

    def _give_up(self, outcome: str) -> None:
        if self._task is not None and self._admission is not None:
            self._task.release(self._admission)
        if self.key and self._same:
            self._tool.keys.keep(self._same, self.key)  # what was cancelled may be done
        self.span.give_up(outcome, self.progress.attempts, self.progress.waited_s)

    def _add_key(self) -> None:
        """
        Gives the call the key of the one that failed before it in this task with the same arguments, in whatever step:
        what that one may have done happens once. Else one of its own.
        """
        tool, name = self._tool, self._tool.key_name
        given = tool.parameters.key_in(self.args, self.kwargs, name)
        is_given = given is not None and not (isinstance(given, str) and not given)
        self.key = str(given) if is_given else tool.keys.take(self._same) or new_key()
        if tool.parameters.takes_key and not is_given:
            self.kwargs = {**self.kwargs, name: self.key}


def document_of(answer: Answer) -> EnvelopeDict:
    """
    The form of *answer* that a model sees.
    """
    if answer.failure is not None:
        return answer.failure.to_model()
    document: EnvelopeDict = {"ok": True, "data": answer.plain}
    if answer.receipt is not None:
        document["receipt"] = answer.receipt.model_dump(exclude_none=True)
    return document


def envelope_of(answer: Answer) -> Success | Failure:
    """
    *answer* as a model, with the message.
    """
    return answer.failure if answer.failure is not None else success(answer.data, receipt=answer.receipt)


def _is_wanted(capture: bool | None) -> bool:
    """
    Whether arguments and result are to be recorded.
    """
    return os.environ.get(_CAPTURE, "").lower() in _CAPTURES if capture is None else capture


def _hash_of(arguments: Mapping[str, object], tool: str) -> str | None:
    if not arguments:
        return None
    try:
        # as JSON, as a framework records them: 1 is 1.0, and a date in a dictionary does not keep its order
        text = to_json(arguments, inf_nan_mode="strings", serialize_unknown=True).decode()
        return process_hasher().hash(text, tool=tool)
    except Exception:  # noqa: BLE001 - an argument's own repr may raise anything; then the arguments are unknown
        return None


def _arguments_of(act: Act, value: object) -> tuple[object, ...]:
    return () if act is Act.REFRESH else (value,)
