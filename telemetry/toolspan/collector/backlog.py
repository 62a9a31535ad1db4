"""
Requests from when they are taken until they are committed, within bounds.

Whoever finds that it cannot go on abandons them all, wherever they are: then nobody waits for ever, neither a sender
for its answer nor a thread for the next request.
"""

from collections import deque
from concurrent.futures import Future
from threading import Condition
from typing import Final, NamedTuple

from toolspan.collector.inlet import Receipt
from toolspan.errors import OverloadedError, UnavailableError

_LEAST_RETRY_S: Final = 1.0
_MOST_RETRY_S: Final = 30.0
#: Why there is nothing to be had: what is wrong, or what ends, will not be over in a second.
_CLOSED_RETRY_S: Final = 5.0
#: How much a transaction weighs against all before it: enough that a slow one shows, not that a tiny one does.
_FADING: Final = 0.8


class Request:
    """
    What somebody waits for: *data*, until it is decoded.
    """

    __slots__ = ("data", "done", "is_json", "size")

    def __init__(self, data: bytes, *, is_json: bool) -> None:
        self.data = data
        self.size = len(data)
        self.is_json = is_json
        self.done: Future[Receipt] = Future()
        self.done.set_running_or_notify_cancel()  # what was taken is written, whoever still waits for it

    @property
    def is_finished(self) -> bool:
        """
        Whether nobody waits for it any more.
        """
        return self.done.done()


class Waiting(NamedTuple):
    """
    How much waits; *why* nothing more is taken, empty where it is.
    """

    requests: int
    size_bytes: int
    why: str


class Backlog:
    """
    Requests in the order in which they came, at most *most_requests* and *most_bytes* of them; one alone always fits.

    Takes nothing before it is opened, and nothing after it was closed.
    """

    def __init__(self, *, most_requests: int, most_bytes: int) -> None:
        self._most_requests, self._most_bytes = most_requests, most_bytes
        self._changed = Condition()
        self._queue: deque[Request] = deque()
        self._unfinished: dict[Request, None] = {}
        self._bytes = 0
        self._why = "it has not started"
        self._is_closed = False
        self._rate = _Rate()

    def open(self) -> None:
        """
        Takes requests from now on, unless it was closed.
        """
        with self._changed:
            if not self._is_closed:
                self._why = ""

    def add(self, data: bytes, *, is_json: bool) -> Request:
        """
        Takes a request.

        Raises:
            OverloadedError: too much waits.
            UnavailableError: nothing is taken.
        """
        size = len(data)
        with self._changed:
            if self._why:
                raise closed_error(self._why)
            waiting = len(self._unfinished)
            if waiting and (waiting >= self._most_requests or self._bytes + size > self._most_bytes):
                raise OverloadedError(
                    f"{waiting:,} requests of {self._bytes:,} bytes wait to be written.",
                    retry_after_s=self._rate.until_done_s(self._bytes),
                )
            request = Request(data, is_json=is_json)
            self._unfinished[request] = None
            self._bytes += size
            self._queue.append(request)
            self._changed.notify()
        return request

    def take(self) -> Request | None:
        """
        The next request, once there is one; None when it was closed and all that came before is taken.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_closed)
            return self._queue.popleft() if self._queue else None

    def finish(self, request: Request, outcome: Receipt | BaseException) -> None:
        """
        Tells whoever waits for *request* what became of it; the first *outcome* counts.
        """
        with self._changed:
            if request not in self._unfinished:
                return
            del self._unfinished[request]
            self._bytes -= request.size
        if isinstance(outcome, Receipt):
            request.done.set_result(outcome)
        else:
            request.done.set_exception(outcome)

    def note(self, size_bytes: int, duration_s: float) -> None:
        """
        Remembers how long it took to write so much: from it follows when whoever is refused is to come again.
        """
        with self._changed:
            self._rate.add(size_bytes, duration_s)

    def close(self, why: str) -> None:
        """
        Takes no more, and says *why*; what waits can still be taken.
        """
        with self._changed:
            if not self._is_closed:
                self._is_closed, self._why = True, why
            self._changed.notify_all()

    def abandon(self, why: str) -> None:
        """
        As `close`, and refuses all that waits, wherever it is.
        """
        with self._changed:
            self._is_closed, self._why = True, why
            self._queue.clear()
            refused = list(self._unfinished)
            self._changed.notify_all()
        for request in refused:
            self.finish(request, closed_error(why))

    def waiting(self) -> Waiting:
        """
        How much waits now.
        """
        with self._changed:
            return Waiting(len(self._unfinished), self._bytes, self._why)


def closed_error(why: str) -> UnavailableError:
    """
    What is told to whoever hands something in where nothing is taken.
    """
    return UnavailableError(f"The collector takes nothing now: {why}.", retry_after_s=_CLOSED_RETRY_S)


class _Rate:
    """
    How fast requests are written, of late.
    """

    def __init__(self) -> None:
        self._bytes = self._s = 0.0

    def add(self, size_bytes: int, duration_s: float) -> None:
        self._bytes = self._bytes * _FADING + size_bytes
        self._s = self._s * _FADING + duration_s

    def until_done_s(self, size_bytes: int) -> float:
        """
        How long it takes to write *size_bytes*.
        """
        expected = size_bytes * self._s / self._bytes if self._bytes else _LEAST_RETRY_S
        return min(max(expected, _LEAST_RETRY_S), _MOST_RETRY_S)
