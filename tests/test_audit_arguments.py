"""
Arguments made from a tool's signature: of the right form, and refused by nothing that only looks at the form.
"""

import datetime
import enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from toolspan.audit.arguments import example, example_arguments, schema_of


class Item(BaseModel):
    """
    A line of an order.
    """

    sku: Annotated[str, Field(min_length=12)]
    count: Annotated[int, Field(ge=2)]


class Fare(enum.Enum):
    """
    A closed list.
    """

    BASIC = "B"
    FULL = "F"


class Client:
    """
    Something that has no JSON form.
    """


def order(
    day: datetime.date,
    items: list[Item],
    fare: Fare,
    kind: Literal["one", "two"],
    price: Annotated[float, Field(gt=0)],
    note: str | None,
    *rest: str,
    currency: str = "EUR",
    **more: object,
) -> None:
    """
    A tool with all kinds of parameters.
    """


def loose(city: object, client: Client, later: object) -> None:
    """
    A tool whose annotations say little: none at all, a class of its own, a name that only a type checker knows.
    """


loose.__annotations__ |= {"later": "Unknown"}
del loose.__annotations__["city"]


def test_each_required_parameter_gets_a_value_of_its_type() -> None:
    """
    As the function expects it: a date, a model, a member.
    """
    arguments = example_arguments(order)

    assert {"day", "items", "fare", "kind", "price", "note"} == arguments.keys()
    assert (datetime.date(2026, 5, 4), Fare.BASIC, "one") == (arguments["day"], arguments["fare"], arguments["kind"])
    assert [Item(sku="examplexxxxx", count=2)] == arguments["items"]


def test_a_parameter_without_a_usable_type_may_be_anything() -> None:
    """
    No annotation, a class of the tool's own, a name that only a type checker knows.
    """
    assert {"city", "client", "later"} == example_arguments(loose).keys()


def test_defaults_and_collecting_parameters_are_left_out() -> None:
    """
    What need not be given is not given; the schema still has the default ones.
    """
    schema = schema_of(order)

    assert ["day", "items", "fare", "kind", "price", "note"] == schema["required"]
    assert "currency" in TypeAdapter(dict[str, object]).validate_python(schema["properties"])


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 7}, 7),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "string", "examples": ["VIE"]}, "VIE"),
        ({"type": "string", "maxLength": 3}, "exa"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-0000-0000-000000000001"),
        ({"type": "integer", "exclusiveMaximum": 5}, 4),
        ({"type": "integer", "minimum": 11, "multipleOf": 5}, 15),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"a": 1}),
        ({"type": "object"}, {}),
        ({}, "example"),
    ],
)
def test_an_example_has_the_form_that_its_schema_asks_for(schema: dict[str, object], value: object) -> None:
    """
    Keyword by keyword.
    """
    assert value == example(schema, {})


def test_a_schema_that_refers_to_itself_ends() -> None:
    """
    A tree whose branches are trees.
    """
    tree = {"type": "object", "properties": {"branch": {"$ref": "#/$defs/Tree"}}, "required": ["branch"]}

    assert str(example({"$ref": "#/$defs/Tree"}, {"Tree": tree})).startswith("{'branch': {'branch': ")
