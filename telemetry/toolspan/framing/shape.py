"""
Whether bytes can be an OTLP message, judged from its first few thousand.

Protobuf has no magic number, and nothing in a file says how its messages are framed. But OTLP's outer levels are
few and fixed, so a wrong guess contradicts them within some bytes: a field of a wrong type, a length that
leaves its parent. A parser would not do: protobuf keeps a field of the wrong type as an unknown one, and takes
logs for traces.
"""

from collections.abc import Mapping
from typing import NamedTuple

from toolspan.framing.payload import Reason

_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5


class Shape(NamedTuple):
    """
    The wire type of each field that a message is known to have, and what the messages in it look like.

    *sizes* holds the fields of one possible size. Fields that are not listed may come with a newer OTLP, unless
    the message *is_closed*.
    """

    wires: Mapping[int, int]
    inner: Mapping[int, "Shape"] = {}
    sizes: Mapping[int, int] = {}
    is_closed: bool = False


_RESOURCE = Shape({1: _LEN, 2: _VARINT, 3: _LEN})
_SCOPE = Shape({1: _LEN, 2: _LEN, 3: _LEN, 4: _VARINT})
#: ScopeSpans, ScopeLogs and ScopeMetrics alike: scope, records, schema_url.
_SCOPED = Shape({1: _LEN, 2: _LEN, 3: _LEN}, {1: _SCOPE})
#: ResourceSpans and its two siblings: resource, scoped records, schema_url; 1000 is their form before OTLP 0.15.
_RESOURCE_SCOPED = Shape({1: _LEN, 2: _LEN, 3: _LEN, 1000: _LEN}, {1: _RESOURCE, 2: _SCOPED})
#: TracesData, an export request, and the same of logs and metrics.
REQUEST = Shape({1: _LEN}, {1: _RESOURCE_SCOPED}, is_closed=True)

# fmt: off
_SPAN = Shape(
    {1: _LEN, 2: _LEN, 3: _LEN, 4: _LEN, 5: _LEN, 6: _VARINT, 7: _I64, 8: _I64, 9: _LEN, 10: _VARINT, 11: _LEN,
     12: _VARINT, 13: _LEN, 14: _VARINT, 15: _LEN, 16: _I32},
    sizes={1: 16, 2: 8},
)
_LOG_RECORD = Shape(
    {1: _I64, 2: _VARINT, 3: _LEN, 5: _LEN, 6: _LEN, 7: _VARINT, 8: _I32, 9: _LEN, 10: _LEN, 11: _I64, 12: _LEN},
)
_METRIC = Shape({1: _LEN, 2: _LEN, 3: _LEN, 5: _LEN, 7: _LEN, 9: _LEN, 10: _LEN, 11: _LEN, 12: _LEN})
# fmt: on


def fits(data: bytes, start: int, end: int, shape: Shape = REQUEST) -> bool:
    """
    Nothing in *data* from *start* contradicts a message of *shape* that ends at *end*, which may lie beyond it.
    """
    try:
        return _fits(data, start, end, shape)
    except IndexError:
        return True


def signal(message: bytes) -> Reason | None:
    """
    What a *message* (or its beginning) holds when that is not spans: logs or metrics.
    """
    try:
        start, end = 0, len(message)
        for number in (1, 2, 2):  # the resource's records, the scope's records, the first record
            start, end = _find(message, start, end, number)
    except (IndexError, LookupError):
        return None
    if fits(message, start, end, _SPAN):
        return None
    if fits(message, start, end, _LOG_RECORD):
        return Reason.LOGS
    return Reason.METRICS if fits(message, start, end, _METRIC) else None


def varint(data: bytes, position: int) -> tuple[int, int]:
    """
    The number at *position* and where it ends; -1 where it has more than ten bytes.

    Raises:
        IndexError: *data* ends first.
    """
    value = shift = 0
    while shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return -1, position


def _fits(data: bytes, position: int, end: int, shape: Shape) -> bool:
    while position < end:
        tag, position = varint(data, position)
        number, wire = tag >> 3, tag & 7
        expected = shape.wires.get(number)
        if number <= 0 or (expected is None and shape.is_closed) or expected not in (None, wire):
            return False
        start, position = _span_of(data, position, wire)
        if start < 0 or position > end:
            return False
        if shape.sizes.get(number, position - start) != position - start:
            return False
        inner = shape.inner.get(number)
        if inner is not None and not _fits(data, start, position, inner):
            return False
    return position == end


def _span_of(data: bytes, position: int, wire: int) -> tuple[int, int]:
    """
    Where the value of a field starts and ends; starts at -1 where it cannot be one.
    """
    if wire == _LEN:
        size, position = varint(data, position)
        return (-1, 0) if size < 0 else (position, position + size)
    if wire == _VARINT:
        return position, varint(data, position)[1]
    if wire in (_I64, _I32):
        return position, position + (8 if wire == _I64 else 4)
    return -1, 0


def _find(data: bytes, position: int, end: int, number: int) -> tuple[int, int]:
    """
    The first field *number* of the message between *position* and *end*.

    Raises:
        LookupError: It has none.
    """
    while position < end:
        tag, position = varint(data, position)
        start, position = _span_of(data, position, tag & 7)
        if start < 0:
            break
        if tag >> 3 == number:
            return start, position
    raise LookupError(number)
