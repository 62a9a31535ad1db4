"""
Prometheus from the agent's own process: the numbers of this process's spans, on a registry or a port of its own.

Counted is what ended here, with or without a store, and whatever befalls that: the groups that are open are kept in
memory (`open_groups`) and folded as the collector folds its transactions (`tracker`). A task of which another process
has a part is counted in each; who has several processes and wants the whole asks a collector.

A forked process counts from 0: what its parent counted is shown by its parent. The registry that it inherits asks what
it was given, so the collector in it stands for whatever counts now.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from toolspan.config import Settings
from toolspan.instrumentation import forks
from toolspan.instrumentation.losses import Losses
from toolspan.instrumentation.open_groups import OpenGroups, Patience
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.records import SpanFacts
from toolspan.tracker import Tracker

if TYPE_CHECKING:
    from toolspan.store import AppendResult

_NS: Final = 10**9
#: Of which groups are kept: 10 MB. A service has some hundreds of open ones.
_MOST_SPANS: Final = 20_000
#: Traces, calls and tasks that are known to have been counted: 5 MB.
_REMEMBERED: Final = 20_000


class ProcessMetrics(Collector):
    """
    What is shown of this process, and the destination of its facts.

    *losses* are shown, too. *clock_ns* is the time of day.
    """

    def __init__(self, settings: Settings, *, losses: Losses, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._settings = settings
        self._losses = losses
        self._clock_ns = clock_ns
        #: Called before each batch is counted.
        self.on_items: Callable[[], object] = _nothing
        self._begin()
        forks.register(self)

    def _begin(self) -> None:
        settings = self._settings
        limits = settings.metric_limits
        most = min(limits.remembered, _REMEMBERED)
        metrics = Metrics(limits=limits._replace(remembered=most), hold_s=settings.metric_hold_s)
        grace_ns = round(settings.grace_s * _NS)
        self._shown = MetricsCollector(metrics)
        self._tracker = Tracker(metrics, grace_ns=grace_ns, most=most)
        self._groups = OpenGroups(
            patience=Patience(grace_ns, round(settings.open_timeout_s * _NS)),
            most_spans=_MOST_SPANS,
            escalation_tools=settings.escalation_tools,
        )
        self._folded: dict[str, int] = {}

    def take(self, items: Sequence[SpanFacts], /) -> None:
        """
        Counts what is to be counted of *items*, now or when it is due.
        """
        self.on_items()
        now_ns = self._clock_ns()
        arrived = self._groups.add(items, now_ns=now_ns)
        with self._shown.folding() as metrics:
            metrics.receive(len(items))
            metrics.drop(arrived.conflicts, reason="conflict")
            self._tracker.written(arrived.derived, (), now_ns=now_ns)
        self.look_after()

    def look_after(self, *, is_over: bool = False) -> None:
        """
        Counts what is due by now.
        """
        now_ns = self._clock_ns()
        settled = self._groups.settle(now_ns=now_ns, is_over=is_over)
        with self._shown.folding() as metrics:
            self._tracker.written((), settled, now_ns=now_ns)
            self._tracker.tick(now_ns)
            metrics.set_open_tasks(self._groups.open_tasks())

    def finish(self) -> None:
        """
        Counts all tasks whose spans have come.
        """
        self.look_after(is_over=True)

    def written(self, appended: "AppendResult") -> None:
        """
        Shows what became of a batch in the store.
        """
        with self._shown.folding() as metrics:
            metrics.drop(appended.late, reason="late")
            metrics.set_last_commit(self._clock_ns() / _NS)

    def describe(self) -> list[Metric]:
        """
        The families without their series, so that registering counts as no scrape.
        """
        return self._shown.describe()

    def collect(self) -> Iterator[Metric]:
        """
        The families as this scrape is to see them.
        """
        shown = self._shown
        with shown.folding() as metrics:
            for reason, spans in self._losses.counts().items():
                metrics.drop(spans - self._folded.get(reason, 0), reason=reason)
                self._folded[reason] = spans
        return shown.collect()

    def before_fork(self) -> None:
        """
        As `Forked.before_fork`.
        """

    def after_fork(self, *, is_child: bool) -> None:
        """
        In a child, counts from 0.
        """
        if is_child:
            self._begin()


def _nothing() -> None:
    """
    Nothing is to be done.
    """
