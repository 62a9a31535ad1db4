"""
Decoded requests on their way to the writer: in parts, in order, and not too many.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.facts import tool_span
from toolspan.collector.backlog import Request
from toolspan.collector.parts import HandOver, Part, parts_of
from toolspan.otlp import Decoded

_PATIENCE_S = 30


def decoded(spans: int) -> Decoded:
    return Decoded([tool_span(1, number, start=number) for number in range(1, spans + 1)], Counter(time=2))


def part(spans: int) -> Part:
    [made] = parts_of(Request(b"x", is_json=False), decoded(spans), most_spans=1000)
    return made


@pytest.mark.parametrize(("spans", "sizes"), [(0, [0]), (1, [1]), (4, [4]), (5, [4, 1]), (8, [4, 4]), (9, [4, 4, 1])])
def test_a_large_request_is_written_in_parts(spans: int, sizes: list[int]) -> None:
    """In the order of its spans; the last one ends it, and knows what was rejected."""
    request = Request(b"x" * 100, is_json=False)
    whole = decoded(spans)

    parts = list(parts_of(request, whole, most_spans=4))

    assert sizes == [len(each.spans) for each in parts]
    assert whole.spans == [span for each in parts for span in each.spans]
    assert [False] * (len(sizes) - 1) + [True] == [each.is_last for each in parts]
    assert Counter(time=2) == sum((each.rejected for each in parts), Counter[str]()) == parts[-1].rejected
    assert 100 == sum(each.size_bytes for each in parts)


def test_what_is_there_is_taken_together() -> None:
    """In order, as many spans as may be, and at least one part."""
    handover = HandOver(most_spans=100)
    parts = [part(spans) for spans in (2, 3, 9, 1)]
    for each in parts:
        handover.put(each)

    taken = [handover.take(5, timeout_s=0) for _ in range(3)]

    assert [parts[:2], [parts[2]], [parts[3]]] == taken


def test_nothing_is_there_in_time() -> None:
    """Whoever waits has other things to do."""
    assert [] == HandOver(most_spans=100).take(5, timeout_s=0)


def test_who_decodes_waits_for_who_writes() -> None:
    """Once enough spans are there, or as many requests without any."""
    handover = HandOver(most_spans=2)
    with ThreadPoolExecutor(1) as pool:
        handover.put(part(0))
        handover.put(part(0))
        third = pool.submit(handover.put, part(1))
        with pytest.raises(TimeoutError):
            third.result(0.01)
        handover.take(1, timeout_s=0)

        assert third.result(_PATIENCE_S)


def test_after_the_end_there_is_nothing() -> None:
    """What was there before is taken first, and who waits for more learns of it."""
    handover = HandOver(most_spans=100)
    last = part(1)
    handover.put(last)
    handover.end()

    assert ([last], None) == (handover.take(5, timeout_s=0), handover.take(5, timeout_s=_PATIENCE_S))


def test_who_waits_for_room_is_told_when_nobody_takes_any_more() -> None:
    """And what was there goes nowhere."""
    handover = HandOver(most_spans=1)
    handover.put(part(1))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(handover.put, part(1))
        handover.clear()

        assert not waiting.result(_PATIENCE_S)
    assert handover.take(5, timeout_s=_PATIENCE_S) is None
