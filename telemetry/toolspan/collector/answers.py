"""
What a sender is told, in the messages that OTLP prescribes: protobuf, or protobuf's JSON for who sent JSON.

See https://opentelemetry.io/docs/specs/otlp/#otlphttp-response: success is an ExportTraceServiceResponse, with
`partial_success` only where something was rejected; any failure is a google.rpc.Status.
"""

from typing import Final

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from toolspan.collector.inlet import Receipt

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
_NS: Final = 10**9


def response_of(receipt: Receipt) -> ExportTraceServiceResponse:
    """
    The answer to a request that was kept.
    """
    response = ExportTraceServiceResponse()
    if receipt.rejected:
        response.partial_success.rejected_spans = receipt.rejected
        response.partial_success.error_message = receipt.reason
    return response


def status_of(code: int, text: str, *, retry_after_s: float | None = None) -> Status:
    """
    The answer to a request that was not kept; with *retry_after_s* where it may be sent again.
    """
    status = Status(code=code, message=text)
    if retry_after_s is not None:
        seconds = int(retry_after_s)
        delay = Duration(seconds=seconds, nanos=int((retry_after_s - seconds) * _NS))
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    return status


def encode(message: Message, *, is_json: bool) -> bytes:
    """
    *message* as the sender can read it.
    """
    return json_format.MessageToJson(message, indent=None).encode() if is_json else message.SerializeToString()
