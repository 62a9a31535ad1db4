"""
Requests that wait: how many may, when to come again, and that nobody waits for ever.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from toolspan.collector.backlog import Backlog, Request
from toolspan.collector.inlet import Receipt
from toolspan.errors import OverloadedError, UnavailableError

_PATIENCE_S = 30


def opened(*, most_requests: int = 3, most_bytes: int = 100) -> Backlog:
    backlog = Backlog(most_requests=most_requests, most_bytes=most_bytes)
    backlog.open()
    return backlog


def add(backlog: Backlog, *sizes: int) -> list[Request]:
    return [backlog.add(b"x" * size, is_json=False) for size in sizes]


def test_who_came_first_is_first() -> None:
    """Whatever the size."""
    backlog = opened()
    added = add(backlog, 50, 1, 2)

    assert added == [backlog.take() for _ in range(3)]


@pytest.mark.parametrize(("waiting", "more"), [([1, 1, 1], 1), ([60], 41)], ids=["requests", "bytes"])
def test_what_waits_is_bounded(waiting: list[int], more: int) -> None:
    """Until one is committed: what was taken to be decoded waits like all others."""
    backlog = opened()
    [first, *_] = add(backlog, *waiting)
    backlog.take()
    with pytest.raises(OverloadedError, match="wait to be written"):
        add(backlog, more)

    backlog.finish(first, Receipt())
    add(backlog, more)

    assert (len(waiting), sum(waiting) - first.size + more) == backlog.waiting()[:2]


def test_one_alone_always_fits() -> None:
    """Though it is larger than all that may wait."""
    backlog = opened()
    [large] = add(backlog, 1000)

    assert large is backlog.take()


@pytest.mark.parametrize(("duration_s", "expected"), [(0.5, 5.0), (0.001, 1.0), (60.0, 30.0), (None, 1.0)])
def test_who_is_refused_is_told_when_there_will_be_room(duration_s: float | None, expected: float) -> None:
    """From how long it took to write ten bytes, where that is known: at least a second, at most half a minute."""
    backlog = opened()
    add(backlog, 100)
    if duration_s is not None:
        backlog.note(10, duration_s)

    with pytest.raises(OverloadedError) as raised:
        add(backlog, 1)

    assert pytest.approx(expected) == raised.value.retry_after_s


def test_a_tiny_transaction_says_little_of_how_fast_it_goes() -> None:
    """One of a byte takes as long as one of thousands."""
    backlog = opened(most_bytes=20_000)
    add(backlog, 20_000)
    backlog.note(10_000, 2.0)
    backlog.note(1, 0.01)

    with pytest.raises(OverloadedError) as raised:
        add(backlog, 1)

    assert pytest.approx(4.0, rel=0.02) == raised.value.retry_after_s


def test_the_first_outcome_counts() -> None:
    """Whoever comes later with another one changes nothing."""
    backlog = opened()
    [request] = add(backlog, 7)

    backlog.finish(request, Receipt(1, "first"))
    backlog.finish(request, UnavailableError("second", retry_after_s=1))

    assert (Receipt(1, "first"), True) == (request.done.result(0), request.is_finished)
    assert (0, 0) == backlog.waiting()[:2]


def test_a_sender_that_goes_does_not_take_its_request_along() -> None:
    """What was handed in is written."""
    [request] = add(opened(), 7)

    assert not request.done.cancel()


def test_nothing_is_taken_before_it_opens_or_after_it_closed() -> None:
    """And it is said why."""
    backlog = Backlog(most_requests=3, most_bytes=100)
    with pytest.raises(UnavailableError, match="it has not started"):
        add(backlog, 1)
    backlog.close("it is about to end")
    backlog.open()

    with pytest.raises(UnavailableError, match="it is about to end") as raised:
        add(backlog, 1)
    assert raised.value.retry_after_s >= 1
    assert "it is about to end" == backlog.waiting().why


def test_what_waits_when_it_closes_can_be_taken() -> None:
    """Then there is nothing more."""
    backlog = opened()
    [request] = add(backlog, 1)

    backlog.close("it is about to end")

    assert [request, None, None] == [backlog.take() for _ in range(3)]


def test_all_that_is_abandoned_is_refused() -> None:
    """Also what was taken; whoever waits for a request learns that none will come."""
    backlog = opened()
    add(backlog, 1)
    taken = backlog.take()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(backlog.take)
        backlog.abandon("it broke")
        nothing = waiting.result(_PATIENCE_S)

    assert taken is not None
    assert nothing is None
    with pytest.raises(UnavailableError, match="it broke"):
        taken.done.result(0)
    with pytest.raises(UnavailableError, match="it broke"):
        add(backlog, 1)


def test_what_waits_in_line_is_refused_too() -> None:
    """And is not worked on."""
    backlog = opened()
    requests = add(backlog, 1, 1)

    backlog.abandon("it broke")

    assert [UnavailableError] * 2 == [type(request.done.exception(0)) for request in requests]
    assert backlog.take() is None
