"""
What was counted, as a collector of the Prometheus client. Needs the extra `prometheus`: import this where it is used.

**Threads.** A scrape runs in a server's thread, rows are written in another. One lock keeps them apart: whoever folds
does so inside `folding()`, and a scrape holds the lock while the plain records are made, not while they become text
(with twenty tools 0.7 ms of 10, with two hundred 7 ms of 100).

**A scrape changes something:** series that it shows for the first time are 0, and the next one shows what they
counted. Each `collect()` is a scrape, also one by a person or of a few names only (`name[]=`): where more than one
server asks, give `Metrics` a *hold_s*.

Exemplars (the trace and span of one call, on durations and errors) are shown in the OpenMetrics format alone.
"""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from math import isinf
from threading import Lock
from typing import Final

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar as ClientExemplar
from prometheus_client.samples import Timestamp

from toolspan.metrics import FAMILIES, Bucket, Definition, Exemplar, Family, Kind, Metrics

_NS_PER_S: Final = 10**9


class MetricsCollector(Collector):
    """
    Shows *metrics* to every scrape of the registry in which it is registered.

    *clock* gives seconds and never goes back.
    """

    def __init__(self, metrics: Metrics, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._clock = clock
        self._lock = Lock()

    @contextmanager
    def folding(self) -> Generator[Metrics]:
        """
        The metrics, to be changed while no scrape looks.
        """
        with self._lock:
            yield self._metrics

    def describe(self) -> list[Metric]:
        """
        The families without their series, so that registering counts as no scrape.
        """
        return [_to_client(Family(definition, [])) for definition in FAMILIES]

    def collect(self) -> Iterator[Metric]:
        """
        The families as this scrape is to see them.
        """
        with self._lock:
            shown = self._metrics.show(self._clock())
        return map(_to_client, shown)


def _to_client(family: Family) -> Metric:
    definition = family.definition
    if definition.kind is Kind.COUNTER:
        counter = CounterMetricFamily(definition.name, definition.help, labels=definition.labels, unit=definition.unit)
        for point in family.points:
            counter.add_metric(point.labels, point.value, exemplar=_exemplar(point.exemplar, definition))
        return counter
    if definition.kind is Kind.GAUGE:
        gauge = GaugeMetricFamily(definition.name, definition.help, labels=definition.labels, unit=definition.unit)
        for point in family.points:
            gauge.add_metric(point.labels, point.value)
        return gauge
    histogram = HistogramMetricFamily(definition.name, definition.help, labels=definition.labels, unit=definition.unit)
    for point in family.points:
        buckets = [_bucket(bucket, definition) for bucket in point.buckets]
        histogram.add_metric(point.labels, buckets, point.value)
    return histogram


def _bucket(bucket: Bucket, definition: Definition) -> tuple[str, float] | tuple[str, float, ClientExemplar]:
    upper = "+Inf" if isinf(bucket.upper) else str(bucket.upper)
    exemplar = _exemplar(bucket.exemplar, definition)
    return (upper, bucket.observations) if exemplar is None else (upper, bucket.observations, exemplar)


def _exemplar(exemplar: Exemplar | None, definition: Definition) -> ClientExemplar | None:
    if exemplar is None:
        return None
    ids = {"trace_id": exemplar.trace_id.hex(), "span_id": exemplar.span_id.hex()}
    return ClientExemplar(ids, exemplar.amount / definition.per_unit, Timestamp(*divmod(exemplar.at_ns, _NS_PER_S)))
