"""
What a tool returned, as the model gets it: data as of JSON, found out before the call counts as a success.
"""

import dataclasses
import datetime
import enum
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolspan
from tests.toolbox import Bench
from toolspan.tools.tool import tool


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


class Flight(pydantic.BaseModel):
    """
    A model with an alias, which is for another reader.
    """

    day: datetime.date = pydantic.Field(serialization_alias="d")


@dataclasses.dataclass
class Seat:
    """
    A seat.
    """

    row: int
    kind: object


class Kind(enum.Enum):
    """
    A kind of seat.
    """

    AISLE = "aisle"


class Odd:
    """
    Something that has no form in JSON, nor a text.
    """

    def __repr__(self) -> str:
        raise ZeroDivisionError


MAY_4 = datetime.date(2026, 5, 4)


def _deeper(each: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(each) | st.dictionaries(st.text(), each)


ATOMS: st.SearchStrategy[object] = st.none() | st.booleans() | st.integers() | st.text()
JSON: st.SearchStrategy[object] = st.recursive(ATOMS, _deeper)


@pytest.mark.parametrize(
    ("returned", "data"),
    [
        (Flight(day=MAY_4), {"day": "2026-05-04"}),
        ([Flight(day=MAY_4)], [{"day": "2026-05-04"}]),
        (Seat(12, Kind.AISLE), {"row": 12, "kind": "aisle"}),
        ({"days": (MAY_4,), 1: {"a"}}, {"days": ["2026-05-04"], "1": ["a"]}),
        (toolspan.success([MAY_4]), ["2026-05-04"]),
        ({"ok": True, "data": MAY_4}, "2026-05-04"),
        (iter([1, 2]), [1, 2]),
        (None, None),
    ],
)
def test_data_is_written_as_json_has_it(bench: Bench, returned: object, data: object) -> None:
    """Whatever models, dates and sets it is made of."""
    assert {"ok": True, "data": data} == tool(lambda: returned)()
    assert "ok" == bench.tags["toolspan.call.outcome"]


def test_what_has_no_form_in_json_is_a_text(bench: Bench) -> None:
    """A model can do nothing with it, and no harm comes of it."""
    answer = tool(Odd)()

    assert isinstance(answer["data"], str)
    assert 1 == len(bench.spans)


def test_the_models_have_the_data_as_it_was_returned(bench: Bench) -> None:
    """For code, which can do something with a date."""
    answer = tool(lambda: MAY_4).run()

    assert isinstance(answer, toolspan.Success)
    assert MAY_4 is answer.data
    assert 1 == len(bench.spans)


@given(JSON)
def test_json_stays_what_it_is(value: object) -> None:
    """Every value of JSON comes out equal; one that claims to be an envelope is another matter."""
    answer = tool(lambda: [value])()

    assert [value] == answer["data"]


class TestNoResults:
    """
    A result that cannot be had is a fault of the tool's, and its span ends with an error.
    """

    @staticmethod
    def _failed(bench: Bench, answer: dict[str, object]) -> tuple[object, object, object]:
        error = cast("dict[str, Any]", answer["error"])
        return error["class"], error["code"], bench.tags["toolspan.call.outcome"]

    def test_a_circle(self, bench: Bench) -> None:
        """It has no end."""
        circle: list[object] = []
        circle.append(circle)

        assert ("fatal", "TOOL_BUG", "error") == self._failed(bench, tool(lambda: circle)())

    def test_bytes_that_are_no_text(self, bench: Bench) -> None:
        """JSON has no form for them."""
        assert ("fatal", "TOOL_BUG", "error") == self._failed(bench, tool(lambda: b"\xff")())

    def test_a_generator_that_fails(self, bench: Bench) -> None:
        """It is run before the call counts as a success."""

        def numbers() -> Iterator[int]:
            yield 1
            raise ZeroDivisionError

        assert ("fatal", "TOOL_BUG", "error") == self._failed(bench, tool(lambda: iter(numbers()))())

    @pytest.mark.filterwarnings("error")
    def test_a_coroutine_that_nobody_awaits(self, bench: Bench) -> None:
        """A decorator between may have hidden that the function is asynchronous; the log says what to do."""

        async def search() -> str:
            return "found"

        def hidden() -> Coroutine[Any, Any, str]:
            return search()

        failed = tool(cast("Callable[[], object]", hidden)).run()

        assert isinstance(failed, toolspan.Failure)
        assert "decorate a function that is an `async def`" in (failed.error.message or "")
        assert "error" == bench.tags["toolspan.call.outcome"]


def test_recorded_content_is_what_the_model_got(bench: Bench) -> None:
    """Nothing else was shown to it."""
    tool(capture=True)(lambda: [MAY_4])()

    assert {"ok": True, "data": ["2026-05-04"]} == json.loads(bench.tags["gen_ai.tool.call.result"])
