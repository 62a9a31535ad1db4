"""
A trip desk with one tool of each class, and what two models ask of it: every framework gets the same tools and the same
calls, so that all of them have to come to the same numbers.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import toolspan

#: As JSON has it; `Any`, since frameworks make a schema of the annotation.
Answer: TypeAlias = dict[str, Any]
DeskTool: TypeAlias = Callable[..., Answer]
#: What a model reads of an answer.
Told: TypeAlias = Mapping[str, Any]


class Turn(NamedTuple):
    """
    A call that a model asks for.
    """

    tool: str
    arguments: Mapping[str, str | int]


_BAD_DATE: Final = Turn("search_flights", {"date": "May 4th"})
_WEATHER: Final = Turn("get_weather", {"city": "Lisbon"})
_STORM: Final = Turn("get_weather", {"city": "Oslo"})
_REFUND: Final = Turn("refund", {"booking": "B-7"})
_NO_REFUND: Final = Turn("refund", {"booking": "B-9"})
_INVOICE: Final = Turn("get_invoice", {"number": "I-1"})
_ROOM: Final = Turn("book_room", {"hotel": "Ritz", "nights": 2})

#: Does with every failure what its class asks for.
DISCIPLINED: Final = (
    _BAD_DATE,
    Turn("search_flights", {"date": "2026-05-04"}),
    _WEATHER,
    _WEATHER,
    _REFUND,
    Turn("ask_human", {"tool": "refund", "booking": "B-7"}),
    _REFUND,
    _INVOICE,
    _ROOM,
)
#: Repeats whatever failed.
STUBBORN: Final = (
    _BAD_DATE,
    _BAD_DATE,
    Turn("search_flights", {"date": "4 May"}),
    _STORM,
    _STORM,
    _STORM,
    _NO_REFUND,
    _NO_REFUND,
    Turn("ask_human", {"tool": "refund", "booking": "B-9"}),
    _INVOICE,
    _INVOICE,
    _ROOM,
    _ROOM,
)


class TripDesk:
    """
    The tools of one task, and what they truly did: Lisbon answers at the second call, Oslo asks to be left alone for a
    minute; B-7 may be refunded once a human was asked, B-9 may not.
    """

    def __init__(self) -> None:
        #: Every execution: the tool, and `ok` or the class of its failure.
        self.executed: list[tuple[str, str]] = []
        self._asked: set[str] = set()
        self._is_awake = False

    def plain_tools(self) -> list[DeskTool]:
        """
        The tools as functions that return an envelope; nothing of toolspan writes a span.
        """
        return [_enveloped(work) for work in (*self._works(), self._asking(escalates=False))]

    def decorated_tools(self) -> list[DeskTool]:
        """
        The tools as `@toolspan.tool` makes them of functions that raise.
        """
        return [toolspan.tool(work) for work in (*self._works(), self._asking(escalates=True))]

    def _works(self) -> tuple[DeskTool, ...]:
        def search_flights(date: str) -> Answer:
            """Flights on a date."""
            if not date.startswith("2026-"):
                self._fail("validation", "search_flights")
                raise toolspan.ToolError("validation", "DATE_FORMAT", field="date", hint="Write it as YYYY-MM-DD.")
            return self._succeed("search_flights")

        def get_weather(city: str) -> Answer:
            """The weather in a city."""
            was_awake, self._is_awake = self._is_awake, city == "Lisbon"
            if not was_awake:
                self._fail("transient", "get_weather")
                wait_ms = 0 if city == "Lisbon" else 60_000
                raise toolspan.ToolError("transient", "STATION_ASLEEP", retry_after_ms=wait_ms, message=city)
            return self._succeed("get_weather")

        def refund(booking: str) -> Answer:
            """Refunds a booking."""
            if booking not in self._asked:
                self._fail("permission", "refund")
                raise toolspan.ToolError("permission", "APPROVAL_NEEDED", hint="Refunds need an approval; ask a human.")
            return self._succeed("refund")

        def get_invoice(number: str) -> Answer:
            """An invoice."""
            self._fail("fatal", "get_invoice")
            raise toolspan.ToolError("fatal", "SCHEMA_CHANGED", message=f"no column 'total' in invoice {number}")

        def book_room(hotel: str, nights: int) -> Answer:
            """Books a room."""
            self._fail("business_rule", "book_room")
            raise toolspan.ToolError("business_rule", "FULLY_BOOKED", hint=f"{hotel}: no {nights} nights, but 1.")

        return search_flights, get_weather, refund, get_invoice, book_room

    def _asking(self, *, escalates: bool) -> DeskTool:
        def ask_human(tool: str, booking: str) -> Answer:
            """Asks a human for an approval."""
            if escalates:
                toolspan.escalate(tool, reason=f"approval for {booking}")
            self._asked.update({booking} & {"B-7"})
            return self._succeed("ask_human")

        return ask_human

    def _succeed(self, name: str) -> Answer:
        self.executed.append((name, "ok"))
        return {"tool": name}

    def _fail(self, error_class: str, name: str) -> None:
        self.executed.append((name, error_class))


def _enveloped(work: DeskTool) -> DeskTool:
    @functools.wraps(work)
    def enveloped(*args: object, **kwargs: object) -> Answer:
        try:
            return toolspan.success(work(*args, **kwargs)).to_model()
        except toolspan.ToolError as error:
            return error.failure.to_model()

    return enveloped
