"""
A payment whose reply was lost: made, not made, or nobody knows.

The scene is that of two articles on tool errors: what a model must never see is an ambiguous state.
"""

from collections.abc import Callable, Iterator
from typing import cast

import pytest

import toolspan
from tests.clocks import Clock
from tests.watched import Watched, watched
from toolspan import attributes as attr
from toolspan import faults
from toolspan.tools.writes import ABSENT, UNKNOWN, Committed


class Bank:
    """
    Keeps a charge under its key, and finds it again as long as it can be asked.
    """

    def __init__(self) -> None:
        self.charges: dict[str, int] = {}
        self.is_reachable = True

    def charge(self, key: str, amount: int) -> str:
        """
        One charge for one key.
        """
        self.charges[key] = amount
        return f"ch_{len(self.charges)}"

    def find(self, key: str) -> object:
        """
        What is known of the charge under *key*.
        """
        if not self.is_reachable:
            return UNKNOWN
        return Committed({"charged": self.charges[key]}, "ch_1") if key in self.charges else ABSENT


def payment_of(bank: Bank, clock: Clock, *, attempts: int = 1) -> Callable[..., dict[str, object]]:
    """
    A payment tool of *bank*.
    """

    @toolspan.tool(
        name="pay",
        write=toolspan.Write(read_back=bank.find),
        retry=toolspan.Retry(attempts=attempts, deadline=5.0),
        timing=clock.timing,
    )
    def pay(amount: int, idempotency_key: str = "") -> dict[str, int]:
        bank.charge(idempotency_key, amount)
        return {"charged": amount}

    return pay


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


@pytest.fixture(name="bank")
def _bank() -> Bank:
    return Bank()


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock()


class TestLostReply:
    """
    The payment timed out; it may have been made.
    """

    def test_a_payment_that_was_made_is_a_success(self, bank: Bank, clock: Clock, watch: Watched) -> None:
        """
        It is found by its key: the model sees the receipt, never the timeout.
        """
        with faults.inject([faults.timeout_after_commit()]) as injection:
            answer = payment_of(bank, clock, attempts=3)(amount=40)

        [key] = bank.charges
        receipt = {"operation_id": "ch_1", "idempotency_key": key, "attempts": 1}
        assert {"ok": True, "data": {"charged": 40}, "receipt": receipt} == answer
        assert 1 == injection.real_runs()
        assert attr.ERROR_TYPE not in (watch.spans[-1].attributes or {})

    def test_a_payment_that_was_not_made_may_be_tried_again(self, bank: Bank, clock: Clock) -> None:
        """
        It is not found: a transient failure, with the time to wait.
        """
        with faults.inject(faults.timeout()):
            error = error_of(payment_of(bank, clock)(amount=40))

        assert ("transient", True, {}) == (error["class"], error["retryable"], bank.charges)
        assert isinstance(error["retry_after_ms"], int)

    def test_a_payment_that_was_not_made_is_made_once_by_the_tool_itself(self, bank: Bank, clock: Clock) -> None:
        """
        Within its budget the tool goes on after the look-up, under the same key.
        """
        with faults.inject([faults.timeout(), faults.timeout_after_commit()]) as injection:
            answer = payment_of(bank, clock, attempts=3)(amount=40)

        assert (True, 1, 1) == (answer["ok"], len(bank.charges), injection.real_runs())

    def test_a_payment_of_which_nobody_knows_is_not_repeated(self, bank: Bank, clock: Clock) -> None:
        """
        The look-up cannot tell: no second attempt, no success, and nothing that invites a retry.
        """
        bank.is_reachable = False
        with faults.inject(faults.timeout_after_commit()) as injection:
            error = error_of(payment_of(bank, clock, attempts=3)(amount=40))

        assert ("fatal", "OUTCOME_UNKNOWN", False) == (error["class"], error["code"], error["retryable"])
        assert (1, 1) == (len(injection.attempts), len(bank.charges))

    def test_the_guard_keeps_the_agent_from_repeating_it(self, bank: Bank, clock: Clock) -> None:
        """
        The model may ask for the payment again; it is not made.
        """
        bank.is_reachable = False
        pay = payment_of(bank, clock)
        with toolspan.task("settle the invoice"), faults.inject([faults.timeout_after_commit()]):
            answers = [pay(amount=40), pay(amount=40), pay(amount=40)]

        assert [False, False, False] == [answer["ok"] for answer in answers]
        assert 1 == len(bank.charges)

    def test_the_agents_retry_is_the_same_payment(self, bank: Bank, clock: Clock) -> None:
        """
        A retry in the same task sends the same key, so that a first payment which comes late after all is no second.
        """
        keys: list[str] = []

        @toolspan.tool(name="pay", write=toolspan.Write(read_back=bank.find), timing=clock.timing)
        def pay(amount: int, idempotency_key: str = "") -> dict[str, int]:
            keys.append(idempotency_key)
            raise ConnectionRefusedError if len(keys) == 1 else ZeroDivisionError(amount)

        with toolspan.task("settle the invoice", clock=clock):
            clock.sleep(cast("int", error_of(pay(amount=40))["retry_after_ms"]) / 1000)
            error = error_of(pay(amount=40))

        assert "TOOL_BUG" == error["code"]
        assert keys[0] == keys[1]

    def test_two_payments_keep_their_keys(self, bank: Bank, clock: Clock) -> None:
        """
        Each retry sends the key of the payment that it repeats, not that of the one before it.
        """
        keys: list[tuple[int, str]] = []

        @toolspan.tool(name="pay", write=toolspan.Write(read_back=bank.find), timing=clock.timing)
        def pay(amount: int, idempotency_key: str = "") -> dict[str, int]:
            keys.append((amount, idempotency_key))
            raise ConnectionRefusedError

        with toolspan.task("settle two invoices", clock=clock):
            for _ in range(2):
                pay(amount=40)
                pay(amount=70)
                clock.sleep(60.0)

        assert keys[:2] == keys[2:]
        assert 2 == len(set(keys))
