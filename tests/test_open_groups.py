"""
The groups that a process keeps in memory: derived with each span, settled when they are over, bounded.
"""

from tests.facts import run, tool_span
from tests.stores import NOW_NS, SECOND_NS
from toolspan.instrumentation.open_groups import OpenGroups, Patience
from toolspan.records import Rows, SpanFacts

FAILED = ("transient", "UNAVAILABLE")


def groups(*, most_spans: int = 1000) -> OpenGroups:
    return OpenGroups(patience=Patience(2 * SECOND_NS, 900 * SECOND_NS), most_spans=most_spans)


def at(seconds: float) -> int:
    return NOW_NS + round(seconds * SECOND_NS)


def calls(rows: Rows) -> int:
    return len(rows.calls)


def named(span: SpanFacts, task_id: str) -> SpanFacts:
    assert span.marks is not None
    return span._replace(marks=span.marks._replace(task_id=task_id))


class TestAdding:
    """
    Which groups a batch changes.
    """

    def test_a_group_is_derived_with_all_its_spans(self) -> None:
        """Those that came before, too."""
        kept = groups()
        kept.add([tool_span(1, 2, start=0, error=FAILED)], now_ns=at(0))

        [derived] = kept.add([tool_span(1, 3, start=20), run(1)], now_ns=at(1)).derived

        assert (2, "allowed", ()) == (calls(derived.rows), derived.rows.calls[1].verdict, derived.before)

    def test_what_is_there_already_changes_nothing(self) -> None:
        """It is counted."""
        kept = groups()
        kept.add([run(1), tool_span(1, 2, start=0)], now_ns=at(0))

        arrived = kept.add([run(1), tool_span(1, 2, start=1)], now_ns=at(1))

        assert ([], 1, 1) == (arrived.derived, arrived.duplicates, arrived.conflicts)

    def test_a_task_id_joins_traces(self) -> None:
        """Whichever comes first."""
        kept = groups()
        kept.add([run(1, task_id="t"), tool_span(1, 2, start=0, task_id="t")], now_ns=at(0))

        [derived] = kept.add([run(2, task_id="t"), tool_span(2, 2, start=0, task_id="t")], now_ns=at(1)).derived

        assert (2, 1, 2) == (len(derived.traces), len(derived.rows.tasks), calls(derived.rows))

    def test_an_id_that_is_made_of_a_trace_joins_it(self) -> None:
        """Also before that has spans."""
        kept = groups()
        kept.add([named(run(2), f"{1:032x}")], now_ns=at(0))

        [derived] = kept.add([run(1)], now_ns=at(1)).derived

        assert 2 == len(derived.traces)

    def test_two_groups_that_turn_out_to_be_one_are_one(self) -> None:
        """What each was is not told again: whoever counts knows it."""
        kept = groups()
        kept.add([run(1), run(2)], now_ns=at(0))

        [derived] = kept.add([named(tool_span(2, 3, start=0), f"{1:032x}")], now_ns=at(1)).derived

        assert (2, ()) == (len(derived.traces), derived.before)


class TestSettling:
    """
    When a group is over.
    """

    def test_a_group_settles_a_grace_period_after_its_last_span(self) -> None:
        """Once."""
        kept = groups()
        kept.add([run(1)], now_ns=at(0))
        kept.add([tool_span(1, 2, start=0)], now_ns=at(1))

        assert [0, 1, 0] == [len(kept.settle(now_ns=at(seconds))) for seconds in (2.9, 3, 4)]

    def test_a_group_whose_task_was_never_seen_waits_longer(self) -> None:
        """It is told of as open."""
        kept = groups()
        kept.add([tool_span(1, 2, start=0)], now_ns=at(0))
        seen = len(kept.settle(now_ns=at(899))), kept.open_tasks(), len(kept.settle(now_ns=at(900)))

        assert (0, 1, 1, 0) == (*seen, kept.open_tasks())

    def test_what_is_complete_settles_at_once_when_no_more_is_expected(self) -> None:
        """And only that."""
        kept = groups()
        kept.add([run(1), tool_span(2, 2, start=0)], now_ns=at(0))

        assert 1 == len(kept.settle(now_ns=at(0), is_over=True))

    def test_a_late_span_comes_with_what_had_settled(self) -> None:
        """Whoever counts had forgotten it."""
        kept = groups()
        kept.add([run(1), tool_span(1, 2, start=0)], now_ns=at(0))
        kept.settle(now_ns=at(3))

        [derived] = kept.add([tool_span(1, 3, start=40)], now_ns=at(4)).derived
        [before] = derived.before

        assert (1, [True], 2, 1) == (
            calls(before),
            [task.settled for task in before.tasks],
            calls(derived.rows),
            len(kept.settle(now_ns=at(6))),
        )


class TestBounds:
    """
    How much is kept.
    """

    def test_settled_groups_go_first(self) -> None:
        """Nobody misses them, unless a late span comes."""
        kept = groups(most_spans=2)
        kept.add([run(1), tool_span(1, 2, start=0)], now_ns=at(0))
        kept.settle(now_ns=at(3))
        kept.add([tool_span(2, 2, start=0)], now_ns=at(4))
        settled = kept.settle(now_ns=at(4))
        [derived] = kept.add([tool_span(1, 3, start=40)], now_ns=at(5)).derived

        assert ([], 1, (), 2) == (settled, calls(derived.rows), derived.before, kept.open_tasks())

    def test_then_the_open_ones_that_were_touched_longest_ago_settle_as_they_are(self) -> None:
        """They count, too early rather than not at all; the last one stays, however large."""
        kept = groups(most_spans=1)
        for number in (1, 2):
            kept.add([tool_span(number, span, start=10 * span) for span in (2, 3)], now_ns=at(number))
        [settled] = kept.settle(now_ns=at(3))

        assert (frozenset({(1).to_bytes(16, "big")}), 1) == (settled.traces, kept.open_tasks())
