"""
Which groups a transaction changed, for whoever counts what is written: the metrics.

Rows are in hand when they are derived, and would be looked up again otherwise. Whoever counts keeps the rows of open
groups, so of a group that it knows nothing is derived twice; of any other, after a restart or when a settled group
wakes up, it is told what the store had before.
"""

from collections.abc import Callable
from typing import NamedTuple

from toolspan.records import Rows

#: Whether the rows of the group with these traces are known already.
Knows = Callable[[frozenset[bytes]], bool]


class Derived(NamedTuple):
    """
    A group that got new spans: its *traces*, its *rows* from now on, and the rows *before* of each of the groups it was
    made of that was not known.
    """

    traces: frozenset[bytes]
    rows: Rows
    before: tuple[Rows, ...]


class Settled(NamedTuple):
    """
    A group that settled; *rows* as they were until then, None where they are known.
    """

    traces: frozenset[bytes]
    rows: Rows | None


class Changes:
    """
    Collects what one transaction changes; worth anything only once it is committed.
    """

    def __init__(self, knows: Knows) -> None:
        self.knows = knows
        self.derived: list[Derived] = []
        self.settled: list[Settled] = []
