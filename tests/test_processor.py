"""
The span processor: what goes through it, and that nothing of ours gets in the host's way.
"""

from opentelemetry import context
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import SpanKind

from tests.tracing import BOOK, RUN, Kept, around, attributes_of, call_book, provider_with, recogniser, tagger, traced
from toolspan.agents.propagation import with_step, with_task
from toolspan.instrumentation.losses import Losses
from toolspan.instrumentation.processor import Tagger
from toolspan.records import SpanFacts, SpanView


class TestTagging:
    """
    What the wrapped processor gets.
    """

    def test_a_tool_span_is_tagged(self) -> None:
        """Its failure is classified by what the span says."""
        provider, exporter = traced()

        call_book(provider.get_tracer("t"), failure="503 Service Unavailable")
        [tagged] = attributes_of(exporter)

        assert ("transient", "UNAVAILABLE", "UNAVAILABLE", "processor") == (
            tagged["toolspan.error.class"],
            tagged["toolspan.error.code"],
            tagged["error.type"],
            tagged["toolspan.tagged"],
        )

    def test_a_retry_is_linked_to_its_failure(self) -> None:
        """Provisionally, as far as this process has seen."""
        provider, exporter = traced()
        tracer = provider.get_tracer("t")
        with tracer.start_as_current_span("run", attributes=RUN):
            call_book(tracer, {"gen_ai.tool.call.arguments": '{"seat": 1}'}, failure="503 Service Unavailable")
            call_book(tracer, {"gen_ai.tool.call.arguments": '{"seat": 1.0}'})

        failed, retried, _ = exporter.get_finished_spans()
        assert failed.context is not None
        assert retried.attributes is not None

        assert (f"{failed.context.span_id:016x}", "retry") == (
            retried.attributes["toolspan.call.follows"],
            retried.attributes["toolspan.call.follow_up"],
        )

    def test_every_other_span_goes_through_as_it_is(self) -> None:
        """Not even a copy is made."""
        seen: list[ReadableSpan] = []

        class Seeing(SpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                seen.append(span)

        processor = around(Seeing())
        spans = [
            ReadableSpan("chat", attributes={"gen_ai.operation.name": "chat"}),
            ReadableSpan("run", attributes=RUN),
        ]
        for span in spans:
            processor.on_end(span)

        assert [id(span) for span in spans] == [id(span) for span in seen]

    def test_the_span_of_somebody_else_is_never_changed(self) -> None:
        """A processor before us may keep it."""
        exporter = InMemorySpanExporter()
        provider = provider_with(SimpleSpanProcessor(exporter), around(None))

        call_book(provider.get_tracer("t"), failure="503")

        assert [dict(BOOK)] == attributes_of(exporter)

    def test_a_full_span_keeps_its_attributes_and_its_counts_of_what_it_lost(self) -> None:
        """The SDK throws the oldest away, the tool's name first; what is left is not thrown away for our tags."""
        exporter = InMemorySpanExporter()
        provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=4, max_events=1), shutdown_on_exit=False)
        provider.add_span_processor(around(SimpleSpanProcessor(exporter)))
        with provider.get_tracer("t").start_as_current_span("execute_tool book") as span:
            span.set_attributes({"gen_ai.tool.name": "book", "gen_ai.operation.name": "execute_tool"})
            span.set_attributes({"a": 1, "b": 2, "c": 3})
            for _ in range(3):
                span.add_event("progress")
        [exported] = exporter.get_finished_spans()
        assert exported.attributes is not None

        assert (1, 2, "book", 1, 3) == (
            exported.dropped_attributes,
            exported.dropped_events,
            exported.attributes["gen_ai.tool.name"],
            exported.attributes["a"],
            exported.attributes["c"],
        )

    def test_a_tagged_span_is_not_tagged_again(self) -> None:
        """Two of ours may stand in a row; not even another copy is made."""
        provider, exporter = traced()
        call_book(provider.get_tracer("t"), failure="503 Service Unavailable")
        [once] = exporter.get_finished_spans()

        assert once is tagger().tag(once)


class TestMarks:
    """
    Task and step, from the context to the span.
    """

    def test_a_span_in_a_task_says_so(self) -> None:
        """Whatever span it is: a chain may be broken by who exports only some."""
        provider, exporter = traced()
        token = context.attach(with_step("s", with_task("t")))
        provider.get_tracer("t").start_span("chat").end()
        context.detach(token)

        assert [{"toolspan.task.id": "t", "toolspan.step.id": "s"}] == attributes_of(exporter)

    def test_what_a_span_says_itself_stays(self) -> None:
        """A step within a step names itself."""
        provider, exporter = traced()
        provider.get_tracer("t").start_span("chat", with_task("t"), attributes={"toolspan.task.id": "own"}).end()

        assert [{"toolspan.task.id": "own"}] == attributes_of(exporter)

    def test_what_is_no_id_marks_nothing(self) -> None:
        """Baggage comes from anybody, in a process also of any type."""
        from opentelemetry import baggage

        provider, exporter = traced()
        for value in ("\n", "x" * 1000, ["t"]):
            carried = baggage.set_baggage("toolspan.task.id", value)
            provider.get_tracer("t").start_span("chat", carried).end()

        assert [{}, {}, {}] == attributes_of(exporter)

    def test_a_full_span_is_marked_as_the_sdk_does_it(self) -> None:
        """Its limit holds."""
        exporter = InMemorySpanExporter()
        provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=1), shutdown_on_exit=False)
        provider.add_span_processor(around(SimpleSpanProcessor(exporter)))
        provider.get_tracer("t").start_span("chat", with_task("t"), attributes={"a": 1}).end()

        assert [{"toolspan.task.id": "t"}] == attributes_of(exporter)


class Recording(Sampler):
    """
    Records all and exports nothing.
    """

    def should_sample(self, *_: object, **__: object) -> SamplingResult:
        return SamplingResult(Decision.RECORD_ONLY)

    def get_description(self) -> str:
        return "recording"


class TestSinks:
    """
    What destinations get.
    """

    def facts(self, kept: Kept) -> list[SpanFacts]:
        reader = tagger()
        read = [item if isinstance(item, SpanFacts) else reader.facts_of(item) for item in kept.facts]
        return [item for item in read if item is not None]

    def test_all_spans_are_handed_over(self) -> None:
        """A span that stands for nothing joins those that do."""
        kept = Kept()
        provider, _ = traced(kept)
        tracer = provider.get_tracer("t")
        with tracer.start_as_current_span("run", attributes=RUN):
            call_book(tracer)
            tracer.start_span("chat").end()
            tracer.start_span("chat", with_task("t")).end()
            tracer.start_span("GET", kind=SpanKind.CLIENT, attributes={"http.response.status_code": 503}).end()
        call, plain, marked, request, run = self.facts(kept)

        assert (("book", None, "t", 503, 2), {run.span_id}) == (
            (
                call.call and call.call.tool,
                plain.marks,
                marked.marks and marked.marks.task_id,
                request.http_status,
                int(run.role),
            ),
            {each.parent_id for each in (call, plain, request)},
        )

    def test_what_is_not_sampled_stays_in_the_process(self) -> None:
        """As no exporter would get it."""
        kept = Kept()
        provider = TracerProvider(sampler=Recording(), shutdown_on_exit=False)
        provider.add_span_processor(around(None, kept))
        call_book(provider.get_tracer("t"))

        assert [] == kept.spans

    def test_a_span_without_a_usable_time_is_counted(self) -> None:
        """And passed on: only a store could not keep it."""
        seen: list[ReadableSpan] = []

        class Seeing(SpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                seen.append(span)

        losses = Losses()
        kept = Kept()
        processor = around(Seeing(), kept, losses=losses, reader=Tagger(recogniser(), losses=losses))
        tracer = provider_with(processor).get_tracer("t")
        tracer.start_span("run", attributes=RUN, start_time=2**63).end(2**63)

        assert (1, [], {"time": 1}) == (len(seen), kept.facts, losses.counts())


def test_a_view_has_no_more_than_recognition_reads() -> None:
    """Whatever else a span carries is not copied."""
    span = ReadableSpan("execute_tool book", attributes={**BOOK, "secret": "x"})
    from toolspan.instrumentation.sdk_spans import view_of

    assert SpanView("execute_tool book", 1, "", 0, "", dict(BOOK)) == view_of(span, {**BOOK, "secret": "x"})
