"""
Which failures may be retried, by whom, and what that costs: a conflict, four codes, budgets, callers that give up.

The scenes are those of two articles on tool errors; a write whose reply was lost is in `test_articles_writes.py`.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, cast

import pytest
from opentelemetry.trace import set_span_in_context

import toolspan
from tests.clocks import Clock
from tests.tracing import RUN, exporting_provider
from tests.watched import Watched, numbers_of, watched
from toolspan import attributes as attr
from toolspan import faults
from toolspan.tools.tool import Timing

#: The pauses of a client that doubles from 200 ms, three times.
BACKOFF_S: Final = (0.2, 0.4, 0.8)
#: A call whose service answered 409, as a framework would record it.
CONFLICT: Final[dict[str, str | int]] = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "book",
    "gen_ai.tool.call.arguments": '{"slot": "14:00"}',
    "http.response.status_code": 409,
    "error.type": "409",
}


def error_of(answer: dict[str, object]) -> dict[str, object]:
    """
    The error of a failing envelope.
    """
    assert answer["ok"] is False
    return cast("dict[str, object]", answer["error"])


@pytest.fixture(name="watch", autouse=True)
def _watch() -> Iterator[Watched]:
    with watched() as watch:
        yield watch


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock()


class TestConflict:
    """
    A 409 is an answer, not a disturbance.
    """

    def test_a_client_that_backs_off_waits_for_nothing(self, clock: Clock) -> None:
        """
        200, 400, 800 ms: 1.4 s to be told the same.
        """
        started_s, answers = clock(), 1
        for pause_s in BACKOFF_S:
            clock.sleep(pause_s)
            answers += 1

        assert (1.4, 4) == (round(clock() - started_s, 3), answers)

    def test_the_tool_does_not_wait(self, clock: Clock) -> None:
        """
        With the same budget there is one attempt and no pause.
        """

        @toolspan.tool(retry=toolspan.Retry(attempts=4, deadline=5.0, base=0.2, cap=0.8), timing=clock.timing)
        def book(slot: str) -> str:
            return slot

        started_s = clock()
        with faults.inject(faults.http_failure(409)) as injection:
            error = error_of(book(slot="14:00"))

        assert ("business_rule", "CONFLICT", 1) == (error["class"], error["code"], len(injection.attempts))
        assert 0.0 == clock() - started_s

    def test_the_report_says_what_the_retries_cost(self) -> None:
        """
        Three retries of the model in the same rhythm: 1 400 ms wasted.
        """
        provider, exporter = exporting_provider()
        tracer = provider.get_tracer("an agent")
        at_ns = 1_000_000_000
        run = tracer.start_span("invoke_agent", attributes=RUN, start_time=at_ns)
        for pause_s in (*BACKOFF_S, 0.0):
            call = tracer.start_span("book", set_span_in_context(run), attributes=CONFLICT, start_time=at_ns)
            call.end(at_ns)
            at_ns += round(pause_s * 1_000_000_000)
        run.end(at_ns)

        retries = numbers_of(exporter.get_finished_spans()).report["tools"]["book"]["retries"]
        assert (3, 3, 1400) == (retries["total"], retries["wasted"], retries["wasted_ms"])


class TestFourCodes:
    """
    Two that may be retried, two that may not.
    """

    @pytest.mark.parametrize(
        "fault", [faults.failing("transient", "RATE_LIMIT"), faults.failing("transient", "TIMEOUT")]
    )
    def test_a_rate_limit_and_a_timeout_are_retried_within_the_budget(self, fault: faults.Fault, clock: Clock) -> None:
        """
        Three attempts, then the model hears of it, with the time to wait.
        """
        with faults.inject(fault) as injection:
            error = error_of(lookup_on(clock)(account="A-1"))

        assert (True, 3) == (error["retryable"], len(injection.attempts))
        assert isinstance(error["retry_after_ms"], int)

    @pytest.mark.parametrize(
        "fault",
        [faults.failing("validation", "INVALID_ARGUMENTS"), faults.failing("permission", "PERMISSION_DENIED")],
    )
    def test_invalid_arguments_and_a_denied_permission_are_not(self, fault: faults.Fault, clock: Clock) -> None:
        """
        One attempt, and nothing that invites another.
        """
        with faults.inject(fault) as injection:
            error = error_of(lookup_on(clock)(account="A-1"))

        assert (False, None, 1) == (error["retryable"], error["retry_after_ms"], len(injection.attempts))

    def test_a_tool_without_a_budget_retries_nothing(self, clock: Clock) -> None:
        """
        No retry is blind: who declares none gets none.
        """

        @toolspan.tool(timing=clock.timing)
        def lookup(account: str) -> str:
            return account

        with faults.inject(faults.failing("transient", "RATE_LIMIT")) as injection:
            lookup(account="A-1")

        assert 1 == len(injection.attempts)

    @pytest.mark.parametrize("fault", [faults.instruction_in_hint(), faults.retryable_contradiction()])
    def test_no_text_makes_a_permanent_failure_retryable(self, fault: faults.Fault, clock: Clock) -> None:
        """
        Neither what a hint asks for nor what an envelope claims: not for the tool, and not for the guard.
        """
        lookup = lookup_on(clock)
        with toolspan.task("look it up"), faults.inject(fault) as injection:
            errors = [error_of(lookup(account="A-1")) for _ in range(3)]

        assert [False, False, False] == [error["retryable"] for error in errors]
        assert 1 == len(injection.attempts)


class TestBudgets:
    """
    Attempts and time, both with an end.
    """

    def test_no_pause_passes_the_deadline(self, clock: Clock, watch: Watched) -> None:
        """
        The tool gives up before its deadline, and its span tells of attempts, waits and the budget.
        """
        started_s = clock()
        with faults.inject(faults.disconnect()) as injection:
            error = error_of(lookup_on(clock, attempts=100, deadline=3.0)(account="A-1"))

        values = watch.spans[-1].attributes or {}
        waited_s = clock() - started_s
        assert "transient" == error["class"]
        assert waited_s <= 3.0
        assert (len(injection.attempts), True) == (values[attr.CALL_ATTEMPTS], values[attr.CALL_BUDGET_EXHAUSTED])
        assert abs(waited_s * 1000 - cast("float", values[attr.CALL_WAITED_MS])) < 1

    def test_a_wait_that_fits_is_waited(self, clock: Clock) -> None:
        """
        Retry-After is what is waited, neither more nor less.
        """
        started_s = clock()
        limited = faults.http_failure(429, headers={"Retry-After": "2"})
        with faults.inject([limited]):
            answer = lookup_on(clock, deadline=3.0)(account="A-1")

        assert (True, 2.0) == (answer["ok"], clock() - started_s)

    def test_a_wait_that_does_not_fit_is_passed_on(self, clock: Clock) -> None:
        """
        Nothing is waited, and the model is told how long.
        """
        started_s = clock()
        with faults.inject(faults.http_failure(429, headers={"Retry-After": "60"})) as injection:
            error = error_of(lookup_on(clock, deadline=3.0)(account="A-1"))

        assert (60_000, 1, 0.0) == (error["retry_after_ms"], len(injection.attempts), clock() - started_s)

    def test_the_agent_retries_once(self, clock: Clock, watch: Watched) -> None:
        """
        Whatever the model does after that, the tool is not called a third time.
        """
        lookup = lookup_on(clock, attempts=1)
        with toolspan.task("look it up", clock=clock), faults.inject(faults.disconnect()) as injection:
            for _ in range(5):
                clock.sleep(cast("int", error_of(lookup(account="A-1"))["retry_after_ms"] or 0) / 1000)

        assert 2 == len(injection.attempts)
        assert 1 == watch.numbers.report["tools"]["lookup"]["retries"]["total"]


class TestCancellation:
    """
    The caller gives up while the tool waits for its next attempt.
    """

    def test_nothing_is_tried_after_the_caller_gave_up(self, watch: Watched) -> None:
        """
        The cancellation leaves the tool, the pause ends, and the span says what it was.
        """

        async def scene() -> int:
            pausing = asyncio.Event()

            async def sleep(_: float) -> None:
                pausing.set()
                await asyncio.Event().wait()

            @toolspan.tool(retry=toolspan.Retry(attempts=5), timing=Timing(sleep_async=sleep))
            async def lookup(account: str) -> str:
                return account

            with faults.inject(faults.disconnect()) as injection:
                running = asyncio.create_task(lookup(account="A-1"))
                await pausing.wait()
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
                return len(injection.attempts)

        attempts = asyncio.run(scene())

        [call] = watch.numbers.rows.calls
        assert (1, "cancelled", 1) == (attempts, call.outcome, call.attempts)


def lookup_on(clock: Clock, *, attempts: int = 3, deadline: float = 5.0) -> Callable[..., dict[str, object]]:
    """
    A tool that reads, with a budget.
    """

    @toolspan.tool(retry=toolspan.Retry(attempts=attempts, deadline=deadline), timing=clock.timing)
    def lookup(account: str) -> str:
        return account

    return lookup
