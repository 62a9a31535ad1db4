"""
OTLP over gRPC: `opentelemetry.proto.collector.trace.v1.TraceService/Export`.

A request is taken as bytes: the decoder of the core reads it, not gRPC's. What is to be sent again is UNAVAILABLE with
RetryInfo, as https://opentelemetry.io/docs/specs/otlp/#otlpgrpc-throttling prescribes; compression is gRPC's own, which
stops at the bound of a message.

Export is served as if its sender might send several messages, since gRPC then reads one only when it is asked to. So
the token is looked at before anything is read, and few messages are held at once: as a handler of one message it held
1.3 GB for twenty senders of 60 MiB. It costs 0.2 ms a request.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final, NoReturn

import grpc
from google.rpc.code_pb2 import INVALID_ARGUMENT, UNAVAILABLE

from toolspan.collector.access import Endpoint, Tls, bind, is_known
from toolspan.collector.answers import one_line, response_of, retry_info, status_of
from toolspan.collector.bodies import MAX_BODY_BYTES, let_go
from toolspan.collector.inlet import Inlet
from toolspan.errors import InputError, UnavailableError

_LOG: Final = logging.getLogger(__name__)
_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
_DETAILS: Final = "grpc-status-details-bin"
#: Where the exporter of Python looks for RetryInfo (1.45.1), which does not read the details.
_RETRY_INFO: Final = "google.rpc.retryinfo-bin"
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_BODY_BYTES),
    # otherwise a second collector on the port would get half of the requests
    ("grpc.so_reuseport", 0),
)
#: Messages that are read at once, each of which gRPC may hold twice while it makes bytes of it.
_READ_AT_ONCE: Final = 8
#: As for a body over HTTP.
_MESSAGE_S: Final = 60.0

_Context = grpc.aio.ServicerContext[bytes, bytes]


def make_server(
    inlet: Inlet, endpoint: Endpoint, *, token: str | None = None, tls: Tls | None = None
) -> tuple[grpc.aio.Server, int]:
    """
    The receiver, which hands requests to *inlet*, and the port that it will listen on; to be made in a running loop.

    Raises:
        InputError: it cannot listen on *endpoint*.
    """
    with bind(endpoint) as probe:  # whose errors say what is wrong, where gRPC's do not
        host = str(probe.getsockname()[0])
    place = str(Endpoint(host, endpoint.port))
    server = grpc.aio.server(options=_OPTIONS)
    export: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_unary_rpc_method_handler(
        _Receiver(inlet, token=token).export
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Export": export}),))
    try:
        port = server.add_insecure_port(place) if tls is None else server.add_secure_port(place, tls.grpc())
    except RuntimeError as error:
        raise InputError(f"Cannot listen on {endpoint}: {one_line(str(error))}; choose another port.") from error
    return server, port


class _Receiver:
    """
    Answers one request after the other, many at once.
    """

    def __init__(self, inlet: Inlet, *, token: str | None) -> None:
        self._inlet = inlet
        self._token = token
        self._reading = asyncio.Semaphore(_READ_AT_ONCE)

    async def export(self, messages: AsyncIterator[bytes], context: _Context) -> bytes:
        """
        The answer to one request; where there is none, the status that *context* gets.
        """
        if self._token is not None and not _knows(context, self._token):
            text = "Send the metadata authorization: Bearer with the collector's token."
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, text)
        try:
            async with self._reading:
                done = self._inlet.submit(await _read(messages), is_json=False)
            # whoever waits may be cancelled, what was handed over is not
            receipt = await asyncio.shield(asyncio.wrap_future(done))
        except Exception as error:  # noqa: BLE001 - the loop of requests: one must not end the others
            let_go(error)
            await _refuse(error, context)
        return response_of(receipt).SerializeToString()


def _knows(context: _Context, token: str) -> bool:
    given = dict(context.invocation_metadata() or ()).get("authorization")
    return is_known(given if isinstance(given, str) else None, token)


async def _read(messages: AsyncIterator[bytes]) -> bytes:
    """
    The one message of a request.

    Raises:
        InputError: there is another number of them. One that is too large does not come; gRPC says so to its sender.
    """
    found: bytes | None = None
    try:
        async with asyncio.timeout(_MESSAGE_S):
            async for message in messages:
                if found is not None:
                    raise InputError("Export takes one message a request; send another request.")
                found = message
    except TimeoutError as error:
        raise _SlowError from error
    if found is None:
        raise InputError("Export takes a message, and none came.")
    return found


class _SlowError(Exception):
    """
    A message did not come in time.
    """


async def _refuse(error: Exception, context: _Context) -> NoReturn:
    match error:
        case InputError():
            status = status_of(INVALID_ARGUMENT, str(error))
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, status.message, ((_DETAILS, status.SerializeToString()),)
            )
        case UnavailableError():
            status = status_of(UNAVAILABLE, str(error), retry_after_s=error.retry_after_s)
            retry = retry_info(error.retry_after_s).SerializeToString()
            trailers = ((_DETAILS, status.SerializeToString()), (_RETRY_INFO, retry))
            await context.abort(grpc.StatusCode.UNAVAILABLE, status.message, trailers)
        case _SlowError():
            text = f"The message took more than {_MESSAGE_S:g} s; send smaller batches."
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, text)
        case _:
            _LOG.error("A request failed: %s", one_line(repr(error)))
            await context.abort(grpc.StatusCode.INTERNAL, "A fault of toolspan; its log says more.")
