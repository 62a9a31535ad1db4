"""
What toolspan costs a span of a service, over the same SDK without it.

    python benchmarks/processor.py [--spans 20000]

Spans are started and ended on a provider whose processor does nothing, with and without `ToolspanProcessor` around it;
rounds take turns and the medians of the differences are shown: the machine's speed does not cancel out, its noise does.
The target is for a span that is no tool, where no task is named and where one is, with and without destinations.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager

from opentelemetry import context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import Tracer
from opentelemetry.util.types import AttributeValue

from toolspan.agents.propagation import with_task
from toolspan.arguments import ArgumentHasher
from toolspan.instrumentation.losses import Faults, Losses
from toolspan.instrumentation.processor import Sink, Tagger, ToolspanProcessor, Unread
from toolspan.recognise import Recogniser
from toolspan.records import SpanFacts
from toolspan.rules import RuleBook

#: Microseconds that a span which is no tool may take more.
TARGET_US = 2.0

Attributes = Mapping[str, AttributeValue]

#: A model call with what GenAI instrumentations put on it, and a request without anything that is ours.
MODEL_CALL: Attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "acme",
    "gen_ai.request.model": "large-1",
    "gen_ai.request.temperature": 0.2,
    "gen_ai.request.max_tokens": 2048,
    "gen_ai.response.id": "resp-0123456789",
    "gen_ai.response.model": "large-1-2026",
    "gen_ai.response.finish_reasons": ("tool_calls",),
    "gen_ai.usage.input_tokens": 1824,
    "gen_ai.usage.output_tokens": 96,
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Book the 9:40 to Lyon"}]}]',
    "server.address": "models.test",
    "server.port": 443,
}
REQUEST: Attributes = {
    "http.request.method": "GET",
    "http.route": "/trips/{id}",
    "url.path": "/trips/17",
    "url.scheme": "https",
    "network.protocol.version": "1.1",
    "user_agent.original": "probe/1",
}
TOOL_CALL: Attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "book",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.tool.call.arguments": '{"date": "2026-05-04", "seat": "12A"}',
    "gen_ai.tool.call.result": '{"ok": true, "data": {"seat": "12A"}}',
}


class Quiet(SpanProcessor):
    """
    Does nothing with a span.
    """

    def on_end(self, span: ReadableSpan) -> None:
        """
        Nothing.
        """


class Counting:
    """
    A sink that counts what it is given.
    """

    def __init__(self) -> None:
        self.spans = 0

    def put(self, _span: ReadableSpan, _facts: SpanFacts | Unread, /) -> None:
        self.spans += 1

    def flush(self, _timeout_s: float, /) -> bool:
        return True

    def close(self, _timeout_s: float, /) -> bool:
        return True


def tracer(*sinks: Sink, has_toolspan: bool) -> Tracer:
    """
    A tracer whose spans go to a quiet processor, through toolspan or not.
    """
    processor: SpanProcessor = Quiet()
    if has_toolspan:
        losses = Losses()
        tagger = Tagger(Recogniser(RuleBook(), ArgumentHasher(b"benchmark")), losses=losses)
        processor = ToolspanProcessor(
            processor, tagger=tagger, losses=losses, faults=Faults(reraises=True), sinks=sinks
        )
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider.get_tracer("benchmark")


@contextmanager
def no_task() -> Generator[None]:
    """
    A context that names no task.
    """
    yield


@contextmanager
def a_task() -> Generator[None]:
    """
    A context that names a task.
    """
    token = context.attach(with_task("0f" * 16))
    yield
    context.detach(token)


def seconds(tracer: Tracer, attributes: Attributes, spans: int) -> float:
    """
    CPU seconds that *spans* spans below one take.
    """
    with tracer.start_as_current_span("invoke_agent"):
        start = time.process_time()
        for _ in range(spans):
            tracer.start_span("span", attributes=attributes).end()
        return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    bare, tagging, feeding = (
        tracer(has_toolspan=False),
        tracer(has_toolspan=True),
        tracer(Counting(), has_toolspan=True),
    )
    kinds: dict[str, tuple[Attributes, Callable[[], AbstractContextManager[None]], bool]] = {
        "a model call": (MODEL_CALL, no_task, True),
        "a request": (REQUEST, no_task, True),
        "a model call in a task": (MODEL_CALL, a_task, True),
        "a tool call": (TOOL_CALL, no_task, False),
    }
    print(f"{options.spans} spans, median of {options.rounds} rounds, µs of CPU a span")
    print(f"{'':24} {'bare':>6} {'tags':>6} {'+sink':>6}")
    is_kept = True
    for name, (attributes, within, is_targeted) in kinds.items():
        rounds: list[tuple[float, float, float]] = []
        for _ in range(options.rounds):
            gc.collect()
            with within():
                one, two, three = (seconds(each, attributes, options.spans) for each in (bare, tagging, feeding))
            rounds.append((one, two - one, three - one))
        base, tags, sink = (statistics.median(each) / options.spans * 1e6 for each in zip(*rounds, strict=True))
        print(f"{name:24} {base:6.2f} {tags:+6.2f} {sink:+6.2f}")
        is_kept &= not is_targeted or tags <= TARGET_US
    print(f"at most {TARGET_US} for what is no tool: {'kept' if is_kept else 'BROKEN'}")


if __name__ == "__main__":
    main()
