"""
The same agent after: its tools answer with what failed and what would help, and it does the one thing that each class
asks for. A human approves a refund that is asked for.
"""

from collections.abc import Callable
from typing import Any, Final

import toolspan
from toolspan.agents.agent_tasks import AgentTask
from toolspan.demo.services import SEATS_LEFT, ServiceError, Services
from toolspan.demo.trips import Trip
from toolspan.tools.retry import Retry

NAME: Final = "travel-agent (after)"
_RETRY: Final = Retry(attempts=3, deadline=0.5, base=0.02, cap=0.1)
_MS: Final = 1000
Answer = dict[str, Any]


class Agent:
    """
    Plans trips with *services*; its pauses are *sleep*'s.
    """

    def __init__(self, services: Services, sleep: Callable[[float], object]) -> None:
        self._services = services
        self._sleep = sleep
        self._search, self._book, self._invoice = _search(services), _book(services), _invoice(services)
        self._refund = _refund(services)

    def plan(self, trip: Trip) -> str:
        """
        What the traveller is told.
        """
        said: list[str] = []
        with toolspan.task(f"plan a trip for {NAME}", agent=NAME) as task:
            with task.step("find a flight"):
                said.append(self._find(trip))
            with task.step("find a room"):
                said.append(_told(self._again(self._book, {"nights": trip.nights})))
            if trip.wants_refund:
                with task.step("refund"):
                    said.append(self._ask_for_refund(task))
            with task.step("invoice"):
                answer = self._again(self._invoice, {})
                said.append(_told(answer))
            if answer["ok"] or answer["error"]["class"] != "fatal":
                task.resolve()
            else:
                task.fail()
        return " ".join(said)

    def _find(self, trip: Trip) -> str:
        answer = self._again(self._search, {"date": trip.written, "fare": trip.fare})
        if not answer["ok"] and answer["error"]["class"] == "validation":
            answer = self._again(self._search, {"date": trip.date, "fare": trip.fare})
        return _told(answer)

    def _ask_for_refund(self, task: AgentTask) -> str:
        answer: Answer = self._refund(is_approved=False)
        if answer["ok"] or answer["error"]["class"] != "permission":
            return _told(answer)
        task.escalate(tool="refund", reason=answer["error"]["hint"])
        return _told(self._refund(is_approved=True))

    def _again(self, tool: Callable[..., Answer], arguments: dict[str, object]) -> Answer:
        """
        The answer of *tool*, asked once more where that may help.
        """
        answer = tool(**arguments)
        if answer["ok"] or answer["error"]["class"] != "transient":
            return answer
        self._sleep((answer["error"]["retry_after_ms"] or 0) / _MS)
        return tool(**arguments)


def _told(answer: Answer) -> str:
    return "Done." if answer["ok"] else str(answer["error"]["hint"])


def _search(services: Services) -> Callable[..., Answer]:
    @toolspan.tool(retry=_RETRY)
    def search_flights(date: str, fare: str) -> dict[str, str]:
        try:
            return services.flights(date, fare)
        except ServiceError as error:
            if "422" in str(error):
                hint = "The date is ISO 8601, for example 2026-05-04."
                raise toolspan.ToolError("validation", "DATE_FORMAT", field="date", hint=hint) from error
            if "409" in str(error):
                hint = f"Fare {fare} is sold out; the lowest that is left is {SEATS_LEFT}."
                raise toolspan.ToolError("business_rule", "NO_SEATS_IN_FARE", hint=hint) from error
            raise

    return search_flights


def _book(services: Services) -> Callable[..., Answer]:
    @toolspan.tool(retry=_RETRY)
    def book_room(nights: int) -> dict[str, int]:
        try:
            return services.room(nights)
        except ServiceError as error:
            if "409" in str(error):
                hint = "The room was taken meanwhile; free instead: a room with a garden view."
                raise toolspan.ToolError("business_rule", "ROOM_TAKEN", hint=hint) from error
            raise

    return book_room


def _refund(services: Services) -> Callable[..., Answer]:
    @toolspan.tool
    def refund(is_approved: bool) -> dict[str, str]:
        try:
            return services.refund(is_approved=is_approved)
        except ServiceError as error:
            hint = "Refunds need an approval; ask the travel desk."
            raise toolspan.ToolError("permission", "APPROVAL_MISSING", hint=hint) from error

    return refund


def _invoice(services: Services) -> Callable[..., Answer]:
    @toolspan.tool(retry=_RETRY)
    def get_invoice() -> dict[str, str]:
        return services.invoice()

    return get_invoice
