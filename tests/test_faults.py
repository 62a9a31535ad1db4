"""
Faults at a tool's boundary: which attempts meet which, whether the real function runs, and what the model is told.
"""

import asyncio
import contextvars
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import cast

import pytest

import toolspan
from toolspan import faults
from toolspan.errors import InputError
from toolspan.faults.fixtures import Faults
from toolspan.taxonomy import CLASSES, TABLE, ErrorClass

RAN: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    RAN.clear()
    yield
    RAN.clear()


@toolspan.tool
def search(city: str) -> dict[str, str]:
    """
    Finds something in *city*.
    """
    RAN.append(city)
    return {"found": city}


@toolspan.tool
async def look(city: str) -> dict[str, str]:
    """
    The same, as a coroutine.
    """
    RAN.append(city)
    return {"found": city}


@toolspan.tool(retry=toolspan.Retry(attempts=3, deadline=5.0, base=0.001))
def patient(city: str) -> dict[str, str]:
    """
    Finds something, and tries three times.
    """
    RAN.append(city)
    return {"found": city}


def error_of(answer: object) -> dict[str, object]:
    """
    The error of a failing envelope.
    """
    envelope = cast("dict[str, object]", answer)
    assert envelope["ok"] is False
    return cast("dict[str, object]", envelope["error"])


class TestInjecting:
    """
    `faults.inject()`.
    """

    def test_a_fault_meets_every_attempt(self) -> None:
        """
        A fault alone is one for all attempts, and the real function is not run.
        """
        with faults.inject(faults.timeout()) as injection:
            answers = [search(city="Lyon"), search(city="Lyon")]

        assert ["transient", "transient"] == [error_of(answer)["class"] for answer in answers]
        assert (0, []) == (injection.real_runs(), RAN)

    def test_a_plan_is_met_in_turn(self) -> None:
        """
        None lets an attempt through, and so does the end of the plan.
        """
        with faults.inject([faults.failing("fatal"), None, faults.failing("permission")]):
            answers = [search(city="Lyon") for _ in range(4)]

        assert [False, True, False, True] == [answer["ok"] for answer in answers]

    def test_nothing_is_injected_after_the_block(self) -> None:
        """
        The block ends, and the tool is itself again, also where the block raised.
        """
        with pytest.raises(ZeroDivisionError), faults.inject(faults.timeout()):
            raise ZeroDivisionError

        assert {"ok": True, "data": {"found": "Lyon"}} == search(city="Lyon")

    def test_only_the_named_tool_is_struck(self) -> None:
        """
        A plan for one tool leaves the others alone.
        """
        with faults.inject(faults.timeout(), tool="search"):
            assert (False, True) == (search(city="Lyon")["ok"], patient(city="Lyon")["ok"])

    def test_each_tool_has_a_plan_of_its_own(self) -> None:
        """
        Several tools are struck at once, and *plan* is for the rest.
        """
        plans: dict[str, faults.Plan] = {"search": faults.failing("fatal"), "patient": faults.failing("permission")}
        with faults.inject(tools=plans):
            answers = [search(city="Lyon"), patient(city="Lyon")]

        assert ["fatal", "permission"] == [error_of(answer)["class"] for answer in answers]

    def test_an_inner_injection_leaves_others_to_the_outer_one(self) -> None:
        """
        A tool without a plan in the inner block meets the faults of the outer one.
        """
        with faults.inject(faults.failing("fatal")), faults.inject(faults.failing("permission"), tool="patient"):
            answers = [search(city="Lyon"), patient(city="Lyon")]

        assert ["fatal", "permission"] == [error_of(answer)["class"] for answer in answers]

    def test_coroutines_are_struck_alike(self) -> None:
        """
        `async with` and coroutine functions.
        """

        async def scene() -> list[bool]:
            async with faults.inject([faults.timeout(), None, faults.timeout_after_commit()]):
                return [bool((await look(city=city))["ok"]) for city in ("Lyon", "Nice", "Metz")]

        assert [False, True, False] == asyncio.run(scene())
        assert ["Nice", "Metz"] == RAN

    def test_another_context_is_left_alone(self) -> None:
        """
        A test that runs beside it, in a thread of its own, meets no fault.
        """
        with faults.inject(faults.timeout()), ThreadPoolExecutor(1) as pool:
            beside = pool.submit(search, city="Lyon").result()
            inside = pool.submit(contextvars.copy_context().run, search, "Lyon").result()

        assert (True, False) == (beside["ok"], inside["ok"])

    def test_the_log_tells_each_attempt(self) -> None:
        """
        Tool, number of the attempt, the fault it met, and whether the real function ran.
        """
        with faults.inject([faults.disconnect(), faults.timeout_after_commit(), None]) as injection:
            patient(city="Lyon")

        assert [
            ("patient", 1, "disconnect", False),
            ("patient", 2, "timeout after commit", True),
            ("patient", 3, None, True),
        ] == injection.attempts
        assert (2, 0) == (injection.real_runs("patient"), injection.real_runs("search"))

    def test_an_injection_is_entered_once(self) -> None:
        """
        Its plan would be half used.
        """
        with faults.inject(faults.timeout()) as injection, pytest.raises(InputError, match="make another one"):
            injection.start()


class TestKinds:
    """
    What a fault does.
    """

    @pytest.mark.parametrize("error_class", CLASSES)
    def test_every_class_reaches_the_model_as_itself(self, error_class: ErrorClass) -> None:
        """
        One failure of each of the five.
        """
        [fault] = [fault for fault in faults.every_class() if fault.error_class is error_class]
        with faults.inject(fault):
            error = error_of(search(city="Lyon"))

        assert (str(error_class), error_class is ErrorClass.TRANSIENT) == (error["class"], error["retryable"])

    def test_every_code_of_the_table_reaches_the_model(self) -> None:
        """
        All codes that the table knows, each with its class.
        """
        told: set[tuple[object, object]] = set()
        for fault in faults.every_code():
            with faults.inject(fault):
                error = error_of(search(city="Lyon"))
            told.add((error["class"], error["code"]))

        rows = {(str(rule.error_class), rule.code) for rules in TABLE.values() for rule in rules}
        assert {row for row in rows if row[0] != "unclassified"} == told

    @pytest.mark.parametrize(
        ("status", "error_class"),
        [(503, "transient"), (422, "validation"), (401, "permission"), (409, "business_rule"), (501, "fatal")],
    )
    def test_an_http_status_is_classified_from_its_exception(self, status: int, error_class: str) -> None:
        """
        The exception is what `requests` raises, with its response.
        """
        with faults.inject(faults.http_failure(status)):
            assert error_class == error_of(search(city="Lyon"))["class"]

    def test_a_header_arrives_with_the_exception(self) -> None:
        """
        Retry-After is read as from a real response.
        """
        with faults.inject(faults.http_failure(429, headers={"Retry-After": "7"})):
            assert 7000 == error_of(search(city="Lyon"))["retry_after_ms"]

    def test_a_timeout_after_commit_runs_the_real_function(self) -> None:
        """
        The work is done, and its answer is lost.
        """
        with faults.inject(faults.timeout_after_commit()):
            answer = search(city="Lyon")

        assert (False, ["Lyon"]) == (answer["ok"], RAN)

    def test_a_slow_attempt_waits_and_answers(self) -> None:
        """
        The wait is the fault's own, the answer the real one.
        """
        waits: list[float] = []
        with faults.inject(faults.slow(3.0), sleep=waits.append):
            answer = search(city="Lyon")

        assert (True, [3.0]) == (answer["ok"], waits)

    def test_a_slow_coroutine_waits_without_blocking(self) -> None:
        """
        In a coroutine the wait is awaited.
        """
        waits: list[float] = []

        async def wait(delay_s: float) -> None:
            waits.append(delay_s)

        async def scene() -> bool:
            with faults.inject(faults.slow(3.0), sleep_async=wait):
                return bool((await look(city="Lyon"))["ok"])

        assert (True, [3.0]) == (asyncio.run(scene()), waits)

    def test_cancellation_leaves_the_tool(self) -> None:
        """
        Whoever gave up is not answered with an envelope.
        """
        with faults.inject(faults.cancellation()), pytest.raises(asyncio.CancelledError):
            search(city="Lyon")

    def test_an_unknown_class_is_refused(self) -> None:
        """
        `unclassified` is telemetry's word, no tool's.
        """
        with pytest.raises(InputError, match="'unclassified'; the classes are transient"):
            faults.failing("unclassified")


class TestLies:
    """
    Envelopes that are wrong about themselves.
    """

    @pytest.mark.parametrize("fault", [*faults.every_lie(), *faults.every_malformation()], ids=lambda fault: fault.name)
    def test_no_lie_becomes_a_success_or_a_retry(self, fault: faults.Fault) -> None:
        """
        The model is told of a failure; what is not transient is not retryable.
        """
        with faults.inject(fault) as injection:
            error = error_of(patient(city="Lyon"))

        assert (error["class"] == "transient") == error["retryable"]
        assert error["class"] == "transient" or len(injection.attempts) == 1
        assert "message" not in error

    def test_an_instruction_in_a_hint_changes_nothing(self) -> None:
        """
        A permanent failure whose text asks for a retry stays permanent, and is tried once.
        """
        with faults.inject(faults.instruction_in_hint()) as injection:
            error = error_of(patient(city="Lyon"))

        assert ("permission", False, 1) == (error["class"], error["retryable"], len(injection.attempts))


class TestPatterns:
    """
    Plans.
    """

    def test_the_same_seed_gives_the_same_pattern(self) -> None:
        """
        A flaky test can be run again.
        """
        fault = faults.timeout()
        first, again, other = (list(islice(faults.flaky(fault, seed=seed), 200)) for seed in (7, 7, 8))

        assert first == again
        assert first != other

    def test_a_share_of_the_attempts_is_struck(self) -> None:
        """
        About as many as was said, of each fault about as many.
        """
        one, two = faults.timeout(), faults.disconnect()
        drawn = list(islice(faults.flaky(one, two, share=0.5, seed=1), 2000))

        assert 900 < drawn.count(None) < 1100
        assert 400 < drawn.count(one) < 600

    @pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
    def test_a_share_is_between_none_and_all(self, share: float) -> None:
        """
        A misspelt share is refused at once, not at the first attempt.
        """
        with pytest.raises(InputError, match="a share from 0 to 1"):
            faults.flaky(faults.timeout(), share=share)

    def test_a_tool_that_fails_twice_succeeds_within_its_budget(self) -> None:
        """
        `times()` strikes the first attempts only.
        """
        with faults.inject(faults.times(2, faults.disconnect())) as injection:
            answer = patient(city="Lyon")

        assert (True, 3) == (answer["ok"], len(injection.attempts))


class TestFixture:
    """
    `toolspan_faults`, in pytest.
    """

    def test_faults_hold_until_the_test_ends(self, toolspan_faults: Faults) -> None:
        """
        Without a block around what is tested.
        """
        injection = toolspan_faults([faults.timeout()], tool="search")

        assert (False, True) == (search(city="Lyon")["ok"], search(city="Lyon")["ok"])
        assert 2 == len(injection.attempts)

    def test_nothing_is_left_of_another_test(self) -> None:
        """
        The fixture's teardown ends all of its injections.
        """
        faulty = Faults()
        faulty(faults.timeout())
        faulty(faults.failing("fatal"), tool="patient")
        faulty.stop()

        assert (True, True) == (search(city="Lyon")["ok"], patient(city="Lyon")["ok"])
