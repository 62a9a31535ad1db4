"""
What reading a file yields: payloads, and one line for each thing that is none.
"""

from enum import StrEnum
from typing import NamedTuple

#: OTLP's recommended limit on a request after decompression. Nothing larger is ever held in memory.
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024


class Reason(StrEnum):
    """
    Why something was not read; the words are stable, so that they can be counted.
    """

    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    DAMAGED = "damaged"
    GZIP = "gzip"
    COMPRESSED = "compressed"
    ENCODING = "encoding"
    NOT_JSON = "not_json"
    NOT_OTLP = "not_otlp"
    LOGS = "logs"
    METRICS = "metrics"
    PROFILES = "profiles"


class Payload(NamedTuple):
    """
    One OTLP request: JSON text or a protobuf message, and where it stood (`spans.jsonl line 3`).
    """

    data: bytes
    is_json: bool
    where: str


class Rejection(NamedTuple):
    """
    Something that was not read: where it stood, why in one word, and in one sentence with the remedy.

    *detail* never quotes what was read: payloads do not belong in logs.
    """

    where: str
    reason: Reason
    detail: str

    def __str__(self) -> str:
        """
        The one line that a person reads.
        """
        return f"{self.where}: {self.detail}"
