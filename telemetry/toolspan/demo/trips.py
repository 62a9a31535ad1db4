"""
What travellers ask for, and how a model writes it down.
"""

from random import Random
from typing import NamedTuple

from toolspan.demo.services import SEATS_LEFT, SOLD_OUT


class Trip(NamedTuple):
    """
    A wish: a *date*, as the model *wrote* it and as it is meant; a *fare*; how many *nights*; and a refund or none.
    """

    written: str
    date: str
    fare: str
    nights: int
    wants_refund: bool


def next_trip(chance: Random) -> Trip:
    """
    Another traveller's wish.
    """
    day = chance.randint(1, 28)
    date = f"2026-05-{day:02}"
    return Trip(
        written=chance.choice((date, date, f"May {day}")),
        date=date,
        fare=SOLD_OUT if chance.random() < 0.15 else SEATS_LEFT,
        nights=chance.randint(1, 5),
        wants_refund=chance.random() < 0.2,
    )
