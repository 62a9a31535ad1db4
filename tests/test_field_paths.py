"""
Paths to arguments, and input schemas that have them or not.
"""

from collections.abc import Mapping

import pytest

from toolspan.envelopes.field_paths import field_problem, parse_path

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "date": {"type": "string"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        "who": {"anyOf": [{"$ref": "#/$defs/Who"}, {"type": "null"}]},
        "free": {"type": "object"},
        "prices": {"type": "object", "additionalProperties": {"properties": {"eur": True}}},
        "closed": {"type": "object", "additionalProperties": False},
        "named": {"patternProperties": {"^x-": {"type": "string"}}},
        "loop": {"$ref": "#/$defs/Loop"},
        "gone": {"$ref": "#/$defs/Missing"},
        "far": {"$ref": "https://example.com/schema.json"},
        "a b": True,
    },
    "$defs": {
        "Item": {"type": "object", "properties": {"sku": {"type": "string"}}, "additionalProperties": False},
        "Who": {"type": ["object", "null"], "properties": {"name": True}, "allOf": [{"properties": {"age": True}}]},
        "Loop": {"$ref": "#/$defs/Loop"},
    },
}

FOUND = (
    *("date", "items", "items[2].sku", "$.date", '["date"]', "['a b'].any", "who.name", "who.age", "free.anything[3]"),
    *("prices.book.eur", "named.x-a", "far.anything", "pair[0]"),
)

MISSING = {
    "dat": "there is no argument 'dat'; did you mean 'date'?",
    "zzz": "there is no argument 'zzz'; there are a b, closed, date, far, free, gone, items, loop, …",
    "items[2].skuu": "there is no argument 'skuu'; did you mean 'sku'?",
    "items.sku": "nothing has a part 'sku'",
    "date.day": "nothing has a part 'day'",
    "date[0]": "there is no list for [0]",
    "pair[1]": "there is no list for [1]",
    "prices.book.usd": "there is no argument 'usd'; there are eur",
    "closed.x": "nothing has a part 'x'",
    "loop.x": "nothing has a part 'x'",
    "gone.x": "nothing has a part 'x'",
    "": "it is no path like 'date' or 'items[2].sku'",
    "the date": "it is no path like 'date' or 'items[2].sku'",
}


@pytest.mark.parametrize("path", FOUND)
def test_an_argument_is_found(path: str) -> None:
    """A path resolves through lists, references, combinations and open objects."""
    assert None is field_problem(path, SCHEMA)


@pytest.mark.parametrize("path", MISSING)
def test_a_missing_argument_is_told(path: str) -> None:
    """A path that leads nowhere is answered with where it ends, and what is there."""
    assert MISSING[path] == field_problem(path, SCHEMA)


@pytest.mark.parametrize("text", ["", ".date", "date.", "a..b", "items[]", "items[-1]", "items[*]", "a b", "[x]", "1a"])
def test_what_is_no_path_is_none(text: str) -> None:
    """Prose and the wildcards of JSONPath name no argument."""
    assert None is parse_path(text)


def test_parts_are_names_and_indexes() -> None:
    """A path is names and indexes, in their order; a quoted number is a name."""
    assert ("items", 2, "a b", "3") == parse_path("items[2]['a b'][\"3\"]")
