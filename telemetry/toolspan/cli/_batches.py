"""
Spans on their way into a store that other processes share: gathered, so that a commit is worth its price, but never for
long, so that input without an end is kept as it comes.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from toolspan.records import Rows, SpanFacts
from toolspan.scope import EVERYTHING, Scope
from toolspan.store import AppendResult, SettleResult, Store

#: A second of work for the store, of which a commit is little; and little memory.
MOST_SPANS: Final = 65_536
#: How much of what was read a killed process may lose, and how old a report may be; as long as the grace period.
MOST_S: Final = 2.0

_NOTHING: Final = AppendResult(0, 0, 0, 0, frozenset())


class Totals(NamedTuple):
    """
    What became of the spans that a store was given.
    """

    new: int = 0
    duplicates: int = 0
    conflicts: int = 0
    late: int = 0


class Batches:
    """
    Gathers spans for *store* until there are *most_spans*, or the first has waited for *most_s* by the *clock*.

    *totals* is what became of all spans that *store* was given.
    """

    def __init__(
        self,
        store: Store,
        *,
        most_spans: int = MOST_SPANS,
        most_s: float = MOST_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.totals = Totals()
        self._store = store
        self._most_spans = most_spans
        self._most_s = most_s
        self._clock = clock
        self._waiting: list[SpanFacts] = []
        self._since_s = 0.0

    def append(self, spans: Iterable[SpanFacts], /) -> AppendResult:
        """
        Takes *spans*; says what became of those that were handed on, these or earlier ones.
        """
        if not self._waiting:
            self._since_s = self._clock()
        self._waiting.extend(spans)
        is_old = self._clock() - self._since_s >= self._most_s
        return self.flush() if is_old or len(self._waiting) >= self._most_spans else _NOTHING

    def flush(self) -> AppendResult:
        """
        Hands on what waits; it goes on waiting where that fails.
        """
        if not self._waiting:
            return _NOTHING
        result = self._store.append(self._waiting)
        self._waiting = []
        new, duplicates, conflicts, late = self.totals
        self.totals = Totals(
            new + result.new, duplicates + result.duplicates, conflicts + result.conflicts, late + result.late
        )
        return result

    def settle(self) -> SettleResult:
        """
        Hands on what waits, and settles what was touched: the input has ended.
        """
        self.flush()
        return self._store.settle()

    def load_groups(self, traces: Iterable[bytes], /) -> list[list[SpanFacts]]:
        """
        All spans of every group that has one of *traces*, as far as they were handed on.
        """
        return self._store.load_groups(traces)

    def rows(self, scope: Scope = EVERYTHING, /) -> Rows:
        """
        All rows of the tasks in *scope*, as far as their spans were handed on.
        """
        return self._store.rows(scope)
