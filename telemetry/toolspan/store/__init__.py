"""
Where spans and rows are kept: one protocol, one module per engine.

The unit is the **group**: a trace, or all traces that task ids join. What a span says never changes a row of another
group, so whoever writes appends spans, loads the groups they touched, derives them, and replaces their rows; what
differs between a collector, an embedded process and a file is only when that happens and how long the store is held
for it. That is why the protocol has these four verbs and none that settles: a store keeps, it does not decide.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from toolspan.records import Rows, SpanFacts
from toolspan.scope import EVERYTHING, Scope

__all__ = ["AppendResult", "DerivedGroup", "Store"]


class AppendResult(NamedTuple):
    """
    What became of appended spans, each counted once.

    *duplicates* repeat a span that is kept already, *conflicts* have its identity and other content (the first stays),
    *late* ones came after their group was pruned, *rejected* ones cannot be kept. *touched* are the traces that have
    new spans, so that their groups must be derived again.
    """

    new: int
    duplicates: int
    conflicts: int
    late: int
    rejected: int
    touched: frozenset[bytes]


class DerivedGroup(NamedTuple):
    """
    The rows of one group and the traces they were derived from.

    *is_settled* is False while its tasks are open.
    """

    traces: frozenset[bytes]
    rows: Rows
    is_settled: bool


class Store(Protocol):
    """
    What every engine can do.

    A method that changes something has done it durably when it returns, all of it or nothing.
    """

    def append(self, spans: Iterable[SpanFacts], /) -> AppendResult:
        """
        Keeps the spans that are new.
        """
        ...

    def load_groups(self, traces: Iterable[bytes], /) -> list[list[SpanFacts]]:
        """
        All kept spans of every group that has one of *traces*.
        """
        ...

    def replace_groups(self, groups: Iterable[DerivedGroup], /) -> None:
        """
        Puts the rows of *groups* in the place of all rows derived before from any of their traces.
        """
        ...

    def rows(self, scope: Scope = EVERYTHING, /) -> Rows:
        """
        All rows of the tasks in *scope*, whatever tool they belong to.
        """
        ...
