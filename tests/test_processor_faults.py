"""
The span processor when something is wrong, and at the end: nothing of ours gets in the host's way.
"""

import logging
from collections.abc import Sequence

import pytest
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.tracing import (
    BOOK,
    Kept,
    around,
    attributes_of,
    call_book,
    loud,
    provider_with,
    recogniser,
    tagger,
    traced,
)
from toolspan.instrumentation.losses import Faults, Losses
from toolspan.instrumentation.processor import Tagger, ToolspanProcessor, Unread
from toolspan.records import SpanFacts


class Broken:
    """
    A sink with a fault.
    """

    def put(self, _span: ReadableSpan, _facts: SpanFacts | Unread, /) -> None:
        raise ZeroDivisionError

    def flush(self, _timeout_s: float, /) -> bool:
        raise ZeroDivisionError

    def close(self, _timeout_s: float, /) -> bool:
        raise ZeroDivisionError


class TestFaults:
    """
    Nothing of ours reaches the host.
    """

    def test_a_rule_that_raises_costs_the_tags_and_is_counted(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The span goes on as it was; one line, with its traceback, says what is wrong."""

        def raising(*_: object) -> None:
            raise ZeroDivisionError

        exporter, losses, faults, reader = InMemorySpanExporter(), Losses(), Faults(), recogniser()
        monkeypatch.setattr(reader.classifier.__class__, "judge", raising)
        processor = around(
            SimpleSpanProcessor(exporter), losses=losses, faults=faults, reader=Tagger(reader, losses=losses)
        )
        tracer = provider_with(processor).get_tracer("t")
        with caplog.at_level(logging.WARNING, "toolspan"):
            call_book(tracer)
            call_book(tracer)

        assert ([dict(BOOK)] * 2, 2, {"fault": 2}, 1) == (
            attributes_of(exporter),
            faults.count,
            losses.counts(),
            len(caplog.records),
        )

    def test_a_destination_with_a_fault_costs_itself(self) -> None:
        """Start, end, flush and shutdown go on."""
        exporter, faults = InMemorySpanExporter(), Faults()
        provider = provider_with(around(SimpleSpanProcessor(exporter), Broken(), faults=faults))
        call_book(provider.get_tracer("t"))
        flushed = provider.force_flush()
        provider.shutdown()

        assert (1, False, 3) == (len(exporter.get_finished_spans()), flushed, faults.count)

    def test_a_context_that_cannot_be_read_marks_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The span starts all the same."""

        def raising(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("toolspan.instrumentation.processor.mark_start", raising)
        exporter, faults = InMemorySpanExporter(), Faults()
        provider = provider_with(around(SimpleSpanProcessor(exporter), faults=faults))
        provider.get_tracer("t").start_span("chat").end()

        assert (1, 1) == (len(exporter.get_finished_spans()), faults.count)

    def test_what_the_wrapped_processor_raises_is_its_own(self) -> None:
        """As it would be without us; the destinations have the span by then."""

        class Raising(SpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                raise LookupError(span)

        kept = Kept()
        processor = around(Raising(), kept)
        with pytest.raises(LookupError):
            call_book(provider_with(processor).get_tracer("t"))

        assert 1 == len(kept.spans)

    def test_odd_values_of_attributes_are_no_fault(self) -> None:
        """An SDK lets anything be an operation."""
        provider, exporter = traced(Kept())
        odd: Sequence[object] = (("execute_tool",), {"a": 1}, 7, b"execute_tool")
        for value in odd:
            attributes = {"gen_ai.operation.name": value, "openinference.span.kind": value}
            provider.get_tracer("t").start_span("odd", attributes=attributes).end()  # type: ignore[arg-type]  # as said

        assert 4 == len(exporter.get_finished_spans())

    def test_a_span_whose_attributes_lie_otherwise_is_read_the_public_way(self) -> None:
        """What the SDK keeps to itself may change."""

        class Otherwise(BoundedAttributes):
            """Attributes of another SDK."""

        span = ReadableSpan("execute_tool book", attributes=Otherwise(attributes=BOOK))

        assert "book" == tagger().see(span)[0].attributes["gen_ai.tool.name"]  # type: ignore[index]  # it has some


class TestEnd:
    """
    Flush and shutdown.
    """

    def test_the_wrapped_processor_comes_first_and_has_all_the_time(self) -> None:
        """As without us; what is left is ours, and none is none."""
        asked: list[float] = []

        class Slow(SpanProcessor):
            def force_flush(self, timeout_millis: int = 30_000) -> bool:
                asked.append(timeout_millis)
                return True

        times = iter((0.0, 5.0, 5.0, 5.0, 5.0, 5.0))
        processor = ToolspanProcessor(
            Slow(), tagger=tagger(), losses=Losses(), faults=loud(), sinks=[Kept()], clock=lambda: next(times)
        )

        assert (False, [1000]) == (processor.force_flush(1000), asked)

    def test_what_is_switched_off_passes_everything_on(self) -> None:
        """For whoever still holds one of its methods."""
        exporter, kept = InMemorySpanExporter(), Kept()
        processor = around(SimpleSpanProcessor(exporter), kept)
        processor.switch_off()
        call_book(provider_with(processor).get_tracer("t"))

        assert ([dict(BOOK)], []) == (attributes_of(exporter), kept.spans)
