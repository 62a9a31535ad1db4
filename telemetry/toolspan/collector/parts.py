"""
Requests that are decoded, in parts, on their way from who decodes to who writes.

A request is decoded as a whole and written in parts: 64 MiB of the smallest spans are a million, and these took more
than a minute and 2 GB in one transaction, while nobody else was answered. It is acknowledged when its last part is
durable. Where one before it is not, the request is refused: of what is sent again the other parts are repeats.
"""

from collections import Counter, deque
from collections.abc import Iterator
from threading import Condition, Lock
from typing import NamedTuple

from toolspan.collector.backlog import Request
from toolspan.otlp import Decoded
from toolspan.records import SpanFacts


class Part(NamedTuple):
    """
    Some *spans* of a *request*, *size_bytes* of its bytes. The last part is written last, and has what was *rejected*
    of the whole.
    """

    request: Request
    spans: list[SpanFacts]
    rejected: Counter[str]
    size_bytes: int
    is_last: bool


def parts_of(request: Request, decoded: Decoded, most_spans: int) -> Iterator[Part]:
    """
    The *decoded* *request* in parts of at most *most_spans*; one where it has none.
    """
    spans = decoded.spans
    last = max(0, (len(spans) - 1) // most_spans * most_spans)
    size = request.size * most_spans // max(1, len(spans))
    for start in range(0, last, most_spans):
        yield Part(request, spans[start : start + most_spans], Counter(), size, is_last=False)
    rest = request.size - size * (last // most_spans)
    yield Part(request, spans[last:] if last else spans, decoded.rejected, rest, is_last=True)


class HandOver:
    """
    Decoded parts on their way to who writes, some more than *most_spans* of them.
    """

    def __init__(self, *, most_spans: int) -> None:
        self._most_spans = most_spans
        self._lock = Lock()
        self._has_room, self._has_parts = Condition(self._lock), Condition(self._lock)
        self._parts: deque[Part] = deque()
        self._spans = 0
        self._is_over = False

    def put(self, part: Part) -> bool:
        """
        Hands *part* over, once there is room; False where nobody takes any more.
        """
        with self._lock:
            self._has_room.wait_for(lambda: self._is_over or self._spans < self._most_spans)
            if self._is_over:
                return False
            self._parts.append(part)
            self._spans += _weight(part)
            self._has_parts.notify()
            return True

    def take(self, most_spans: int, *, timeout_s: float) -> list[Part] | None:
        """
        What is there, up to *most_spans*, or one part where that has more; nothing where none comes within *timeout_s*;
        None where none will come.
        """
        taken: list[Part] = []
        spans = 0
        with self._lock:
            self._has_parts.wait_for(lambda: self._is_over or self._parts, timeout_s)
            if self._is_over and not self._parts:
                return None
            while self._parts and (not taken or spans + _weight(self._parts[0]) <= most_spans):
                part = self._parts.popleft()
                taken.append(part)
                spans += _weight(part)
            self._spans -= spans
            self._has_room.notify_all()
        return taken

    def end(self) -> None:
        """
        Nothing more will come.
        """
        with self._lock:
            self._is_over = True
            self._has_room.notify_all()
            self._has_parts.notify_all()

    def clear(self) -> None:
        """
        As `end`, and what is there goes nowhere.
        """
        with self._lock:
            self._parts.clear()
            self._spans = 0
        self.end()


def _weight(part: Part) -> int:
    return len(part.spans) or 1  # a request without spans takes room, too
