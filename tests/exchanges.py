"""
One request to an application, without a socket: its chunks come one by one, and its sender may go away.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import NamedTuple

from google.rpc.status_pb2 import Status
from starlette.types import ASGIApp, Message

from tests import otlp_builder as build
from toolspan.collector.answers import JSON

BODY = build.json_line([build.run_span(1), build.tool_span(2, parent=1)])


class Answered(NamedTuple):
    """
    What came back.
    """

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> str:
        """
        Of the Status in it.
        """
        if self.headers["content-type"] == JSON:
            return str(json.loads(self.body)["message"])
        return str(Status.FromString(self.body).message)


class Exchange:
    """
    One request to *app*, of which the chunks of *body* come one by one; *then* comes a disconnection, or nothing.
    """

    def __init__(self, body: Sequence[bytes] = (BODY,), *, ends: bool = True, disconnects: bool = False) -> None:
        self._messages: list[Message] = [{"type": "http.request", "body": each, "more_body": True} for each in body]
        if ends:
            self._messages.append({"type": "http.request", "body": b"", "more_body": False})
        if disconnects:
            self._messages.append({"type": "http.disconnect"})
        self.sent: list[Message] = []

    @property
    def left(self) -> int:
        """
        How many chunks nobody asked for.
        """
        return len(self._messages)

    async def _receive(self) -> Message:
        if not self._messages:
            await asyncio.Event().wait()
        return self._messages.pop(0)

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    async def run(
        self, app: ASGIApp, kind: str = JSON, *, path: str = "/v1/traces", method: str = "POST", **headers: str
    ) -> Answered:
        """
        The answer of *app*.
        """
        named = {"content-type": kind, **{name.replace("_", "-").lower(): value for name, value in headers.items()}}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": raw}
        await app(scope, self._receive, self._send)
        start, *bodies = self.sent
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answered(start["status"], found, b"".join(each["body"] for each in bodies))


def ask(app: ASGIApp, kind: str = JSON, *, body: bytes = BODY, path: str = "/v1/traces", **headers: str) -> Answered:
    """
    The answer of *app* to one whole request.
    """
    return asyncio.run(Exchange([body]).run(app, kind, path=path, **headers))
