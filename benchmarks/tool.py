"""
One call of a `@tool` against the bare span that it leaves: microseconds, and their ratio.

    python benchmarks/tool.py [--calls 20000] [--rounds 9]

Both have the same attributes and go to the same provider, whose exporter does nothing. The two are measured in turn, a
round each, in CPU time, since these machines are shared; the median of the rounds' ratios counts.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import toolspan

#: A call may cost this much of a bare span.
TARGET = 2.0


class Nowhere(SpanExporter):
    """
    Exports nothing, and keeps the last span to compare.
    """

    def __init__(self) -> None:
        self.last: ReadableSpan | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """
        Does nothing.
        """
        self.last = spans[-1]
        return SpanExportResult.SUCCESS


def search(date: str, cabin: str) -> dict[str, object]:
    """
    The work of the tool: none.
    """
    return {"date": date, "cabin": cabin}


def timed(call: Callable[[], object], calls: int) -> float:
    """
    CPU microseconds of one *call*.
    """
    gc.collect()
    begun = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begun) / calls * 1e6


def main() -> None:
    """
    Measures and prints.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    exporter = Nowhere()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    tracer = trace.get_tracer("bare")
    decorated = toolspan.tool(search)

    decorated(date="2026-05-04", cabin="economy")
    assert exporter.last is not None
    attributes = dict(exporter.last.attributes or {})

    def bare() -> object:
        """
        What somebody writes without toolspan, with as much on the span.
        """
        with tracer.start_as_current_span("execute_tool search", attributes=attributes):
            return search(date="2026-05-04", cabin="economy")

    rounds = [
        (timed(bare, options.calls), timed(lambda: decorated(date="2026-05-04", cabin="economy"), options.calls))
        for _ in range(options.rounds)
    ]
    span, tool = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(tool / span for span, tool in rounds)
    print(f"bare span  {span:6.1f} µs   {len(attributes)} attributes")
    print(f"@tool      {tool:6.1f} µs")
    print(f"ratio      {ratio:6.2f}      at most {TARGET}: {'kept' if ratio <= TARGET else 'BROKEN'}")


if __name__ == "__main__":
    main()
