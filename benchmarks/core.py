"""
Spans in protobuf → facts → rows, against a bare loop that parses the same messages and reads every attribute.

    python benchmarks/core.py [--spans 1000000]

Prints microseconds of CPU per span by stage, and the ratio to the baseline measured in the same run (rounds take
turns, medians are compared): the machine's speed cancels out, its noise does not.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence

from generate import SPANS_PER_TRACE, requests
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from toolspan.config import Settings
from toolspan.derive import derive
from toolspan.groups import split_groups
from toolspan.otlp_messages import build_messages
from toolspan.pipeline import make_decoder
from toolspan.records import Rows, SpanFacts, extend
from toolspan.store.columns import DerivedRows, row_tables, span_table
from toolspan.store.memory import MemoryStore

#: The least share of the baseline's speed that the pipeline keeps.
TARGET = 0.75
#: Traces of one transaction of the collector under load: 8 160 spans.
GROUPS_PER_BATCH = 816


def bare_loop(payloads: Sequence[bytes]) -> int:
    """
    Parse with the stock classes and read every field and attribute as a straightforward receiver would.
    """
    spans = 0
    for payload in payloads:
        for resource_spans in TracesData.FromString(payload).resource_spans:
            resource = {
                pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "")
                for pair in resource_spans.resource.attributes
            }
            for scope_spans in resource_spans.scope_spans:
                scope = scope_spans.scope.name
                for span in scope_spans.spans:
                    _ = (resource, scope, span.trace_id, span.span_id, span.parent_span_id, span.name, span.kind)
                    _ = (span.start_time_unix_nano, span.end_time_unix_nano, span.status.code, span.status.message)
                    _ = {
                        pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "") for pair in span.attributes
                    }
                    for event in span.events:
                        _ = (event.name, event.time_unix_nano)
                        _ = {
                            pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "")
                            for pair in event.attributes
                        }
                    spans += 1
    return spans


def parse(payloads: Sequence[bytes]) -> None:
    """
    Parse with the trimmed classes, read nothing.
    """
    read = build_messages().traces_data.FromString
    for payload in payloads:
        read(payload)


def decode(payloads: Sequence[bytes]) -> list[SpanFacts]:
    """
    Messages → facts: parse, recognise, hash arguments, classify.
    """
    decoder = make_decoder(Settings())
    facts: list[SpanFacts] = []
    for payload in payloads:
        facts.extend(decoder.decode_protobuf(payload).spans)
    return facts


def rows(facts: Sequence[SpanFacts]) -> list[Rows]:
    """
    Facts → rows, as the store of a file does it.
    """
    return [derive(group) for group in split_groups(facts)]


def batches(groups: Iterable[Rows]) -> list[Rows]:
    """
    The rows of *groups*, a transaction's worth together.
    """
    merged: list[Rows] = []
    for number, group in enumerate(groups):
        if number % GROUPS_PER_BATCH == 0:
            merged.append(Rows([], [], [], [], []))
        extend(merged[-1], group)
    return merged


def rows_to_arrow(batches: Iterable[Rows]) -> None:
    """
    Rows → the tables that the store inserts.
    """
    for batch in batches:
        row_tables(DerivedRows(batch, {task.task_id: 0 for task in batch.tasks}))


def spans_to_arrow(facts: Sequence[SpanFacts]) -> None:
    """
    Facts → the table that the store inserts.
    """
    size = GROUPS_PER_BATCH * SPANS_PER_TRACE
    for start in range(0, len(facts), size):
        span_table(facts[start : start + size], arrived_ns=1)


def pipeline(payloads: Sequence[bytes]) -> MemoryStore:
    """
    Messages → rows, through the in-memory store.
    """
    decoder, store = make_decoder(Settings()), MemoryStore()
    for payload in payloads:
        store.append(decoder.decode_protobuf(payload).spans)
    store.settle()
    assert store.rows().calls
    return store


def timed(work: Callable[[], object]) -> float:
    """
    CPU seconds of *work*, without garbage collection, as the commands read files.
    """
    gc.collect()
    gc.disable()
    start = time.process_time()
    made = work()
    seconds = time.process_time() - start
    # freeing is no part of it: a command that reads files never does
    del made
    gc.enable()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    payloads = list(requests(options.spans))
    spans = bare_loop(payloads)
    size = sum(map(len, payloads)) / spans
    facts = decode(payloads)
    merged = batches(rows(facts))
    stages: dict[str, Callable[[], object]] = {
        "bare loop (baseline)": lambda: bare_loop(payloads),
        "parse only": lambda: parse(payloads),
        "messages to facts": lambda: decode(payloads),
        "facts to rows": lambda: rows(facts),
        "rows to Arrow": lambda: rows_to_arrow(merged),
        "facts to Arrow": lambda: spans_to_arrow(facts),
        "pipeline, messages to rows": lambda: pipeline(payloads),
    }
    times: dict[str, list[float]] = {name: [] for name in stages}
    for _ in range(options.rounds):
        for name, work in stages.items():
            times[name].append(timed(work))
    print(f"{spans} spans of {size:.0f} bytes, {options.rounds} rounds, CPU time")
    medians = {name: statistics.median(rounds) for name, rounds in times.items()}
    for name, seconds in medians.items():
        print(f"{name:28} {seconds / spans * 1e6:7.2f} µs/span {spans / seconds:10,.0f} spans/s")
    ratio = medians["bare loop (baseline)"] / medians["pipeline, messages to rows"]
    print(f"ratio to the baseline        {ratio:7.2f} (target {TARGET})")


if __name__ == "__main__":
    main()
