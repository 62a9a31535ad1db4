"""
Where spans and rows are kept: one protocol, one module per engine.

The unit is the **group**: a trace, or all traces that task ids join. What a span says never changes a row of another
group, so a store keeps what is new, derives the groups it touches, and replaces their rows, all in one. When a group is
over is not the store's to decide: whoever writes to it knows whether its input has ended, and says so.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from toolspan.records import Rows, SpanFacts
from toolspan.scope import EVERYTHING, Scope

__all__ = ["AppendResult", "PruneResult", "SettleResult", "Store"]


class AppendResult(NamedTuple):
    """
    What became of appended spans, each counted once.

    *duplicates* repeat a span that is kept already, *conflicts* have its identity and other content (the first stays),
    *late* ones came after their group was closed, and for those that *overflow* it had no room. *touched* are the
    traces that have new spans: their tasks are open.
    """

    new: int
    duplicates: int
    conflicts: int
    late: int
    touched: frozenset[bytes]
    overflow: int = 0


class SettleResult(NamedTuple):
    """
    How many groups were settled, and the calls and tasks in them.
    """

    groups: int
    calls: int
    tasks: int


class PruneResult(NamedTuple):
    """
    How many tasks were deleted, and the calls in them.
    """

    tasks: int
    calls: int


class Store(Protocol):
    """
    What every engine can do.

    A method that changes something has done it durably when it returns, all of it or nothing.
    """

    def append(self, spans: Iterable[SpanFacts], /) -> AppendResult:
        """
        Keeps the spans that are new, with the rows of their groups, which are open until they are settled.
        """
        ...

    def settle(self) -> SettleResult:
        """
        Settles the groups that got spans through this object since they last settled: its input has ended.
        """
        ...

    def load_groups(self, traces: Iterable[bytes], /) -> list[list[SpanFacts]]:
        """
        All kept spans of every group that has one of *traces*.
        """
        ...

    def rows(self, scope: Scope = EVERYTHING, /) -> Rows:
        """
        All rows of the tasks in *scope*, whatever tool they belong to.
        """
        ...
