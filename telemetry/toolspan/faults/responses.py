"""
What a fault of an HTTP transport is: an answer in place of the server's, or a connection that breaks.

The same faults work in the transport of httpx (`_httpx.py`) and in that of requests (`_requests.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Break(StrEnum):
    """
    How a connection breaks.
    """

    REFUSED = "refused"
    CONNECT_TIMEOUT = "connect timeout"
    READ_TIMEOUT = "read timeout"
    RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFault:
    """
    What becomes of one request.

    Args:
        name: what a report calls it.
        status: the status that is answered; None where the real server answers, or nobody.
        headers: of the answer.
        body: of the answer.
        breaks: how the connection breaks in place of an answer.
        commits: the request reaches the server first, and its answer is lost.
        delay_s: how long it takes before anything else.
    """

    name: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    breaks: Break | None = None
    commits: bool = False
    delay_s: float = 0.0

    @property
    def is_let_through(self) -> bool:
        """
        Whether the real server answers.
        """
        return self.status is None and self.breaks is None


def http_status(
    status: int,
    body: str | Mapping[str, object] = "",
    *,
    headers: Mapping[str, str] | None = None,
    retry_after: str | None = None,
) -> HttpFault:
    """
    The server answers *status*; *body* is a text, or an object that is sent as JSON.
    """
    sent = dict(headers or {})
    if not isinstance(body, str):
        body = json.dumps(body)
        sent.setdefault("content-type", "application/json")
    if retry_after is not None:
        sent["retry-after"] = retry_after
    return HttpFault(name=f"HTTP {status}", status=status, headers=sent, body=body.encode())


def http_refusal() -> HttpFault:
    """
    Nobody listens.
    """
    return HttpFault(name="connection refused", breaks=Break.REFUSED)


def http_timeout() -> HttpFault:
    """
    No connection comes about in time: nothing has happened.
    """
    return HttpFault(name="connect timeout", breaks=Break.CONNECT_TIMEOUT)


def http_timeout_after_commit() -> HttpFault:
    """
    The server has done its work; its answer does not come in time.
    """
    return HttpFault(name="read timeout after commit", breaks=Break.READ_TIMEOUT, commits=True)


def http_reset() -> HttpFault:
    """
    The connection is reset before an answer.
    """
    return HttpFault(name="connection reset", breaks=Break.RESET)


def http_garbage(body: bytes = b'{"ok": tru') -> HttpFault:
    """
    The server answers 200 with a body that is cut off.
    """
    return HttpFault(name="garbage", status=200, headers={"content-type": "application/json"}, body=body)


def http_slow(delay_s: float) -> HttpFault:
    """
    The real server answers, *delay_s* later.
    """
    return HttpFault(name=f"slow by {delay_s:g} s", delay_s=delay_s)
