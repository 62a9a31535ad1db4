"""
OTLP files for tests, byte by byte, so that what is read back was not written by what reads it.
"""

import json
from collections.abc import Iterable, Sequence
from io import BytesIO

from toolspan.framing import MAX_PAYLOAD_BYTES, Payload, Rejection, read_payloads

#: A limit that tests can reach.
SMALL_BYTES = 4096


def varint(number: int) -> bytes:
    """
    *number* as protobuf writes it.
    """
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def field(number: int, value: bytes | int) -> bytes:
    """
    A length-delimited field, or one of eight bytes where *value* is a number.
    """
    if isinstance(value, int):
        return varint(number << 3 | 1) + value.to_bytes(8, "little")
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(key: str, value: str) -> bytes:
    """
    A KeyValue.
    """
    return field(1, key.encode()) + field(2, field(1, value.encode()))


def span(name: str = "execute_tool search", *, number: int = 1) -> bytes:
    """
    A Span.
    """
    ids = field(1, number.to_bytes(16, "big")) + field(2, number.to_bytes(8, "big"))
    return ids + field(5, name.encode()) + field(7, 1_777_900_000_000_000_000) + field(8, 1_777_900_000_010_000_000)


def log_record(text: str = "hello") -> bytes:
    """
    A LogRecord.
    """
    return field(1, 1_777_900_000_000_000_000) + field(5, field(1, text.encode()))


def metric(name: str = "requests") -> bytes:
    """
    A Metric: a sum without points.
    """
    return field(1, name.encode()) + field(3, b"1") + field(7, b"\x10\x02")


def request(*records: bytes, service: str = "shop") -> bytes:
    """
    A TracesData message (or of logs, or of metrics) with *records* in one scope.
    """
    scoped = field(1, field(1, b"tests")) + b"".join(field(2, record) for record in records)
    return field(1, field(1, field(1, attribute("service.name", service))) + field(2, scoped))


def framed(messages: Sequence[bytes], framing: str) -> bytes:
    """
    *messages* in one file, in the framing `whole`, `varint` or `u32`.
    """
    match framing:
        case "varint":
            return b"".join(varint(len(message)) + message for message in messages)
        case "u32":
            return b"".join(len(message).to_bytes(4, "big") + message for message in messages)
        case _:
            return b"".join(messages)


def json_request(name: str = "execute_tool search") -> dict[str, object]:
    """
    An OTLP/JSON request of one span.
    """
    one = {"traceId": "01" * 16, "spanId": "02" * 8, "name": name, "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": [one]}]}]}


def json_line(name: str = "execute_tool search") -> bytes:
    """
    The same as one line, without its newline.
    """
    return json.dumps(json_request(name), separators=(",", ":")).encode()


class Pipe(BytesIO):
    """
    A stdin whose bytes come in the given pieces, one per read, as they do from a slow writer.
    """

    def __init__(self, *pieces: bytes) -> None:
        super().__init__()
        self._pieces = list(pieces)
        self.reads = 0

    def read1(self, size: int | None = -1, /) -> bytes:
        """
        The next piece.
        """
        del size
        self.reads += 1
        return self._pieces.pop(0) if self._pieces else b""


def read(content: bytes, *, limit_bytes: int = MAX_PAYLOAD_BYTES) -> list[Payload | Rejection]:
    """
    All that reading *content* from stdin yields.
    """
    return list(read_payloads("-", stdin=BytesIO(content), limit_bytes=limit_bytes))


def payloads(items: Iterable[Payload | Rejection]) -> list[bytes]:
    """
    The data of the payloads among *items*.
    """
    return [item.data for item in items if isinstance(item, Payload)]


def rejections(items: Iterable[Payload | Rejection]) -> list[tuple[str, str]]:
    """
    Where and why of the rejections among *items*.
    """
    return [(item.where, str(item.reason)) for item in items if isinstance(item, Rejection)]
