"""
The services behind the demo's tools: made up, and failing in every way that a tool can, as often as it is told.

They fail as real ones do, with the text that a client prints of a status; what that means is for a tool to say, or for
nobody.
"""

from random import Random
from typing import Final

SOLD_OUT: Final = "W"
SEATS_LEFT: Final = "M"
#: How often each of the five ways to fail is met, where the trip does not ask for it by itself.
_OVERLOADED: Final = 0.12
_BROKEN: Final = 0.02
_TAKEN: Final = 0.3


class ServiceError(Exception):
    """
    What a client of these services raises: a status with its phrase.
    """


class Services:
    """
    Flights, rooms, refunds and invoices, the same ones for the same *chance*.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def flights(self, date: str, fare: str) -> dict[str, str]:
        """
        A flight on *date*, which is ISO 8601, in a *fare* that has seats.
        """
        self._may_be_overloaded()
        if len(date) != len("2026-05-04") or date[4:5] != "-":
            raise ServiceError("422 Unprocessable Entity")
        if fare == SOLD_OUT:
            raise ServiceError("409 Conflict")
        return {"flight": "OS 405", "date": date, "fare": fare}

    def room(self, nights: int) -> dict[str, int]:
        """
        A room for so many *nights*, unless it was taken meanwhile.
        """
        self._may_be_overloaded()
        if self._chance.random() < _TAKEN:
            raise ServiceError("409 Conflict")
        return {"room": 7, "nights": nights}

    def refund(self, *, is_approved: bool) -> dict[str, str]:
        """
        A refund, if a human approved it.
        """
        if not is_approved:
            raise ServiceError("403 Forbidden")
        return {"refund": "on its way"}

    def invoice(self) -> dict[str, str]:
        """
        The invoice, where its service is not broken.
        """
        self._may_be_overloaded()
        if self._chance.random() < _BROKEN:
            raise ServiceError("501 Not Implemented")
        return {"invoice": "INV-1"}

    def _may_be_overloaded(self) -> None:
        if self._chance.random() < _OVERLOADED:
            raise ServiceError("503 Service Unavailable")
