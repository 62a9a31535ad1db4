"""
What is looked at: a window with its zone, and filters, as they stand in the URL, so that a view is a link.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from toolspan.scope import Scope
from toolspan.windows import parse_window

_SECOND_NS: Final = 10**9
#: Ages that are offered; any other can be typed. `all` is everything, `custom` from one time to another.
RANGES: Final = ("1h", "6h", "24h", "7d", "30d", "all", "custom")
DEFAULT_RANGE: Final = "24h"
#: How the filters show a task of which the name is unknown, which is an empty string everywhere else.
UNKNOWN: Final = "(unknown)"
#: A moment that every question of a page shares is rounded down to so much, so that a refresh that comes sooner is
#: answered from memory.
_TICK_NS: Final = 2 * _SECOND_NS
_ZONED: Final = re.compile(r"[Zz]$|[+-]\d\d:\d\d$|^[^-]*$")


class View(NamedTuple):
    """
    What a page shows: the part of the store in *scope*, with times in *zone*; *choices* is what of it stands in the
    URL.
    """

    scope: Scope
    zone: str
    choices: Mapping[str, str]
    now_ns: int

    def link(self, **more: str) -> dict[str, str]:
        """
        The parameters of a link to another page with the same filters, and *more*; an empty one is left out.
        """
        return {name: value for name, value in {**self.choices, **more}.items() if value}

    def window_text(self) -> str:
        """
        The window in words, with its zone.
        """
        since_ns, until_ns = self.scope.since_ns, self.scope.until_ns
        since = "the beginning" if since_ns is None else clock(since_ns, self.zone)
        until = "now" if until_ns is None else clock(until_ns, self.zone)
        return f"{since} to {until} ({self.zone})"


def tick(now_ns: int) -> int:
    """
    *now_ns*, a few seconds ago at the most.
    """
    return now_ns - now_ns % _TICK_NS


def view_of(choices: Mapping[str, str], *, zone: str, now_ns: int) -> View:
    """
    The view that *choices*, by name as in the URL, ask for at the moment *now_ns*.

    Raises:
        InputError: a time cannot be read, or the window is empty.
    """
    chosen = choices.get("range", DEFAULT_RANGE)
    since, until = None if chosen == "all" else chosen, None
    if chosen == "custom":
        since = in_zone(choices.get("since", ""), zone)
        until = in_zone(choices.get("until", ""), zone)
    since_ns, until_ns = parse_window(since, until, now_ns=tick(now_ns))
    filters = {name: _filter(choices.get(name, "")) for name in ("agent", "service", "environment")}
    return View(Scope(since_ns, until_ns, **filters), zone, dict(choices), now_ns)


def _filter(value: str) -> str | None:
    if not value:
        return None
    return "" if value == UNKNOWN else value


def in_zone(text: str, zone: str) -> str | None:
    """
    The time *text* with the offset of *zone* where it is a time that names none; None where it is empty.
    """
    text = text.strip()
    if not text:
        return None
    if _ZONED.search(text) or zone == "UTC":
        return text
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=zone_of(zone))
    except ValueError:
        return text  # which is told what a time looks like
    return moment.isoformat()


def zone_of(name: str) -> ZoneInfo:
    """
    The zone of that *name*, UTC where nobody knows it: a browser may name one that this machine does not have.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def moment(ns: int, zone: str) -> datetime:
    """
    *ns* as a time in *zone*.
    """
    return datetime.fromtimestamp(ns // _SECOND_NS, UTC).astimezone(zone_of(zone))


def clock(ns: int, zone: str) -> str:
    """
    *ns* as a person writes it, to the minute.
    """
    return f"{moment(ns, zone):%Y-%m-%d %H:%M}"


def clock_s(ns: int, zone: str) -> str:
    """
    *ns* as a person writes it, to the second.
    """
    return f"{moment(ns, zone):%Y-%m-%d %H:%M:%S}"
