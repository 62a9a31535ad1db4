"""
Distributions by nearest rank: the smallest value such that at least a share of the cases is not above it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from toolspan_queries.page_rows import RetriesOverTime

#: What is drawn of a distribution, by name.
PERCENTILES: Final[Mapping[str, int]] = {"p50": 50, "p95": 95, "p99": 99, "max": 100}


class Percentiles(NamedTuple):
    """
    How often tasks that ended in one part of the window retried a tool, of how many *tasks*.
    """

    begin_ns: int
    tasks: int
    values: Mapping[str, int]


def nearest_rank(counts: Mapping[int, int], percentile: int) -> int:
    """
    The *percentile* of the values that occur as often as *counts* says; there is at least one.
    """
    total, up_to = sum(counts.values()), 0
    for value in sorted(counts):
        up_to += counts[value]
        if up_to * 100 >= total * percentile:
            return value
    return max(counts)


def distribution(rows: Iterable[RetriesOverTime]) -> dict[int, int]:
    """
    Tasks by how often they retried, over the whole window.
    """
    counts: Counter[int] = Counter()
    for row in rows:
        counts[row.retries] += row.tasks
    return dict(sorted(counts.items()))


def over_time(rows: Iterable[RetriesOverTime]) -> Sequence[Percentiles]:
    """
    The percentiles of each part of the window in which a task ended, in order.
    """
    parts: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for row in rows:
        parts[row.begin_ns][row.retries] = row.tasks
    return [
        Percentiles(
            begin_ns,
            sum(counts.values()),
            {name: nearest_rank(counts, percentile) for name, percentile in PERCENTILES.items()},
        )
        for begin_ns, counts in sorted(parts.items())
    ]
