"""
Which of a tool's parameters are a model's: what its calls are compared by, recorded with, and at fault for.
"""

from typing import Annotated, Any, cast

import pydantic
import pytest

from tests.toolbox import Bench
from toolspan.tools.tool import tool
from toolspan.tools.writes import Write


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


class RunContext:
    """
    A context as pydantic-ai puts it in; each call has another.
    """


class InjectedState:
    """
    A mark as LangGraph has it, for what it puts in.
    """


def hashes(bench: Bench) -> set[str | None]:
    """
    The hashes of the arguments of all calls.
    """
    return {call.args_hash for call in bench.calls}


def field_of(answer: dict[str, object]) -> object:
    """
    The argument that is said to be at fault.
    """
    return cast("dict[str, Any]", answer["error"])["field"]


class TestContexts:
    """
    A framework's own parameters are not given by a model.
    """

    def test_the_same_call_in_another_context_is_the_same(self, bench: Bench) -> None:
        """By position or by name, annotated with a type, a mark or a text."""

        @tool
        def first(ctx: RunContext, date: str) -> str:
            assert ctx
            return date

        @tool
        def second(date: str, state: Annotated[object, InjectedState], ctx: "pydantic_ai.RunContext[int]") -> str:  # type: ignore[name-defined]  # noqa: F821 - as a module with lazy imports has it
            assert state
            assert ctx
            return date

        first(RunContext(), "x")
        first(ctx=RunContext(), date="x")
        second("x", object(), RunContext())
        second(date="x", state=object(), ctx=RunContext())

        assert 1 == len(hashes(bench))

    def test_a_context_is_not_recorded(self, bench: Bench) -> None:
        """It may hold credentials."""

        @tool(capture=True)
        def search(ctx: RunContext, date: str) -> str:
            assert ctx
            return date

        search(RunContext(), "x")

        assert '{"date": "x"}' == bench.tags["gen_ai.tool.call.arguments"]

    def test_a_parameter_of_another_type_is_a_models(self, bench: Bench) -> None:
        """A name alone says nothing."""

        @tool
        def search(context: str, config: "dict[str, RunContext]") -> str:
            return context + "".join(config)

        search("a", {})
        search("b", {})

        assert 2 == len(hashes(bench))


class TestKeys:
    """
    The idempotency key is the program's.
    """

    def test_one_that_is_given_by_position_is_taken(self, bench: Bench) -> None:
        """And makes no other call of the same."""
        given: list[str] = []

        @tool(write=Write())
        def pay(amount: int, idempotency_key: str = "") -> int:
            given.append(idempotency_key)
            return amount

        pay(1, "order-7")
        pay(1, idempotency_key="order-8")

        assert ["order-7", "order-8"] == given
        assert 1 == len(hashes(bench))


class TestFields:
    """
    The argument at fault is one of the call's, or none.
    """

    def test_what_the_tool_did_wrong_itself_is_no_argument(self, bench: Bench) -> None:
        """A call in its own code, an answer that it could not read."""

        class Fare(pydantic.BaseModel):
            price: int

        def helper(price: int) -> int:
            return price

        @tool
        def calls(date: str) -> object:
            return helper(*(int(each) for each in date[:0]))

        @tool
        def reads(date: str) -> object:
            return Fare.model_validate({"price": date})

        assert [None, None] == [field_of(calls("x")), field_of(reads("x"))]
        assert "price" not in str([calls("x"), reads("x")])
        assert 4 == len(bench.spans)

    def test_one_that_pydantic_refused_is_named(self, bench: Bench) -> None:
        """Also where it was given by position, and only its number is known."""

        @tool
        @pydantic.validate_call
        def search(origin: str, days: list[int]) -> str:
            return origin + str(days)

        answers = [search("BER", ["x"]), search(origin="BER", days=[1, "x"])]  # type: ignore[list-item]  # as a model does it

        assert ["days[0]", "days[1]"] == [field_of(answer) for answer in answers]
        assert 2 == len(bench.spans)

    def test_a_tool_that_takes_anything_may_name_anything(self, bench: Bench) -> None:
        """Its schema does not say what there is."""

        class Fare(pydantic.BaseModel):
            price: int

        @tool
        def search(**fields: object) -> object:
            return Fare.model_validate(fields)

        assert "price" == field_of(search(price="x"))
        assert 1 == len(bench.spans)
