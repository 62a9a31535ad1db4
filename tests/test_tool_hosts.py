"""
`@tool` in a process where something around it fails: the answer stays what it is, and nothing is raised.
"""

import concurrent.futures
import json
import logging
from collections.abc import Callable
from typing import Any, cast

import pytest
import requests
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import NoOpTracerProvider

import toolspan
from tests.toolbox import Bench
from tests.tracing import provider_with
from toolspan import Retry, ToolError, Write
from toolspan.errors import ConfigError
from toolspan.instrumentation.losses import Faults
from toolspan.tools.tool import tool
from toolspan.tools.writes import ABSENT, Keys

FOUND = {"ok": True, "data": "found"}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


class Broken(SpanProcessor):
    """
    A processor of the host that fails at one *end* of a span.
    """

    def __init__(self, end: str) -> None:
        self._end = end

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's names
        """
        Fails, if that is its end.
        """
        if self._end == "start":
            raise ZeroDivisionError

    def on_end(self, span: ReadableSpan) -> None:  # noqa: ARG002 - the SDK's name
        """
        Fails, if that is its end.
        """
        if self._end == "end":
            raise ZeroDivisionError


class Unwritable(NoOpTracerProvider):
    """
    A provider whose spans refuse whatever is written to them.
    """

    def get_tracer(self, *_args: object, **_kwargs: object) -> trace.Tracer:
        """
        One that makes such spans.
        """
        return _UnwritableTracer()


class _UnwritableTracer(trace.NoOpTracer):
    def start_span(self, *_args: object, **_kwargs: object) -> trace.Span:
        return _UnwritableSpan()


class _UnwritableSpan(trace.NonRecordingSpan):
    def __init__(self) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)

    def is_recording(self) -> bool:
        return True

    def set_attributes(self, attributes: object) -> None:  # noqa: ARG002 - OpenTelemetry's name
        raise ZeroDivisionError

    def add_event(self, *_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError


def failing_once() -> Callable[[], object]:
    """
    What fails as transient, then answers.
    """
    endings: list[Exception] = [ConnectionResetError("peer reset")]

    def search() -> object:
        if endings:
            raise endings.pop()
        return "found"

    return search


class TestTelemetry:
    """
    What goes wrong with a span is no matter of the tool's.
    """

    @pytest.mark.parametrize("end", ["start", "end"])
    def test_a_processor_that_raises_is_logged_once(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, end: str
    ) -> None:
        """The call is made as often as without it, and the answer is the tool's."""
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider_with(Broken(end)))
        monkeypatch.setattr("toolspan.tools.spans.FAULTS", Faults())

        search = tool(retry=Retry(), timing=bench.timing)(failing_once())
        with caplog.at_level(logging.WARNING, logger="toolspan"):
            answers = [search(), search()]

        assert [FOUND, FOUND] == answers
        assert 1 == len(caplog.records)
        assert not trace.get_current_span().get_span_context().is_valid

    def test_a_span_that_refuses_everything_does_no_harm(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """Attempts, tags, contents and the end are lost, the answer is not."""
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", Unwritable())

        assert FOUND == tool(retry=Retry(), capture=True, timing=bench.timing)(failing_once())()

    def test_what_a_failed_call_leaves_is_the_span_before(self, bench: Bench) -> None:
        """Whatever became of the call, later spans are not put below it."""

        @tool
        def search() -> object:
            raise ValueError("409 Conflict")

        before = trace.get_current_span()
        search()

        assert before is trace.get_current_span()
        assert 1 == len(bench.spans)


class TestTime:
    """
    Clocks and sleeps are given from outside.
    """

    def test_a_sleep_that_fails_ends_the_call(self, bench: Bench) -> None:
        """With an envelope, and a span that says so."""

        def fail(_: float) -> None:
            raise ZeroDivisionError

        search = tool(retry=Retry(), timing=bench.timing._replace(sleep=fail))(failing_once())
        answer = search()

        assert "UNCLASSIFIED" in json.dumps(answer)
        assert "error" == bench.tags["toolspan.call.outcome"]


class TestRefresh:
    """
    A hook that is to get a new access token, and cannot.
    """

    @staticmethod
    def _error(bench: Bench, error: Exception) -> dict[str, Any]:
        def refresh() -> None:
            raise error

        @tool(refresh=refresh, retry=Retry(), timing=bench.timing)
        def get() -> object:
            raise requests.HTTPError("401 Client Error: Unauthorized for url: https://x.example")

        return cast("dict[str, Any]", get()["error"])

    def test_a_service_that_is_down_may_be_up_later(self, bench: Bench) -> None:
        """The agent is told when to try again; the old token is not tried once more."""
        error = self._error(bench, TimeoutError("timed out"))

        assert ("transient", "TIMEOUT", 200) == (error["class"], error["code"], error["retry_after_ms"])
        assert 1 == bench.tags["toolspan.call.attempts"]

    @pytest.mark.parametrize("reason", [RuntimeError("?"), concurrent.futures.CancelledError()])
    def test_a_fault_of_its_own_says_less_than_the_call_did(self, bench: Bench, reason: Exception) -> None:
        """That the token is over is what a human can do something about."""
        error = self._error(bench, reason)

        assert ("permission", "UNAUTHENTICATED") == (error["class"], error["code"])
        assert 1 == bench.tags["toolspan.call.attempts"]


class TestKeys:
    """
    The key of a write that failed is for the call that repeats it, and for no other.
    """

    def test_calls_keep_their_keys_where_nothing_is_traced(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """Spans have no ids then; two payments must not share a key for that."""
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", NoOpTracerProvider())
        sent: list[tuple[int, str]] = []

        @tool(write=Write(read_back=lambda _: ABSENT), timing=bench.timing)
        def pay(amount: int, idempotency_key: str = "") -> object:
            sent.append((amount, idempotency_key))
            raise ToolError("transient", "DOWN", retry_after_ms=0)

        with toolspan.task("pay twice") as task:
            for amount in (1, 2):
                pay(amount=amount)
            with task.step("again"):
                pass
            for amount in (1, 2):
                pay(amount=amount)
        keys = {amount: {key for other, key in sent if other == amount} for amount in (1, 2)}

        assert 4 == len(sent)
        assert [1, 1] == [len(found) for found in keys.values()]
        assert keys[1].isdisjoint(keys[2])

    @pytest.mark.parametrize("key", ["k" * 400, "<b>\ud800", "two words"])
    def test_a_key_of_any_form_is_no_reason_to_fail(self, bench: Bench, key: str) -> None:
        """A hint has no room for it, and goes without."""

        @tool(write=Write())
        def pay(amount: int, idempotency_key: str = "") -> object:
            raise TimeoutError(f"{amount} {len(idempotency_key)}")

        answer = json.dumps(pay(1, key))

        assert "OUTCOME_UNKNOWN" in answer
        assert key not in answer
        assert 1 == len(bench.spans)

    def test_no_more_are_kept_than_a_process_can_need(self) -> None:
        """The oldest go first, and what was taken is gone: an agent that never repeats a call costs no memory."""
        keys = Keys()
        for number in range(5000):
            keys.keep(f"{number:016x}", f"key {number}")

        assert (None, "key 4999", None) == tuple(keys.take(f"{number:016x}") for number in (0, 4999, 4999))
        assert None is keys.take("")


class TestOptions:
    """
    What would do nothing, or fail when it is needed, is refused when the tool is made.
    """

    def test_a_coroutine_function_for_a_plain_tool(self) -> None:
        """Nobody could wait for it."""

        async def ask(_: str = "") -> object:
            return ABSENT

        def pay() -> None: ...

        with pytest.raises(ConfigError, match="refresh of pay is a coroutine function, and the tool is none"):
            tool(refresh=ask)(pay)
        with pytest.raises(ConfigError, match="read_back of pay is a coroutine function"):
            tool(write=Write(read_back=ask))(pay)

    def test_a_cost_that_is_no_number(self) -> None:
        """It would limit nothing."""

        def buy() -> None: ...

        with pytest.raises(ConfigError, match="cost of buy is '5'; give a number, or a function that does"):
            tool(cost="5")(buy)  # type: ignore[call-overload]  # as somebody without a type checker writes it

    def test_a_cost_that_cannot_be_reckoned_is_all_there_is(self, bench: Bench) -> None:
        """And not a failure of the host's."""

        @tool(cost=lambda _: "much")  # type: ignore[arg-type, return-value]  # as above
        def buy() -> str:
            return "bought"

        with toolspan.task("shop", max_cost=10):
            answer = buy()

        assert "COST_LIMIT" in json.dumps(answer)
        assert FOUND == tool(cost=lambda _: "much")(lambda: "found")()  # type: ignore[arg-type, return-value]
        assert 3 == len(bench.spans)
