"""
What the API is asked: query parameters, checked, with one line for each that is wrong.
"""

import re
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from starlette.datastructures import QueryParams

from toolspan.errors import InputError
from toolspan.numbers import Targets
from toolspan.scope import DIMENSIONS, Dimension, Scope
from toolspan.store.reading import Place
from toolspan.windows import parse_window

#: The window and the filters.
SCOPE: Final = ("since", "until", "tool", "agent", "service", "environment")
TARGETS: Final = Targets._fields
DEFAULT_LIMIT: Final = 1_000
MOST_CALLS: Final = 10_000
_SPAN: Final = re.compile(r"[0-9a-f]{1,16}")
_PLACE: Final = re.compile(r"(\d{1,19})-([0-9a-f]{32})-([0-9a-f]{16})")


class Asked(NamedTuple):
    """
    The parameters of one request, each of which may be given once.
    """

    values: Mapping[str, str]

    def scope(self) -> Scope:
        """
        The part of the rows that is asked for.
        """
        since_ns, until_ns = parse_window(self.values.get("since"), self.values.get("until"), now_ns=time.time_ns())
        return Scope(since_ns, until_ns, *(self.values.get(name) for name in SCOPE[2:]))

    def by(self) -> Dimension | None:
        """
        What is grouped by.
        """
        value = self.values.get("by")
        found: Dimension | None = next((name for name in DIMENSIONS if name == value), None)
        if value is not None and found is None:
            raise InputError(f"Cannot group by {value!r}; there are {', '.join(DIMENSIONS)}.")
        return found

    def targets(self, default: Targets) -> Targets:
        """
        The targets that are asked for, *default* where none are.
        """
        given = {name: self._number(name) for name in TARGETS if name in self.values}
        return Targets(
            given.get("retries_per_step", default.retries_per_step),
            round(given.get("retries_p95", default.retries_p95)),
            given.get("validation_recovery", default.validation_recovery),
            given.get("clean_escalations", default.clean_escalations),
            round(given.get("min_cases", default.min_cases)),
        )

    def limit(self) -> int:
        """
        How many calls there may be at the most.
        """
        text = self.values.get("limit", str(DEFAULT_LIMIT))
        if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MOST_CALLS and len(text) < 9):
            raise InputError(f"The limit {text!r} is no number from 1 to {MOST_CALLS:,}.")
        return int(text)

    def span(self) -> str:
        """
        The beginning of a span id in hex, empty where it does not matter.
        """
        text = self.values.get("span", "")
        if "span" in self.values and not _SPAN.fullmatch(text):
            raise InputError(f"The span {text!r} is not the beginning of a span id: give 1 to 16 digits of hex.")
        return text

    def after(self) -> Place | None:
        """
        The place after which calls are asked for.
        """
        text = self.values.get("after")
        if text is None:
            return None
        match = _PLACE.fullmatch(text)
        if match is None or int(match[1]) >= 2**63:
            raise InputError(f"{text!r} is no place; take the one that an answer gives as `next`.")
        return Place(int(match[1]), bytes.fromhex(match[2]), bytes.fromhex(match[3]))

    def _number(self, name: str) -> float:
        try:
            number = float(self.values[name])
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1_000_000:
            raise InputError(f"{name} is {self.values[name]!r}; give a number, 0 or more.")
        return number


def read_parameters(given: QueryParams, known: Sequence[str]) -> Asked:
    """
    The parameters *given*, of which only the *known* make sense.

    Raises:
        InputError: one is unknown, or given twice.
    """
    values: dict[str, str] = {}
    for name, value in given.multi_items():
        if name not in known:
            close = get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known) or 'none'}."
            raise InputError(f"Unknown parameter {name!r}; {meant}")
        if name in values:
            raise InputError(f"{name} is given twice; give it once.")
        values[name] = value
    return Asked(values)


def place_text(place: Place) -> str:
    """
    *place* as it is asked for.
    """
    return f"{place.started_ns}-{place.trace_id.hex()}-{place.span_id.hex()}"
