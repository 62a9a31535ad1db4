"""
A writer on a store of its own, for tests.
"""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests import otlp_builder as build
from tests.integration.processes import otlp_trace_of
from toolspan.changes import Derived, Settled
from toolspan.collector.inlet import Receipt
from toolspan.collector.writing import Limits, Writer
from toolspan.config import Settings
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.records import SpanFacts
from toolspan.store.appending import append_spans
from toolspan.store.held import HeldStore
from toolspan.store.reading import read_rows
from toolspan.tracker import Tracker

PATIENCE_S = 30
DEFAULTS = Settings(grace_s=0.0)


class Telling(Tracker):
    """
    A tracker that tells when something settled, and fails while it is told to.
    """

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(metrics, grace_ns=0, most=1000)
        self.has_settled = threading.Event()
        self.is_broken = False

    def written(self, derived: Iterable[Derived], settled: Iterable[Settled], *, now_ns: int) -> None:
        ended = list(settled)
        if self.is_broken:
            raise ZeroDivisionError
        super().written(derived, ended, now_ns=now_ns)
        if ended:
            self.has_settled.set()


class Scene:
    """
    A writer on a store of its own, with the metrics that it feeds.
    """

    def __init__(self, path: Path, limits: Limits, settings: Settings = DEFAULTS) -> None:
        self.store = HeldStore(path, url="", settings=settings, tell=pytest.fail)
        self.metrics = Metrics()
        self.tracker = Telling(self.metrics)
        self.failures: list[str] = []
        self.writer = Writer(
            self.store,
            settings=settings,
            metrics=MetricsCollector(self.metrics),
            tracker=self.tracker,
            limits=limits,
            on_failure=self.failures.append,
        )

    def submit(self, *numbers: int) -> Receipt:
        body = build.json_line([span for number in numbers for span in otlp_trace_of(number)])
        return self.writer.submit(body, is_json=True).result(PATIENCE_S)

    def calls(self) -> int:
        with self.store.reading() as connection:
            return len(read_rows(connection).calls)


class Slow:
    """
    Stands in for `append_spans`: holds up trace 9 until it is told, and fails for trace 2.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_held, self.goes_on = threading.Event(), threading.Event()
        self._append: Any = append_spans
        monkeypatch.setattr("toolspan.store.held.append_spans", self)

    def __call__(self, connection: object, spans: list[SpanFacts], *more: object) -> object:
        traces = {int.from_bytes(span.trace_id, "big") for span in spans}
        if 9 in traces:
            self.is_held.set()
            self.goes_on.wait(PATIENCE_S)
        if 2 in traces:
            raise ZeroDivisionError
        return self._append(connection, spans, *more)


def body_of(number: int) -> bytes:
    return build.json_line(otlp_trace_of(number))


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError
