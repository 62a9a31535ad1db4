"""
Tools whose time is the test's, and the spans that they leave.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan

from tests.tracing import decoded, exporting_provider
from toolspan import attributes as attr
from toolspan.derive import derive
from toolspan.records import Call
from toolspan.tools.retry import Retry
from toolspan.tools.tool import Timing

#: Any moment.
NOW_S: Final = 1_777_900_000.0
DOWN: Final = httpx.ConnectError("[Errno 111] Connection refused")
THREE: Final = Retry(attempts=3, deadline=2.0)


class Bench:
    """
    A clock that only sleeping moves, and the spans of the process. *slept* are the pauses in seconds.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.slept: list[float] = []
        self._provider, self._exporter = exporting_provider()
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", self._provider)
        # full jitter draws from this; the middle of the range unless a test says otherwise
        monkeypatch.setattr("tenacity.wait.random.uniform", _middle)

    @property
    def timing(self) -> Timing:
        """
        Time as it passes here.
        """
        return Timing(self.clock, lambda: NOW_S + self.now_s, self.sleep, self.sleep_async)

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """
        The spans that have ended.
        """
        return self._exporter.get_finished_spans()

    @property
    def tags(self) -> Mapping[str, Any]:
        """
        The attributes of the only span.
        """
        [span] = self.spans
        return dict(span.attributes or {})

    @property
    def attempts(self) -> list[tuple[Any, ...]]:
        """
        Number, limit, pause and code of each attempt that was repeated, as the only span tells them.
        """
        [span] = self.spans
        names = (attr.ATTEMPT_NUMBER, attr.ATTEMPT_LIMIT, attr.ATTEMPT_PAUSE_MS, attr.ERROR_CODE)
        return [tuple((event.attributes or {})[name] for name in names) for event in span.events]

    @property
    def calls(self) -> list[Call]:
        """
        What is derived of the spans once they went over the wire.
        """
        return derive(decoded(self.spans)).calls


def _middle(low: float, high: float) -> float:
    return (low + high) / 2


def script(*endings: object) -> Iterator[object]:
    """
    What a tool does, one attempt after the other: raises what is an exception, returns the rest.
    """
    yield from endings


def play(endings: Iterator[object]) -> object:
    """
    The next of *endings*.
    """
    ending = next(endings)
    if isinstance(ending, BaseException):
        raise ending
    return ending


def limited(seconds: str) -> httpx.HTTPStatusError:
    """
    429 with the wait that it asks for.
    """
    request = httpx.Request("GET", "https://api.internal.example/v1/flights")
    response = httpx.Response(429, headers={"Retry-After": seconds}, request=request)
    return httpx.HTTPStatusError("Client error '429 Too Many Requests' for url", request=request, response=response)


def error_of(answer: dict[str, object]) -> dict[str, Any]:
    """
    The error of a failure.
    """
    assert answer["ok"] is False
    return cast("dict[str, Any]", answer["error"])
