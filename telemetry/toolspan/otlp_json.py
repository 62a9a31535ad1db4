"""
OTLP/JSON → spans, tolerant of what a hand-written or foreign exporter gets wrong.

Ids are hex as OTLP prescribes, or base64 as protobuf's own JSON mapping writes them (their lengths tell them apart);
numbers may be text; enums may be names; keys may be snake_case. A field of the wrong type counts as absent.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from toolspan.errors import InputError
from toolspan.evidence.payloads import is_array, is_object
from toolspan.records import Event, SeenSpan, SpanView

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_KINDS: Final = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_STATUSES: Final = {"OK": 1, "ERROR": 2}
_MAX_VALUE_DEPTH: Final = 32
#: More than any 64-bit number has.
_MAX_DIGITS: Final = 25
#: The parent of a span whose parent cannot be read: some span that never comes.
UNREADABLE_PARENT: Final = b"\xff" * 8
_NOTHING: Final[Mapping[str, object]] = {}
#: What others write one to a line and this is not.
_FOREIGN: Final = {
    "resourceLogs": "OTLP logs; toolspan reads traces (resourceSpans)",
    "resourceMetrics": "OTLP metrics; toolspan reads traces (resourceSpans)",
}


def read_json_spans(data: bytes) -> Iterator[SeenSpan]:
    """
    The spans of the request in *data*; ids that cannot be read are empty, times 0.

    Raises:
        InputError: *data* is no JSON, or no OTLP trace request.
    """
    request = _parse(data)
    groups = _get(request, "resourceSpans")
    if not request:
        # an empty export is `{}` in protobuf's JSON mapping
        return
    if not is_array(groups):
        raise InputError(_what_it_is(request))
    for group in groups:
        if not is_object(group):
            continue
        resource = _attributes(_object(group.get("resource")))
        for scope_spans in _objects(_get(group, "scopeSpans")):
            scope = _text(_object(scope_spans.get("scope")).get("name"))
            for span in _objects(scope_spans.get("spans")):
                yield _span(span, scope, resource)


def _parse(data: bytes) -> Mapping[str, object]:
    text = data.decode("utf-8", "replace")
    try:
        request: object = _load(text)
        if "\\ud" in text or "\\uD" in text:
            request = _clean(request)
    except json.JSONDecodeError as error:
        # its own words end in a position within this request, which contradicts the place that is said of the request
        raise InputError(f"not JSON: {error.msg.removesuffix(' at').removesuffix(' starting')}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    if not is_object(request):
        raise InputError("JSON, but no OTLP request: expected an object with resourceSpans")
    return request


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        if "digits" not in str(error):
            raise
        # Python refuses to convert integers of thousands of digits; nothing that is read here is one
        return json.loads(text, parse_int=_small_integer)


def _small_integer(digits: str) -> int:
    return int(digits) if len(digits) < _MAX_DIGITS else 0


def _what_it_is(request: Mapping[str, object]) -> str:
    for key, what in _FOREIGN.items():
        if key in request:
            return what
    if "resourceSpans" in request or "resource_spans" in request:
        return "no OTLP request: resourceSpans is not a list"
    return "JSON, but no OTLP request: expected an object with resourceSpans"


def _clean(value: object) -> object:
    """
    *value* without lone surrogates: no encoder takes them, so they must not get further than here.
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if is_object(value):
        return {str(_clean(key)): _clean(item) for key, item in value.items()}
    if is_array(value):
        return [_clean(item) for item in value]
    return value


def _span(span: Mapping[str, object], scope: str, resource: Mapping[str, object]) -> SeenSpan:
    status = _object(span.get("status"))
    events = tuple(Event(_text(event.get("name")), _attributes(event)) for event in _objects(span.get("events")))
    view = SpanView(
        _text(span.get("name")),
        _enum(span.get("kind"), _KINDS),
        scope,
        _enum(status.get("code"), _STATUSES),
        _text(status.get("message")),
        _attributes(span),
        events,
    )
    return SeenSpan(
        view,
        _identifier(_get(span, "traceId"), 16),
        _identifier(_get(span, "spanId"), 8),
        _parent(_get(span, "parentSpanId")),
        _time(_get(span, "startTimeUnixNano")),
        _time(_get(span, "endTimeUnixNano")),
        resource,
    )


def _get(holder: Mapping[str, object], name: str) -> object:
    value = holder.get(name)
    if value is None:
        # protobuf's JSON parsers accept the field's own name, too
        value = holder.get(re.sub(r"(?=[A-Z])", "_", name).lower())
    return value


def _object(value: object) -> Mapping[str, object]:
    return value if is_object(value) else _NOTHING


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    if is_array(value):
        for item in value:
            if is_object(item):
                yield item


def _attributes(holder: Mapping[str, object]) -> dict[str, object]:
    return {
        key: _value(item.get("value"), 0)
        for item in _objects(holder.get("attributes"))
        if isinstance(key := item.get("key"), str)
    }


def _value(value: object, depth: int) -> object:
    if not is_object(value) or depth > _MAX_VALUE_DEPTH:
        return None
    for kind, item in value.items():
        match kind:
            case "stringValue" | "string_value":
                return item if isinstance(item, str) else None
            case "boolValue" | "bool_value":
                return item if isinstance(item, bool) else None
            case "intValue" | "int_value":
                return _integer(item)
            case "doubleValue" | "double_value":
                return item if isinstance(item, int | float) else None
            case "arrayValue" | "array_value":
                return [_value(inner, depth + 1) for inner in _objects(_object(item).get("values"))]
            case "kvlistValue" | "kvlist_value":
                pairs = _objects(_object(item).get("values"))
                return {_text(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
            case "bytesValue" | "bytes_value":
                return item
            case _:
                continue
    return None


def _identifier(value: object, size: int) -> bytes:
    if not isinstance(value, str):
        return b""
    try:
        if len(value) == size * 2:
            return bytes.fromhex(value)
        return base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        return b""


def _parent(value: object) -> bytes:
    return b"" if value is None or value == "" else _identifier(value, 8) or UNREADABLE_PARENT


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) < _MAX_DIGITS:
        try:
            return int(value)
        except ValueError:
            return None
    return None


def _time(value: object) -> int:
    return _integer(value) or 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _enum(value: object, names: Mapping[str, int]) -> int:
    if isinstance(value, str) and not value.isdecimal():
        return names.get(value.rpartition("_")[2], 0)
    return _integer(value) or 0
