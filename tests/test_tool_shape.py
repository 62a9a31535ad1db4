"""
What a `@tool` looks like, and what of it is recorded.
"""

import inspect
import typing
from datetime import date
from decimal import Decimal

import pytest

import toolspan
from tests.toolbox import Bench
from toolspan.errors import ConfigError
from toolspan.tools.tool import tool, tool_of


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


class TestShape:
    @pytest.mark.usefixtures("bench")
    def test_frameworks_see_the_function(self) -> None:
        """Its name, docstring, parameters and types, and what it returns now."""

        @tool
        def search(date: str, cabin: str = "economy") -> list[str]:
            """Finds flights."""
            return [date, cabin]

        assert ("search", "Finds flights.") == (search.__name__, search.__doc__)
        assert "(date: str, cabin: str = 'economy') -> dict[str, object]" == str(inspect.signature(search))
        assert {"date": str, "cabin": str, "return": dict[str, object]} == typing.get_type_hints(search)

    @pytest.mark.usefixtures("bench")
    def test_coroutine_functions_stay_some(self) -> None:
        """Frameworks ask."""

        @tool
        async def search() -> None: ...

        assert inspect.iscoroutinefunction(search)

    def test_methods_are_tools(self, bench: Bench) -> None:
        """`self` is no argument: the same call of another object is the same call."""

        class Desk:
            @tool
            def ask(self, date: str) -> str:
                return date

            @staticmethod
            @tool
            def tell(date: str) -> str:
                return date

            @classmethod
            @tool
            def note(cls, date: str) -> str:
                return date

        answers = [Desk().ask("x"), Desk().ask(date="x"), Desk.tell("x"), Desk().note("x")]

        assert [{"ok": True, "data": "x"}] * 4 == answers
        assert 1 == len({str((span.attributes or {})["toolspan.call.args_hash"]) for span in bench.spans})

    @pytest.mark.usefixtures("bench")
    def test_the_tool_can_be_had(self) -> None:
        """For whoever audits it."""

        @tool(name="flights.search")
        def search() -> None: ...

        found = tool_of(search)

        assert found is not None
        assert "flights.search" == found.name
        assert None is tool_of(print)

    def test_what_yields_is_refused(self) -> None:
        """When it is decorated."""

        def numbers() -> object:
            yield 1

        with pytest.raises(ConfigError, match="numbers yields; a tool answers once"):
            tool(numbers)
        with pytest.raises(ConfigError, match="write it below @staticmethod"):
            tool(staticmethod(print))
        with pytest.raises(ConfigError, match="is no function"):
            tool(3)  # type: ignore[call-overload]  # as somebody without a type checker writes it

    def test_content_is_recorded_where_it_is_wanted(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the author, else by OpenTelemetry's own variable; not by default."""
        name = "gen_ai.tool.call.arguments"

        @tool
        def search(date: str) -> str:
            return date

        search("a")
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        search("b")

        assert [None, '{"date": "b"}'] == [(span.attributes or {}).get(name) for span in bench.spans]


def test_switched_off_it_leaves_no_span(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """And works as before, in a task as well."""
    monkeypatch.setenv("TOOLSPAN_DISABLED", "1")

    @tool
    def search(date: str) -> str:
        return date

    with toolspan.task("trip"):
        answer = search(date="2026-05-04")

    assert {"ok": True, "data": "2026-05-04"} == answer
    assert () == bench.spans


def test_a_default_that_is_spelled_out_makes_no_other_call(bench: Bench) -> None:
    """A model cannot get past the policy by it."""

    @tool
    def search(date: str, cabin: str = "economy") -> object:
        raise toolspan.ToolError("business_rule", "SOLD_OUT", hint=f"No {cabin} seat on {date}.")

    with toolspan.task("trip"):
        search("x")
        search("x", cabin="economy")

    assert ["error", "cancelled"] == [call.outcome for call in bench.calls]


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (1, 1.0),
        ({"day": date(2026, 5, 4), "n": 1}, {"n": 1, "day": date(2026, 5, 4)}),
        (Decimal("1.5"), Decimal("1.5")),
    ],
)
def test_equal_arguments_are_the_same_call(bench: Bench, one: object, same: object) -> None:
    """As JSON has them."""

    @tool
    def search(what: object) -> str:
        return str(what)

    search(one)
    search(same)

    assert 1 == len({str((span.attributes or {})["toolspan.call.args_hash"]) for span in bench.spans})
