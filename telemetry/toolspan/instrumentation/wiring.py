"""
Destinations → a processor that feeds them.

Whatever is wrong with one of them (a name, a package that is not installed, a store that somebody holds) costs that one
and a line in the log, never the host: a service starts whether or not it can be watched.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter

from toolspan.arguments import ArgumentHasher
from toolspan.config import Settings, load_settings
from toolspan.errors import ConfigError, InputError, StoreError
from toolspan.instrumentation.backlog import Backlog, Destination
from toolspan.instrumentation.destinations import Destinations, Prometheus, StoreName, store_path
from toolspan.instrumentation.embedded import EmbeddedStore, counted_losses, key_of
from toolspan.instrumentation.exporting import LIMITS, Exporting, is_there, otlp_exporter
from toolspan.instrumentation.losses import Faults, Losses
from toolspan.instrumentation.processor import Sink, Tagger, ToolspanProcessor, Unread
from toolspan.recognise import Recogniser
from toolspan.records import SpanFacts
from toolspan.tools.process_settings import process_key

if TYPE_CHECKING:
    from toolspan.instrumentation.process_metrics import ProcessMetrics
    from toolspan.instrumentation.scraping import MetricsPort
    from toolspan.store import AppendResult

_LOG: Final = logging.getLogger("toolspan")
_Made = TypeVar("_Made")


class FactsSink:
    """
    Hands the facts of spans to *backlog*.
    """

    def __init__(self, backlog: "Backlog[SpanFacts | Unread]") -> None:
        self._backlog = backlog
        self.flush, self.close = backlog.flush, backlog.close

    def put(self, _span: ReadableSpan, facts: SpanFacts | Unread, /) -> None:
        """
        As `Sink.put`.
        """
        self._backlog.put(facts)


class Reading:
    """
    Has *tagger* make facts of what waited, for *destination*: not in the agent's thread.
    """

    def __init__(self, destination: Destination[SpanFacts], tagger: Callable[[], Tagger]) -> None:
        self._destination = destination
        self._tagger = tagger
        self.look_after, self.finish = destination.look_after, destination.finish

    def take(self, items: Sequence[SpanFacts | Unread], /) -> None:
        """
        As `Destination.take`.
        """
        facts_of = self._tagger().facts_of
        facts = (item if isinstance(item, SpanFacts) else facts_of(item) for item in items)
        self._destination.take([item for item in facts if item is not None])


class SpanSink:
    """
    Hands spans themselves to *backlog*, and shuts the *exporter* at its end down.
    """

    def __init__(self, backlog: Backlog[ReadableSpan], exporter: SpanExporter) -> None:
        self._backlog = backlog
        self._exporter = exporter
        self.flush = backlog.flush

    def put(self, span: ReadableSpan, _facts: SpanFacts | Unread, /) -> None:
        """
        As `Sink.put`.
        """
        self._backlog.put(span)

    def close(self, timeout_s: float) -> bool:
        """
        As `Sink.close`.
        """
        is_done = self._backlog.close(timeout_s)
        self._exporter.shutdown()
        return is_done


class Wiring:
    """
    A processor around *wrapped* that feeds *destinations*, with the rules of the file *config* or of `TOOLSPAN_CONFIG`.

    *others* are the processors that are there already: to where one of them exports, nothing else does.
    """

    def __init__(
        self,
        destinations: Destinations,
        *,
        environ: Mapping[str, str],
        config: str | None = None,
        wrapped: SpanProcessor | None = None,
        others: Iterable[SpanProcessor] = (),
    ) -> None:
        self.losses, self.faults = Losses(), Faults()
        self._port: MetricsPort | None = None
        self._environ = environ
        self._ends = ExitStack()
        self._settings = self._load(config)
        # first of all, since the key of a store replaces that of the settings
        sinks = self._sinks(destinations, others)
        hasher = ArgumentHasher(self._settings.hash_key, ignored=self._settings.ignored_arguments)
        self.tagger = Tagger(Recogniser(self._settings.rules, hasher), losses=self.losses)
        self.processor = ToolspanProcessor(
            wrapped, tagger=self.tagger, losses=self.losses, faults=self.faults, sinks=sinks
        )

    @property
    def port(self) -> int | None:
        """
        Where metrics are shown, None where they are not.
        """
        return None if self._port is None else self._port.number

    def flush(self, timeout_s: float) -> bool:
        """
        Hands on what waits; whether that was done within *timeout_s*.
        """
        return self.processor.flush(timeout_s)

    def close(self, timeout_s: float) -> None:
        """
        Hands on what waits within *timeout_s*, and lets go of registry and port.
        """
        self.processor.close(timeout_s)
        self._ends.close()

    def _sinks(self, destinations: Destinations, others: Iterable[SpanProcessor]) -> list[Sink]:
        name, exporter, prometheus = destinations
        sinks: list[Sink] = []
        metrics = None if prometheus is None else self._tried(lambda: self._show(prometheus))
        if metrics is not None:
            sinks.append(
                FactsSink(
                    Backlog(
                        Reading(metrics, lambda: self.tagger), losses=self.losses, faults=self.faults, name="metrics"
                    )
                )
            )
        store = None if name is None else self._tried(lambda: self._keep(name, metrics))
        if store is not None:
            sinks.append(FactsSink(self._store_backlog(store)))
        target = None if exporter is None else self._tried(lambda: self._export(exporter))
        if target is not None and is_there(target, others):
            _LOG.info("toolspan: spans are exported there already; no second exporter is added.")
        elif target is not None:
            exporting = Exporting(target, losses=self.losses, faults=self.faults)
            backlog = Backlog(exporting, losses=self.losses, faults=self.faults, name="export", limits=LIMITS)
            sinks.append(SpanSink(backlog, target))
        return sinks

    def _store_backlog(self, store: EmbeddedStore) -> Backlog[SpanFacts | Unread]:
        reading = Reading(store, lambda: self.tagger)
        return Backlog(reading, losses=self.losses, faults=self.faults, ends_inline=True)

    def _load(self, config: str | None) -> Settings:
        try:
            return load_settings(environ=self._environ, config_path=config, new_key=process_key)
        except ConfigError as error:
            _LOG.error("toolspan goes on without configuration: %s", error)
            return Settings(hash_key=process_key())

    def _tried(self, make: Callable[[], _Made]) -> _Made | None:
        """
        What *make* makes; None where it cannot, which is said.
        """
        try:
            return make()
        except (InputError, StoreError) as error:
            _LOG.warning("toolspan: %s", error)
        except Exception as error:  # noqa: BLE001 - a service starts whether or not it can be watched
            self.faults.caught("the making of a destination", error)
        return None

    def _show(self, prometheus: Prometheus) -> "ProcessMetrics":
        try:
            from prometheus_client import CollectorRegistry

            from toolspan.instrumentation.process_metrics import ProcessMetrics
            from toolspan.instrumentation.scraping import MetricsPort, parse_ports
        except ModuleNotFoundError as error:
            from toolspan.store.connecting import install_command

            raise InputError(
                f"Prometheus needs its client, which is not installed; {install_command('prometheus')} installs it."
            ) from error
        metrics = ProcessMetrics(self._settings, losses=self.losses)
        if isinstance(prometheus, int | str):
            registry = CollectorRegistry()
            self._port = MetricsPort(registry, parse_ports(str(prometheus)))
            self._port.open()
            metrics.on_items = self._port.open
            self._ends.callback(self._port.close)
        else:
            registry = prometheus
            self._ends.callback(lambda: registry.unregister(metrics))
        registry.register(metrics)
        return metrics

    def _keep(self, name: StoreName, metrics: "ProcessMetrics | None") -> EmbeddedStore:
        path = store_path(name)
        self._take_key_of(path)
        return EmbeddedStore(
            path,
            self._settings,
            dropped=lambda: counted_losses(self.losses.counts()),
            on_written=_ignore if metrics is None else metrics.written,
        )

    def _take_key_of(self, path: Path) -> None:
        """
        Hashes arguments with the key of the store in *path*, so that other processes can compare them.
        """
        if self._settings.is_key_given:
            return
        try:
            self._settings = replace(self._settings, hash_key=key_of(path, self._settings))
        except StoreError as error:
            _LOG.warning("toolspan: %s Until then spans wait; arguments are compared within this process only.", error)

    def _export(self, exporter: SpanExporter | str) -> SpanExporter:
        return otlp_exporter(exporter, self._environ) if isinstance(exporter, str) else exporter


def _ignore(_: "AppendResult") -> None:
    """
    Nobody wants to know.
    """
