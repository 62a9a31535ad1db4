"""
How often a `@tool` tries: its budget, its token, cancellation.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
import requests

import toolspan
from tests.toolbox import DOWN, THREE, Bench, error_of, limited, play, script
from toolspan.tools.tool import tool


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


class TestAttempts:
    def test_what_may_succeed_is_tried_again(self, bench: Bench) -> None:
        """The span tells each attempt, and of a success no error."""
        endings = script(DOWN, DOWN, "found")

        @tool(retry=THREE, timing=bench.timing)
        def search() -> object:
            return play(endings)

        assert {"ok": True, "data": "found"} == search()
        assert [(1, 3, 50, "CONNECTION_FAILED"), (2, 3, 100, "CONNECTION_FAILED")] == bench.attempts
        assert (3, 150) == (bench.tags["toolspan.call.attempts"], bench.tags["toolspan.call.waited_ms"])
        assert "error.type" not in bench.tags
        assert "UNSET" == bench.spans[0].status.status_code.name

    def test_a_budget_that_is_used_up_is_the_agents(self, bench: Bench) -> None:
        """With how long to wait, from the schedule."""
        endings = script(DOWN, DOWN, DOWN, "never")

        @tool(retry=THREE, timing=bench.timing)
        def search() -> object:
            return play(endings)

        error = error_of(search())
        [call] = bench.calls

        assert ("transient", True, 800) == (error["class"], error["retryable"], error["retry_after_ms"])
        assert (3, 150, True) == (call.attempts, call.waited_ms, call.budget_exhausted)

    def test_the_deadline_holds_whatever_is_asked_for(self, bench: Bench) -> None:
        """A wait that fits is waited, one that does not is told."""
        endings = script(limited("1"), limited("30"), "never")

        @tool(retry=THREE, timing=bench.timing)
        def search() -> object:
            return play(endings)

        error = error_of(search())

        assert ([1.0], 30_000) == (bench.slept, error["retry_after_ms"])

    @pytest.mark.parametrize(
        "ending",
        [
            ValueError("409 Conflict"),
            requests.HTTPError("403 Client Error: Forbidden for url: https://x.example"),
            TypeError("search() missing 1 required positional argument: 'date'"),
            RuntimeError("who knows"),
            NotImplementedError(),
        ],
    )
    def test_nothing_else_is(self, bench: Bench, ending: Exception) -> None:
        """A 409 that is retried costs what it costs and proves what the first answer said."""
        ran: list[int] = []

        @tool(retry=THREE, timing=bench.timing)
        def search() -> object:
            ran.append(1)
            raise ending

        search()

        assert ([1], []) == (ran, bench.slept)

    def test_without_a_budget_there_is_one_attempt(self, bench: Bench) -> None:
        """And the agent is told how long to wait nevertheless."""

        @tool(timing=bench.timing)
        def search() -> object:
            raise DOWN

        error = error_of(search())

        assert ([], 200) == (bench.slept, error["retry_after_ms"])
        assert "toolspan.call.budget_exhausted" not in bench.tags


class TestTokens:
    def test_an_expired_one_is_refreshed_once(self, bench: Bench) -> None:
        """And the call tried again at once."""
        endings = script(requests.HTTPError("401 Client Error: Unauthorized for url: https://x.example"), "in")
        refreshed: list[str] = []

        @tool(refresh=lambda: refreshed.append("now"), timing=bench.timing)
        def get() -> object:
            return play(endings)

        assert {"ok": True, "data": "in"} == get()
        assert (["now"], [], 2) == (refreshed, bench.slept, bench.tags["toolspan.call.attempts"])

    def test_one_that_stays_expired_is_a_humans(self, bench: Bench) -> None:
        """Twice is enough."""
        ran: list[int] = []

        @tool(refresh=lambda: None, retry=THREE, timing=bench.timing)
        def get() -> object:
            ran.append(1)
            raise requests.HTTPError("401 Client Error: Unauthorized for url: https://x.example")

        assert "permission" == error_of(get())["class"]
        assert [1, 1] == ran

    def test_a_revoked_grant_is_a_humans(self, bench: Bench) -> None:
        """Whether the call says so or the refresh does."""
        revoked = {"error": "invalid_grant", "error_description": "Token has been revoked"}
        refreshed: list[int] = []

        def refresh() -> None:
            refreshed.append(1)
            response = requests.Response()
            response.status_code, response._content = 400, json.dumps(revoked).encode()
            raise requests.HTTPError("400 Client Error: Bad Request", response=response)

        @tool(refresh=refresh, timing=bench.timing)
        def get() -> object:
            raise requests.HTTPError("401 Client Error: Unauthorized for url: https://x.example")

        error = error_of(get())

        assert ("permission", "REAUTHORIZATION_REQUIRED", [1]) == (error["class"], error["code"], refreshed)


class TestCancellation:
    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
    def test_goes_on(self, bench: Bench, kind: type[BaseException]) -> None:
        """The span is closed as cancelled: neither a success nor a failure."""

        @tool(retry=THREE)
        def get() -> object:
            raise kind

        with pytest.raises(kind):
            get()
        [call] = bench.calls

        assert ("cancelled", None) == (call.outcome, call.error_class)

    def test_during_a_pause_goes_on(self, bench: Bench) -> None:
        """It is not another attempt."""
        ran: list[int] = []

        def interrupted(_: float) -> None:
            raise KeyboardInterrupt

        @tool(retry=THREE, timing=bench.timing._replace(sleep=interrupted))
        def get() -> object:
            ran.append(1)
            raise DOWN

        with pytest.raises(KeyboardInterrupt):
            get()

        assert ([1], "cancelled") == (ran, bench.tags["toolspan.call.outcome"])

    def test_a_request_to_wait_for_a_human_is_the_frameworks(self, bench: Bench) -> None:
        """LangGraph's interrupt, pydantic-ai's deferral: the call is not over."""

        class GraphInterrupt(Exception):  # noqa: N818 - as LangGraph calls it
            pass

        @tool
        def pay() -> object:
            raise GraphInterrupt

        with pytest.raises(GraphInterrupt):
            pay()

        assert "deferred" == bench.calls[0].outcome


class TestAsync:
    def test_is_as_sync(self, bench: Bench) -> None:
        """The same budget, the same span."""
        endings = script(DOWN, "found")

        @tool(retry=THREE, timing=bench.timing)
        async def search(date: str) -> object:
            await asyncio.sleep(0)
            return play(endings) + date  # type: ignore[operator]  # a text

        async def both() -> tuple[object, object]:
            answer = await search(date="!")
            return answer, await search.run(date="!")

        answer, failed = asyncio.run(both())

        assert {"ok": True, "data": "found!"} == answer
        assert isinstance(failed, toolspan.Failure)
        assert [50] == [attempt[2] for attempt in _attempts(bench)]

    def test_cancellation_during_backoff_is_at_once(self, bench: Bench) -> None:
        """No attempt comes after it."""
        ran: list[int] = []

        async def for_ever(_: float) -> None:
            await asyncio.Event().wait()

        @tool(retry=THREE, timing=bench.timing._replace(sleep_async=for_ever))
        async def search() -> object:
            ran.append(1)
            raise DOWN

        async def main() -> None:
            task = asyncio.ensure_future(search())
            while not ran:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())

        assert ([1], "cancelled") == (ran, bench.tags["toolspan.call.outcome"])

    def test_refresh_may_be_a_coroutine_function(self, bench: Bench) -> None:
        """Its author chooses."""
        endings = script(requests.HTTPError("401 Client Error: Unauthorized for url: https://x.example"), "in")

        async def refresh() -> None:
            await asyncio.sleep(0)

        @tool(refresh=refresh, timing=bench.timing)
        async def get() -> object:
            return play(endings)

        assert {"ok": True, "data": "in"} == asyncio.run(_given(get))


async def _given(function: Callable[[], Awaitable[object]]) -> object:
    return await function()


def _attempts(bench: Bench) -> list[tuple[int, int, int]]:
    names = ("toolspan.attempt.number", "toolspan.attempt.limit", "toolspan.attempt.pause_ms")
    events = [event.attributes or {} for event in bench.spans[0].events]
    return [tuple(event[name] for name in names) for event in events]  # type: ignore[misc]  # three numbers
