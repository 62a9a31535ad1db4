"""
Exporters: one that tags what another exports, and one that is a destination of its own.

`wrap(exporter)` is for where a provider's processors cannot be wrapped. `ToolspanExporter` is for where nothing but an
exporter can be named: `OTEL_TRACES_EXPORTER=toolspan`. It takes spans and returns; what it has goes on by itself, so
that a processor that exports in the agent's thread waits for nothing. `force_flush` and `shutdown` complete it.
"""

import os
from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from toolspan.instrumentation.destinations import Destinations, Prometheus, StoreName, is_disabled
from toolspan.instrumentation.processor import SHUTDOWN_S
from toolspan.instrumentation.wiring import Wiring

#: Where spans go if nobody says: the store that the commands read.
_DEFAULT_STORE: Final = "toolspan.duckdb"


class TaggingExporter(SpanExporter):
    """
    Exports through *wrapped*, with tool spans tagged.
    """

    def __init__(self, wrapped: SpanExporter, wiring: Wiring) -> None:
        self.wrapped = wrapped
        self._wiring = wiring

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """
        As the wrapped exporter.
        """
        return self.wrapped.export([self._wiring.processor.tagged(span) for span in spans])

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """
        As the wrapped exporter.
        """
        return self.wrapped.force_flush(timeout_millis)

    def shutdown(self) -> None:
        """
        As the wrapped exporter.
        """
        self.wrapped.shutdown()


class ToolspanExporter(SpanExporter):
    """
    Tags spans, and sends them to a store, an endpoint and Prometheus.

    Args:
        store: path of a DuckDB file; else that of `TOOLSPAN_STORE`, else `toolspan.duckdb` where nothing else is named.
        exporter: another exporter, or the OTLP endpoint (http) to send to; else that of `TOOLSPAN_ENDPOINT`.
        prometheus: a registry, a port or ports; else those of `TOOLSPAN_PROMETHEUS_PORT`.
        config: a configuration file; else that of `TOOLSPAN_CONFIG`.
    """

    def __init__(
        self,
        store: StoreName | None = None,
        *,
        exporter: SpanExporter | str | None = None,
        prometheus: Prometheus | None = None,
        config: str | None = None,
    ) -> None:
        self._is_disabled = is_disabled(os.environ)
        destinations = Destinations(store, exporter, prometheus).completed(os.environ)
        if destinations.is_empty():
            destinations = Destinations(_DEFAULT_STORE)
        if self._is_disabled:
            destinations = Destinations()
        self._wiring = Wiring(destinations, environ=os.environ, config=config)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """
        Takes *spans*; never waits.
        """
        if not self._is_disabled:
            for span in spans:
                self._wiring.processor.on_end(span)
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """
        Writes and sends all that was taken; whether that was done in time.
        """
        return self._wiring.processor.force_flush(timeout_millis)

    def shutdown(self) -> None:
        """
        As `force_flush`, within a few seconds; takes nothing more.
        """
        self._wiring.close(SHUTDOWN_S)
