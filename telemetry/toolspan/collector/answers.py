"""
What a sender is told, in the messages that OTLP prescribes: protobuf, or protobuf's JSON for who sent JSON.

See https://opentelemetry.io/docs/specs/otlp/#otlphttp-response: success is an ExportTraceServiceResponse, with
`partial_success` only where something was rejected; any failure is a google.rpc.Status, with RetryInfo where it may be
sent again, and BadRequest where it cannot be read.
"""

import re
from typing import Final

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.code_pb2 import INVALID_ARGUMENT
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from toolspan.collector.inlet import Receipt

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
_NS: Final = 10**9
#: gRPC takes 8 KiB of trailers, and a character may take twelve bytes there: four, percent-encoded.
_MOST_CHARACTERS: Final = 400
_NOT_PLAIN: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def one_line(text: str) -> str:
    """
    *text* as a message can hold it: one line, not too long, no halves of characters.
    """
    plain = _NOT_PLAIN.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).strip()
    return plain if len(plain) <= _MOST_CHARACTERS else f"{plain[: _MOST_CHARACTERS - 1]}…"


def response_of(receipt: Receipt) -> ExportTraceServiceResponse:
    """
    The answer to a request that was kept.
    """
    response = ExportTraceServiceResponse()
    if receipt.rejected:
        response.partial_success.rejected_spans = receipt.rejected
        response.partial_success.error_message = one_line(receipt.reason)
    return response


def retry_info(retry_after_s: float) -> RetryInfo:
    """
    When to send again.
    """
    seconds = int(retry_after_s)
    return RetryInfo(retry_delay=Duration(seconds=seconds, nanos=int((retry_after_s - seconds) * _NS)))


def status_of(code: int, text: str, *, retry_after_s: float | None = None) -> Status:
    """
    The answer to a request that was not kept; with *retry_after_s* where it may be sent again.
    """
    status = Status(code=code, message=one_line(text))
    if retry_after_s is not None:
        status.details.add().Pack(retry_info(retry_after_s))
    if code == INVALID_ARGUMENT:
        violation = BadRequest.FieldViolation(field="request", description=status.message)
        status.details.add().Pack(BadRequest(field_violations=[violation]))
    return status


def encode(message: Message, *, is_json: bool) -> bytes:
    """
    *message* as the sender can read it.
    """
    return json_format.MessageToJson(message, indent=None).encode() if is_json else message.SerializeToString()
