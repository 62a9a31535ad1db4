"""
Writes whose reply was lost: looked up before anything is decided, and never done twice or taken for done.
"""

import asyncio
import inspect
import json
import re

import httpx
import pytest

import toolspan
from tests.toolbox import Bench, play, script
from toolspan import Retry, ToolError, Write
from toolspan.errors import ConfigError
from toolspan.tools.tool import SyncTool, tool
from toolspan.tools.writes import ABSENT, UNKNOWN, Committed

LOST = httpx.ReadTimeout("The read operation timed out")
THREE = Retry(attempts=3, deadline=2.0)
KEY = re.compile("[0-9a-f]{32}")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


class Bank:
    """
    An upstream: what it was asked to pay, by key, and what it is asked to look up.
    """

    def __init__(self, *endings: object) -> None:
        self.endings = script(*endings)
        self.paid: list[str] = []
        self.looked_up: list[str] = []
        self.found: object = ABSENT

    def pay(self, key: str) -> object:
        self.paid.append(key)
        return play(self.endings)

    def look_up(self, key: str) -> object:
        self.looked_up.append(key)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def paying(bank: Bank, bench: Bench, *, retry: Retry | None = None) -> SyncTool[...]:
    """
    A tool that pays at *bank*.
    """

    @tool(retry=retry, write=Write(read_back=bank.look_up), timing=bench.timing)
    def pay(amount: int, idempotency_key: str = "") -> object:
        assert amount
        return bank.pay(idempotency_key)

    return pay


class TestLostReplies:
    def test_what_was_done_is_a_success_with_its_receipt(self, bench: Bench) -> None:
        """Of one payment, not of two."""
        bank = Bank(LOST)
        bank.found = Committed({"status": "paid"}, operation_id="op-7")

        answer = paying(bank, bench, retry=THREE)(amount=5)
        [key] = bank.paid

        receipt = {"operation_id": "op-7", "idempotency_key": key, "attempts": 1}
        assert {"ok": True, "data": {"status": "paid"}, "receipt": receipt} == answer
        assert ([key], "ok", []) == (bank.looked_up, bench.tags["toolspan.call.outcome"], bench.slept)

    def test_what_was_not_done_is_transient(self, bench: Bench) -> None:
        """Without a budget the agent may repeat it."""
        bank = Bank(LOST)

        failed = paying(bank, bench).run(amount=5)

        assert isinstance(failed, toolspan.Failure)
        assert ("transient", 200) == (failed.error.error_class, failed.error.retry_after_ms)

    def test_what_was_not_done_is_tried_again_under_the_same_key(self, bench: Bench) -> None:
        """It may be on its way still; then the key makes it happen once."""
        bank = Bank(LOST, "paid")

        answer = paying(bank, bench, retry=THREE)(amount=5)

        assert True is answer["ok"]
        assert 2 == len(bank.paid)
        assert 1 == len({*bank.paid, *bank.looked_up})

    @pytest.mark.parametrize("found", [UNKNOWN, None, {"status": "paid"}, True, LOST, ZeroDivisionError()])
    def test_what_nobody_can_tell_is_never_repeated_and_never_a_success(self, bench: Bench, found: object) -> None:
        """A look-up that answers something else, or fails, says nothing."""
        bank = Bank(LOST)
        bank.found = found

        failed = paying(bank, bench, retry=THREE).run(amount=5)
        [key] = bank.paid

        assert isinstance(failed, toolspan.Failure)
        assert ("fatal", "OUTCOME_UNKNOWN", False) == (
            failed.error.error_class,
            failed.error.code,
            failed.error.retryable,
        )
        assert key in (failed.error.hint or "")

    def test_without_a_look_up_nobody_can_tell(self, bench: Bench) -> None:
        """A write that may have been done is not tried again, whatever the budget."""
        bank = Bank(LOST)

        @tool(retry=THREE, write=Write(), timing=bench.timing)
        def pay() -> object:
            return bank.pay("")

        failed = pay.run()

        assert isinstance(failed, toolspan.Failure)
        assert "OUTCOME_UNKNOWN" == failed.error.code

    def test_a_look_up_may_be_a_coroutine_function(self, bench: Bench) -> None:
        """Its author chooses."""
        bank = Bank(LOST)
        bank.found = Committed("paid")

        async def look_up(key: str) -> object:
            await asyncio.sleep(0)
            return bank.look_up(key)

        @tool(write=Write(read_back=look_up), timing=bench.timing)
        async def pay(idempotency_key: str = "") -> object:
            await asyncio.sleep(0)
            return bank.pay(idempotency_key)

        async def main() -> dict[str, object]:
            return await pay()

        assert "paid" == asyncio.run(main())["data"]


class TestCertainFailures:
    @pytest.mark.parametrize(
        "ending",
        [
            httpx.ConnectError("[Errno 111] Connection refused"),
            httpx.ConnectTimeout("timed out"),
            httpx.PoolTimeout("timed out"),
            ConnectionRefusedError("[Errno 111] Connection refused"),
            ValueError("429 Too Many Requests"),
            ToolError("business_rule", "INSUFFICIENT_FUNDS", hint="Only 3.20 are left."),
        ],
    )
    def test_are_not_looked_up(self, bench: Bench, ending: Exception) -> None:
        """Nothing was done: the service said so, or was never reached."""
        bank = Bank(ending)

        paying(bank, bench)(amount=5)

        assert [] == bank.looked_up

    def test_are_tried_again_where_they_are_transient(self, bench: Bench) -> None:
        """As any other tool's."""
        bank = Bank(ConnectionRefusedError("[Errno 111] Connection refused"), "paid")

        assert True is paying(bank, bench, retry=THREE)(amount=5)["ok"]
        assert ([], 1) == (bank.looked_up, len(set(bank.paid)))


class TestKeys:
    def test_are_the_tools_and_no_parameter(self, bench: Bench) -> None:
        """A model cannot choose one; each call has its own."""
        bank = Bank("paid", "paid")
        pay = paying(bank, bench)

        answers = [pay(amount=5), pay(amount=5)]

        assert "(amount: int) -> dict[str, object]" == str(inspect.signature(pay))
        assert 2 == len(set(bank.paid))
        assert all(KEY.fullmatch(key) for key in bank.paid)
        assert bank.paid == [answer["receipt"]["idempotency_key"] for answer in answers]  # type: ignore[index]  # receipts
        assert 1 == len({str((span.attributes or {})["toolspan.call.args_hash"]) for span in bench.spans})

    def test_are_the_callers_where_it_has_one(self, bench: Bench) -> None:
        """A program's, say, that goes on after a crash."""
        bank = Bank("paid")

        paying(bank, bench)(amount=5, idempotency_key="order-7")

        assert ["order-7"] == bank.paid

    def test_a_retry_of_the_agent_takes_up_that_of_the_failure(self, bench: Bench) -> None:
        """So that a write which arrived late after all happens once; a fresh call has another."""
        bank = Bank(LOST, "paid", "paid")
        pay = paying(bank, bench)

        with toolspan.task("pay", clock=bench.clock):
            pay(amount=5)
            bench.sleep(1)
            pay(amount=5)
            pay(amount=5)
        first, again, another = bank.paid

        assert first == again
        assert another != first


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"read_back": "payments"}, "read_back is no function"),
        ({"idempotency_key": "no name"}, "idempotency_key is 'no name'; give the name of a parameter"),
    ],
)
def test_what_is_declared_wrongly_is_refused(options: dict[str, object], line: str) -> None:
    """When it is declared."""
    with pytest.raises(ConfigError, match=line):
        Write(**options)  # type: ignore[arg-type]  # as somebody without a type checker writes it


def test_a_write_is_made_once_whatever_step_it_is_repeated_in(bench: Bench) -> None:
    """The first may be done after all; with other arguments it is another write."""
    bank = Bank(LOST, "paid", LOST, "paid")
    pay = paying(bank, bench)

    with toolspan.task("pay", clock=bench.clock) as task:
        for amount in (5, 5, 6, 7):
            with task.step(f"pay {len(bank.paid)}"):
                pay(amount=amount)
    first, again, other, another = bank.paid

    assert first == again
    assert 3 == len({first, other, another})


def test_a_write_of_which_nobody_can_tell_closes_no_other(bench: Bench) -> None:
    """The tool is not broken; that very call is not made again."""
    bank = Bank(LOST, "paid")
    bank.found = UNKNOWN
    pay = paying(bank, bench)

    with toolspan.task("pay", clock=bench.clock):
        answers = [pay(amount=amount)["ok"] for amount in (5, 5, 6)]

    assert ([False, False, True], 2) == (answers, len(bank.paid))


@pytest.mark.parametrize(
    "ending", [json.JSONDecodeError("Expecting value", "<html>", 0), KeyError("id"), ValueError("?")]
)
def test_a_reply_that_cannot_be_read_is_looked_up(bench: Bench, ending: Exception) -> None:
    """The write was done before it came."""
    bank = Bank(ending)
    bank.found = Committed("paid")

    assert "paid" == paying(bank, bench)(amount=5)["data"]


def test_a_cancelled_write_is_made_once(bench: Bench) -> None:
    """It may be done, and is repeated under its key."""
    bank = Bank(KeyboardInterrupt(), "paid")
    pay = paying(bank, bench)

    with toolspan.task("pay", clock=bench.clock):
        with pytest.raises(KeyboardInterrupt):
            pay(amount=5)
        pay(amount=5)

    assert 1 == len(set(bank.paid))
