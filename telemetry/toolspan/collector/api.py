"""
What the collector answers over HTTP: metrics, its health, every number, calls and tasks, and what toolspan's own
commands ask.

Each answer comes from one read transaction, which ends before the first byte is sent: however slowly somebody takes it,
whoever writes does not wait. Errors are problem details (RFC 9457).
"""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from toolspan.collector.access import BearerGate
from toolspan.collector.asking import read_parameters
from toolspan.collector.openapi import PATH, PROBLEM, TITLES, document_of
from toolspan.collector.operations import OPERATIONS
from toolspan.collector.questions import JSON, Context, NotFoundError, Operation, Question
from toolspan.errors import InputError, StoreError
from toolspan.prometheus import MetricsCollector
from toolspan_queries import QueryError

_LOG: Final = logging.getLogger(__name__)
#: Below it gzip costs more than it saves.
_LEAST_GZIP_BYTES: Final = 4_096
#: Asked by what looks after processes, which knows no token.
OPEN_PATHS: Final = ("/healthz", "/readyz")
_MOST_BODY_BYTES: Final = 65_536

_Endpoint = Callable[[Request], Awaitable[Response]]


def api_app(
    context: Context,
    metrics: MetricsCollector,
    *,
    token: str | None = None,
    trusted_hosts: Sequence[str] | None = None,
) -> ASGIApp:
    """
    The answers from *context* and *metrics*; with a *token* for those who know it, and with *trusted_hosts* under these
    names only: a page of another site in a browser on this machine must not read them.
    """
    middleware = [Middleware(GZipMiddleware, minimum_size=_LEAST_GZIP_BYTES)]
    if trusted_hosts is not None:
        middleware.insert(0, Middleware(TrustedHostMiddleware, allowed_hosts=list(trusted_hosts), www_redirect=False))
    app = Starlette(
        routes=[
            Route("/metrics", _metrics(metrics)),
            Route(PATH, _openapi(is_closed=token is not None)),
            *(_route(context, operation) for operation in OPERATIONS),
        ],
        middleware=middleware,
        exception_handlers={HTTPException: _of_http, Exception: _fault},
    )
    return app if token is None else BearerGate(app, token=token, open_paths=OPEN_PATHS)


def _metrics(collector: MetricsCollector) -> _Endpoint:
    registry = CollectorRegistry()
    registry.register(collector)

    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        body = await run_in_threadpool(encode, registry)
        return Response(body, headers={"Content-Type": content_type})

    return metrics


def _openapi(*, is_closed: bool) -> _Endpoint:
    document = json.dumps(document_of(OPERATIONS, is_closed=is_closed))

    async def openapi(_: Request) -> Response:
        return Response(document, media_type=JSON)

    return openapi


def _route(context: Context, operation: Operation) -> Route:
    known = [parameter.name for parameter in operation.parameters if not parameter.is_of_path]

    async def endpoint(request: Request) -> Response:
        try:
            body = await _read_body(request) if operation.body is not None else None
            asked = read_parameters(request.query_params, known)
            question = Question(asked, request.path_params, body, request.headers.get("accept", ""))
            answer = await run_in_threadpool(operation.answer, context, question)
        except NotFoundError as error:
            return _problem(404, str(error))
        except (InputError, QueryError) as error:
            return _problem(400, str(error))
        except StoreError as error:
            return _problem(503, str(error))
        if answer.file is not None:
            return FileResponse(
                answer.file, media_type=answer.media_type, background=BackgroundTask(answer.file.unlink)
            )
        return Response(answer.body, status_code=answer.status, media_type=answer.media_type)

    return Route(operation.route or operation.path, endpoint, methods=[operation.method], name=operation.name)


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
    response = _problem(error.status_code, detail)
    response.headers.update(error.headers or {})
    return response


async def _fault(request: Request, error: Exception) -> Response:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _problem(500, "A fault of toolspan; its log says more.")


def _problem(status: int, detail: str) -> Response:
    document = {"title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    return Response(json.dumps(document), status_code=status, media_type=PROBLEM)
