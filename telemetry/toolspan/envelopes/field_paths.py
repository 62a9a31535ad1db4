"""
Paths to an argument of a call (`date`, `items[2].sku`), and whether a tool has such an argument.

A tool's input schema says what there is. A property that it does not declare resolves only where the schema is open
on purpose: it says `additionalProperties`, or declares no property at all. JSON Schema itself lets everything in that
it does not forbid, and by that rule every misspelt field would be right.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from toolspan.evidence.payloads import is_array, is_object

#: Names of arguments as programs have them; others stand in brackets and quotes.
_PART: Final = re.compile(
    r"""(?:^\$\.|(?<=.)\.|^)(?P<name>[^\W\d][\w-]*)|\[(?P<index>\d{1,9})\]|\[(?P<quote>['"])(?P<key>.+?)(?P=quote)\]"""
)
#: References and combinations on the way to one property; more is a circle.
_MAX_TURNS: Final = 64
_COMBINATIONS: Final = ("allOf", "anyOf", "oneOf")
_BRANCHES: Final = ("if", "then", "else")
_MOST_NAMES: Final = 8


def parse_path(path: str) -> tuple[str | int, ...] | None:
    """
    The names and indexes that *path* is made of; None where it is no path.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(path):
        found = _PART.match(path, position)
        if found is None:
            return None
        index = found["index"]
        parts.append(int(index) if index is not None else found["name"] or found["key"])
        position = found.end()
    return tuple(parts) if parts else None


def format_path(parts: tuple[str | int, ...]) -> str:
    """
    The path that `parse_path` reads as *parts*; a name that is both unusual and quoted in two ways is none.
    """
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif re.fullmatch(r"[^\W\d][\w-]*", part):
            path += f".{part}" if path else part
        else:
            path += f'["{part}"]' if '"' not in part else f"['{part}']"
    return path


def field_problem(path: str, schema: Mapping[str, object]) -> str | None:
    """
    Why *path* leads to no argument in a tool's input *schema*; None where it does.
    """
    parts = parse_path(path)
    if parts is None:
        return "it is no path like 'date' or 'items[2].sku'"
    level = list(_flat(schema, schema))
    for part in parts:
        below = [child for each in level for child in _children(each, part) if child is not False]
        if not below:
            return _missing(part, level)
        level = [flat for child in below for flat in _flat(child, schema)]
    return None


def _missing(part: str | int, level: list[Mapping[str, object]]) -> str:
    if isinstance(part, int):
        return f"there is no list for [{part}]"
    names = sorted({str(name) for each in level for name in _object(each.get("properties"))})
    if not names:
        return f"nothing has a part {part!r}"
    close = get_close_matches(part, names, n=1)
    if close:
        return f"there is no argument {part!r}; did you mean {close[0]!r}?"
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"there is no argument {part!r}; there are {', '.join(names[:_MOST_NAMES])}{more}"


def _flat(schema: object, root: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """
    *schema*, what it refers to, and what it is combined of.
    """
    waiting: list[object] = [schema]
    for _ in range(_MAX_TURNS):
        if not waiting:
            return
        each = waiting.pop()
        if each is True:
            yield {}
        if not is_object(each):
            continue
        reference = each.get("$ref")
        target = _pointed(reference, root) if isinstance(reference, str) else None
        parts = [*_listed(each, _COMBINATIONS), *(each[key] for key in _BRANCHES if key in each)]
        waiting += parts if target is None else [*parts, target]
        # what only refers or combines says nothing itself
        if not (parts or isinstance(reference, str)) or each.keys() & {"properties", "items", "additionalProperties"}:
            yield each


def _listed(schema: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[object]:
    for key in keys:
        value = schema.get(key)
        if is_array(value):
            yield from value


def _pointed(reference: str, root: Mapping[str, object]) -> object:
    """
    What *reference* points to; anything at all, where that is in another document.
    """
    if not reference.startswith("#"):
        return True
    target: object = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if is_object(target) else None
    return target


def _children(schema: Mapping[str, object], part: str | int) -> Iterator[object]:
    kinds = schema.get("type")
    allowed = kinds if is_array(kinds) else [kinds]
    if kinds is not None and ("array" if isinstance(part, int) else "object") not in allowed:
        return
    yield from _items(schema, part) if isinstance(part, int) else _properties(schema, part)


def _items(schema: Mapping[str, object], index: int) -> Iterator[object]:
    first = schema.get("prefixItems")
    if is_array(first) and index < len(first):
        yield first[index]
    elif "properties" not in schema or "items" in schema:
        yield schema.get("items", True)


def _properties(schema: Mapping[str, object], name: str) -> Iterator[object]:
    properties, others = _object(schema.get("properties")), schema.get("additionalProperties")
    patterns = _object(schema.get("patternProperties"))
    if name in properties:
        yield properties[name]
    elif patterns:
        # a pattern of JSON Schema is another language's, and somebody's: not run
        yield from patterns.values()
    elif others is not None:
        yield others
    elif "properties" not in schema and "items" not in schema:
        yield True


def _object(value: object) -> Mapping[str, object]:
    return value if is_object(value) else {}
