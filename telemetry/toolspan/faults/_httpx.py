"""
Faults in the transport of httpx, and of what has its interface under another name (httpx2).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Final

from toolspan.errors import InputError
from toolspan.faults.plans import Drawing, always
from toolspan.faults.responses import Break, HttpFault

if TYPE_CHECKING:
    import httpx

    class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
        """
        What a client of httpx, plain or async, sends its requests by.
        """
else:
    # a client asks for these methods, not for the class; so nothing need be installed until a request comes
    Transport = object

_EXCEPTIONS: Final = {
    Break.REFUSED: ("ConnectError", "[Errno 111] Connection refused"),
    Break.CONNECT_TIMEOUT: ("ConnectTimeout", "timed out"),
    Break.READ_TIMEOUT: ("ReadTimeout", "The read operation timed out"),
    Break.RESET: ("ReadError", "[Errno 104] Connection reset by peer"),
}


class HttpxFaults(Transport):
    """
    Answers requests with the faults of its plan, and passes those on to *inner* that no fault meets.
    """

    def __init__(
        self,
        plan: Iterable[HttpFault | None] | HttpFault,
        *,
        inner: "httpx.BaseTransport | httpx.AsyncBaseTransport | None" = None,
        sleep: Callable[[float], object] = time.sleep,
        sleep_async: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._drawing = Drawing(always(plan) if isinstance(plan, HttpFault) else plan)
        self._inner = inner
        self._sleep = sleep
        self._sleep_async = sleep_async
        #: Of each request, the name of the fault that it met.
        self.met: list[str | None] = []

    def handle_request(self, request: "httpx.Request") -> "httpx.Response":
        """
        The answer to *request*, under the fault that is its turn.
        """
        fault = self._draw()
        if fault is not None and fault.delay_s:
            self._sleep(fault.delay_s)
        if fault is None or fault.is_let_through:
            return self._sync_inner().handle_request(request)
        if fault.commits:
            self._sync_inner().handle_request(request).close()
        return _answer(fault, request)

    async def handle_async_request(self, request: "httpx.Request") -> "httpx.Response":
        """
        The same for an async client.
        """
        fault = self._draw()
        if fault is not None and fault.delay_s:
            await self._sleep_async(fault.delay_s)
        if fault is None or fault.is_let_through:
            return await self._async_inner().handle_async_request(request)
        if fault.commits:
            await (await self._async_inner().handle_async_request(request)).aclose()
        return _answer(fault, request)

    def __enter__(self) -> "HttpxFaults":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> "HttpxFaults":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """
        Closes the inner transport.
        """
        if self._inner is not None:
            self._sync_inner().close()

    async def aclose(self) -> None:
        """
        Closes the inner transport of an async client.
        """
        if self._inner is not None:
            await self._async_inner().aclose()

    def _draw(self) -> HttpFault | None:
        fault = self._drawing.draw()
        self.met.append(None if fault is None else fault.name)
        return fault

    def _sync_inner(self) -> "httpx.BaseTransport":
        if not hasattr(self._inner, "handle_request"):
            raise _no_inner("httpx.HTTPTransport()")
        return self._inner  # type: ignore[return-value]  # what it can do was just asked

    def _async_inner(self) -> "httpx.AsyncBaseTransport":
        if not hasattr(self._inner, "handle_async_request"):
            raise _no_inner("httpx.AsyncHTTPTransport()")
        return self._inner  # type: ignore[return-value]  # what it can do was just asked


def _no_inner(example: str) -> InputError:
    return InputError(f"A request was to reach the server, but there is no way to it; give inner={example}.")


def _answer(fault: HttpFault, request: "httpx.Request") -> "httpx.Response":
    """
    The response or the exception of the library that made *request*.
    """
    library = import_module(type(request).__module__.partition(".")[0])
    if fault.breaks is not None:
        name, text = _EXCEPTIONS[fault.breaks]
        raise getattr(library, name)(text, request=request)
    response: httpx.Response = library.Response(
        fault.status, headers=fault.headers, content=fault.body, request=request
    )
    return response
