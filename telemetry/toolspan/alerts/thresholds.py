"""
When to alert: the numbers that rules are made of, beside the targets that `check` and `report` have as well.

**The tail is an objective.** That at most 5 % of the resolved tasks retry a tool more than once says the same as "p95
of the retries is at most 1", which is the target. A *burn* of 14.4 is a tail that is 14.4 times as large: it would use
up in two days what is allowed for thirty. Four pairs of windows are those of Google's SRE workbook: the long one shows
that it matters, the short one that it still goes on, so that an alert ends soon after the cause.

**Two windows for the rest, too.** A share over six hours rests on enough cases; that the last half hour is no better
keeps the alert from standing for six hours after the tool was mended.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple


class Burn(NamedTuple):
    """
    The tail is more than *factor* times what is allowed, over *long_s* as over *short_s* seconds; whether that wakes
    somebody (*is_page*).
    """

    long_s: int
    short_s: int
    factor: float
    is_page: bool


_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

_BURNS: Final = (
    Burn(_HOUR, 5 * _MINUTE, 14.4, is_page=True),
    Burn(6 * _HOUR, 30 * _MINUTE, 6.0, is_page=True),
    Burn(_DAY, 2 * _HOUR, 3.0, is_page=False),
    Burn(3 * _DAY, 6 * _HOUR, 1.0, is_page=False),
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """
    What is allowed, and over which windows, in seconds.

    *tail* is the share of resolved tasks that may retry a tool more than once, judged by *burns*. Over *window_s*, and
    still over *recent_s*: *wasted_s* seconds that a tool may waste, the share of its failures that may be
    *unclassified*, the share above which one class makes a *cluster*. Over *recent_s*: the share of spans that may be
    *lost*. No data is alerted on after *silence_s*, where as many spans as there must be cases would have come in that
    time going by *baseline_s*. What is wrong has to stay so for *pending_s*; rules are evaluated every *interval_s*.
    """

    tail: float = 0.05
    burns: tuple[Burn, ...] = _BURNS
    window_s: int = 6 * _HOUR
    recent_s: int = 30 * _MINUTE
    wasted_s: float = 600.0
    unclassified: float = 0.1
    cluster: float = 0.5
    lost: float = 0.01
    silence_s: int = 15 * _MINUTE
    baseline_s: int = _DAY
    pending_s: int = 2 * _MINUTE
    interval_s: int = 30


DEFAULT_THRESHOLDS: Final = Thresholds()
