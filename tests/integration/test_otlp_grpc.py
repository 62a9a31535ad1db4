"""
OTLP over gRPC: the statuses that the specification prescribes, whatever is sent.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any, cast

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.inlets import MemoryInlet
from tests.integration.receivers import PATIENCE_S, Receivers, receiving
from toolspan.collector import otlp_grpc
from toolspan.collector.access import Endpoint
from toolspan.collector.bodies import MAX_BODY_BYTES
from toolspan.collector.inlet import Receipt
from toolspan.collector.otlp_grpc import make_server
from toolspan.errors import InputError, OverloadedError, UnavailableError

_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_TOKEN = "s3cret"  # noqa: S105 - of a test
_KNOWN = (("authorization", f"Bearer {_TOKEN}"),)


def request(span_id: bytes = b"\1" * 8) -> bytes:
    """
    A request of one span.
    """
    made = ExportTraceServiceRequest()
    span = made.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = b"\2" * 16, span_id
    span.start_time_unix_nano = span.end_time_unix_nano = 1_800_000_000_000_000_000
    return made.SerializeToString()


@pytest.fixture(scope="module")
def running() -> Generator[Receivers]:
    with receiving(token=_TOKEN) as receivers:
        yield receivers


@pytest.fixture
def receivers(running: Receivers) -> Receivers:
    """
    Receivers for who knows the token, with an inlet that is empty.
    """
    running.inlet.forget()
    return running


@pytest.fixture
def channel(receivers: Receivers) -> Generator[grpc.Channel]:
    """
    A connection that sends whatever it is given.
    """
    with grpc.insecure_channel(receivers.grpc, options=[("grpc.max_send_message_length", -1)]) as opened:
        yield opened


def send(
    channel: grpc.Channel,
    data: bytes,
    *,
    path: str = _EXPORT,
    metadata: tuple[tuple[str, str], ...] = _KNOWN,
    compression: grpc.Compression = grpc.Compression.NoCompression,
) -> ExportTraceServiceResponse:
    """
    The answer to one message.
    """
    call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
    answer = call(data, metadata=metadata, timeout=PATIENCE_S, compression=compression)
    return ExportTraceServiceResponse.FromString(answer)


def refusal(channel: grpc.Channel, data: bytes = b"", **more: Any) -> grpc.RpcError:
    """
    The error that one message gets.
    """
    with pytest.raises(grpc.RpcError) as refused:
        send(channel, data, **more)
    return refused.value


def code_of(error: grpc.RpcError) -> grpc.StatusCode:
    assert isinstance(error, grpc.Call)
    return error.code()


def text_of(error: grpc.RpcError) -> str:
    assert isinstance(error, grpc.Call)
    return error.details() or ""


def trailers_of(error: grpc.RpcError) -> dict[str, bytes]:
    assert isinstance(error, grpc.Call)
    found = cast("tuple[tuple[str, str | bytes], ...]", error.trailing_metadata() or ())
    return {key: value for key, value in found if isinstance(value, bytes)}


class TestTaking:
    def test_what_is_taken_is_answered_with_nothing(self, receivers: Receivers, channel: grpc.Channel) -> None:
        """All of it was taken; an empty message is a request without spans."""
        answers = [send(channel, request()), send(channel, b"")]

        assert [ExportTraceServiceResponse()] * 2 == answers
        assert 1 == len(receivers.inlet.spans)

    def test_rejected_spans_are_a_partial_success(self, channel: grpc.Channel) -> None:
        """With how many, and why."""
        partial = send(channel, request(b"\1")).partial_success

        assert (1, "1 span(s) rejected: span id is not 8 bytes, or zero") == (
            partial.rejected_spans,
            partial.error_message,
        )

    def test_a_message_at_the_bound_is_taken(self, receivers: Receivers, channel: grpc.Channel) -> None:
        """Compressed, too."""
        # a field that nobody knows, of a length in four bytes
        padding = MAX_BODY_BYTES - len(request()) - 6
        large = request() + b"\x82\x7d" + bytes([padding & 127 | 128, padding >> 7 & 127 | 128])
        large += bytes([padding >> 14 & 127 | 128, padding >> 21]) + bytes(padding)

        send(channel, large, compression=grpc.Compression.Gzip)

        assert (MAX_BODY_BYTES, 1) == (len(large), len(receivers.inlet.spans))


class TestRefusing:
    def test_what_is_no_otlp_is_the_senders(self, receivers: Receivers, channel: grpc.Channel) -> None:
        """Wherever a message was cut; the details say so."""
        whole = request()
        cut = [refusal(channel, whole[:end]) for end in range(1, len(whole))]
        garbage = refusal(channel, b"\xff" * 1_000)
        found = BadRequest()

        assert {grpc.StatusCode.INVALID_ARGUMENT} == {code_of(each) for each in [*cut, garbage]}
        assert {"not an OTLP trace message in protobuf (truncated, or something else)"} == {
            text_of(each) for each in cut
        }
        assert Status.FromString(trailers_of(garbage)["grpc-status-details-bin"]).details[0].Unpack(found)
        assert [] == receivers.inlet.spans

    @pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.NoCompression])
    def test_a_message_over_the_bound_is_refused_by_grpc(
        self, channel: grpc.Channel, compression: grpc.Compression
    ) -> None:
        """As the specification says: without RetryInfo, so that it does not come again."""
        error = refusal(channel, bytes(MAX_BODY_BYTES + 1), compression=compression)

        assert grpc.StatusCode.RESOURCE_EXHAUSTED is code_of(error)
        assert "larger than max" in text_of(error)
        assert {} == trailers_of(error)
        assert ExportTraceServiceResponse() == send(channel, request())

    @pytest.mark.parametrize(
        "error", [OverloadedError("much", retry_after_s=2.5), UnavailableError("x", retry_after_s=5)]
    )
    def test_says_when_to_send_again(
        self, receivers: Receivers, channel: grpc.Channel, error: UnavailableError
    ) -> None:
        """Where the specification says, and where Python's exporter looks."""
        receivers.inlet.failures = [error]

        refused = refusal(channel, request())

        status = Status.FromString(trailers_of(refused)["grpc-status-details-bin"])
        retry, again = RetryInfo(), RetryInfo.FromString(trailers_of(refused)["google.rpc.retryinfo-bin"])
        assert status.details[0].Unpack(retry)
        assert (grpc.StatusCode.UNAVAILABLE, 14, str(error)) == (code_of(refused), status.code, text_of(refused))
        assert (error.retry_after_s, retry) == (again.retry_delay.ToMilliseconds() / 1_000, again)

    def test_a_fault_is_logged_in_one_line(
        self, receivers: Receivers, channel: grpc.Channel, caplog: pytest.LogCaptureFixture
    ) -> None:
        """And its sender is told nothing of it."""
        receivers.inlet.faults = [ZeroDivisionError("of\nthe inside")]

        with caplog.at_level(logging.INFO, "toolspan"):
            error = refusal(channel, request())

        assert (grpc.StatusCode.INTERNAL, "A fault of toolspan; its log says more.") == (code_of(error), text_of(error))
        assert ["A request failed: ZeroDivisionError('of\\nthe inside')"] == caplog.messages

    @pytest.mark.parametrize("metadata", [(), (("authorization", "Bearer s3cre"),), (("authorization", _TOKEN),)])
    def test_who_does_not_know_the_token_is_refused(
        self, receivers: Receivers, channel: grpc.Channel, metadata: tuple[tuple[str, str], ...]
    ) -> None:
        """With what to send."""
        error = refusal(channel, request(), metadata=metadata)

        assert grpc.StatusCode.UNAUTHENTICATED is code_of(error)
        assert "Send the metadata authorization: Bearer with the collector's token." == text_of(error)
        assert [] == receivers.inlet.spans

    @pytest.mark.parametrize(
        "path",
        [
            "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            "/opentelemetry.proto.collector.trace.v1.TraceService/Other",
        ],
    )
    def test_other_services_are_not_there(self, channel: grpc.Channel, path: str) -> None:
        """Exporters do not come again with what nobody takes."""
        assert grpc.StatusCode.UNIMPLEMENTED is code_of(refusal(channel, path=path))

    @pytest.mark.parametrize(
        ("messages", "text"), [(0, "takes a message, and none came"), (2, "one message a request")]
    )
    def test_a_request_is_one_message(
        self, receivers: Receivers, channel: grpc.Channel, messages: int, text: str
    ) -> None:
        """Though several could be sent."""
        stream: grpc.StreamUnaryMultiCallable[bytes, bytes] = channel.stream_unary(_EXPORT)

        with pytest.raises(grpc.RpcError) as refused:
            stream(iter([request()] * messages), metadata=_KNOWN, timeout=PATIENCE_S)

        assert grpc.StatusCode.INVALID_ARGUMENT is code_of(refused.value)
        assert text in text_of(refused.value)
        assert [] == receivers.inlet.spans


class Slow:
    """
    A sender whose message does not come until it *ends*.
    """

    def __init__(self, channel: grpc.Channel, *, metadata: tuple[tuple[str, str], ...] = _KNOWN) -> None:
        self._is_over = threading.Event()
        self._has_begun = threading.Event()
        call: grpc.StreamUnaryMultiCallable[bytes, bytes] = channel.stream_unary(_EXPORT)
        self.answer = call.future(self._messages(), metadata=metadata, timeout=PATIENCE_S)
        self._has_begun.wait(PATIENCE_S)

    def _messages(self) -> Iterator[bytes]:
        self._has_begun.set()
        self._is_over.wait(PATIENCE_S)
        yield request()

    def end(self) -> None:
        """
        Sends it.
        """
        self._is_over.set()


class TestSenders:
    def test_who_is_slow_is_refused(self, channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch) -> None:
        """A message that does not come holds up others."""
        monkeypatch.setattr(otlp_grpc, "_MESSAGE_S", 0.05)
        slow = Slow(channel)

        with pytest.raises(grpc.RpcError) as refused:
            slow.answer.result(PATIENCE_S)
        slow.end()

        assert grpc.StatusCode.DEADLINE_EXCEEDED is code_of(refused.value)
        assert "The message took more than 0.05 s; send smaller batches." == text_of(refused.value)

    def test_who_does_not_know_the_token_is_refused_before_the_message(self, channel: grpc.Channel) -> None:
        """It may be large."""
        slow = Slow(channel, metadata=())

        with pytest.raises(grpc.RpcError) as refused:
            slow.answer.result(PATIENCE_S)
        slow.end()

        assert grpc.StatusCode.UNAUTHENTICATED is code_of(refused.value)

    def test_few_messages_are_read_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each may take the bound of memory; others wait, and are read then."""
        monkeypatch.setattr(otlp_grpc, "_READ_AT_ONCE", 1)
        with receiving() as receivers, grpc.insecure_channel(receivers.grpc) as channel:
            slow = Slow(channel)
            quick: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_EXPORT)
            waiting = [quick.future(request(), timeout=PATIENCE_S)]
            with suppress(grpc.FutureTimeoutError):
                waiting[0].result(0.2)  # gRPC may begin with either; it is the other's turn then
            waiting.append(quick.future(request(), timeout=PATIENCE_S))
            with pytest.raises(grpc.FutureTimeoutError):
                waiting[1].result(0.2)
            slow.end()

            assert [b""] * 3 == [each.result(PATIENCE_S) for each in (slow.answer, *waiting)]

    def test_who_does_not_wait_harms_nobody(self, receivers: Receivers, channel: grpc.Channel) -> None:
        """What was handed over is committed, whoever waits for it."""
        receivers.inlet.holds = True
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_EXPORT)
        waiting = call.future(request(), metadata=_KNOWN)
        handed_over = receivers.inlet.held.get(timeout=PATIENCE_S)
        waiting.cancel()
        receivers.inlet.holds = False

        after = send(channel, request(b"\2" * 8))  # the server has seen the cancellation by then
        handed_over.set_result(Receipt())

        assert ExportTraceServiceResponse() == after
        assert not handed_over.cancelled()
        assert 2 == len(receivers.inlet.spans)

    def test_who_waits_for_the_commit_lets_others_in(self, receivers: Receivers, channel: grpc.Channel) -> None:
        """More than are read at once may wait: that is how they share a transaction."""
        receivers.inlet.holds = True
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_EXPORT)
        waiting = [call.future(request(), metadata=_KNOWN) for _ in range(40)]
        for handed_over in [receivers.inlet.held.get(timeout=PATIENCE_S) for _ in waiting]:
            handed_over.set_result(Receipt())

        assert [b""] * 40 == [each.result(PATIENCE_S) for each in waiting]


class TestListening:
    def made(self, endpoint: Endpoint) -> int:
        """
        The port of a server at *endpoint*, which is stopped again.
        """

        async def make() -> int:
            server, port = make_server(MemoryInlet(), endpoint)
            await server.start()
            await server.stop(None)
            return port

        return asyncio.run(make())

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])  # noqa: S104 - of this machine, for a moment
    def test_takes_any_port_that_is_free(self, host: str) -> None:
        """And says which."""
        assert 0 < self.made(Endpoint(host, 0))

    def test_a_port_that_is_taken_is_one_line(self) -> None:
        """Whoever has it, another collector included: gRPC would share it with that one."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            place = Endpoint("127.0.0.1", taken.getsockname()[1])
            with pytest.raises(InputError, match=f"Cannot listen on {place}: something else does already; end it"):
                self.made(place)

    def test_an_address_of_another_machine_is_one_line(self) -> None:
        """With those that would do."""
        with pytest.raises(InputError, match=r"this machine has no such address; 127\.0\.0\.1 is for this machine"):
            self.made(Endpoint("203.0.113.1", 0))
