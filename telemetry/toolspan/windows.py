"""
Times as people give them, RFC 3339 or an age such as `24h`, and as the documents write them.

Inside, a time is integer nanoseconds since 1970 in UTC: `datetime` stops at microseconds, spans do not.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from toolspan.errors import InputError

#: The last nanosecond that fits a signed 64-bit integer, in the year 2262: what every store can hold.
LAST_NS: Final = 2**63 - 1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_NS: Final = 10**9
_UNITS_NS: Final = {
    "ms": 10**6,
    "s": _SECOND_NS,
    "m": 60 * _SECOND_NS,
    "h": 3600 * _SECOND_NS,
    "d": 86_400 * _SECOND_NS,
    "w": 604_800 * _SECOND_NS,
}
# nine digits are 19 million years of weeks; more would only be a way to make `float` overflow
_AGE_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[smhdw])", re.ASCII)
_AGE: Final = re.compile(rf"(?:{_AGE_PART.pattern})+", re.ASCII)
_TIME: Final = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:[Tt ](?P<minute>\d\d:\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,30}))?)?"
    r"(?P<zone>[Zz]|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)


def parse_time(text: str, *, now_ns: int) -> int:
    """
    The nanoseconds since 1970 that *text* means: RFC 3339 (UTC where it names no zone) or an age before *now_ns*.

    A bare date is its midnight; parts of an age add up (`1h30m`); an age that reaches behind 1970 means 1970.

    Raises:
        InputError: *text* is neither, no such moment exists, or it lies outside 1970…2262.
    """
    if _AGE.fullmatch(text):
        return max(0, now_ns - _age_ns(text))
    match = _TIME.fullmatch(text)
    if match is None:
        raise InputError(
            f"Cannot read the time {text!r}: give RFC 3339 (2026-05-04T10:00:00Z) or an age (90m, 24h, 7d)."
        )
    moment_ns = _moment(match, text)
    if not 0 <= moment_ns <= LAST_NS:
        raise InputError(f"The time {text!r} lies outside 1970…2262, the times that nanoseconds can count.")
    return moment_ns


def parse_age(text: str) -> int:
    """
    The nanoseconds that *text* means as an age: `30d`, `1h30m`.

    Raises:
        InputError: it is none, or nothing is younger.
    """
    age_ns = _age_ns(text) if _AGE.fullmatch(text) else 0
    if not age_ns:
        raise InputError(f"Cannot read the age {text!r}: give a number with its unit (90m, 24h, 7d, 4w).")
    return age_ns


def parse_window(since: str | None, until: str | None, *, now_ns: int) -> tuple[int | None, int | None]:
    """
    The window `[since, until)` in nanoseconds, None where it is open.

    Raises:
        InputError: a time cannot be read, or no moment is inside.
    """
    since_ns = None if since is None else parse_time(since, now_ns=now_ns)
    until_ns = None if until is None else parse_time(until, now_ns=now_ns)
    if since_ns is not None and until_ns is not None and since_ns >= until_ns:
        raise InputError(f"The window is empty: since {since!r} is not before until {until!r}; exchange them?")
    return since_ns, until_ns


def format_time(ns: int) -> str:
    """
    *ns* as RFC 3339 in UTC, always with nine decimals, so that the texts sort as the times do.
    """
    seconds, fraction = divmod(ns, _SECOND_NS)
    moment = _EPOCH + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


def milliseconds(ns: int) -> float:
    """
    *ns* in milliseconds with at most three decimals, half a microsecond rounded up.
    """
    return (ns + 500) // 1000 / 1000


def _age_ns(text: str) -> int:
    return sum(round(float(number) * _UNITS_NS[unit]) for number, unit in _AGE_PART.findall(text))


def _moment(match: re.Match[str], text: str) -> int:
    minute, second, zone = match["minute"] or "00:00", match["second"] or "00", match["zone"] or "Z"
    is_leap = second == "60"  # RFC 3339 allows it, `datetime` does not: the second after 59
    iso = f"{match['date']}T{minute}:{'59' if is_leap else second}{'+00:00' if zone in 'Zz' else zone}"
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError as error:
        raise InputError(f"There is no time {text!r}: {error}.") from error
    seconds = (moment - _EPOCH) // timedelta(seconds=1) + is_leap
    return seconds * _SECOND_NS + int((match["fraction"] or "")[:9].ljust(9, "0"))
