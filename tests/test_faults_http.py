"""
Faults below a tool's HTTP client: what httpx and requests make of them, and which requests reach the server.
"""

import asyncio
from collections.abc import Callable, Iterable
from io import BytesIO

import httpx
import httpx2
import pytest
import requests
from requests.adapters import BaseAdapter

from toolspan import faults
from toolspan.errors import InputError

URL = "http://tool.test/search"

Plan = Iterable[faults.HttpFault | None] | faults.HttpFault


class Server:
    """
    What stands behind the transport: answers 200, counts, and notes how long its clients would have waited.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.waits: list[float] = []

    async def wait(self, delay_s: float) -> None:
        """
        What an async client waits with.
        """
        self.waits.append(delay_s)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        return httpx.Response(200, text="real", request=request)


class ServerAdapter(BaseAdapter):
    """
    The same server for requests.
    """

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        """
        A real answer.
        """
        self._server.requests += 1
        response = requests.Response()
        response.status_code = 200
        response.raw = BytesIO(b"real")
        response.request = request
        return response

    def close(self) -> None:
        """
        Nothing is open.
        """


def httpx_get(plan: Plan, server: Server, times: int = 1) -> list[str]:
    """
    What a plain client gets.
    """
    transport = faults.httpx_transport(plan, inner=httpx.MockTransport(server), sleep=server.waits.append)
    with httpx.Client(transport=transport) as client:
        return [told(lambda: client.get(URL).text, httpx.HTTPError) for _ in range(times)]


def httpx_get_async(plan: Plan, server: Server, times: int = 1) -> list[str]:
    """
    What an async client gets.
    """

    async def ask() -> list[str]:
        transport = faults.httpx_transport(plan, inner=httpx.MockTransport(server), sleep_async=server.wait)
        async with httpx.AsyncClient(transport=transport) as client:
            return [await told_async(client) for _ in range(times)]

    async def told_async(client: httpx.AsyncClient) -> str:
        try:
            return (await client.get(URL)).text
        except httpx.HTTPError as error:
            return type(error).__name__

    return asyncio.run(ask())


def requests_get(plan: Plan, server: Server, times: int = 1) -> list[str]:
    """
    What a session of requests gets.
    """
    with requests.Session() as session:
        adapter = faults.requests_adapter(plan, inner=ServerAdapter(server), sleep=server.waits.append)
        session.mount("http://", adapter)
        return [told(lambda: session.get(URL, timeout=1).text, requests.RequestException) for _ in range(times)]


def told(get: Callable[[], str], errors: type[Exception]) -> str:
    """
    The text of an answer, or the name of the exception.
    """
    try:
        return get()
    except errors as error:
        return type(error).__name__


CLIENTS = pytest.mark.parametrize("get", [httpx_get, httpx_get_async, requests_get])
Get = Callable[..., list[str]]


@CLIENTS
def test_a_status_is_answered_in_place_of_the_server(get: Get) -> None:
    """
    The server never hears of a request that a fault meets.
    """
    server = Server()

    assert ["busy"] == get(faults.http_status(503, "busy"), server)
    assert 0 == server.requests


@CLIENTS
def test_requests_meet_the_faults_of_a_plan_in_turn(get: Get) -> None:
    """
    None lets a request through, and so does the end of the plan.
    """
    server = Server()
    plan = [faults.http_status(500, "broken"), None, faults.http_garbage(b"{")]

    assert ["broken", "real", "{", "real"] == get(plan, server, 4)
    assert 2 == server.requests


@CLIENTS
def test_a_timeout_before_commit_reaches_nobody(get: Get) -> None:
    """
    No connection came about.
    """
    server = Server()

    assert ["ConnectTimeout"] == get(faults.http_timeout(), server)
    assert 0 == server.requests


@CLIENTS
def test_a_timeout_after_commit_reaches_the_server(get: Get) -> None:
    """
    The work is done although the client hears nothing of it.
    """
    server = Server()

    assert ["ReadTimeout"] == get(faults.http_timeout_after_commit(), server)
    assert 1 == server.requests


@pytest.mark.parametrize(
    ("fault", "in_httpx", "in_requests"),
    [
        (faults.http_refusal(), "ConnectError", "ConnectionError"),
        (faults.http_reset(), "ReadError", "ConnectionError"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_connection_breaks_as_each_library_says_it(fault: faults.HttpFault, in_httpx: str, in_requests: str) -> None:
    """
    The exceptions are the library's own, so that a tool's `except` clauses are put to the test.
    """
    assert [in_httpx] == httpx_get(fault, Server())
    assert [in_httpx] == httpx_get_async(fault, Server())
    assert [in_requests] == requests_get(fault, Server())


def test_an_answer_is_one_of_the_library_that_asked() -> None:
    """
    httpx2 has httpx's interface and exceptions of its own.
    """
    transport = faults.httpx_transport(
        [faults.http_status(429, {"error": "slow down"}, retry_after="3"), faults.http_timeout()]
    )
    with httpx2.Client(transport=transport) as client:  # type: ignore[arg-type]  # a transport by what it does
        answer = client.get(URL)
        with pytest.raises(httpx2.ConnectTimeout):
            client.get(URL)

    assert (429, "3", {"error": "slow down"}) == (answer.status_code, answer.headers["retry-after"], answer.json())
    assert ["HTTP 429", "connect timeout"] == transport.met


def test_an_error_status_raises_as_a_real_one_does() -> None:
    """
    `raise_for_status()` of both libraries finds what it reads: status, reason and URL.
    """
    server = Server()
    with httpx.Client(transport=faults.httpx_transport(faults.http_status(409))) as client:
        answer = client.get(URL)
        with pytest.raises(httpx.HTTPStatusError, match=f"Client error '409 Conflict' for url '{URL}'"):
            answer.raise_for_status()
    with requests.Session() as session:
        session.mount("http://", faults.requests_adapter(faults.http_status(409), inner=ServerAdapter(server)))
        response = session.get(URL, timeout=1)
        with pytest.raises(requests.HTTPError, match=f"409 Client Error: Conflict for url: {URL}"):
            response.raise_for_status()


@CLIENTS
def test_a_slow_answer_waits_and_is_the_real_one(get: Get) -> None:
    """
    The wait is the fault's, the answer the server's.
    """
    server = Server()

    assert ["real"] == get(faults.http_slow(0.4), server)
    assert [0.4] == server.waits


def test_a_request_that_nobody_can_take_says_so() -> None:
    """
    A transport without an inner one has no server behind it.
    """
    with httpx.Client(transport=faults.httpx_transport([])) as client, pytest.raises(InputError, match="give inner="):
        client.get(URL)
