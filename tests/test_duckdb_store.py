"""
The store file: what is kept, when it settles, what comes too late, what is deleted.
"""

from pathlib import Path

import pytest

from tests.facts import escalation, run, tool_span, trace_id
from tests.stores import HOUR_NS, NOW_NS, SECOND_NS, Clock, a_trace, open_store, settled_rows, sorted_rows
from toolspan.config import Settings
from toolspan.records import SpanFacts
from toolspan.store import AppendResult, SettleResult, Store
from toolspan.store.duckdb import DuckDBStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.duckdb"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(path: Path, clock: Clock) -> DuckDBStore:
    return open_store(path, clock=clock)


def test_is_a_store(store: DuckDBStore) -> None:
    """It has the verbs that every engine has."""
    kept: Store = store

    assert kept.append([]).new == 0


class TestAppend:
    def test_counts_each_span_once(self, store: DuckDBStore) -> None:
        """What repeats a kept span is a duplicate, what differs from it a conflict; the first stays."""
        store.append(a_trace())
        other = a_trace()[1]._replace(end_ns=77)

        result = store.append([*a_trace(), other, run(2)])

        assert AppendResult(1, 3, 1, 0, frozenset((trace_id(2),))) == result
        assert sorted(a_trace()) == sorted(store.load_groups([trace_id(1)])[0])

    def test_leaves_tasks_open(self, store: DuckDBStore) -> None:
        """Until somebody says that they are over."""
        store.append(a_trace())

        assert [False] == [task.settled for task in store.rows().tasks]

    def test_a_span_that_joins_two_groups_replaces_the_rows_of_both(self, store: DuckDBStore) -> None:
        """Two tasks become one; nothing of the old rows stays."""
        apart = [tool_span(1, 2, start=0, task_id="a"), tool_span(2, 2, start=20, task_id="b")]
        joining = tool_span(2, 3, start=40, task_id="a")
        store.append(apart)
        store.settle()

        store.append([joining])
        store.settle()

        assert sorted_rows(settled_rows([*apart, joining])) == sorted_rows(store.rows())

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    @pytest.mark.parametrize("named", [trace_id(1).hex(), f"{trace_id(1).hex()}-{(1).to_bytes(8).hex()}"])
    def test_a_span_that_names_the_id_of_a_trace_joins_it(
        self, store: DuckDBStore, order: tuple[int, int], named: str
    ) -> None:
        """A task that nobody named has its trace's id, alone or with its run's; whichever comes first."""
        whole = named == trace_id(1).hex()
        first = [tool_span(1, 2, start=0), tool_span(1, 3, start=20)] if whole else a_trace(1)
        parts = [first, [run(2, task_id=named), tool_span(2, 7, start=50)]]
        for place in order:
            store.append(parts[place])
            store.settle()

        assert sorted_rows(settled_rows([*parts[0], *parts[1]])) == sorted_rows(store.rows())
        assert len(store.rows().calls) == len(first) + 1 - (not whole)

    def test_keeps_its_hash_key(self, path: Path, store: DuckDBStore) -> None:
        """Whoever opens the file hashes arguments alike."""
        assert store.hash_key() == open_store(path).hash_key() != open_store(path.with_name("y")).hash_key()


class TestSettling:
    def test_by_the_writer_settles_what_it_added_to(self, path: Path, store: DuckDBStore) -> None:
        """And nothing of others."""
        store.append(a_trace(1))
        other = open_store(path)
        other.append(a_trace(2))

        assert SettleResult(groups=1, calls=2, tasks=1) == store.settle()
        assert [True, False] == [task.settled for task in sorted(store.rows().tasks, key=lambda task: task.trace_id)]

    def test_by_who_repeats_it_settles_what_another_left_open(self, path: Path, store: DuckDBStore) -> None:
        """A killed writer's input given again completes it: at the end of input every touched task settles."""
        store.append(a_trace())
        again = open_store(path)

        again.append(a_trace())

        assert (1, 2, 1) == again.touched()
        assert SettleResult(groups=1, calls=2, tasks=1) == again.settle()
        assert (0, 0, 0) == store.settle()

    def test_of_what_is_settled_stays_when_it_is_repeated(self, path: Path, store: DuckDBStore) -> None:
        """A repeat of a settled task touches nothing."""
        store.append(a_trace())
        store.settle()
        again = open_store(path)

        again.append(a_trace())

        assert (0, 0, 0) == again.touched() == again.settle()

    def test_an_ended_task_is_overdue_after_the_grace_period(self, store: DuckDBStore, clock: Clock) -> None:
        """Its span came, and then nothing."""
        store.append(a_trace())

        clock.pass_s(1.9)
        before = store.waiting()
        clock.pass_s(0.1)

        assert (0, 1) == (before, store.waiting())
        assert SettleResult(1, 2, 1) == store.settle_overdue()
        assert 0 == store.waiting()

    def test_a_flush_appends_and_settles_what_is_overdue(self, store: DuckDBStore, clock: Clock) -> None:
        """Whoever appended it; what has just come is not."""
        store.append(a_trace(1))
        clock.pass_s(5)

        appended, settled = store.flush(a_trace(2))

        assert (3, SettleResult(1, 2, 1)) == (appended.new, settled)
        assert [True, False] == [task.settled for task in sorted(store.rows().tasks, key=lambda task: task.trace_id)]

    def test_a_task_whose_span_did_not_come_is_overdue_after_the_timeout(
        self, store: DuckDBStore, clock: Clock
    ) -> None:
        """A call below a run that nobody has seen yet."""
        store.append([tool_span(1, 2, start=0)])

        clock.pass_s(899)
        before = store.waiting()
        clock.pass_s(1)

        assert (0, 1) == (before, store.waiting())

    def test_a_parentless_tool_span_stands_for_its_task(self, store: DuckDBStore, clock: Clock) -> None:
        """Nothing above it will come."""
        store.append([tool_span(1, 2, start=0)._replace(parent_id=b"")])
        clock.pass_s(2)

        assert SettleResult(1, 1, 1) == store.settle_overdue()

    def test_a_span_that_comes_later_settles_its_task_again(self, store: DuckDBStore, clock: Clock) -> None:
        """Within a day of the last one, in another run: the rows are those of all spans at once."""
        *early, last = a_trace()
        store.append(early)
        store.settle()
        clock.pass_s(23 * 3600)

        result = store.append([last])
        store.settle()

        assert (1, 0) == (result.new, result.late)
        assert sorted_rows(settled_rows(a_trace())) == sorted_rows(store.rows())

    def test_spans_of_no_task_wait_for_nobody(self, store: DuckDBStore, clock: Clock) -> None:
        """A trace without run and call has nothing to settle."""
        store.append([SpanFacts(trace_id(1), b"\1" * 8, b"", 0, 5)])
        clock.pass_s(10_000)

        assert (0, SettleResult(0, 0, 0)) == (store.waiting(), store.settle_overdue())


class TestLate:
    def test_a_span_comes_too_late_a_day_after_the_last_of_its_group(self, store: DuckDBStore, clock: Clock) -> None:
        """It changes nothing; a repeat stays a duplicate."""
        *early, last = a_trace()
        store.append(early)
        store.settle()
        clock.pass_s(24 * 3600 + 1)

        result = store.append([*early, last])

        assert (0, 2, 1) == (result.new, result.duplicates, result.late)
        assert sorted_rows(settled_rows(early)) == sorted_rows(store.rows())

    def test_an_old_file_changes_nothing_for_ever(self, store: DuckDBStore, clock: Clock) -> None:
        """Calls, escalations and the spans of tasks are known even when no spans are kept."""
        spans = [*a_trace(), escalation(1, 4, at=50)]
        store.append(spans)
        store.settle()
        clock.pass_s(72 * 3600)
        store.settle_overdue()

        result = store.append(spans)

        assert [] == store.load_groups([trace_id(1)])
        assert (0, 4, 0) == (result.new, result.duplicates, result.late)

    def test_a_part_of_a_long_task_changes_nothing_when_it_comes_again(self, store: DuckDBStore, clock: Clock) -> None:
        """Its calls are known by their own times, its task by all the time that it took."""
        day = 24 * HOUR_NS
        early = [tool_span(1, 2, start=0), tool_span(1, 3, start=20)]
        late = [run(1)._replace(end_ns=3 * day), tool_span(1, 4, start=0)._replace(start_ns=3 * day, end_ns=3 * day)]
        store.append([*early, *late])
        store.settle()
        clock.pass_s(25 * 3600)
        store.settle_overdue()

        result = store.append(early)

        assert (0, 2) == (result.new, result.duplicates)
        assert 3 == len(store.rows().calls)

    def test_a_new_trace_that_names_a_closed_task_is_late(self, store: DuckDBStore, clock: Clock) -> None:
        """Whether its spans are kept still or not: one task has one row."""
        store.append([run(1, task_id="order-7"), tool_span(1, 2, start=0)])
        store.settle()
        clock.pass_s(24 * 3600 + 1)
        closed = store.append([run(2, task_id="order-7"), tool_span(2, 2, start=0)])
        clock.pass_s(24 * 3600)
        store.settle_overdue()

        pruned = store.append([run(3, task_id="order-7"), tool_span(3, 2, start=0), *a_trace(4)])

        assert [(0, 2), (3, 2)] == [(result.new, result.late) for result in (closed, pruned)]
        assert 2 == len(store.rows().tasks)

    def test_the_oldest_spans_go_when_there_are_too_many(self, path: Path, clock: Clock) -> None:
        """Whole groups, settled ones only, and not their rows."""
        store = open_store(path, clock=clock, settings=Settings(max_spans=4))
        for number in (1, 2, 3):
            store.append(a_trace(number))
            clock.pass_s(1)
        store.settle()

        kept = [number for number in (1, 2, 3) if store.load_groups([trace_id(number)])]

        assert ([3], 3) == (kept, len(store.rows().tasks))

    def test_what_came_is_counted(self, store: DuckDBStore, clock: Clock) -> None:
        """By hour and reason, so that no loss is hidden."""
        store.append(a_trace())
        store.append([*a_trace(), a_trace()[0]._replace(end_ns=3)])
        store.count({"rejected": 2})
        store.settle()
        clock.pass_s(25 * 3600)
        store.append([tool_span(1, 9, start=0)])

        with store.reading() as file:
            rows = file.connection.execute("from intake order by all").fetchall()

        first, second = NOW_NS - NOW_NS % HOUR_NS, NOW_NS - NOW_NS % HOUR_NS + 25 * HOUR_NS
        assert rows == [
            (first, "conflict", 1),
            (first, "duplicate", 3),
            (first, "received", 7),
            (first, "rejected", 2),
            (second, "late", 1),
            (second, "received", 1),
        ]


def test_a_call_as_long_as_time_settles(store: DuckDBStore) -> None:
    """Its rounded length fits the column that it is counted in."""
    spans = [tool_span(1, 2, start=0)._replace(start_ns=1, end_ns=2**63 - 1)]
    store.append(spans)
    store.settle()

    assert sorted_rows(settled_rows(spans)) == sorted_rows(store.rows())


def test_times_far_apart_are_kept(store: DuckDBStore) -> None:
    """A clock that is off by years loses nothing."""
    year = 365 * 24 * 3600 * SECOND_NS
    spans = [run(1)._replace(start_ns=40 * year, end_ns=40 * year + 5), tool_span(1, 2, start=0)]
    store.append(spans)
    store.settle()

    assert sorted_rows(settled_rows(spans)) == sorted_rows(store.rows())
