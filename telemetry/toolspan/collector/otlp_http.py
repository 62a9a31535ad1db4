"""
OTLP over HTTP: `POST /v1/traces` in protobuf or JSON, compressed or not.

The statuses are those of https://opentelemetry.io/docs/specs/otlp/#otlphttp-response: 400 for what no repetition
mends, 429 and 503 with Retry-After for what is to be sent again, 200 once it is durable. A refusal may come before the
body has: what is left of it is skipped then, so that who sends it reads the answer.
"""

import asyncio
import logging
import math
from collections.abc import Mapping
from typing import Final

from google.rpc.code_pb2 import (
    DEADLINE_EXCEEDED,
    INTERNAL,
    INVALID_ARGUMENT,
    NOT_FOUND,
    OUT_OF_RANGE,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
)
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolspan.collector.access import is_known
from toolspan.collector.answers import JSON, PROTOBUF, encode, one_line, response_of, status_of
from toolspan.collector.bodies import Coding, Room, TooLargeError, decompress, let_go, read_body
from toolspan.collector.inlet import Inlet, Receipt
from toolspan.errors import InputError, OverloadedError, UnavailableError

_LOG: Final = logging.getLogger(__name__)
PATH: Final = "/v1/traces"
#: A sender that takes longer for its body holds memory for nothing: 64 MiB at 9 Mbit/s.
_BODY_S: Final = 60.0
#: What is made at once: it takes 3 ms. More is made in a thread: 64 MiB take a tenth of a second, in which nobody
#: else would be heard.
_SMALL_BYTES: Final = 2**20
#: In threads at the same time: each takes a core, and up to a request's bound of memory.
_LARGE_AT_ONCE: Final = 2
_CODINGS: Final = {"gzip": Coding.GZIP, "x-gzip": Coding.GZIP, "deflate": Coding.DEFLATE}
_GONE: Final = 499
_OTHER_SIGNALS: Final = ("metrics", "logs", "profiles")


class _RefusalError(Exception):
    """
    An answer other than success: its HTTP *status*, and the code and text of the Status in it.
    """

    def __init__(
        self, status: int, code: int, text: str, *, retry_after_s: float | None = None, **headers: str
    ) -> None:
        super().__init__(text)
        self.status, self.code, self.text = status, code, text
        self.retry_after_s = retry_after_s
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if retry_after_s is not None:
            self.headers["Retry-After"] = str(max(math.ceil(retry_after_s), 1))


def otlp_app(inlet: Inlet, *, token: str | None = None, room: Room | None = None) -> ASGIApp:
    """
    The receiver, which hands requests to *inlet*; with a *token* for those who know it. Bodies arrive in *room*.
    """
    return _Receiver(inlet, token=token, room=room or Room())


class _Receiver:
    """
    Answers one request after the other, many at once.
    """

    def __init__(self, inlet: Inlet, *, token: str | None, room: Room) -> None:
        self._inlet = inlet
        self._token = token
        self._room = room
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        As ASGI says, for HTTP alone.
        """
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = kind != PROTOBUF  # who sends neither is no exporter, and rather reads JSON
        try:
            self._check(request, kind)
            receipt = await self._receive(request, is_json=is_json)
        except ClientDisconnect:
            return Response(status_code=_GONE)  # nobody reads it
        except Exception as error:  # noqa: BLE001 - the loop of requests: one must not end the others
            let_go(error)
            refusal = _refusal_of(error)
            status = status_of(refusal.code, refusal.text, retry_after_s=refusal.retry_after_s)
            return _response(
                encode(status, is_json=is_json), is_json=is_json, status=refusal.status, headers=refusal.headers
            )
        return _response(encode(response_of(receipt), is_json=is_json), is_json=is_json)

    def _check(self, request: Request, kind: str) -> None:
        """
        Refuses what cannot be a request, before its body is read.
        """
        if self._token is not None and not is_known(request.headers.get("authorization"), self._token):
            text = "Send the header Authorization: Bearer with the collector's token."
            raise _RefusalError(401, UNAUTHENTICATED, text, WWW_Authenticate="Bearer")
        path = request.scope["path"]
        if path != PATH:
            signal = next((name for name in _OTHER_SIGNALS if f"/{name}" in path), None)
            what = f"toolspan takes traces alone, no {signal}" if signal else f"there is no {path}"
            raise _RefusalError(404, NOT_FOUND, f"{what}; send spans to {PATH}.")
        if request.method != "POST":
            raise _RefusalError(405, UNIMPLEMENTED, f"Use POST for {PATH}.", Allow="POST")
        if kind not in (PROTOBUF, JSON):
            text = f"Cannot read the Content-Type {kind!r}; send {PROTOBUF} or {JSON}."
            raise _RefusalError(415, INVALID_ARGUMENT, text, Accept=f"{PROTOBUF}, {JSON}")

    async def _receive(self, request: Request, *, is_json: bool) -> Receipt:
        coding = _coding_of(request)
        with self._room.share() as share:
            declared = request.headers.get("content-length", "")
            declared_bytes = int(declared) if declared.isdecimal() else 0
            try:
                async with asyncio.timeout(_BODY_S):
                    data = await read_body(request.stream(), declared_bytes=declared_bytes, share=share)
            except TimeoutError as error:
                text = f"The body took more than {_BODY_S:g} s; send smaller batches, or over a faster connection."
                raise _RefusalError(408, DEADLINE_EXCEEDED, text, Connection="close") from error
            if coding is not None:
                data = await self._decompressed(data, coding)
            done = self._inlet.submit(data, is_json=is_json)
        del data  # from here on it is the inlet's
        # whoever waits may be cancelled, what was handed over is not
        return await asyncio.shield(asyncio.wrap_future(done))

    async def _decompressed(self, data: bytes, coding: Coding) -> bytes:
        if len(data) <= _SMALL_BYTES:
            try:
                return decompress(data, coding=coding, most_bytes=_SMALL_BYTES)
            except TooLargeError:
                pass  # for here
        async with self._large:
            return await asyncio.to_thread(decompress, data, coding=coding)


def _coding_of(request: Request) -> Coding | None:
    name = request.headers.get("content-encoding", "").strip().lower()
    if name in ("", "identity"):
        return None
    if name not in _CODINGS:
        text = f"Cannot read the Content-Encoding {name!r}; send gzip, deflate or none."
        raise _RefusalError(415, INVALID_ARGUMENT, text, Accept_Encoding="gzip, deflate")
    return _CODINGS[name]


def _refusal_of(error: Exception) -> _RefusalError:
    match error:
        case _RefusalError():
            return error
        case TooLargeError():
            return _RefusalError(413, OUT_OF_RANGE, str(error))
        case InputError():
            return _RefusalError(400, INVALID_ARGUMENT, str(error))
        case OverloadedError():
            return _RefusalError(429, RESOURCE_EXHAUSTED, str(error), retry_after_s=error.retry_after_s)
        case UnavailableError():
            return _RefusalError(503, UNAVAILABLE, str(error), retry_after_s=error.retry_after_s)
        case _:
            _LOG.error("A request failed: %s", one_line(repr(error)))
            text = "A fault of toolspan; its log says more. Sending it again will not help."
            return _RefusalError(500, INTERNAL, text)


def _response(body: bytes, *, is_json: bool, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status_code=status, media_type=JSON if is_json else PROTOBUF, headers=headers)
