"""
`@tool`: a function or coroutine function that answers with the typed envelope, tries again what may succeed, looks up
what may have been done, and leaves one span per call.

    @toolspan.tool(retry=toolspan.Retry(attempts=3, deadline=2.0))
    def search_flights(date: str) -> dict: ...

The decorated object is a function of the same kind, name, docstring and parameters, since that is what frameworks look
at. It returns the form of the envelope that a model sees; `search_flights.run(…)` returns the models, with the message.
Nothing that a tool raises leaves it, but for what ends the program or belongs to the framework around it: cancellation
and interruption, with the span closed as cancelled, and requests to wait for a human, with the span closed as deferred.
"""

import inspect
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, cast, overload

from toolspan.envelopes.envelope import Failure, Success
from toolspan.errors import ConfigError
from toolspan.tools.calls import Cost, EnvelopeDict, Refresh, Timing, Tool, document_of, envelope_of
from toolspan.tools.retry import Retry
from toolspan.tools.writes import Write

__all__ = ["AsyncTool", "SyncTool", "Timing", "Tool", "tool", "tool_of"]

P = ParamSpec("P")
Q = ParamSpec("Q")


class SyncTool(Protocol[P]):
    """
    A decorated function.
    """

    __name__: str
    tool: "Tool"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> EnvelopeDict: ...
    def run(self, *args: P.args, **kwargs: P.kwargs) -> Success | Failure: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> "SyncTool[P]": ...
    @overload
    def __get__(self: "SyncTool[Concatenate[Any, Q]]", instance: object, owner: type, /) -> "SyncTool[Q]": ...


class AsyncTool(Protocol[P]):
    """
    A decorated coroutine function.
    """

    __name__: str
    tool: "Tool"

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> EnvelopeDict: ...
    async def run(self, *args: P.args, **kwargs: P.kwargs) -> Success | Failure: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> "AsyncTool[P]": ...
    @overload
    def __get__(self: "AsyncTool[Concatenate[Any, Q]]", instance: object, owner: type, /) -> "AsyncTool[Q]": ...


@overload
def tool(function: Callable[P, Coroutine[Any, Any, object]], /) -> AsyncTool[P]: ...  # type: ignore[overload-overlap]  # a coroutine function is a function, too
@overload
def tool(function: Callable[P, object], /) -> SyncTool[P]: ...
@overload
def tool(
    *,
    name: str | None = None,
    retry: Retry | None = None,
    write: Write | None = None,
    refresh: Refresh | None = None,
    capture: bool | None = None,
    cost: Cost = 0.0,
    timing: Timing = ...,
) -> "_Decorator": ...
def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    retry: Retry | None = None,
    write: Write | None = None,
    refresh: Refresh | None = None,
    capture: bool | None = None,
    cost: Cost = 0.0,
    timing: Timing = Timing(),  # noqa: B008 - frozen
) -> object:
    """
    Makes a tool of a function, a coroutine function or a method.

    Args:
        name: of the tool, else the function's.
        retry: how often transient failures are tried again inside, else never.
        write: for a tool that changes something.
        refresh: gets a new access token when the old one has expired; called once, then the call is tried once more.
        capture: whether arguments and result are recorded on the span; else as
            `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says.
        cost: of a call, a number or a function of its arguments, for the limit of a task.
        timing: clocks and sleeps, for tests.

    Raises:
        ConfigError: it is no function, or one that yields.
    """
    if function is None:
        return partial(
            tool, name=name, retry=retry, write=write, refresh=refresh, capture=capture, cost=cost, timing=timing
        )
    _check(function)
    return _dressed(
        Tool(
            function,
            name=name,
            retry=retry,
            write=write,
            refresh=refresh,
            capture=capture,
            cost=cost,
            timing=timing,
        )
    )


class _Decorator(Protocol):
    """
    What `tool(…)` with options gives.
    """

    @overload
    def __call__(  # type: ignore[overload-overlap]  # as below
        self, function: Callable[P, Coroutine[Any, Any, object]], /
    ) -> AsyncTool[P]: ...
    @overload
    def __call__(self, function: Callable[P, object], /) -> SyncTool[P]: ...


def tool_of(found: object) -> Tool | None:
    """
    The tool that *found* is: what `@tool` made, a method of that kind, or a `Tool`; None for anything else.
    """
    if isinstance(found, Tool):
        return found
    held = getattr(found, "tool", None)
    return held if isinstance(held, Tool) else None


def _check(function: object) -> None:
    if isinstance(function, staticmethod | classmethod):
        raise ConfigError("@tool: write it below @staticmethod or @classmethod, not above")
    if not callable(function) or not hasattr(function, "__name__"):
        raise ConfigError(f"@tool: {function!r} is no function; decorate a function or a method")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"@tool: {function.__name__} yields; a tool answers once, so return what it found")


def _dressed(made: Tool) -> Callable[..., object]:
    """
    A function like the tool's own, that calls *made*.
    """
    function = made.function
    dressed: Any
    if made.is_async:

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> EnvelopeDict:
            return document_of(await made.run_async(args, kwargs))

        async def run_async(*args: Any, **kwargs: Any) -> Success | Failure:
            return envelope_of(await made.run_async(args, kwargs))

        dressed, dressed.run = call_async, run_async
    else:

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> EnvelopeDict:
            return document_of(made.run_sync(args, kwargs))

        def run(*args: Any, **kwargs: Any) -> Success | Failure:
            return envelope_of(made.run_sync(args, kwargs))

        dressed, dressed.run = call, run
    dressed.tool = made
    dressed.__signature__ = made.signature
    hidden = {made.key_name} - set(made.signature.parameters)
    dressed.__annotations__ = {
        **{name: kind for name, kind in function.__annotations__.items() if name not in hidden},
        "return": EnvelopeDict,
    }
    return cast("Callable[..., object]", dressed)
