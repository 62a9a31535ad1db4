"""
`instrument()`: toolspan into a service that emits spans, in one line, and `uninstrument()` out of it again.

**How.** The spans of a provider all go through one composite of its processors. Four methods of that one object are
replaced (start, end, flush, shutdown), so that every processor gets tagged spans, those that are added later too, each
span is tagged once, and whoever looks at the provider's processors finds his own. Where a provider has no such
composite, spans can still be had through a processor of ours; what its other processors export is then not tagged, and
one line says how it would be: `toolspan.wrap(exporter)`.

Nothing here raises: what cannot be done is a line in the log.
"""

import logging
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter

from toolspan.instrumentation.destinations import Destinations, Prometheus, StoreName, is_disabled
from toolspan.instrumentation.exporter import TaggingExporter
from toolspan.instrumentation.processor import SHUTDOWN_S
from toolspan.instrumentation.wiring import Wiring

_LOG: Final = logging.getLogger("toolspan")
#: What a provider calls the composite of its processors.
_COMPOSITE: Final = "_active_span_processor"
_PROCESSORS: Final = "_span_processors"
#: The methods of a composite that are replaced.
_METHODS: Final = ("on_start", "on_end", "force_flush", "shutdown")
#: Providers that stand before another one have it under one of these names.
_INNER: Final = ("provider", "_provider", "_real_provider")
_MOST_INNER: Final = 4

# State of the process, as its tracer provider is.
_instrumented: list["Instrumentation"] = []


class Instrumentation:
    """
    What `instrument()` did: how it is, and how it ends.
    """

    def __init__(self, provider: object, wiring: Wiring | None, undo: Callable[[], None]) -> None:
        self._provider = provider
        self._wiring = wiring
        self._undo = undo

    @property
    def dropped(self) -> dict[str, int]:
        """
        How many spans were lost so far, by reason; the spans themselves went on to the exporters that were there.
        """
        return {} if self._wiring is None else dict(self._wiring.losses.counts())

    @property
    def faults(self) -> int:
        """
        How many faults of toolspan were kept from the agent.
        """
        return 0 if self._wiring is None else self._wiring.faults.count

    @property
    def port(self) -> int | None:
        """
        Where metrics are shown, None where they are not.
        """
        return None if self._wiring is None else self._wiring.port

    def force_flush(self, timeout_s: float = SHUTDOWN_S) -> bool:
        """
        Writes what waits and settles what is finished; whether that was done within *timeout_s*.
        """
        return self._wiring is None or self._wiring.flush(timeout_s)

    def uninstrument(self) -> None:
        """
        Leaves the provider as it was, and hands on what waits.
        """
        if self in _instrumented:
            _instrumented.remove(self)
        self._undo()
        if self._wiring is not None:
            self._wiring.close(SHUTDOWN_S)
            self._wiring.processor.switch_off()

    def is_of(self, provider: object) -> bool:
        """
        Whether this is of *provider*.
        """
        return self._provider is provider


def instrument(
    provider: trace.TracerProvider | None = None,
    *,
    exporter: SpanExporter | str | None = None,
    store: StoreName | None = None,
    prometheus: Prometheus | None = None,
    config: str | None = None,
) -> Instrumentation:
    """
    Tags the tool spans of *provider* (else of the global one) on their way, and counts its calls; never raises.

    Args:
        exporter: one more exporter, or the OTLP endpoint (http) of a collector; else that of `TOOLSPAN_ENDPOINT`. It is
            not added where the provider exports there already.
        store: the path of a DuckDB file to keep calls in; else that of `TOOLSPAN_STORE`.
        prometheus: a registry, a port, or ports of which each process takes one (`9464-9479`); else those of
            `TOOLSPAN_PROMETHEUS_PORT`.
        config: a configuration file; else that of `TOOLSPAN_CONFIG`.
    """
    if is_disabled(os.environ):
        return Instrumentation(provider, None, _nothing)
    try:
        return _instrument(provider, Destinations(store, exporter, prometheus), config)
    except Exception:  # noqa: BLE001 - a service starts whether or not it can be watched
        _LOG.warning("toolspan could not be added to the tracer provider, and is not", exc_info=True)
        return Instrumentation(provider, None, _nothing)


def uninstrument() -> None:
    """
    Takes back all that `instrument()` did; what waits is handed on.
    """
    while _instrumented:
        _instrumented[-1].uninstrument()


def wrap(exporter: SpanExporter, *, config: str | None = None) -> SpanExporter:
    """
    An exporter that tags tool spans and hands them to *exporter*; itself where toolspan is switched off.

    *config* is a configuration file with rules of one's own; else that of `TOOLSPAN_CONFIG`.
    """
    if is_disabled(os.environ):
        return exporter
    return TaggingExporter(exporter, Wiring(Destinations(), environ=os.environ, config=config))


def _instrument(given: trace.TracerProvider | None, destinations: Destinations, config: str | None) -> Instrumentation:
    provider = _inner(_global_provider() if given is None else given)
    for known in _instrumented:
        if known.is_of(provider):
            _LOG.info("toolspan is on this tracer provider already; uninstrument() first to change how.")
            return known
    composite: SpanProcessor | None = getattr(provider, _COMPOSITE, None)
    others: Iterable[SpanProcessor] = getattr(composite, _PROCESSORS, ())
    destinations = destinations.completed(os.environ)
    can_wrap = composite is not None and hasattr(composite, "__dict__")
    wrapped = _Original(composite) if composite is not None and can_wrap else None
    wiring = Wiring(destinations, environ=os.environ, config=config, wrapped=wrapped, others=others)
    if destinations.is_empty() and not others:
        _LOG.warning(
            "toolspan has nowhere to send spans: give instrument() a store, an exporter or prometheus, or set "
            "TOOLSPAN_STORE, TOOLSPAN_ENDPOINT or TOOLSPAN_PROMETHEUS_PORT."
        )
    undo = _wrap_composite(composite, wiring) if composite is not None and can_wrap else _add_to(provider, wiring)
    instrumentation = Instrumentation(provider, wiring, undo)
    _instrumented.append(instrumentation)
    return instrumentation


class _Original(SpanProcessor):
    """
    *composite* as it is without the methods that are replaced.
    """

    def __init__(self, composite: SpanProcessor) -> None:
        self._on_start = composite.on_start
        self._on_end = composite.on_end
        self._force_flush = composite.force_flush
        self._shutdown = composite.shutdown

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self._on_start(span, parent_context=parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        self._on_end(span)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._force_flush(timeout_millis)

    def shutdown(self) -> None:
        self._shutdown()


def _wrap_composite(composite: SpanProcessor, wiring: Wiring) -> Callable[[], None]:
    """
    Lets all that goes through *composite* go through *wiring*; gives what takes that back.
    """
    before: dict[str, object] = {name: vars(composite)[name] for name in _METHODS if name in vars(composite)}
    for name in _METHODS:
        setattr(composite, name, getattr(wiring.processor, name))
    return partial(_unwrap_composite, composite, wiring.processor, before)


def _add_to(provider: object, wiring: Wiring) -> Callable[[], None]:
    """
    Adds *wiring* to *provider* as one processor of several, which changes nothing of what the others see.
    """
    add: Callable[[SpanProcessor], None] | None = getattr(provider, "add_span_processor", None)
    if add is not None:
        add(wiring.processor)
    _LOG.warning(
        "toolspan cannot tag what %s exports; wrap its exporters: BatchSpanProcessor(toolspan.wrap(exporter)).",
        type(provider).__name__,
    )
    return _nothing


def _unwrap_composite(composite: SpanProcessor, processor: SpanProcessor, before: dict[str, object]) -> None:
    """
    Puts the methods of *composite* back; where somebody else has replaced ours since, ours does nothing from now on.
    """
    for name in _METHODS:
        if getattr(composite, name) == getattr(processor, name):
            delattr(composite, name)
            if name in before:
                setattr(composite, name, before[name])


def _global_provider() -> trace.TracerProvider:
    """
    The provider of the process, which is made where nobody set one.
    """
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        trace.set_tracer_provider(TracerProvider())
        _LOG.info("toolspan made a tracer provider, since there was none; set one of your own before instrument().")
        return trace.get_tracer_provider()
    return provider


def _inner(provider: object) -> object:
    """
    *provider*, or the one that it stands before.
    """
    for _ in range(_MOST_INNER):
        if hasattr(provider, _COMPOSITE):
            break
        inner = next((getattr(provider, name) for name in _INNER if hasattr(provider, name)), None)
        if inner is None:
            break
        provider = inner
    return provider


def _nothing() -> None:
    """
    There is nothing to undo.
    """
