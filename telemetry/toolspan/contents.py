"""
Where a tool span carries its call's arguments, result and id: an attribute, an event, or a framework's own wrapper.
"""

from collections.abc import Mapping
from typing import Final

from toolspan import conventions as conv
from toolspan.evidence.payloads import is_object, parse
from toolspan.evidence.results import read_result
from toolspan.records import SpanView

_CALL_ID_HINT: Final = "tool_call_id"
#: A model may invent an id; what is longer than this is none.
MAX_ID_CHARS: Final = 256

#: The largest signed 32-bit number: 25 days of milliseconds.
MAX_COUNT: Final = 2**31 - 1


def arguments_of(span: SpanView) -> object:
    """
    The recorded arguments as they stand, None where there are none.
    """
    return _payload(span, conv.ARGUMENTS, conv.ARGUMENT_EVENTS)


def result_of(span: SpanView) -> object:
    """
    The recorded result as it stands, None where there is none.
    """
    return _payload(span, conv.RESULT, conv.RESULT_EVENTS)


def call_id_of(attributes: Mapping[str, object], arguments: object, result: object) -> str:
    """
    The id that the model gave the call, empty where it is not known.
    """
    for key in conv.CALL_ID:
        value = attributes.get(key)
        if isinstance(value, str) and value and value != conv.NO_CALL_ID:
            return value[:MAX_ID_CHARS]
    # a framework that has no attribute for it may still say it in its own wrapper
    for payload in (arguments, result):
        if isinstance(payload, str) and _CALL_ID_HINT in payload:
            found = _call_id_in(payload)
            if found and found != conv.NO_CALL_ID:
                return found[:MAX_ID_CHARS]
    return ""


def first_text(attributes: Mapping[str, object], names: tuple[str, ...]) -> str:
    """
    The first of the attributes *names* that is a text.
    """
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def text_of(value: object) -> str:
    """
    *value* as text, empty for None.
    """
    return "" if value is None else value if isinstance(value, str) else str(value)


def count(value: object) -> int | None:
    """
    *value* as a number of things, None where it is none, or more than anybody counts: sums of it would fit no column.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value <= MAX_COUNT else None
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 12:
        return count(int(value))
    return None


def _payload(span: SpanView, keys: tuple[str, ...], events: tuple[conv.EventContent, ...]) -> object:
    attributes = span.attributes
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    for event in span.events:
        for content in events:
            if event.name == content.event:
                value = _first_value(event.attributes, content.attributes)
                if value is not None:
                    return value
    return None


def _call_id_in(payload: str) -> str:
    opened = parse(payload)
    if is_object(opened):
        inner = opened.get("kwargs")
        for holder in (opened, inner):
            if is_object(holder) and isinstance(holder.get(_CALL_ID_HINT), str):
                return str(holder[_CALL_ID_HINT])
    return read_result(opened).call_id


def _first_value(attributes: Mapping[str, object], names: tuple[str, ...]) -> object:
    for name in names:
        value = attributes.get(name)
        if value is not None and value != "":
            return value
    return None
