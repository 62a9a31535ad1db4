"""
Makes faults happen at the boundary of `@tool`: between it and the function that it wraps.

What is injected holds in the context that asked for it, and in the tasks and contexts that are made from that: a test
that runs beside it, in another thread, is left alone.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from toolspan.errors import InputError
from toolspan.faults.faults import Fault
from toolspan.faults.plans import Drawing, always
from toolspan.interception import ACTIVE, Interceptor

if TYPE_CHECKING:
    from contextvars import Token

#: A fault (on every attempt), or the faults of one attempt after the other.
Plan = Fault | Iterable[Fault | None]
#: The key of the plan for tools that have none of their own.
_ANY: Final = ""


class Injected(NamedTuple):
    """
    One attempt that passed by: of which tool, its number in its call, the fault it met, and whether the real function
    was run.
    """

    tool: str
    attempt: int
    fault: str | None
    is_real: bool


class Injection:
    """
    Injects faults while it is entered, and keeps what it did; `with` and `async with` alike.
    """

    def __init__(
        self,
        plans: Mapping[str, Plan],
        *,
        sleep: Callable[[float], object] = time.sleep,
        sleep_async: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._drawings = {
            tool: Drawing(always(plan) if isinstance(plan, Fault) else plan) for tool, plan in plans.items()
        }
        self._sleep = sleep
        self._sleep_async = sleep_async
        self._outer: Interceptor | None = None
        self._token: Token[Interceptor | None] | None = None
        #: Every attempt of a tool that has a plan here, in order.
        self.attempts: list[Injected] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """
        Injects from now on; what an injection around this one injects is left to the tools that have no plan here.
        """
        if self._token is not None:
            raise InputError("This injection is entered already; make another one with inject().")
        self._outer = ACTIVE.get()
        self._token = ACTIVE.set(self)

    def stop(self) -> None:
        """
        Injects no more.
        """
        if self._token is not None:
            # a fixture may end in another context than its test, whose own is over by then, and this with it
            with suppress(ValueError):
                ACTIVE.reset(self._token)
            self._token = None

    def real_runs(self, tool: str | None = None) -> int:
        """
        How often the real function was run, of *tool* or of all.
        """
        return sum(each.is_real for each in self.attempts if tool in (None, each.tool))

    def call(self, tool: str, attempt: int, function: Callable[[], object], /) -> object:
        """
        What the attempt returns, under the fault that is its turn.
        """
        drawing = self._drawing_for(tool)
        if drawing is None:
            return function() if self._outer is None else self._outer.call(tool, attempt, function)
        fault = drawing.draw()
        self._keep(tool, attempt, fault)
        if fault is None:
            return function()
        if fault.delay_s:
            self._sleep(fault.delay_s)
        if fault.strike is None:
            return function()
        if fault.commits:
            function()
        return fault.strike()

    async def call_async(self, tool: str, attempt: int, function: Callable[[], Awaitable[object]], /) -> object:
        """
        The same for a coroutine function.
        """
        drawing = self._drawing_for(tool)
        if drawing is None:
            return await (function() if self._outer is None else self._outer.call_async(tool, attempt, function))
        fault = drawing.draw()
        self._keep(tool, attempt, fault)
        if fault is None:
            return await function()
        if fault.delay_s:
            await self._sleep_async(fault.delay_s)
        if fault.strike is None:
            return await function()
        if fault.commits:
            await function()
        return fault.strike()

    def _drawing_for(self, tool: str) -> Drawing[Fault] | None:
        return self._drawings.get(tool) or self._drawings.get(_ANY)

    def _keep(self, tool: str, attempt: int, fault: Fault | None) -> None:
        is_real = fault is None or fault.strike is None or fault.commits
        self.attempts.append(Injected(tool, attempt, None if fault is None else fault.name, is_real))


def inject(
    plan: Plan = (),
    *,
    tool: str | None = None,
    tools: Mapping[str, Plan] | None = None,
    sleep: Callable[[float], object] = time.sleep,
    sleep_async: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> Injection:
    """
    Injects *plan* into the attempts of *tool* (else of every tool) while the block runs.

    ```python
    with faults.inject([faults.timeout(), None], tool="pay") as injection:
        pay(invoice="INV-1")
    assert injection.real_runs() == 1
    ```

    Args:
        plan: a fault, which meets every attempt, or the faults of one attempt after the other, None for one that is let
            through.
        tool: the name of the only tool that *plan* is for.
        tools: the plans of several tools by their names.
        sleep: what a slow fault waits with.
        sleep_async: the same, in a coroutine.
    """
    plans = {**(tools or {}), tool or _ANY: plan} if tool or not tools else dict(tools)
    return Injection(plans, sleep=sleep, sleep_async=sleep_async)
