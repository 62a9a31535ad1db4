"""
OTLP over gRPC: `opentelemetry.proto.collector.trace.v1.TraceService/Export`.

A request is taken as bytes: the decoder of the core reads it, not gRPC's. What is to be sent again is UNAVAILABLE with
RetryInfo, as https://opentelemetry.io/docs/specs/otlp/#otlpgrpc-throttling prescribes; compression is gRPC's own.
"""

import asyncio
import logging
from typing import Final

import grpc
from google.rpc.code_pb2 import UNAVAILABLE

from toolspan.collector.access import Endpoint, Tls, is_known
from toolspan.collector.answers import response_of, status_of
from toolspan.collector.bodies import MAX_BODY_BYTES
from toolspan.collector.inlet import Inlet
from toolspan.errors import InputError, UnavailableError

_LOG: Final = logging.getLogger(__name__)
_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
_DETAILS: Final = "grpc-status-details-bin"
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_BODY_BYTES),
    # otherwise a second collector on the port would get half of the requests
    ("grpc.so_reuseport", 0),
)

_Context = grpc.aio.ServicerContext[bytes, bytes]


def make_server(
    inlet: Inlet, endpoint: Endpoint, *, token: str | None = None, tls: Tls | None = None
) -> tuple[grpc.aio.Server, int]:
    """
    The receiver, which hands requests to *inlet*, and the port that it will listen on; to be made in a running loop.

    Raises:
        InputError: it cannot listen on *endpoint*.
    """

    async def export(data: bytes, context: _Context) -> bytes:
        if token is not None and not _knows(context, token):
            await context.abort(
                grpc.StatusCode.UNAUTHENTICATED, "Send the metadata authorization: Bearer with the collector's token."
            )
        return await _export(inlet, data, context)

    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(_SERVICE, {"Export": grpc.unary_unary_rpc_method_handler(export)}),)
    )
    try:
        if tls is None:
            port = server.add_insecure_port(str(endpoint))
        else:
            pair = tls.key.read_bytes(), tls.certificate.read_bytes()
            port = server.add_secure_port(str(endpoint), grpc.ssl_server_credentials([pair]))
    except RuntimeError as error:
        raise InputError(
            f"Cannot listen on {endpoint}: it is in use, or no address of this machine; choose another."
        ) from error
    return server, port


def _knows(context: _Context, token: str) -> bool:
    given = dict(context.invocation_metadata() or ()).get("authorization")
    return is_known(given if isinstance(given, str) else None, token)


async def _export(inlet: Inlet, data: bytes, context: _Context) -> bytes:
    try:
        receipt = await asyncio.shield(asyncio.wrap_future(inlet.submit(data, is_json=False)))
    except InputError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except UnavailableError as error:
        status = status_of(UNAVAILABLE, str(error), retry_after_s=error.retry_after_s)
        context.set_trailing_metadata(((_DETAILS, status.SerializeToString()),))
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
    except Exception as error:  # noqa: BLE001 - the loop of requests: one must not end the others
        _LOG.error("A request failed: %s: %s", type(error).__name__, error)
        await context.abort(grpc.StatusCode.INTERNAL, "A fault of toolspan; its log says more.")
    else:
        return response_of(receipt).SerializeToString()
    return b""
