"""
Laws of the store: the order and the batches in which spans come do not matter.
"""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.facts import run, tool_span
from toolspan.records import SpanFacts
from toolspan.store.memory import MemoryStore

SPANS = [
    span
    for trace in range(1, 5)
    for span in (
        run(trace, end=100 * trace),
        tool_span(trace, 2, start=0, error=("transient", "UNAVAILABLE"), task_id="joined" if trace > 2 else ""),
        tool_span(trace, 3, start=20, error=("validation", "FORMAT")),
        tool_span(trace, 4, start=40, args="1111000000000000000b", tool="search" if trace % 2 else "book"),
    )
]


@settings(max_examples=50)
@given(st.permutations(SPANS), st.lists(st.integers(0, len(SPANS)), max_size=4), st.booleans())
def test_any_order_and_batching_gives_the_same_rows(
    spans: list[SpanFacts], cuts: list[int], settles_between: bool
) -> None:
    """
    Also where tasks settle in between and settle again.
    """
    whole, parts = MemoryStore(), MemoryStore()
    whole.append(SPANS)
    whole.settle()

    bounds = [0, *sorted(cuts), len(spans)]
    for start, end in pairwise(bounds):
        parts.append(spans[start:end])
        if settles_between:
            parts.settle()
    parts.settle()

    assert whole.rows() == parts.rows()


@settings(max_examples=50)
@given(st.lists(st.sampled_from(SPANS), max_size=60))
def test_every_span_is_counted_once(spans: list[SpanFacts]) -> None:
    """
    What is appended is new, a duplicate or a conflict.
    """
    result = MemoryStore().append(spans)

    assert (len({(span.trace_id, span.span_id) for span in spans}), len(spans)) == (
        result.new,
        result.new + result.duplicates + result.conflicts,
    )
