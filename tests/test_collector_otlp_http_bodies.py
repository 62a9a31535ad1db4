"""
OTLP over HTTP: the statuses and messages that the specification prescribes, whatever is sent.
"""

import gzip
import json
import zlib
from collections.abc import Mapping

import pytest
from google.rpc.status_pb2 import Status
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from starlette.testclient import TestClient

from tests import otlp_builder as build
from tests.inlets import MemoryInlet
from toolspan.collector.bodies import MAX_BODY_BYTES, TooLargeError, decompress
from toolspan.collector.otlp_http import otlp_app
from toolspan.errors import InputError, OverloadedError, UnavailableError

PROTOBUF = "application/x-protobuf"
JSON = "application/json"


class Receiver:
    """
    A receiver in this process, and what it handed in.
    """

    def __init__(self, *, token: str | None = None) -> None:
        self.inlet = MemoryInlet()
        self._client = TestClient(otlp_app(self.inlet, token=token), raise_server_exceptions=False)

    def post(
        self, body: bytes, kind: str = JSON, *, path: str = "/v1/traces", method: str = "POST", **headers: str
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """
        Sends *body*; the status, the answer and its headers.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self._client.request(method, path, content=body, headers={"Content-Type": kind, **named})
        return response.status_code, response.content, response.headers


def a_request() -> bytes:
    return build.json_line([build.run_span(1), build.tool_span(2, parent=1)])


def protobuf_request(span_id: bytes = b"\1" * 8) -> bytes:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = b"\2" * 16, span_id
    span.start_time_unix_nano = span.end_time_unix_nano = 1_800_000_000_000_000_000
    return request.SerializeToString()


def status_of(body: bytes) -> Status:
    return Status.FromString(body)


class TestTaking:
    def test_json_is_answered_in_json(self) -> None:
        """An empty response object: all was taken."""
        receiver = Receiver()

        status, body, headers = receiver.post(a_request(), f"{JSON}; charset=utf-8")

        assert (200, {}, JSON) == (status, json.loads(body), headers["content-type"])
        assert 2 == len(receiver.inlet.spans)

    def test_protobuf_is_answered_in_protobuf(self) -> None:
        """As the specification says."""
        receiver = Receiver()

        status, body, headers = receiver.post(protobuf_request(), PROTOBUF)

        assert (200, PROTOBUF) == (status, headers["content-type"])
        assert ExportTraceServiceResponse() == ExportTraceServiceResponse.FromString(body)
        assert 1 == len(receiver.inlet.spans)

    def test_nothing_is_a_valid_request(self) -> None:
        """In protobuf an empty message has no bytes."""
        assert 200 == Receiver().post(b"", PROTOBUF)[0]

    def test_gzip_of_one_member_and_of_several(self) -> None:
        """Members one after another are one body."""
        receiver = Receiver()
        body = a_request()

        one = receiver.post(gzip.compress(body), Content_Encoding="gzip")
        several = receiver.post(gzip.compress(body[:20]) + gzip.compress(body[20:]), Content_Encoding="GZIP")

        assert (200, 200, 4) == (one[0], several[0], len(receiver.inlet.spans))

    def test_rejected_spans_are_a_partial_success(self) -> None:
        """With how many, and why; the others are kept."""
        receiver = Receiver()
        short = build.tool_span(3, trace_id="4b4b")

        _, as_json, _ = receiver.post(build.json_line([build.run_span(1), short]))
        _, as_protobuf, _ = receiver.post(protobuf_request(b"\1"), PROTOBUF)

        partial = json.loads(as_json)["partialSuccess"]
        assert {
            "rejectedSpans": "1",
            "errorMessage": "1 span(s) rejected: trace id is not 16 bytes, or zero",
        } == partial
        response = ExportTraceServiceResponse.FromString(as_protobuf)
        assert 1 == response.partial_success.rejected_spans
        assert 1 == len(receiver.inlet.spans)


class TestRefusing:
    @pytest.mark.parametrize(
        ("body", "kind", "headers", "expected"),
        [
            (b"\xff\xff", PROTOBUF, {}, 400),
            (b"{", JSON, {}, 400),
            (b"[1]", JSON, {}, 400),
            (b"no gzip", JSON, {"Content_Encoding": "gzip"}, 400),
            (gzip.compress(b"{}", mtime=0)[:-4], JSON, {"Content_Encoding": "gzip"}, 400),
            (b"{}", JSON, {"Content_Encoding": "br"}, 415),
            (b"{}", "text/plain", {}, 415),
            (b"{}", "", {}, 415),
            (b"", PROTOBUF, {"path": "/v1/metrics"}, 404),
            (b"", PROTOBUF, {"path": "/"}, 404),
            (b"", PROTOBUF, {"method": "PUT"}, 405),
        ],
    )
    def test_is_a_status_in_the_senders_encoding(
        self, body: bytes, kind: str, headers: dict[str, str], expected: int
    ) -> None:
        """One line that says what is wrong; nothing of it is kept."""
        receiver = Receiver()

        status, answer, found = receiver.post(body, kind, **headers)

        message = json.loads(answer)["message"] if found["content-type"] == JSON else status_of(answer).message
        assert expected == status
        assert message
        assert "\n" not in message
        assert [] == receiver.inlet.spans

    def test_says_when_to_send_again(self) -> None:
        """429 where too much waits, 503 where nothing is taken: a header for HTTP, RetryInfo for who reads it."""
        receiver = Receiver()
        receiver.inlet.failures = [OverloadedError("much waits", retry_after_s=2.5)]
        receiver.inlet.faults = [UnavailableError("the disk is full", retry_after_s=5)]

        overloaded = receiver.post(protobuf_request(), PROTOBUF)
        unavailable = receiver.post(a_request())

        assert (429, "3") == (overloaded[0], overloaded[2]["retry-after"])
        assert "type.googleapis.com/google.rpc.RetryInfo" == status_of(overloaded[1]).details[0].type_url
        assert (503, "5") == (unavailable[0], unavailable[2]["retry-after"])
        assert "5s" == json.loads(unavailable[1])["details"][0]["retryDelay"]

    def test_a_fault_shows_nothing_of_itself(self) -> None:
        """500 is not retried by exporters: a request that cannot be handled would come for ever."""
        receiver = Receiver()
        receiver.inlet.faults = [ZeroDivisionError("secret")]

        status, body, _ = receiver.post(a_request())

        assert 500 == status
        assert b"secret" not in body

    def test_metrics_and_logs_are_told_that_only_traces_are_taken(self) -> None:
        """Many SDKs send all three to one endpoint."""
        _, body, _ = Receiver().post(b"{}", path="/v1/logs")

        assert "toolspan takes traces alone, no logs; send spans to /v1/traces." == json.loads(body)["message"]

    def test_who_does_not_know_the_token_is_refused(self) -> None:
        """Before anything of the body is read."""
        receiver = Receiver(token="s3cret")  # noqa: S106 - of a test

        without = receiver.post(a_request())
        wrong = receiver.post(a_request(), Authorization="Bearer s3cre")
        right = receiver.post(a_request(), Authorization="bearer s3cret")

        assert [401, 401, 200] == [without[0], wrong[0], right[0]]
        assert "Bearer" == without[2]["www-authenticate"]


class TestBounds:
    def test_a_body_over_the_bound_is_413(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whether its length was declared or not."""
        monkeypatch.setattr("toolspan.collector.bodies.MAX_BODY_BYTES", 100)

        assert 413 == Receiver().post(b" " * 101)[0]

    def test_a_bomb_is_413_and_never_made(self) -> None:
        """A kilobyte per megabyte; nothing beyond the bound is decompressed."""
        bomb = gzip.compress(bytes(2 * MAX_BODY_BYTES), 1)

        with pytest.raises(TooLargeError):
            decompress(bomb)
        assert 413 == Receiver().post(bomb, PROTOBUF, Content_Encoding="gzip")[0]

    def test_many_members_count_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each of them may be small."""
        monkeypatch.setattr("toolspan.collector.bodies.MAX_BODY_BYTES", 1000)

        with pytest.raises(TooLargeError):
            decompress(gzip.compress(bytes(600)) * 2)

    @given(st.binary(max_size=200))
    def test_any_bytes_are_gzip_or_one_line(self, data: bytes) -> None:
        """What goes in comes out, and nothing else passes."""
        assert data == decompress(gzip.compress(data))
        try:
            found = decompress(data)
        except InputError:
            return
        assert found == b"" or data[:2] == b"\x1f\x8b"


_BODIES = st.one_of(
    st.binary(max_size=300),
    st.integers(0, 70).map(lambda end: protobuf_request()[:end]),
    st.integers(0, 400).map(lambda end: a_request()[:end]),
    st.binary(max_size=50).map(gzip.compress),
    st.binary(max_size=50).map(zlib.compress),
)


@settings(max_examples=150, deadline=None)
@given(_BODIES, st.sampled_from([PROTOBUF, JSON, "text/plain"]), st.sampled_from(["gzip", "identity", "deflate", ""]))
def test_whatever_is_sent_gets_a_prescribed_status(body: bytes, kind: str, encoding: str) -> None:
    """Never a fault."""
    receiver = Receiver()

    status, _, _ = receiver.post(body, kind, Content_Encoding=encoding)

    assert status in {200, 400, 415}
