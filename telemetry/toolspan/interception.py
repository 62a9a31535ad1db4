"""
Where something may stand between `@tool` and the function it wraps: fault injection, in tests and audits.

One context variable, read once per call; nothing is set in production.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, Protocol


class Interceptor(Protocol):
    """
    Makes each attempt of a tool's calls in place of `@tool`.
    """

    def call(self, tool: str, attempt: int, function: Callable[[], object], /) -> object:
        """
        What attempt number *attempt* (from 1) of *tool* returns; may call *function*, the real attempt, or not.
        """
        ...

    async def call_async(self, tool: str, attempt: int, function: Callable[[], Awaitable[object]], /) -> object:
        """
        The same for a coroutine function.
        """
        ...


#: The interceptor of the current context; None makes every attempt the real one.
ACTIVE: Final[ContextVar[Interceptor | None]] = ContextVar("toolspan_interceptor", default=None)
