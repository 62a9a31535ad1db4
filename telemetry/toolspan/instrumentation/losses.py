"""
What toolspan could not do in somebody else's process: counted, and said in the log; never raised.

Whoever loses a span only counts it, for that may be the agent's own thread. The lines are written by threads of our
own: the first of each reason at once, and the sum of all when there is nothing more to come.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import Final

from toolspan.instrumentation import forks

_LOG: Final = logging.getLogger("toolspan")

#: What became of spans, by reason, as people are told.
REASONS: Final[Mapping[str, str]] = {
    "queue_full": "came while too many waited to be written to the store",
    "shutdown": "could not be written to the store before the process ended",
    "fault": "met a fault of toolspan",
    "time": "have no time, or one outside 1970 to 2262",
    "metrics_queue_full": "came while too many waited to be counted for Prometheus",
    "metrics_shutdown": "could not be counted for Prometheus before the process ended",
    "export_queue_full": "came while too many waited to be exported",
    "export_shutdown": "could not be exported before the process ended",
    "export": "were refused by the exporter",
}


class Losses:
    """
    Counts spans that were lost, by reason; for any thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._told: set[str] = set()
        self._summed: Counter[str] = Counter()
        forks.register(self)

    def add(self, reason: str, spans: int = 1) -> None:
        """
        Counts *spans* that were lost.
        """
        if spans > 0:
            with self._lock:
                self._counts[reason] += spans

    def counts(self) -> Counter[str]:
        """
        All losses so far.
        """
        with self._lock:
            return Counter(self._counts)

    def tell(self) -> None:
        """
        Says which reasons there are that were not said yet.
        """
        for reason, spans in self.counts().items():
            if reason not in self._told:
                self._told.add(reason)
                _LOG.warning("toolspan: %s; more of these are counted, not logged.", _line(spans, reason))

    def tell_all(self) -> None:
        """
        Says how many spans were lost in all, if any were since it was said last.
        """
        counts = self.counts()
        if counts != self._summed:
            self._summed = counts
            self._told.update(counts)
            lines = "; ".join(_line(spans, reason) for reason, spans in sorted(counts.items()))
            _LOG.warning("toolspan lost spans in this process: %s.", lines)

    def before_fork(self) -> None:
        """
        As `Forked.before_fork`.
        """

    def after_fork(self, *, is_child: bool) -> None:
        """
        What the parent lost is the parent's to tell.
        """
        if is_child:
            self._lock, self._counts, self._told, self._summed = Lock(), Counter(), set(), Counter()


def _line(spans: int, reason: str) -> str:
    return f"{spans:,} span{'' if spans == 1 else 's'} {REASONS.get(reason, reason)} ({reason})"


class Faults:
    """
    Where exceptions end that must not reach the host: each place is logged once with its traceback, all are counted.

    *reraises* is for tests, in which a fault should be loud.
    """

    def __init__(self, *, reraises: bool = False) -> None:
        self.reraises = reraises
        self._told: set[tuple[str, type[BaseException]]] = set()
        self.count = 0

    def caught(self, where: str, error: Exception) -> None:
        """
        Takes *error*, which was caught at the place *where*, in the `except` clause.
        """
        self.count += 1
        if self.reraises:
            raise error
        kind = (where, type(error))
        if kind not in self._told:
            self._told.add(kind)
            _LOG.warning(
                "toolspan: a fault in %s; the agent is not concerned. Others like it are counted.",
                where,
                exc_info=error,
            )
