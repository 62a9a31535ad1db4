"""
Laws of the store file: however spans are split over runs, restarts and repeats, the rows are those of all at once.
"""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.span_trees import groups, lone_runs
from tests.stores import Clock, open_store, settled_rows, sorted_rows
from toolspan.records import Rows, SpanFacts
from toolspan.store.duckdb import DuckDBStore
from toolspan.store.totals import TOTALS, sum_up

#: What may happen between two batches.
_BETWEEN = st.sampled_from(("", "", "settle", "overdue", "restart", "pass"))

#: Every example opens a file about ten times, 30 ms each.
laws = settings(max_examples=25, deadline=None)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[SpanFacts], list[tuple[list[SpanFacts], str]]]:
    """
    Spans, and batches in which all of them come at least once, in any order, with what happens after each.
    """
    spans = draw(groups() | lone_runs())
    again = draw(st.lists(st.sampled_from(spans), max_size=4)) if spans else []
    order = draw(st.permutations([*spans, *again]))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=3)))
    bounds = [0, *cuts, len(order)]
    batches = [order[start:end] for start, end in pairwise(bounds)]
    return spans, [(batch, draw(_BETWEEN)) for batch in batches]


def totals_of(store: DuckDBStore) -> dict[str, Counter[tuple[object, ...]]]:
    """
    The hourly totals, as a multiset of rows.
    """
    with store.reading() as file:
        return {table: Counter(file.connection.execute(f"from {table}").fetchall()) for table in TOTALS}


@laws
@given(histories())
def test_any_history_gives_the_same_rows_and_totals(
    history: tuple[list[SpanFacts], list[tuple[list[SpanFacts], str]]],
) -> None:
    """
    Batches, repeats, early settling, restarts and waiting change nothing once all has come and settled.
    """
    spans, batches = history
    with TemporaryDirectory() as folder:
        clock = Clock()
        store = open_store(Path(folder, "split.duckdb"), clock=clock)
        for batch, then in batches:
            store.append(batch)
            if then == "settle":
                store.settle()
            elif then == "overdue":
                clock.pass_s(1000)
                store.settle_overdue()
            elif then == "restart":
                store = open_store(Path(folder, "split.duckdb"), clock=clock)
            elif then == "pass":
                clock.pass_s(1)
        clock.pass_s(1000)
        store.settle_overdue()
        whole = open_store(Path(folder, "whole.duckdb"), clock=clock)
        whole.append(spans)
        whole.settle()
        expected = settled_rows(spans)

        assert sorted_rows(expected) == sorted_rows(store.rows())
        assert sorted_rows(expected) == sorted_rows(whole.rows())
        assert summed(whole) == summed(store)


def summed(store: DuckDBStore) -> dict[str, Counter[tuple[object, ...]]]:
    """
    The totals with one row per key.
    """
    with store.transaction() as connection:
        sum_up(connection, most_spare_rows=0)
    return totals_of(store)


@laws
@given(groups() | lone_runs(), st.booleans())
def test_what_goes_in_comes_out(spans: list[SpanFacts], is_settled: bool) -> None:
    """
    Facts and rows, open or settled, are read back as they were written.
    """
    with TemporaryDirectory() as folder:
        store = open_store(Path(folder, "x.duckdb"))
        store.append(spans)
        if is_settled:
            store.settle()
        kept = [span for group in store.load_groups({span.trace_id for span in spans}) for span in group]
        rows = settled_rows(spans)
        expected = rows if is_settled else Rows(rows.calls, [t._replace(settled=False) for t in rows.tasks], *rows[2:])

        assert sorted(spans) == sorted(kept)
        assert sorted_rows(expected) == sorted_rows(store.rows())
