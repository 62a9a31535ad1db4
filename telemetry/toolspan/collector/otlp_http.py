"""
OTLP over HTTP: `POST /v1/traces` in protobuf or JSON, gzip or not.

The statuses are those of https://opentelemetry.io/docs/specs/otlp/#otlphttp-response: 400 for what no repetition
mends, 429 and 503 with Retry-After for what is to be sent again, 200 once it is durable.
"""

import asyncio
import logging
import math
from collections.abc import Mapping
from typing import Final, NoReturn

from google.rpc.code_pb2 import (
    FAILED_PRECONDITION,
    INTERNAL,
    INVALID_ARGUMENT,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    UNAVAILABLE,
    UNIMPLEMENTED,
)
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from toolspan.collector.access import BearerGate
from toolspan.collector.answers import JSON, PROTOBUF, encode, response_of, status_of
from toolspan.collector.bodies import TooLargeError, decompress, read_body
from toolspan.collector.inlet import Inlet, Receipt
from toolspan.errors import InputError, OverloadedError, UnavailableError

_LOG: Final = logging.getLogger(__name__)
PATH: Final = "/v1/traces"
#: A sender that takes longer for its body holds memory for nothing.
_BODY_S: Final = 60.0
#: More is decompressed in a thread: 64 MiB take a tenth of a second, in which nobody else would be heard.
_SMALL_BYTES: Final = 256 * 2**10
_GONE: Final = 499


class _RefusalError(Exception):
    """
    An answer other than success.
    """

    def __init__(
        self, status: int, code: int, text: str, *, retry_after_s: float | None = None, **headers: str
    ) -> None:
        super().__init__(text)
        self.status, self.code, self.text = status, code, text
        self.retry_after_s = retry_after_s
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if retry_after_s is not None:
            self.headers["Retry-After"] = str(math.ceil(retry_after_s))


def otlp_app(inlet: Inlet, *, token: str | None = None) -> ASGIApp:
    """
    The receiver, which hands requests to *inlet*; with a *token* for those who know it.
    """

    async def traces(request: Request) -> Response:
        is_json = False
        try:
            is_json = _is_json(request.headers.get("content-type"))
            receipt = await _receive(request, inlet, is_json=is_json)
        except _RefusalError as refusal:
            return _refused(refusal, is_json=is_json)
        except ClientDisconnect:
            return Response(status_code=_GONE)  # nobody reads it
        return _answer(encode(response_of(receipt), is_json=is_json), 200, is_json=is_json)

    async def other(request: Request, error: Exception) -> Response:
        is_json = (request.headers.get("content-type") or "").startswith(JSON)
        return _refused(_refusal_of_path(request, error), is_json=is_json)

    app = Starlette(routes=[Route(PATH, traces, methods=["POST"])], exception_handlers={HTTPException: other})
    return app if token is None else BearerGate(app, token=token)


async def _receive(request: Request, inlet: Inlet, *, is_json: bool) -> Receipt:
    try:
        async with asyncio.timeout(_BODY_S):
            declared = request.headers.get("content-length", "0")
            data = await read_body(request.stream(), declared_bytes=int(declared) if declared.isdecimal() else 0)
        data = await _uncompressed(data, request.headers.get("content-encoding", "identity").strip().lower())
        return await asyncio.shield(asyncio.wrap_future(inlet.submit(data, is_json=is_json)))
    except TimeoutError as error:
        raise _RefusalError(408, FAILED_PRECONDITION, f"The body took more than {_BODY_S:.0f} s.") from error
    except TooLargeError as error:
        raise _RefusalError(413, INVALID_ARGUMENT, str(error)) from error
    except InputError as error:
        raise _RefusalError(400, INVALID_ARGUMENT, str(error)) from error
    except OverloadedError as error:
        raise _RefusalError(429, RESOURCE_EXHAUSTED, str(error), retry_after_s=error.retry_after_s) from error
    except UnavailableError as error:
        raise _RefusalError(503, UNAVAILABLE, str(error), retry_after_s=error.retry_after_s) from error
    except (_RefusalError, ClientDisconnect):
        raise
    except Exception as error:  # noqa: BLE001 - the loop of requests: one must not end the others
        _refuse_fault(error)


def _refuse_fault(error: Exception) -> NoReturn:
    _LOG.error("A request failed: %s: %s", type(error).__name__, error)
    raise _RefusalError(
        500, INTERNAL, "A fault of toolspan; its log says more. Sending it again will not help."
    ) from error


async def _uncompressed(data: bytes, encoding: str) -> bytes:
    match encoding:
        case "identity" | "":
            return data
        case "gzip" | "x-gzip":
            return decompress(data) if len(data) <= _SMALL_BYTES else await asyncio.to_thread(decompress, data)
        case _:
            raise _RefusalError(
                415,
                INVALID_ARGUMENT,
                f"Cannot read the Content-Encoding {encoding!r}; send gzip or none.",
                Accept_Encoding="gzip",
            )


def _is_json(content_type: str | None) -> bool:
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in (PROTOBUF, JSON):
        raise _RefusalError(
            415,
            INVALID_ARGUMENT,
            f"Cannot read the Content-Type {kind!r}; send {PROTOBUF} or {JSON}.",
            Accept=f"{PROTOBUF}, {JSON}",
        )
    return kind == JSON


def _refusal_of_path(request: Request, error: Exception) -> _RefusalError:
    headers: Mapping[str, str] = (error.headers if isinstance(error, HTTPException) else None) or {}
    if isinstance(error, HTTPException) and error.status_code == 405:
        return _RefusalError(405, UNIMPLEMENTED, f"Use POST for {PATH}.", Allow=headers.get("Allow", "POST"))
    path = request.url.path
    signal = next((name for name in ("metrics", "logs", "profiles") if f"/{name}" in path), None)
    what = f"toolspan takes traces alone, no {signal}" if signal else f"there is no {path}"
    return _RefusalError(404, NOT_FOUND, f"{what}; send spans to {PATH}.")


def _refused(refusal: _RefusalError, *, is_json: bool) -> Response:
    status = status_of(refusal.code, refusal.text, retry_after_s=refusal.retry_after_s)
    return _answer(encode(status, is_json=is_json), refusal.status, is_json=is_json, headers=refusal.headers)


def _answer(body: bytes, status: int, *, is_json: bool, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status_code=status, media_type=JSON if is_json else PROTOBUF, headers=headers)
