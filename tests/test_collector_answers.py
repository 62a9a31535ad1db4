"""
What senders are told, as OTLP prescribes.
"""

import json

import pytest
from google.rpc.code_pb2 import INVALID_ARGUMENT, NOT_FOUND, UNAVAILABLE
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from toolspan.collector.answers import encode, one_line, response_of, retry_info, status_of
from toolspan.collector.inlet import Receipt


class TestLine:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("as it is", "as it is"),
            ("two\r\n lines\x1b[31m\u2028", "two lines [31m"),
            ("half a \ud83d face", "half a ? face"),
            ("x" * 500, "x" * 399 + "…"),
        ],
    )
    def test_is_one(self, text: str, line: str) -> None:
        """Whatever of a request is in it."""
        assert line == one_line(text)

    @given(st.text(max_size=600))
    def test_fits_into_a_message_and_trailers(self, text: str) -> None:
        """gRPC takes 8 KiB of trailers."""
        status = status_of(UNAVAILABLE, text, retry_after_s=1.5)

        assert len(status.SerializeToString()) * 4 / 3 + 3 * len(status.message.encode()) < 8_000


class TestResponse:
    def test_of_a_full_success_is_empty(self) -> None:
        """`partial_success` has to be left unset."""
        assert b"" == encode(response_of(Receipt()), is_json=False)
        assert b"{}" == encode(response_of(Receipt()), is_json=True)

    def test_of_a_partial_success_says_how_many_and_why(self) -> None:
        """A number of 64 bits is a string in protobuf's JSON."""
        response = response_of(Receipt(3, "3 span(s) rejected:\nno ids"))

        assert response == ExportTraceServiceResponse.FromString(encode(response, is_json=False))
        assert (3, "3 span(s) rejected: no ids") == (
            response.partial_success.rejected_spans,
            response.partial_success.error_message,
        )
        assert {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "3 span(s) rejected: no ids"}} == json.loads(
            encode(response, is_json=True)
        )


class TestStatus:
    def test_says_when_to_send_again(self) -> None:
        """In RetryInfo, to the nanosecond."""
        status = Status.FromString(encode(status_of(UNAVAILABLE, "later", retry_after_s=2.25), is_json=False))

        found = RetryInfo()
        assert status.details[0].Unpack(found)
        assert (UNAVAILABLE, "later", 2.25) == (status.code, status.message, found.retry_delay.ToMicroseconds() / 1e6)
        assert found == retry_info(2.25)

    def test_says_what_cannot_be_read(self) -> None:
        """In BadRequest, as the specification asks for."""
        status = status_of(INVALID_ARGUMENT, "no OTLP")

        found = BadRequest()
        assert status.details[0].Unpack(found)
        assert ["no OTLP"] == [each.description for each in found.field_violations]

    def test_of_anything_else_has_no_details(self) -> None:
        """In JSON as in protobuf."""
        assert {"code": 5, "message": "nothing here"} == json.loads(
            encode(status_of(NOT_FOUND, "nothing here"), is_json=True)
        )

    def test_in_json_has_its_details(self) -> None:
        """By protobuf's mapping of them."""
        document = json.loads(encode(status_of(UNAVAILABLE, "later", retry_after_s=5), is_json=True))

        assert [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "5s"}] == document["details"]
