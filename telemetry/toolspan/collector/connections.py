"""
Connections of senders over HTTP, within bounds that uvicorn does not set.

Its parser in C takes heads of any length (200 MB of headers took 220 MB here) and waits for them for ever, before
anybody could ask for a token. So heads are counted, and who does not finish one in time is disconnected, as is who goes
on with a body that was already refused.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from asyncio.events import TimerHandle

#: Request line and headers: what nginx takes for four of them, and Node for eight.
MOST_HEAD_BYTES: Final = 32 * 2**10
#: Until the first head is there, or the rest of a body that nobody reads.
HEAD_S: Final = 60.0


class BoundedConnection(HttpToolsProtocol):
    """
    A connection whose heads are bounded in size and time, for uvicorn's `http`.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0
        self._deadline: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """
        A first head is waited for.
        """
        super().connection_made(transport)
        self._begin_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """
        Nothing is.
        """
        self._end_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """
        The rest of a head is waited for.
        """
        self._head_bytes = 0
        self._begin_waiting()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """
        Counts the request line.
        """
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """
        Counts headers, and trailers, which come after the body.
        """
        self._count(name, value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """
        A body has its own time.
        """
        self._end_waiting()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """
        What comes after an answer that did not wait for its body is skipped, for a while.
        """
        super().on_response_complete()
        if self.cycle.more_body:
            self._begin_waiting()

    def on_message_complete(self) -> None:
        """
        All of a body is there. Where it was skipped, the next head is waited for.
        """
        super().on_message_complete()
        if self.cycle.response_complete:
            self._begin_waiting()
        else:
            self._end_waiting()

    def _count(self, *parts: bytes) -> None:
        self._head_bytes += sum(map(len, parts))
        if self._head_bytes > MOST_HEAD_BYTES:
            raise _LongHeadError  # the parser stops, and uvicorn answers 400 and closes

    def _begin_waiting(self) -> None:
        self._end_waiting()
        self._deadline = self.loop.call_later(HEAD_S, self.transport.abort)

    def _end_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _LongHeadError(Exception):
    """
    A head holds more than it may.
    """
