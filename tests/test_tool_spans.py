"""
The span of a call: what is below it, also where many run at once, and what it carries of task and step.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from opentelemetry import trace

import toolspan
from tests.toolbox import Bench
from toolspan import Retry
from toolspan.tools.tool import tool

AT_ONCE = 8


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def parents(bench: Bench) -> dict[str, str | None]:
    """
    The name of each span, and of the one above it.
    """
    names = {span.context.span_id: span.name for span in bench.spans if span.context}
    return {span.name: names.get(span.parent.span_id) if span.parent else None for span in bench.spans}


def requested(name: str) -> None:
    """
    What a client's own instrumentation leaves.
    """
    with trace.get_tracer("client").start_as_current_span(name):
        pass


class TestPlace:
    """
    Where spans are that begin while a tool runs.
    """

    def test_requests_of_every_attempt_are_below_the_call(self, bench: Bench) -> None:
        """And what comes afterwards is not."""
        endings = iter([ConnectionResetError("peer reset"), None])

        @tool(retry=Retry(), timing=bench.timing)
        def search() -> None:
            ending = next(endings)
            requested("failing" if ending else "answering")
            if ending:
                raise ending

        search()
        requested("later")

        call = "execute_tool search"
        assert {"failing": call, "answering": call, call: None, "later": None} == parents(bench)

    def test_a_tool_within_a_tool_is_a_call_of_its_own(self, bench: Bench) -> None:
        """What the inner one answers is data to the outer one."""

        @tool
        def inner() -> None:
            raise ValueError("409 Conflict")

        @tool
        def outer() -> object:
            return inner()["ok"]

        assert {"ok": True, "data": False} == outer()
        assert {"execute_tool inner": "execute_tool outer", "execute_tool outer": None} == parents(bench)

    def test_coroutines_at_once_do_not_see_each_other(self, bench: Bench) -> None:
        """Also where some are given up in between."""

        @tool
        async def search(number: int) -> None:
            await asyncio.sleep(0)
            if number % 2:
                await asyncio.Event().wait()
            requested(f"request {number}")

        async def main() -> list[object]:
            tasks = [asyncio.ensure_future(search(number)) for number in range(AT_ONCE)]
            await asyncio.wait(tasks[::2])
            for task in tasks[1::2]:
                task.cancel()
            return list(await asyncio.gather(*tasks, return_exceptions=True))

        ended = asyncio.run(main())
        calls = {call.span_id: call.outcome for call in bench.calls}
        requests = [span for span in bench.spans if span.name.startswith("request")]

        assert AT_ONCE // 2 == sum(isinstance(each, asyncio.CancelledError) for each in ended)
        assert ["cancelled"] * (AT_ONCE // 2) + ["ok"] * (AT_ONCE // 2) == sorted(calls.values())
        assert AT_ONCE // 2 == len({span.parent.span_id for span in requests if span.parent})
        assert {"ok"} == {calls[span.parent.span_id.to_bytes(8, "big")] for span in requests if span.parent}

    def test_threads_at_once_do_not_see_each_other(self, bench: Bench) -> None:
        """One tool, called from many."""
        barrier = Barrier(AT_ONCE)

        @tool
        def search(number: int) -> int:
            barrier.wait()
            requested("request")
            return number

        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(search, range(AT_ONCE)))
        requests = [span for span in bench.spans if span.name == "request"]

        assert list(range(AT_ONCE)) == [answer["data"] for answer in answers]
        assert AT_ONCE == len({span.parent.span_id for span in requests if span.parent})


def test_the_ids_of_task_and_step_are_on_the_span(bench: Bench) -> None:
    """Without a processor of toolspan's."""

    @tool
    def search() -> None: ...

    with toolspan.task("trip", id="t-1") as task, task.step("flight", id="s-1"):
        search()
    [found] = [dict(span.attributes or {}) for span in bench.spans if span.name == "execute_tool search"]

    assert ("t-1", "s-1") == (found["toolspan.task.id"], found["toolspan.step.id"])


def test_a_failure_that_is_not_tried_again_uses_up_no_budget(bench: Bench) -> None:
    """There was a budget, and it is all still there."""

    @tool(retry=Retry(), timing=bench.timing)
    def search() -> None:
        raise ValueError("409 Conflict")

    search()

    assert not bench.calls[0].budget_exhausted
