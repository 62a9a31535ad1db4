"""
The OpenTelemetry SDK in tests: providers that keep what they export, spans made of recorded ones, and back to facts.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, Tracer
from opentelemetry.util.types import AnyValue

from toolspan.arguments import ArgumentHasher
from toolspan.instrumentation.losses import Faults, Losses
from toolspan.instrumentation.processor import Sink, Tagger, ToolspanProcessor, Unread
from toolspan.otlp import Decoder
from toolspan.recognise import Recogniser
from toolspan.records import SeenSpan, SpanFacts
from toolspan.rules import RuleBook

KEY = b"a key for tests"
#: What makes a span a call of `book`.
BOOK: Mapping[str, str] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
#: What makes a span an agent run.
RUN: Mapping[str, str] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}


def provider_with(*processors: SpanProcessor) -> TracerProvider:
    """
    A provider of one service with *processors*, which nobody shuts down at the end of the tests.
    """
    provider = TracerProvider(resource=Resource({"service.name": "travel"}), shutdown_on_exit=False)
    for processor in processors:
        provider.add_span_processor(processor)
    return provider


def exporting_provider() -> tuple[TracerProvider, InMemorySpanExporter]:
    """
    A provider with an exporter, and that exporter.
    """
    exporter = InMemorySpanExporter()
    return provider_with(SimpleSpanProcessor(exporter)), exporter


def call_book(tracer: Tracer, values: Mapping[str, str | int] | None = None, *, failure: str = "") -> None:
    """
    A call of `book` with more attributes *values*, which fails with the text *failure* where there is one.
    """
    with tracer.start_as_current_span("execute_tool book", attributes={**BOOK, **(values or {})}) as span:
        if failure:
            span.set_status(StatusCode.ERROR, failure)


def recogniser() -> Recogniser:
    """
    One without rules of its own.
    """
    return Recogniser(RuleBook(), ArgumentHasher(KEY))


def tagger() -> Tagger:
    """
    One without rules of its own.
    """
    return Tagger(recogniser(), losses=Losses())


def loud() -> Faults:
    """
    Faults that fail the test.
    """
    return Faults(reraises=True)


def sdk_span(seen: SeenSpan) -> ReadableSpan:
    """
    The SDK's span that would be exported as *seen*.
    """
    view = seen.view
    trace_id = int.from_bytes(seen.trace_id, "big")
    flags = TraceFlags(TraceFlags.SAMPLED)
    return ReadableSpan(
        view.name,
        context=SpanContext(trace_id, int.from_bytes(seen.span_id, "big"), is_remote=False, trace_flags=flags),
        parent=SpanContext(trace_id, int.from_bytes(seen.parent_id, "big"), is_remote=False, trace_flags=flags)
        if seen.parent_id
        else None,
        resource=Resource(_attributes(seen.resource)),
        attributes=BoundedAttributes(attributes=_attributes(view.attributes)),
        events=[
            Event(event.name, BoundedAttributes(attributes=_attributes(event.attributes))) for event in view.events
        ],
        kind=SpanKind(max(view.kind - 1, 0)),
        status=Status(StatusCode(view.status_code), view.status_message or None),
        start_time=seen.start_ns,
        end_time=seen.end_ns,
        instrumentation_scope=InstrumentationScope(view.scope),
    )


def _attributes(values: Mapping[str, object]) -> dict[str, AnyValue]:
    return {name: cast("AnyValue", value) for name, value in values.items() if value is not None}


def decoded(spans: Iterable[ReadableSpan]) -> list[SpanFacts]:
    """
    The facts of *spans* as a collector finds them.
    """
    return Decoder(recogniser()).decode_protobuf(encode_spans(list(spans)).SerializeToString()).spans


class Kept:
    """
    A sink that keeps what it is given.
    """

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []
        self.facts: list[SpanFacts | Unread] = []

    def put(self, span: ReadableSpan, facts: SpanFacts | Unread, /) -> None:
        self.spans.append(span)
        self.facts.append(facts)

    def flush(self, timeout_s: float) -> bool:
        return timeout_s > 0

    def close(self, timeout_s: float) -> bool:
        return timeout_s > 0


def around(
    wrapped: SpanProcessor | None,
    *sinks: Sink,
    faults: Faults | None = None,
    losses: Losses | None = None,
    reader: Tagger | None = None,
) -> ToolspanProcessor:
    """
    A processor around *wrapped*, whose faults fail the test unless *faults* are given.
    """
    return ToolspanProcessor(
        wrapped, tagger=reader or tagger(), losses=losses or Losses(), faults=faults or loud(), sinks=sinks
    )


def traced(*sinks: Sink) -> tuple[TracerProvider, InMemorySpanExporter]:
    """
    A provider whose exporter gets what went through toolspan.
    """
    exporter = InMemorySpanExporter()
    return provider_with(around(SimpleSpanProcessor(exporter), *sinks)), exporter


def attributes_of(exporter: InMemorySpanExporter) -> list[Mapping[str, object]]:
    """
    The attributes of what was exported.
    """
    return [dict(span.attributes or {}) for span in exporter.get_finished_spans()]
