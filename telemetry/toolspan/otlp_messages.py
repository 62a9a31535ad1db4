"""
OTLP's trace messages, trimmed: only the fields that are read, attributes as maps of values left unparsed.

`repeated KeyValue` and `map<string, bytes>` are the same bytes on the wire: a map answers "is this attribute here?"
without a walk over all of them, and a value that nobody asks for is never parsed. Parsing costs 0.4 µs a span of
750 bytes so (1.2 with parsed values), reading the attributes of a tool call 3.0 µs (3.9). The file is declared as
proto2, whose strings are not refused when they are no UTF-8: then the field holds bytes, and the rest is read.
"""

from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "toolspan.otlp"
_Field = descriptor_pb2.FieldDescriptorProto
_TYPES: Final = {
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "double": _Field.TYPE_DOUBLE,
    "fixed64": _Field.TYPE_FIXED64,
}

#: message → fields as (name, number, type); `[]` behind a type: repeated; "attributes": the map.
#: Numbers: opentelemetry/proto/trace/v1/trace.proto, common/v1/common.proto, resource/v1/resource.proto.
_MESSAGES: Final[dict[str, tuple[tuple[str, int, str], ...]]] = {
    "AnyValue": (
        ("string_value", 1, "string"),
        ("bool_value", 2, "bool"),
        ("int_value", 3, "int64"),
        ("double_value", 4, "double"),
        ("array_value", 5, "ArrayValue"),
        ("kvlist_value", 6, "KeyValueList"),
        ("bytes_value", 7, "bytes"),
    ),
    "ArrayValue": (("values", 1, "AnyValue[]"),),
    "KeyValue": (("key", 1, "string"), ("value", 2, "AnyValue")),
    "KeyValueList": (("values", 1, "KeyValue[]"),),
    "Event": (("name", 2, "string"), ("attributes", 3, "attributes")),
    "Status": (("message", 2, "string"), ("code", 3, "int32")),
    "Span": (
        ("trace_id", 1, "bytes"),
        ("span_id", 2, "bytes"),
        ("parent_span_id", 4, "bytes"),
        ("name", 5, "string"),
        ("kind", 6, "int32"),
        ("start_time_unix_nano", 7, "fixed64"),
        ("end_time_unix_nano", 8, "fixed64"),
        ("attributes", 9, "attributes"),
        ("events", 11, "bytes[]"),
        ("status", 15, "bytes"),
    ),
    "Scope": (("name", 1, "string"),),
    "ScopeSpans": (("scope", 1, "Scope"), ("spans", 2, "Span[]")),
    "Resource": (("attributes", 1, "attributes"),),
    "ResourceSpans": (("resource", 1, "Resource"), ("scope_spans", 2, "ScopeSpans[]")),
    "TracesData": (("resource_spans", 1, "ResourceSpans[]"),),
}


class Messages(NamedTuple):
    """
    The message classes: *traces_data* is a TracesData (an ExportTraceServiceRequest byte for byte); attribute values,
    events and the status of a span are left as bytes for *any_value*, *event* and *status*.

    Typed as Any: protobuf makes the classes at run time.
    """

    traces_data: Any
    any_value: Any
    event: Any
    status: Any


def build_messages() -> Messages:
    """
    The message classes, in a descriptor pool of their own.
    """
    file = descriptor_pb2.FileDescriptorProto(name="toolspan/otlp.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
        for field_name, number, kind in fields:
            field = message.field.add(name=field_name, number=number, label=_Field.LABEL_OPTIONAL)
            if name == "AnyValue":
                field.oneof_index = 0
            _declare(message, field, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = (
        pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in ("TracesData", "AnyValue", "Event", "Status")
    )
    return Messages(*(message_factory.GetMessageClass(found) for found in classes))


def _declare(message: descriptor_pb2.DescriptorProto, field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    if kind.endswith("[]"):
        field.label = _Field.LABEL_REPEATED
        kind = kind.removesuffix("[]")
    if kind in _TYPES:
        field.type = _TYPES[kind]
        return
    field.type = _Field.TYPE_MESSAGE
    if kind == "attributes":
        entry = message.nested_type.add(name="AttributesEntry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
        entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_BYTES)
        field.label = _Field.LABEL_REPEATED
        field.type_name = f".{_PACKAGE}.{message.name}.AttributesEntry"
        return
    field.type_name = f".{_PACKAGE}.{kind}"
