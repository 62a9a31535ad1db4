"""
When a call counts, and what is remembered of the groups that are open.
"""

from tests.facts import run, tool_span, trace_id
from tests.shown import counted, unsettled
from tests.stores import SECOND_NS, a_trace, settled_rows
from toolspan.changes import Derived, Settled
from toolspan.metrics import Limits, Metrics
from toolspan.records import Rows, SpanFacts
from toolspan.tracker import Tracker

GRACE_NS = 2 * SECOND_NS


class Counting:
    """
    A tracker, and what it has counted.
    """

    def __init__(self, *, most: int = 1000) -> None:
        self.metrics = Metrics(limits=Limits(remembered=most))
        self.tracker = Tracker(self.metrics, grace_ns=GRACE_NS, most=most)

    def derive(self, spans: list[SpanFacts], *before: Rows, at_s: float) -> None:
        traces = frozenset(span.trace_id for span in spans)
        change = Derived(traces, unsettled(settled_rows(spans)), before)
        self.tracker.written([change], [], now_ns=round(at_s * SECOND_NS))

    def settle(self, *numbers: int, rows: Rows | None = None, at_s: float) -> None:
        settled = [Settled(frozenset({trace_id(number)}), rows) for number in numbers]
        self.tracker.written([], settled, now_ns=round(at_s * SECOND_NS))

    def tick(self, at_s: float) -> None:
        self.tracker.tick(round(at_s * SECOND_NS))

    def calls(self) -> float:
        return sum(counted(self.metrics, "calls_total").values())

    def tasks(self) -> float:
        return sum(counted(self.metrics, "tasks_total").values())


def test_a_call_counts_a_grace_period_after_its_last_span() -> None:
    """Not before, and once."""
    counting = Counting()
    counting.derive(a_trace(), at_s=10)

    counting.tick(11.9)
    early = counting.calls()
    counting.tick(12)
    counting.tick(20)

    assert (0, 2, 0) == (early, counting.calls(), counting.tasks())


def test_a_call_that_a_new_span_leaves_alone_keeps_its_time() -> None:
    """A task that goes on for an hour does not keep its first calls from being counted."""
    counting = Counting()
    counting.derive(a_trace(), at_s=10)
    counting.derive([*a_trace(), tool_span(1, 9, start=70)], at_s=11)

    counting.tick(12)
    first = counting.calls()
    counting.tick(13)

    assert (2, 3) == (first, counting.calls())


def test_a_call_that_a_new_span_changes_waits_again() -> None:
    """As long as it grows, its last span has not come."""
    counting = Counting()
    [whole, failed, retried] = a_trace()
    counting.derive([whole, failed], at_s=10)
    longer = retried._replace(span_id=failed.span_id, end_ns=failed.end_ns + 5)
    counting.derive([whole, longer], at_s=11)

    counting.tick(12)
    first = counting.calls()
    counting.tick(13)

    assert (0, 1) == (first, counting.calls())


def test_a_task_counts_when_it_settles_with_calls_that_were_not_due() -> None:
    """And is then forgotten."""
    counting = Counting()
    counting.derive(a_trace(), at_s=10)

    counting.settle(1, at_s=10)
    counting.tick(20)

    assert (2, 1) == (counting.calls(), counting.tasks())
    assert not counting.tracker.knows(frozenset({trace_id(1)}))


def test_what_an_earlier_process_wrote_does_not_count_again() -> None:
    """Of an open group only the task and what is new do."""
    counting = Counting()
    before = unsettled(settled_rows(a_trace()))
    counting.derive([*a_trace(), tool_span(1, 9, start=70)], before, at_s=10)

    counting.tick(12)
    counting.settle(1, at_s=12)

    assert (1, 1) == (counting.calls(), counting.tasks())


def test_an_unknown_group_that_settles_brings_its_rows() -> None:
    """Its calls were counted by who wrote them, its task is counted now."""
    counting = Counting()

    counting.settle(1, rows=unsettled(settled_rows(a_trace())), at_s=10)

    assert (0, 1) == (counting.calls(), counting.tasks())


def test_a_settled_task_that_wakes_up_settles_again_and_counts_no_more() -> None:
    """Only its new call does."""
    counting = Counting()
    counting.derive(a_trace(), at_s=10)
    counting.settle(1, at_s=12)
    counting.derive([*a_trace(), tool_span(1, 9, start=70)], settled_rows(a_trace()), at_s=20)

    counting.settle(1, at_s=22)

    assert (3, 1) == (counting.calls(), counting.tasks())
    assert {("toolspan_resettled_tasks_total",): 1} == counted(counting.metrics, "resettled_tasks_total")


def test_a_group_that_settles_in_the_transaction_that_derives_it_counts() -> None:
    """Without a grace period; that the store took it for unknown does not matter."""
    counting = Counting()
    rows = unsettled(settled_rows(a_trace()))
    traces = frozenset({trace_id(1)})

    counting.tracker.written([Derived(traces, rows, ())], [Settled(traces, rows)], now_ns=0)

    assert (2, 1) == (counting.calls(), counting.tasks())


def test_too_many_are_counted_as_they_are() -> None:
    """The groups that were silent for longest; memory stays bounded and nothing counts twice."""
    counting = Counting(most=5)
    for number in range(1, 4):
        counting.derive([run(number), *a_trace(number)[1:]], at_s=10)

    known = [counting.tracker.knows(frozenset({trace_id(number)})) for number in range(1, 4)]
    early = counting.calls()
    counting.settle(1, 2, rows=unsettled(settled_rows(a_trace(1))), at_s=20)
    counting.settle(3, at_s=20)

    assert ([False, False, True], 4) == (known, early)
    assert 6 == counting.calls()


def test_what_metrics_remember_is_no_less_than_what_is_kept() -> None:
    """However many were counted before: a group that is kept is not counted again when it settles."""
    counting = Counting(most=20)
    counting.derive(a_trace(1), at_s=10)
    counting.tick(12)
    known_to_none = [unsettled(settled_rows([run(number), *a_trace(number)[1:]])) for number in range(2, 12)]
    changes = [Derived(frozenset({rows.tasks[0].trace_id}), rows, (rows,)) for rows in known_to_none]

    counting.tracker.written(changes, [], now_ns=13 * SECOND_NS)
    counting.settle(1, rows=unsettled(settled_rows(a_trace(1))), at_s=14)

    assert (2, 1) == (counting.calls(), counting.tasks())


def test_calls_that_come_again_and_again_count_once_each() -> None:
    """A group that gets spans for long, and others that settle meanwhile: nothing that is due is forgotten."""
    counting = Counting()
    spans = [run(1)]
    for number in range(2, 60):
        at_s = 10 + number / 100
        counting.settle(number + 99, number + 199, at_s=at_s)
        counting.derive(a_trace(number + 100), at_s=at_s)
        counting.derive(a_trace(number + 200), at_s=at_s)
        spans.append(tool_span(1, number, start=10 * number, tool=f"tool_{number}"))
        counting.derive(spans, at_s=at_s)

    settled = counting.calls()
    counting.tick(12.1)
    some = counting.calls()
    counting.tick(13)

    assert (57 * 4, 57 * 4 + 9, 58 * 4 + 58) == (settled, some, counting.calls())
