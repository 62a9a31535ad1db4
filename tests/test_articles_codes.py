"""
Ten codes of one integration, each simulated: attempts, final state, what the customer is told, how often money moved.

The integration is a payment service behind httpx; the faults are its answers. The agent is a script that does for each
class what the class asks for.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, cast

import httpx
import pytest

import toolspan
from tests.clocks import Clock
from tests.watched import Numbers, watched
from toolspan import faults
from toolspan.agents.agent import AgentTask
from toolspan.tools.writes import ABSENT, UNKNOWN, Committed

URL: Final = "https://bank.test/charges"
_MS: Final = 1000


class Case(NamedTuple):
    """
    What the service does, and what must come of it.

    *requests* are the charges that the tool asked for, *calls* those of the agent that ran; *charges* moved money.
    """

    code: str
    answers: Iterable[faults.HttpFault | None]
    requests: int
    calls: int
    state: str
    told: str
    charges: int
    is_findable: bool = True


#: What the service answers where money moved and the answer was lost, and then whenever it is asked again.
LOST: Final = faults.http_timeout_after_commit()
#: A charge that the service takes.
TAKEN: Final = None

CASES: Final = (
    Case(
        "RATE_LIMITED",
        faults.always(faults.http_status(429, retry_after="30")),
        requests=2,
        calls=2,
        state="unresolved",
        told="The bank is slow; please try again in 30 s.",
        charges=0,
    ),
    Case(
        "UNAVAILABLE",
        faults.times(3, faults.http_status(503)),
        requests=4,
        calls=2,
        state="resolved",
        told="Paid.",
        charges=1,
    ),
    Case(
        "TIMEOUT",
        faults.always(faults.http_timeout()),
        requests=6,
        calls=2,
        state="unresolved",
        told="The bank is slow; please try again in 1 s.",
        charges=0,
    ),
    Case(
        "CONNECTION_FAILED",
        [faults.http_refusal(), faults.http_refusal(), TAKEN],
        requests=3,
        calls=1,
        state="resolved",
        told="Paid.",
        charges=1,
    ),
    Case(
        "OUTCOME_UNKNOWN",
        [LOST],
        requests=1,
        calls=1,
        state="unresolved",
        told="I have to stop here: a person must look at this.",
        charges=1,
        is_findable=False,
    ),
    Case(
        "INVALID_ARGUMENT",
        [faults.http_status(422), TAKEN],
        requests=2,
        calls=2,
        state="resolved",
        told="Paid.",
        charges=1,
    ),
    Case(
        "PERMISSION_DENIED",
        faults.always(faults.http_status(403)),
        requests=1,
        calls=1,
        state="escalated",
        told="I have asked a colleague for the approval.",
        charges=0,
    ),
    Case(
        "REAUTHORIZATION_REQUIRED",
        faults.always(faults.http_status(400, {"error": "invalid_grant"})),
        requests=1,
        calls=1,
        state="escalated",
        told="I have asked a colleague for the approval.",
        charges=0,
    ),
    Case(
        "CONFLICT",
        faults.always(faults.http_status(409)),
        requests=1,
        calls=1,
        state="resolved",
        told="That is not possible: ",
        charges=0,
    ),
    Case(
        "UNIMPLEMENTED",
        faults.always(faults.http_status(501)),
        requests=1,
        calls=1,
        state="unresolved",
        told="I have to stop here: a person must look at this.",
        charges=0,
    ),
)


class Bank:
    """
    The service: keeps the charges that reach it, one for each key.
    """

    def __init__(self, case: Case) -> None:
        self.charges: dict[str, str] = {}
        self.asked = 0
        self._case = case
        self._transport = faults.httpx_transport(case.answers, inner=httpx.MockTransport(self._charge))
        self._client = httpx.Client(transport=self._transport)

    @property
    def requests(self) -> int:
        """
        How often the tool asked for a charge.
        """
        return len(self._transport.met)

    def send(self, amount: str, key: str) -> dict[str, str]:
        """
        Asks for a charge.
        """
        answer = self._client.post(URL, json={"amount": amount}, headers={"idempotency-key": key})
        answer.raise_for_status()
        return {"amount": amount}

    def find(self, key: str) -> object:
        """
        What the service says of the charge under *key*.
        """
        if not self._case.is_findable:
            return UNKNOWN
        return Committed({"amount": self.charges[key]}) if key in self.charges else ABSENT

    def _charge(self, request: httpx.Request) -> httpx.Response:
        self.charges[request.headers["idempotency-key"]] = "charged"
        return httpx.Response(201, request=request)


def pay_of(bank: Bank, clock: Clock) -> Callable[..., dict[str, object]]:
    """
    The tool.
    """

    @toolspan.tool(
        write=toolspan.Write(read_back=bank.find),
        retry=toolspan.Retry(attempts=3, deadline=5.0, base=0.1),
        timing=clock.timing,
    )
    def pay(amount: str, idempotency_key: str = "") -> dict[str, str]:
        return bank.send(amount, idempotency_key)

    return pay


def act(pay: Callable[..., dict[str, object]], task: AgentTask, clock: Clock) -> str:
    """
    The agent: one action for each class, and what it tells the customer.
    """
    answer = pay(amount="40,00")
    error = cast("dict[str, object]", answer.get("error") or {})
    if error.get("class") == "transient":
        clock.sleep(cast("int", error["retry_after_ms"]) / _MS)
        answer = pay(amount="40,00")
    elif error.get("class") == "validation":
        answer = pay(amount="40.00")
    error = cast("dict[str, object]", answer.get("error") or {})
    match error.get("class"):
        case None:
            task.resolve()
            return "Paid."
        case "transient":
            task.fail()
            return f"The bank is slow; please try again in {round(cast('int', error['retry_after_ms']) / _MS)} s."
        case "permission":
            task.escalate("pay", "needs approval")
            return "I have asked a colleague for the approval."
        case "business_rule":
            task.resolve()
            return f"That is not possible: {error['hint']}"
        case _:
            task.fail()
            return "I have to stop here: a person must look at this."


class Ended(NamedTuple):
    """
    What came of a case.
    """

    told: str
    bank: Bank
    numbers: Numbers


def simulate(case: Case) -> Ended:
    """
    The agent meets the service.
    """
    bank, clock = Bank(case), Clock()
    with watched() as watch, toolspan.task("pay the invoice", clock=clock) as task:
        told = act(pay_of(bank, clock), task, clock)
    return Ended(told, bank, watch.numbers)


def test_there_are_ten_codes_of_every_class() -> None:
    """
    The exercise asks for ten of one integration.
    """
    assert 10 == len({case.code for case in CASES})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_attempts_state_message_and_side_effects(case: Case) -> None:
    """
    How often the service was asked, how the task ended, what the customer heard, how often money moved.
    """
    ended = simulate(case)

    [task] = ended.numbers.rows.tasks
    ran = [call for call in ended.numbers.rows.calls if call.outcome != "cancelled"]
    assert (case.requests, case.calls) == (ended.bank.requests, len(ran))
    assert case.state == task.outcome
    assert ended.told.startswith(case.told)
    assert case.charges == len(ended.bank.charges)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_the_report_names_the_code(case: Case) -> None:
    """
    Each failure that the model saw is counted by its code, and what the tool dealt with itself is not.
    """
    report = simulate(case).numbers.report["tools"]["pay"]

    seen = [] if case.code == "CONNECTION_FAILED" else [case.code]
    assert seen == list(report["codes"])
    assert case.requests == report["attempts"]["total"]
