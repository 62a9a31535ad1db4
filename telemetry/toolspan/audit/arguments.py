"""
Arguments to call a tool with that nobody told us about: made from its signature, by way of JSON Schema.

They are of the right form and mean nothing. A tool that needs real ones (an id that exists) is given them.
"""

import inspect
import uuid
from collections.abc import Callable, Mapping
from typing import Final, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from toolspan.evidence.payloads import is_array, is_object

Schema = Mapping[str, object]

#: What a text of each format looks like; the date is far enough away to be in the future of no test.
_FORMATS: Final[Mapping[str, str]] = {
    "date": "2026-05-04",
    "date-time": "2026-05-04T14:00:00Z",
    "time": "14:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": str(uuid.UUID(int=1)),
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
_TEXT: Final = "example"
#: A schema may refer to itself.
_MAX_DEPTH: Final = 8


def schema_of(function: Callable[..., object]) -> dict[str, object]:
    """
    The JSON Schema of the arguments of *function*; a parameter whose type has none may be anything.
    """
    properties: dict[str, object] = {}
    required: list[str] = []
    definitions: dict[str, object] = {}
    hints = _hints_of(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        schema = _schema_of_type(hints.get(name, object))
        definitions |= cast("dict[str, object]", schema.pop("$defs", {}))
        properties[name] = schema
        if parameter.default is parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "$defs": definitions}


def _hints_of(function: Callable[..., object]) -> dict[str, object]:
    try:
        return get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError, AttributeError):
        # a name that only a type checker knows; such a parameter may be anything
        return {}


def _schema_of_type(kind: object) -> dict[str, object]:
    try:
        return dict(_adapter(kind).json_schema())
    except PydanticUserError:
        return {}


def example_arguments(function: Callable[..., object]) -> dict[str, object]:
    """
    A value for each parameter of *function* that has no default.
    """
    schema = schema_of(function)
    definitions = cast("Mapping[str, Schema]", schema["$defs"])
    properties = cast("Mapping[str, Schema]", schema["properties"])
    hints = _hints_of(function)
    return {
        name: _typed(hints.get(name, object), example(properties[name], definitions))
        for name in cast("list[str]", schema["required"])
    }


def _typed(kind: object, value: object) -> object:
    """
    *value* as what a function with this annotation expects: a `date`, a model; as it is where that cannot be made.
    """
    try:
        return _adapter(kind).validate_python(value)
    except (PydanticUserError, ValidationError):
        return value


def _adapter(kind: object) -> TypeAdapter[object]:
    # an annotation of somebody's: pydantic refuses what is no type
    return TypeAdapter(cast("type[object]", kind))


def example(schema: Schema, definitions: Mapping[str, Schema], depth: int = 0) -> object:
    """
    A value that *schema* allows, as far as its keywords are known here.
    """
    if depth > _MAX_DEPTH:
        return None
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    choices = schema.get("enum") or schema.get("examples")
    if is_array(choices) and choices:
        return choices[0]
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return example(definitions.get(reference.rpartition("/")[2], {}), definitions, depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(keyword)
        if is_array(parts):
            chosen = [part for part in parts if is_object(part) and part.get("type") != "null"]
            return example(chosen[0], definitions, depth + 1) if chosen else None
    return _of_type(schema, definitions, depth)


def _of_type(schema: Schema, definitions: Mapping[str, Schema], depth: int) -> object:
    kind = schema.get("type", "string")
    if kind == "object":
        return _object(schema, definitions, depth)
    if kind == "array":
        items = schema.get("items")
        # one at the least: what a tool does with each of them is what is asked about
        count = max(1, _whole(schema.get("minItems")))
        return [example(items if is_object(items) else {}, definitions, depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        return _number(schema)
    return {"boolean": False, "null": None}[str(kind)] if kind in ("boolean", "null") else _text(schema)


def _object(schema: Schema, definitions: Mapping[str, Schema], depth: int) -> dict[str, object]:
    properties, required = schema.get("properties"), schema.get("required")
    if not is_object(properties) or not is_array(required):
        return {}
    found = {str(name): properties.get(str(name)) for name in required}
    return {name: example(each if is_object(each) else {}, definitions, depth + 1) for name, each in found.items()}


def _number(schema: Schema) -> int | float:
    """
    The least that is allowed; else the most, else 1.
    """
    step = max(1, _whole(schema.get("multipleOf")))
    for keyword, beside in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0), ("exclusiveMaximum", -1)):
        bound = schema.get(keyword)
        if isinstance(bound, int | float):
            least = bound + beside
            return least if step == 1 else -(-int(least) // step) * step
    return step


def _text(schema: Schema) -> str:
    text = _FORMATS.get(str(schema.get("format")), _TEXT)
    least, most = _whole(schema.get("minLength")), schema.get("maxLength")
    text = text + "x" * (least - len(text))
    return text[:most] if isinstance(most, int) else text


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
