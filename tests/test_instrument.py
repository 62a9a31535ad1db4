"""
`instrument()` and `uninstrument()`: one line in, one line out, and never in the way.
"""

import logging
import os
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider
from prometheus_client import CollectorRegistry

from tests.tracing import BOOK, call_book, exporting_provider, provider_with
from toolspan.instrumentation.instrumenting import instrument, uninstrument, wrap


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[None]:
    """
    No settings of whoever runs the tests, and nothing left instrumented.
    """
    for name in [name for name in os.environ if name.startswith(("TOOLSPAN_", "OTEL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    yield
    uninstrument()


def classes(exporter: InMemorySpanExporter) -> list[object]:
    """
    The classes that exported spans are tagged with.
    """
    return [(span.attributes or {}).get("toolspan.error.class") for span in exporter.get_finished_spans()]


def composite_of(provider: TracerProvider) -> SpanProcessor:
    """
    What all spans of *provider* go through.
    """
    composite: SpanProcessor = vars(provider)["_active_span_processor"]
    return composite


def fail_once(provider: TracerProvider) -> None:
    call_book(provider.get_tracer("t"), failure="503 Service Unavailable")


class TestInstrument:
    """
    What the exporters that are there get.
    """

    def test_exporters_that_are_there_get_tagged_spans(self) -> None:
        """Also through a tracer that was made before."""
        provider, exporter = exporting_provider()
        tracer = provider.get_tracer("t")
        instrument(provider)
        call_book(tracer, failure="503 Service Unavailable")

        assert ["transient"] == classes(exporter)

    def test_exporters_that_come_later_get_tagged_spans(self) -> None:
        """The order of two lines of a service's start does not matter."""
        provider, exporter = provider_with(), InMemorySpanExporter()
        instrument(provider, prometheus=CollectorRegistry())
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        fail_once(provider)

        assert ["transient"] == classes(exporter)

    def test_a_provider_that_works_in_parallel_goes_on_doing_so(self) -> None:
        """Its composite is another."""
        composite = ConcurrentMultiSpanProcessor()
        provider = TracerProvider(active_span_processor=composite, shutdown_on_exit=False)
        exporters = [InMemorySpanExporter(), InMemorySpanExporter()]
        for exporter in exporters:
            provider.add_span_processor(SimpleSpanProcessor(exporter))
        instrument(provider)
        fail_once(provider)

        assert [["transient"], ["transient"]] == [classes(exporter) for exporter in exporters]

    def test_a_provider_before_another_is_looked_through(self) -> None:
        """Some libraries stand one of their own before the SDK's."""

        class Before(NoOpTracerProvider):
            """A provider that knows another."""

            def __init__(self, provider: TracerProvider) -> None:
                self.provider = provider

        provider, exporter = exporting_provider()
        instrument(Before(provider))
        fail_once(provider)

        assert ["transient"] == classes(exporter)

    def test_twice_is_once(self) -> None:
        """A second line in another module changes nothing."""
        provider, exporter = exporting_provider()
        assert instrument(provider) is instrument(provider)
        fail_once(provider)

        assert ["transient"] == classes(exporter)

    def test_spans_are_shut_down_and_flushed_as_before(self) -> None:
        """By the provider."""
        calls: list[str] = []

        class Told(SpanProcessor):
            def shutdown(self) -> None:
                calls.append("shutdown")

            def force_flush(self, timeout_millis: int = 30_000) -> bool:
                calls.append(f"flush {timeout_millis > 0}")
                return False

        provider = provider_with(Told())
        instrument(provider)
        flushed = provider.force_flush()
        provider.shutdown()

        assert (False, ["flush True", "shutdown"]) == (flushed, calls)

    def test_what_cannot_be_wrapped_is_said_with_the_remedy(self, caplog: pytest.LogCaptureFixture) -> None:
        """In one line; what toolspan itself counts it gets all the same."""

        class Own(NoOpTracerProvider):
            """A provider of another make."""

            def __init__(self) -> None:
                self.added: list[SpanProcessor] = []

            def add_span_processor(self, processor: SpanProcessor) -> None:
                self.added.append(processor)

        provider = Own()
        with caplog.at_level(logging.WARNING, "toolspan"):
            instrument(provider, prometheus=CollectorRegistry())
        [line] = [record.getMessage() for record in caplog.records]

        assert "toolspan.wrap(exporter)" in line
        assert 1 == len(provider.added)

    def test_nowhere_to_send_spans_is_said(self, caplog: pytest.LogCaptureFixture) -> None:
        """Who sees nothing would look for the reason elsewhere."""
        with caplog.at_level(logging.WARNING, "toolspan"):
            instrument(provider_with())
        [line] = [record.getMessage() for record in caplog.records]

        assert "nowhere to send spans" in line

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"store": "http://127.0.0.1:9464"}, "give its OTLP address"),
            ({"store": "clickhouse://x"}, "No store 'clickhouse://x'"),
            ({"exporter": "collector:4317"}, "No OTLP endpoint: 'collector:4317'"),
            ({"prometheus": "99999"}, "No port for metrics: '99999'"),
            ({"config": "none.toml"}, "No configuration file none.toml"),
        ],
    )
    def test_a_wrong_destination_costs_itself(
        self, arguments: dict[str, str], said: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """One line says what is wrong; the service starts and its exporters get tagged spans."""
        provider, exporter = exporting_provider()
        with caplog.at_level(logging.WARNING, "toolspan"):
            instrument(provider, **arguments)
        fail_once(provider)
        [line] = [record.getMessage() for record in caplog.records]

        assert said in line
        assert ["transient"] == classes(exporter)

    def test_what_is_wrong_with_toolspan_itself_is_a_line(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The service is as it would be without."""

        def raising(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("toolspan.instrumentation.instrumenting.Wiring", raising)
        provider, exporter = exporting_provider()
        with caplog.at_level(logging.WARNING, "toolspan"):
            instrumentation = instrument(provider)
        fail_once(provider)

        assert (1, [None], {}, 0, None, True) == (
            len(caplog.records),
            classes(exporter),
            instrumentation.dropped,
            instrumentation.faults,
            instrumentation.port,
            instrumentation.force_flush(),
        )


class TestUninstrument:
    """
    Out of it again.
    """

    def test_a_provider_is_as_it_was(self) -> None:
        """Nothing of ours is left on it."""
        provider, exporter = exporting_provider()
        composite = composite_of(provider)
        before: dict[str, object] = dict(vars(composite))
        instrument(provider)
        uninstrument()
        fail_once(provider)

        assert ([None], before) == (classes(exporter), vars(composite))

    def test_what_somebody_else_put_around_ours_stays(self) -> None:
        """Ours does nothing then."""
        provider, exporter = exporting_provider()
        composite = composite_of(provider)
        instrument(provider)
        ours, seen = composite.on_end, list[str]()

        def around(span: ReadableSpan) -> None:
            seen.append(span.name)
            ours(span)

        composite.on_end = around  # type: ignore[method-assign]  # as some do
        uninstrument()
        fail_once(provider)

        assert (["execute_tool book"], [None]) == (seen, classes(exporter))

    def test_what_somebody_else_had_there_comes_back(self) -> None:
        """Methods that were replaced before us."""
        provider, _ = exporting_provider()
        composite = composite_of(provider)
        seen: list[str] = []

        def theirs(span: ReadableSpan) -> None:
            seen.append(span.name)

        composite.on_end = theirs  # type: ignore[method-assign]  # as some do
        instrument(provider)
        uninstrument()
        fail_once(provider)

        assert ["execute_tool book"] == seen

    def test_it_can_be_switched_on_again(self) -> None:
        """With other destinations, for example."""
        provider, exporter = exporting_provider()
        registry = CollectorRegistry()
        for _ in range(2):
            instrument(provider, prometheus=registry)
            fail_once(provider)
            uninstrument()

        assert ["transient", "transient"] == classes(exporter)

    @pytest.mark.parametrize("value", ["1", "true", "YES"])
    def test_a_variable_switches_all_of_it_off(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a change to the code."""
        monkeypatch.setenv("TOOLSPAN_DISABLED", value)
        provider, exporter = exporting_provider()
        instrument(provider, store="calls.duckdb", prometheus=0)
        fail_once(provider)

        assert ([None], exporter, []) == (classes(exporter), wrap(exporter), list(Path().iterdir()))


class TestExporter:
    """
    One more exporter.
    """

    def test_an_exporter_gets_tagged_spans(self) -> None:
        """In a thread of its own."""
        provider, exporter = provider_with(), InMemorySpanExporter()
        instrumentation = instrument(provider, exporter=exporter)
        fail_once(provider)

        assert (True, ["transient"]) == (instrumentation.force_flush(), classes(exporter))

    @pytest.mark.parametrize(
        "endpoint", ["http://127.0.0.1:4318", "http://localhost:4318/v1/traces", "http://LOCALHOST:4318/"]
    )
    def test_an_endpoint_is_not_exported_to_twice(self, endpoint: str, caplog: pytest.LogCaptureFixture) -> None:
        """However its address is written: every call would count twice there."""
        there = OTLPSpanExporter("http://localhost:4318/v1/traces")
        provider = provider_with(BatchSpanProcessor(wrap(there)))
        with caplog.at_level(logging.INFO, "toolspan"):
            instrument(provider, exporter=endpoint)

        assert ["toolspan: spans are exported there already; no second exporter is added."] == [
            record.getMessage() for record in caplog.records
        ]

    def test_one_that_refuses_loses_spans_that_are_counted(self) -> None:
        """It is asked once for each batch: it retries by itself where it can."""

        class Refusing(InMemorySpanExporter):
            def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
                raise ConnectionError(spans)

        provider = provider_with()
        instrumentation = instrument(provider, exporter=Refusing())
        fail_once(provider)
        instrumentation.force_flush()

        assert ({"export": 1}, 1) == (instrumentation.dropped, instrumentation.faults)


class TestWrap:
    """
    Where a provider's processors cannot be wrapped.
    """

    def test_an_exporter_exports_tagged_spans(self) -> None:
        """And is flushed and shut down."""
        exporter = InMemorySpanExporter()
        wrapped = wrap(exporter)
        provider = provider_with(SimpleSpanProcessor(wrapped))
        fail_once(provider)
        found = classes(exporter), wrapped.force_flush()
        provider.shutdown()
        fail_once(provider)

        assert (["transient"], True, ["transient"]) == (*found, classes(exporter))

    def test_rules_of_ones_own_are_applied(self, tmp_path: Path) -> None:
        """From a configuration file."""
        config = tmp_path / "toolspan.toml"
        config.write_text('[[rule]]\ntool = "book"\nmessage = "no seats"\nclass = "business_rule"\ncode = "NO_SEATS"\n')
        exporter = InMemorySpanExporter()
        provider = provider_with(SimpleSpanProcessor(wrap(exporter, config=str(config))))
        call_book(provider.get_tracer("t"), failure="no seats")

        assert ["business_rule"] == classes(exporter)


def test_a_span_that_is_no_tool_is_passed_on_as_it_is() -> None:
    """The attributes of a call that is one are the only ones that change."""
    provider, exporter = exporting_provider()
    instrument(provider)
    provider.get_tracer("t").start_span("chat", attributes={"gen_ai.operation.name": "chat"}).end()
    [span] = exporter.get_finished_spans()

    assert {"gen_ai.operation.name": "chat"} == dict(span.attributes or {})
    assert not BOOK.items() <= dict(span.attributes or {}).items()
