"""
The series of a family: what they count, and what of it may be shown.

A counter that is born at 1 tells nobody: `increase()` sees no step. So a series that was never shown is shown as 0
first, and what it counts from the next scrape on.

**Several scrapers.** Who scrapes cannot be told apart. Where two Prometheus servers take turns, or a person looks with
a browser, one of them sees the 0 and the other the first increments as the first value. *hold_s* is for that: a series
stays 0 until so many seconds after it was first shown, and at least until the next scrape. With the longest scrape
interval every server sees a 0; the price is that the very first events of a series are told that much later. It is 0
by default, which is right for one server.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from toolspan.metrics.families import Bucket, Definition, Exemplar, Family, Key, Point
from toolspan.records import Call


def exemplar_of(call: Call, amount: int) -> Exemplar:
    """
    *call* as an example of *amount*.
    """
    return Exemplar(call.trace_id, call.span_id, amount, call.ended_ns)


class Gate:
    """
    Lets through what a series counted once the series has been shown as 0 for *hold_s*.

    What is through stays through, whatever the clock does: a counter never falls.
    """

    __slots__ = ("_hold_s", "_open", "_shown_at")

    def __init__(self, hold_s: float) -> None:
        self._hold_s = hold_s
        self._shown_at: dict[Key, float] = {}
        self._open: set[Key] = set()

    def is_open(self, key: Key, now_s: float) -> bool:
        """
        Whether the series *key*, which is shown now, may show what it counted.
        """
        if key in self._open:
            return True
        if key not in self._shown_at:
            self._shown_at[key] = now_s
        elif now_s - self._shown_at[key] >= self._hold_s:
            del self._shown_at[key]
            self._open.add(key)
            return True
        return False


class Counters:
    """
    The counters of one family.
    """

    __slots__ = ("_amounts", "_definition", "_exemplars", "_gate")

    def __init__(self, definition: Definition, *, hold_s: float) -> None:
        self._definition = definition
        self._amounts: dict[Key, int] = {}
        self._exemplars: dict[Key, Exemplar] = {}
        self._gate = Gate(hold_s)

    def bring(self, keys: Iterable[Key]) -> None:
        """
        Have the series of *keys*, though nothing was counted yet.
        """
        for key in keys:
            self._amounts.setdefault(key, 0)

    def add(self, key: Key, amount: int, *, exemplar: Exemplar | None = None) -> None:
        """
        Count *amount* more; a negative one counts as 0.
        """
        self._amounts[key] = self._amounts.get(key, 0) + max(0, amount)
        if exemplar is not None:
            self._exemplars[key] = exemplar

    def show(self, now_s: float) -> Family:
        """
        The family as it is to be shown now.
        """
        return Family(self._definition, [self._point(key, now_s) for key in self._amounts])

    def _point(self, key: Key, now_s: float) -> Point:
        if self._gate.is_open(key, now_s):
            return Point(key, self._amounts[key] / self._definition.per_unit, self._exemplars.get(key))
        return Point(key, 0.0)


class Histograms:
    """
    The histograms of one family.
    """

    __slots__ = ("_counts", "_definition", "_exemplars", "_gate", "_sums", "_uppers")

    def __init__(self, definition: Definition, *, hold_s: float) -> None:
        self._definition = definition
        self._uppers = (*(bound / definition.per_unit for bound in definition.bounds), float("inf"))
        self._counts: dict[Key, list[int]] = {}
        self._sums: dict[Key, int] = {}
        self._exemplars: dict[Key, dict[int, Exemplar]] = {}
        self._gate = Gate(hold_s)

    def bring(self, keys: Iterable[Key]) -> None:
        """
        Have the series of *keys*, though nothing was observed yet.
        """
        for key in keys:
            self._counts.setdefault(key, [0] * len(self._uppers))
            self._sums.setdefault(key, 0)

    def observe(self, key: Key, amounts: Sequence[int], *, examples: Sequence[Call] = ()) -> None:
        """
        Observe *amounts*, none negative; where given, the *examples* are the calls that they are of.
        """
        self.bring([key])
        counts, bounds = self._counts[key], self._definition.bounds
        places = [bisect_left(bounds, amount) for amount in amounts]
        for place, count in Counter(places).items():
            counts[place] += count
        self._sums[key] += sum(amounts)
        # of the calls in a bucket the last one stays
        for place, (amount, call) in dict(zip(places, zip(amounts, examples, strict=False), strict=False)).items():
            self._exemplars.setdefault(key, {})[place] = exemplar_of(call, amount)

    def show(self, now_s: float) -> Family:
        """
        The family as it is to be shown now.
        """
        return Family(self._definition, [self._point(key, now_s) for key in self._counts])

    def _point(self, key: Key, now_s: float) -> Point:
        if not self._gate.is_open(key, now_s):
            return Point(key, 0.0, buckets=tuple(Bucket(upper, 0) for upper in self._uppers))
        exemplars = self._exemplars.get(key, {})
        buckets = tuple(
            Bucket(upper, count, exemplars.get(place))
            for place, (upper, count) in enumerate(zip(self._uppers, accumulate(self._counts[key]), strict=True))
        )
        return Point(key, self._sums[key] / self._definition.per_unit, buckets=buckets)
