"""
Where receivers hand requests in: what they get back, and what can go wrong.

A receiver (OTLP over HTTP, over gRPC) knows nothing of stores. It hands over the bytes of one request and waits; when
the future is done, the spans are durable, and only then may the sender be told so.
"""

from concurrent.futures import Future
from typing import NamedTuple, Protocol


class Receipt(NamedTuple):
    """
    What became of a request that was committed: how many of its spans were *rejected*, and why, for its sender.
    """

    rejected: int = 0
    reason: str = ""


class Inlet(Protocol):
    """
    Takes requests, from any thread.
    """

    def submit(self, data: bytes, *, is_json: bool) -> Future[Receipt]:
        """
        Hands in the uncompressed bytes of one ExportTraceServiceRequest; the future is done once it is durable.

        The future ends with InputError where *data* is no OTLP request, which no repetition changes, and with
        UnavailableError where it could not be kept for now.

        Raises:
            OverloadedError: too much waits already.
            UnavailableError: the collector is about to end.
        """
        ...
