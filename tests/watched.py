"""
The spans that `@tool` and `task()` make in this process, and the numbers that follow from them.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.tracing import decoded, exporting_provider
from toolspan.derive import derive
from toolspan.documents import Quality, Report
from toolspan.numbers import report
from toolspan.quality import quality
from toolspan.records import Rows


class Numbers(NamedTuple):
    """
    What toolspan says of some spans.
    """

    rows: Rows
    report: Report
    quality: Quality


class Watched:
    """
    The spans of a block.
    """

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """
        Those that have ended.
        """
        return self._exporter.get_finished_spans()

    @property
    def numbers(self) -> Numbers:
        """
        What toolspan says of them.
        """
        return numbers_of(self.spans)


def numbers_of(spans: Iterable[ReadableSpan]) -> Numbers:
    """
    The numbers of *spans*, by the way of the wire.
    """
    rows = derive(decoded(spans))
    return Numbers(rows, report(rows), quality(rows))


@contextmanager
def watched() -> Generator[Watched]:
    """
    Keeps the spans that end while the block runs; tools are to be made within it, since they keep their tracer.
    """
    provider, exporter = exporting_provider()
    with pytest.MonkeyPatch.context() as patch:
        # the API lets nobody set a second provider in one process
        patch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
        yield Watched(exporter)
