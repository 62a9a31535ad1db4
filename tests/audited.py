"""
Tools to be audited: one that passes every point, and for each point one that fails it.
"""

import ssl
import time
from collections.abc import Callable
from itertools import count
from typing import Annotated, Final, NamedTuple, cast

import httpx
import requests
from pydantic import Field

import toolspan
from toolspan.tools.writes import ABSENT, Committed

URL: Final = "https://flights.test/search"
RETRY: Final = toolspan.Retry(attempts=3, deadline=2.0)
#: To make one takes 20 ms, most of an audit.
CLIENT: Final = httpx.Client()
CERTIFICATES: Final = ssl.create_default_context()
#: Names of the functions that ran.
RAN: Final[list[str]] = []
NUMBERS: Final = count()
#: What the writes of this module have written.
WRITTEN: Final[dict[str, int]] = {}


@toolspan.tool(retry=RETRY)
def search_flights(date: str) -> dict[str, str]:
    """
    Reads, and lets its client's exceptions leave it.
    """
    RAN.append("search_flights")
    answer = CLIENT.get(URL, params={"date": date})
    answer.raise_for_status()
    return cast("dict[str, str]", answer.json())


@toolspan.tool(retry=RETRY)
async def fetch_flights(date: str) -> dict[str, str]:
    """
    The same in a coroutine.
    """
    async with httpx.AsyncClient(verify=CERTIFICATES) as client:
        answer = await client.get(URL, params={"date": date})
    answer.raise_for_status()
    return cast("dict[str, str]", answer.json())


#: By another name it is the same tool.
find_flights = search_flights


class Desk:
    """
    An object with a tool.
    """

    @toolspan.tool(retry=RETRY)
    def look_up(self, date: str) -> dict[str, str]:
        """
        A method that reads.
        """
        answer = requests.get(URL, params={"date": date}, timeout=1)
        answer.raise_for_status()
        return cast("dict[str, str]", answer.json())


def find_write(key: str) -> object:
    """
    What was written under *key*.
    """
    return Committed(WRITTEN[key]) if key in WRITTEN else ABSENT


@toolspan.tool(retry=RETRY, write=toolspan.Write(read_back=find_write))
def pay(amount: Annotated[int, Field(ge=1)], idempotency_key: str = "") -> int:
    """
    Writes, and can tell what it wrote.
    """
    RAN.append("pay")
    WRITTEN[idempotency_key] = amount
    return amount


@toolspan.tool(retry=RETRY)
def process_order(order_id: str) -> str:
    """
    Nobody says whether it writes.
    """
    RAN.append("process_order")
    return order_id


# what fails


def send_mail(to: str) -> str:
    """
    No tool, and by its name a write.
    """
    RAN.append("send_mail")
    return to


@toolspan.tool(retry=RETRY)
def search_wordless(date: str) -> str:
    """
    Point 2: says of every failure only that it failed.
    """
    try:
        return get(date).text
    except httpx.HTTPStatusError:
        raise RuntimeError("failed") from None


@toolspan.tool(retry=RETRY)
def search_hopeful(date: str) -> str:
    """
    Point 3: takes every failure for transient.
    """
    try:
        return get(date).text
    except httpx.HTTPError:
        raise toolspan.ToolError("transient", "FAILED") from None


@toolspan.tool(retry=RETRY)
def search_hasty(date: str) -> str:
    """
    Point 4: knows better than its service how long to wait.
    """
    try:
        return get(date).text
    except httpx.HTTPStatusError as error:
        if error.response.status_code == 429:
            raise toolspan.ToolError("transient", "RATE_LIMITED", retry_after_ms=500) from None
        raise


@toolspan.tool(retry=RETRY)
def search_vague(date: str) -> str:
    """
    Point 5: names an argument that it has not.
    """
    if not date.startswith("2026-"):
        raise toolspan.ToolError("validation", "BAD_DATE", field="day", hint="ISO 8601")
    return get(date).text


def search_silent(date: str) -> dict[str, object]:
    """
    Point 6: an envelope without a hint.
    """
    try:
        return {"ok": True, "data": get(date).text}
    except httpx.HTTPStatusError as error:
        is_refusal = error.response.status_code == 403
        error_class = "permission" if is_refusal else "fatal"
        return {"ok": False, "error": {"code": "FAILED", "class": error_class, "hint": None if is_refusal else "Stop."}}


@toolspan.tool(retry=RETRY)
def search_chatty(date: str) -> dict[str, str]:
    """
    Point 7: answers with whatever its service wrote.
    """
    answer = CLIENT.get(URL, params={"date": date})
    return {"status": str(answer.status_code), "body": answer.text}


@toolspan.tool
def search_once(date: str) -> str:
    """
    Point 8: leaves every lost packet to the model.
    """
    return get(date).text


@toolspan.tool(retry=toolspan.Retry(attempts=3, deadline=None))
def search_forever(date: str) -> str:
    """
    Point 8: a budget without an end.
    """
    return get(date).text


@toolspan.tool(retry=RETRY)
def search_twice(date: str) -> str:
    """
    Point 8: a loop of its own beneath its budget, which repeats what is final.
    """
    for pause_s in (600.0, 600.0):
        try:
            return get(date).text
        except httpx.HTTPStatusError:
            time.sleep(pause_s)
    return get(date).text


@toolspan.tool(retry=RETRY, write=toolspan.Write())
def pay_blindly(amount: int, idempotency_key: str = "") -> int:
    """
    Point 9: nobody can look it up.
    """
    return len(idempotency_key) + amount


@toolspan.tool(retry=RETRY, write=toolspan.Write(read_back=find_write))
def pay_keyless(amount: int) -> int:
    """
    Point 9: its service never gets the key.
    """
    return amount


@toolspan.tool(retry=RETRY, write=toolspan.Write(read_back=Committed))
def pay_sanguinely(amount: int, idempotency_key: str = "") -> int:
    """
    Point 9: finds whatever it is asked for.
    """
    return len(idempotency_key) + amount


@toolspan.tool(retry=RETRY)
def search_cheerful(date: str) -> list[str]:
    """
    Point 10: finds nothing where it could not look.
    """
    try:
        return [get(date).text]
    except httpx.TransportError:
        return []


def search_raw(date: str) -> str:
    """
    Point 1: no tool, and whatever happens leaves it.
    """
    return get(date).text


async def fetch_text(date: str) -> str:
    """
    Point 1: answers with a text, also where it failed.
    """
    try:
        return get(date).text
    except httpx.HTTPError as error:
        return f"Error: {error}"


@toolspan.tool(retry=RETRY)
def search_moody(date: str) -> str:
    """
    Point 2: another code every time.
    """
    try:
        return get(date).text
    except httpx.HTTPStatusError:
        raise toolspan.ToolError("fatal", f"FAILED_{next(NUMBERS)}", hint="Stop.") from None


def search_timeless(date: str) -> dict[str, object]:
    """
    Point 4: a transient failure, and no word of when to come again.
    """
    try:
        return {"ok": True, "data": get(date).text}
    except httpx.HTTPError:
        return {"ok": False, "error": {"code": "UNAVAILABLE", "class": "transient"}}


def search_terse(date: str) -> dict[str, object]:
    """
    Point 5: names the argument, and not what is wrong with it.
    """
    if not date.startswith("2026-"):
        return {"ok": False, "error": {"code": "BAD_DATE", "class": "validation", "field": "date"}}
    return {"ok": True, "data": get(date).text}


@toolspan.tool(retry=toolspan.Retry(attempts=1))
def search_single(date: str) -> str:
    """
    Point 8: a budget that is none.
    """
    return get(date).text


@toolspan.tool(retry=RETRY)
def search_stubborn(date: str) -> str:
    """
    Point 8: its client has a budget of its own, and the two multiply.
    """
    for _ in range(2):
        try:
            return get(date).text
        except httpx.TransportError:
            time.sleep(600.0)
    return get(date).text


@toolspan.tool(retry=RETRY, write=toolspan.Write(read_back=lambda _: ABSENT))
def pay_forgetfully(amount: int, idempotency_key: str = "") -> int:
    """
    Point 9, once it is run: does not find what it wrote, and writes it again.
    """
    return len(idempotency_key) + amount


@toolspan.tool
def get_version() -> str:
    """
    Takes nothing, asks nobody.
    """
    return "1.0"


def get(date: str) -> httpx.Response:
    """
    The answer of the service.
    """
    answer = CLIENT.get(URL, params={"date": date})
    answer.raise_for_status()
    return answer


class Failing(NamedTuple):
    """
    A tool that fails a *point*, and what is *said* of it.
    """

    found: Callable[..., object]
    point: int
    said: str


FAILING: Final = {
    "no tool": Failing(send_mail, 1, "it is no @toolspan.tool, so what it raises reaches the agent"),
    "exception": Failing(search_raw, 1, "ConnectError leaves the tool"),
    "text": Failing(fetch_text, 1, "the answer is no envelope"),
    "no class": Failing(search_wordless, 2, "it answers fatal UNCLASSIFIED"),
    "other codes": Failing(search_moody, 2, "and the next time it answers fatal FAILED_"),
    "all transient": Failing(search_hopeful, 3, "its answer invites a retry"),
    "own wait": Failing(search_hasty, 4, "of Retry-After: 3600 it makes retry_after_ms 500"),
    "no wait": Failing(search_timeless, 4, "it answers without retry_after_ms"),
    "wrong field": Failing(search_vague, 5, "it answers BAD_DATE with field 'day': there is no argument 'day'"),
    "terse": Failing(search_terse, 5, "it answers BAD_DATE without a hint"),
    "no hint": Failing(search_silent, 6, "the answer is no envelope"),
    "upstream text": Failing(search_chatty, 7, "its answer shows a password, a token, a host name, a stack trace"),
    "no budget": Failing(search_once, 8, "it declares no budget"),
    "single attempt": Failing(search_single, 8, "its budget is a single attempt"),
    "no deadline": Failing(search_forever, 8, "its budget has no deadline"),
    "loop over all": Failing(search_twice, 8, "it tries 3 times"),
    "loop beneath": Failing(search_stubborn, 8, "it tries 9 times, and declares 3"),
    "undeclared write": Failing(send_mail, 9, "by its name it writes"),
    "no read-back": Failing(pay_blindly, 9, "it declares no read-back"),
    "no key": Failing(pay_keyless, 9, "its function has no parameter 'idempotency_key'"),
    "lying read-back": Failing(pay_sanguinely, 9, "when nothing was written its read-back finds a write"),
    "swallowed": Failing(search_cheerful, 10, "it answers ok: true"),
}
