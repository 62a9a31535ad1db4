"""
What the collector answers over HTTP: metrics, its health, every number, calls and tasks, and what toolspan's own
commands ask.

Each answer comes from one read transaction, which ends before the first byte is sent: however slowly somebody takes it,
whoever writes does not wait. Errors are problem details (RFC 9457).
"""

import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from toolspan.collector.asking import Asked, read_parameters
from toolspan.collector.gate import Gate
from toolspan.collector.openapi import PATH, document_of
from toolspan.collector.operations import OPERATIONS
from toolspan.collector.problems import problem
from toolspan.collector.questions import JSON, TEXT, Answer, Context, Load, NotFoundError, Operation, Question
from toolspan.errors import InputError, StoreError
from toolspan.prometheus import MetricsCollector
from toolspan_queries import QueryError

_LOG: Final = logging.getLogger(__name__)
#: Below it gzip costs more than it saves.
_LEAST_GZIP_BYTES: Final = 4_096
_MOST_BODY_BYTES: Final = 65_536
_PIECE_BYTES: Final = 2**20
_OPENMETRICS: Final = "application/openmetrics-text"
#: Answers that are made at once; more wait. Two cores are busy with fewer queries, each of which takes memory, and a
#: copy writes the whole store. What asks nothing of the store, such as health, never waits behind these.
_MOST: Final[Mapping[Load, int]] = {Load.QUERY: 8, Load.WHOLE: 1}

_Endpoint = Callable[[Request], Awaitable[Response]]


class _Text(PathConvertor):
    """
    Any characters; of starlette's own `path`, a line's end is none.
    """

    regex = "(?s:.*)"


register_url_convertor("text", _Text())


def api_app(
    context: Context,
    metrics: MetricsCollector,
    *,
    token: str | None = None,
    trusted_hosts: Sequence[str] | None = None,
) -> ASGIApp:
    """
    The answers from *context* and *metrics*; with a *token* for those who know it, and with *trusted_hosts* under these
    names only.
    """
    limiters = {load: CapacityLimiter(most) for load, most in _MOST.items()}
    app = Starlette(
        routes=[
            _route(context, operation, limiters.get(operation.load))
            for operation in all_operations(metrics, is_closed=token is not None)
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=_LEAST_GZIP_BYTES)],
        exception_handlers={HTTPException: _of_http, Exception: _fault},
    )
    return Gate(app, token=token, hosts=trusted_hosts)


def all_operations(metrics: MetricsCollector, *, is_closed: bool) -> Sequence[Operation]:
    """
    Everything there is a route for, all of it in the document that is one of them.
    """
    registry = CollectorRegistry()
    registry.register(metrics)

    def expose(_: Context, question: Question) -> Answer:
        encode, media_type = choose_encoder(question.accept)
        return Answer(encode(registry), media_type)

    def describe(_: Context, __: Question) -> Answer:
        return Answer(document)

    operations = (
        *OPERATIONS,
        Operation(
            "metrics",
            "/metrics",
            "The counters, for Prometheus; each answer counts as a scrape.",
            expose,
            {TEXT: {"type": "string"}, _OPENMETRICS: {"type": "string"}},
            load=Load.NONE,
            ignores_others=True,
        ),
        Operation("openapi", PATH, "This document.", describe, {JSON: {"type": "object"}}, load=Load.NONE),
    )
    document = json.dumps(document_of(operations, is_closed=is_closed)).encode()
    return operations


def _route(context: Context, operation: Operation, limiter: CapacityLimiter | None) -> Route:
    known = [parameter.name for parameter in operation.parameters if not parameter.is_of_path]

    async def endpoint(request: Request) -> Response:
        try:
            body = await _read_body(request) if operation.body is not None else None
            asked = Asked({}) if operation.ignores_others else read_parameters(request.query_params, known)
            question = Question(asked, request.path_params, body, request.headers.get("accept", ""))
            answer = await run_sync(operation.answer, context, question, limiter=limiter)
        except NotFoundError as error:
            return problem(404, str(error))
        except (InputError, QueryError) as error:
            return problem(400, str(error))
        except StoreError as error:
            return problem(503, str(error))
        return _response(answer)

    return Route(operation.route or operation.path, endpoint, methods=[operation.method], name=operation.name)


def _response(answer: Answer) -> Response:
    if answer.file is None:
        return Response(answer.body, answer.status, answer.headers, answer.media_type)
    return StreamingResponse(_pieces(answer.file), answer.status, answer.headers, answer.media_type)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


async def _read_body(request: Request) -> object:
    """
    The body, which is JSON: a form of another site could send anything else.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise HTTPException(415, f"The body is {kind or 'nothing'}; send {JSON}.")
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > _MOST_BODY_BYTES:
            raise InputError(f"The body may hold {_MOST_BODY_BYTES:,} bytes.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("The body is no JSON.") from error


async def _of_http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return await _fault(request, error)
    detail = error.detail
    if error.status_code == 404:
        detail = f"There is no {request.url.path}; {PATH} says what there is."
    elif error.status_code == 405:
        detail = f"{request.url.path} is not for {request.method}."
    return problem(error.status_code, detail, headers=error.headers)


async def _fault(request: Request, error: Exception) -> Response:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "A fault of toolspan; its log says more.")
