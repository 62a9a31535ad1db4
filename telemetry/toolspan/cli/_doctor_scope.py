"""
What `doctor` finds in files and stores alike: filters that leave nothing, and times in another unit.
"""

from collections.abc import Callable, Iterator
from typing import Final

from toolspan.cli._names import Names
from toolspan.diagnosis import Finding, Severity
from toolspan.scope import DIMENSIONS, Scope
from toolspan.windows import format_time

#: Of the names of a filter's values.
_MOST_VALUES: Final = 10
#: 2000-01-01. Tracing is younger: what is older are seconds or milliseconds taken for nanoseconds.
_OLDEST_NS: Final = 946_684_800 * 10**9
FILTERS: Final = ("tool", *DIMENSIONS)


def filter_findings(
    scope: Scope, names: Names, *, ends_ns: tuple[int, int], has_calls: Callable[[Scope], bool]
) -> Iterator[Finding]:
    """
    Which part of *scope* it is that leaves none of the calls; nothing where it leaves some, or there are none.

    Args:
        ends_ns: when the first task ended, and when the last.
    """
    if not names.calls or has_calls(scope):
        return
    first, last = (format_time(end_ns)[:19] for end_ns in ends_ns)
    values = {"tool": names.tools, **names.values}
    parts = {
        "The window": (scope._replace(**dict.fromkeys(FILTERS)), f"Tasks ended from {first}Z to {last}Z."),
        **{
            f"--{name} {getattr(scope, name)}": (Scope(**{name: getattr(scope, name)}), _there_are(values[name]))
            for name in FILTERS
        },
    }
    guilty = {what: seen for what, (part, seen) in parts.items() if not has_calls(part)}
    for what, seen in (guilty or {"The combination of filters": "Each of them alone leaves calls."}).items():
        yield Finding("filtered", Severity.BLOCKS, f"{what} leaves none", seen, "", ("Change it, or leave it out.",))


def _there_are(values: frozenset[str]) -> str:
    return f"There are: {', '.join(repr(value) for value in sorted(values)[:_MOST_VALUES])}."


def unit_findings(first_ns: int) -> Iterator[Finding]:
    """
    What is wrong where the first span starts at *first_ns*; 0 where there is none.
    """
    if 0 < first_ns < _OLDEST_NS:
        yield Finding(
            "units",
            Severity.WEAKENS,
            "Times are not in nanoseconds",
            f"The first span starts at {format_time(first_ns)}.",
            "Durations are wrong, and no window finds the tasks.",
            ("Look for an exporter or converter that writes seconds or milliseconds.",),
        )
