"""
Values as they stand on the wire → plain values: attributes, status and events that `otlp_messages` leaves unparsed.

Whatever is damaged costs only itself: an event that cannot be read is none, text that is no UTF-8 is replaced.
"""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.otlp_messages import build_messages
from toolspan.records import Event, SpanView
from toolspan.wanted import EVENT_WANTED, WANTED

MESSAGES: Final = build_messages()
#: Tag of AnyValue's `string_value`: field 1, length-delimited.
_STRING: Final = 0x0A
_STRING_TAG: Final = b"\n"
#: Tag and length of a lone text are 2 bytes; 3 in a value of more than 130 bytes, 4 in one of more than 16 386.
_LONG: Final = 130
_LONGER: Final = 16_387
#: Tag of Status' `code`: field 3, varint.
_CODE_TAG: Final = b"\x18"
_NO_EVENTS: Final[tuple[Event, ...]] = ()
#: Events that classification reads.
EVENTS: Final = frozenset(
    (attr.EXCEPTION_EVENT, *(content.event for content in (*conv.ARGUMENT_EVENTS, *conv.RESULT_EVENTS)))
)


def view_of(span: Any, scope: str, attributes: Mapping[str, object], *, all_events: bool = False) -> SpanView:
    """
    *span* as recognition and classification see it, with these *attributes*.
    """
    name, status, events = span.name, span.status, span.events
    code, message = status_of(status) if status else (0, "")
    return SpanView(
        name if name.__class__ is str else string_of(name),
        span.kind,
        scope,
        code,
        message,
        attributes,
        _events(events, all_events=all_events) if events else _NO_EVENTS,
    )


def status_of(data: bytes) -> tuple[int, str]:
    """
    Code and message in a serialised Status.
    """
    # a code below 128 and no message: nothing to parse
    if len(data) == 2 and data[:1] == _CODE_TAG:
        return data[1], ""
    try:
        status = MESSAGES.status.FromString(data)
    except DecodeError:
        return 0, ""
    return status.code, string_of(status.message)


def _events(events: Any, *, all_events: bool) -> tuple[Event, ...]:
    read: list[Event] = []
    for data in events:
        try:
            event = MESSAGES.event.FromString(data)
        except DecodeError:
            continue
        if all_events or event.name in EVENTS:
            values = all_values(event.attributes) if all_events else wanted_values(event.attributes, EVENT_WANTED)
            read.append(Event(string_of(event.name), values))
    return tuple(read)


def wanted_values(attributes: Any, names: frozenset[str] = WANTED) -> dict[str, object]:
    """
    Those of *attributes* that somebody reads, as plain values.

    Short texts, nearly all values, are read in place: 2.7 µs for a tool call, 3.0 with a call of `value_of` for each.
    """
    values: dict[str, object] = {}
    try:
        for key in attributes:
            if key in names:
                data = attributes[key]
                size = len(data)
                if 2 < size < _LONG and data[1] == size - 2 and data[:1] == _STRING_TAG:
                    values[key] = data[2:].decode()
                else:
                    values[key] = value_of(data)
    except UnicodeDecodeError:
        # a text that is no UTF-8; a key that is none cannot be listed, but the others can be asked for
        return {key: value_of(attributes[key]) for key in names if key in attributes}
    return values


def all_values(attributes: Any) -> dict[str, object]:
    """
    All *attributes* as plain values.
    """
    try:
        return {key: value_of(value) for key, value in attributes.items()}
    except UnicodeDecodeError:
        return wanted_values(attributes)


def lone_text(data: bytes | None) -> bytes:
    """
    The bytes of the text that the serialised AnyValue *data* is; empty where it is none, or an empty one.
    """
    size = 0 if data is None else len(data)
    if data is None or size < 3 or data[0] != _STRING:
        return b""
    if size < _LONG:
        return data[2:] if data[1] == size - 2 else b""
    # a length of several bytes: 7 bits in each, all but the last with the eighth set
    low, middle, high = data[1], data[2], data[3]
    if size < _LONGER:
        return data[3:] if low > 127 and (low & 127) | middle << 7 == size - 3 else b""
    is_text = low > 127 and middle > 127 and (low & 127) | (middle & 127) << 7 | high << 14 == size - 4
    return data[4:] if is_text else b""


def value_of(data: bytes) -> object:
    """
    The value in a serialised AnyValue: longer texts read in place, everything else through protobuf.
    """
    size = len(data)
    if _LONG < size < _LONGER and data[:1] == _STRING_TAG and (data[1] & 0x7F) | data[2] << 7 == size - 3:
        return data[3:].decode("utf-8", "replace")
    if 1 < size < _LONG and data[:1] == _STRING_TAG and data[1] == size - 2:
        return data[2:].decode("utf-8", "replace")
    try:
        return _plain(MESSAGES.any_value.FromString(data))
    except DecodeError:
        return None


def _plain(value: Any) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "string_value":
        return string_of(value.string_value)
    if kind == "array_value":
        return [_plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {string_of(item.key): _plain(item.value) for item in value.kvlist_value.values}
    return getattr(value, kind)


def string_of(text: str | bytes) -> str:
    """
    *text*, which is bytes where it is no UTF-8.
    """
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def encoded(text: str) -> bytes:
    """
    *text* as the AnyValue that everybody writes for it.
    """
    return bytes(MESSAGES.any_value(string_value=text).SerializeToString())
