"""
The store that one process holds for life: durable when it says so, read beside writes, kept small.
"""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import duckdb
import pytest

from tests.facts import tool_span, trace_id
from tests.held import calls_in, hold, knows_all, knows_none, read, write
from tests.stores import HOUR_NS, Clock, a_trace, open_store, settled_rows, sorted_rows
from toolspan.errors import StoreError
from toolspan.report_answers import ask_report
from toolspan.scope import EVERYTHING
from toolspan.store.grouping import load_groups
from toolspan.store.held import HeldStore
from toolspan.store.reading import read_calls
from toolspan_queries import fetch
from toolspan_queries.rows import Calls, Tasks


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.duckdb"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def held(path: Path, clock: Clock) -> Generator[HeldStore]:
    with closing(hold(path, tell=pytest.fail, clock=clock)) as store:
        yield store


class TestWriting:
    def test_keeps_what_is_new_and_says_which_groups_it_touched(self, held: HeldStore) -> None:
        """With their rows, as they were derived; of a new group there was nothing before."""
        written = write(held, 1)

        assert (2 + 1, 0) == (written.appended.new, written.appended.duplicates)
        [derived] = written.derived
        assert (frozenset({trace_id(1)}), ()) == (derived.traces, derived.before)
        assert sorted_rows(derived.rows) == sorted_rows(read(held))
        assert () == tuple(written.settled)

    def test_counts_the_first_of_two_deliveries(self, held: HeldStore) -> None:
        """Also where both are part of one transaction."""
        written = held.write([*a_trace(1), *a_trace(1), *a_trace(2)], knows=knows_none)

        assert (6, 3) == (written.appended.new, written.appended.duplicates)
        assert 4 == calls_in(held)

    def test_says_what_an_unknown_group_was_before(self, held: HeldStore) -> None:
        """After a restart the rows of an open group are nobody's; whoever counts must not count them twice."""
        write(held, 1)
        before = read(held)

        [derived] = held.write([tool_span(1, 9, start=70)], knows=knows_none).derived
        [known] = held.write([tool_span(1, 10, start=80)], knows=knows_all).derived

        assert [sorted_rows(before)] == [sorted_rows(rows) for rows in derived.before]
        assert () == known.before

    def test_settles_what_is_overdue_and_says_what(self, held: HeldStore, clock: Clock) -> None:
        """With the rows as they were, of groups that are not known."""
        write(held, 1, 2)
        open_rows = read(held)
        clock.pass_s(3)

        written = held.write([], knows=lambda traces: trace_id(1) in traces)

        assert {frozenset({trace_id(1)}): None, frozenset({trace_id(2)}): True} == {
            each.traces: each.rows and True for each in written.settled
        }
        [rows] = [each.rows for each in written.settled if each.rows]
        assert [task for task in open_rows.tasks if task.trace_id == trace_id(2)] == rows.tasks
        assert sorted_rows(settled_rows([*a_trace(1), *a_trace(2)])) == sorted_rows(read(held))
        assert 0 == held.open_tasks()

    def test_settles_no_more_than_can_be_loaded_at_once(
        self, held: HeldStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a restart there may be very many; those come first that were silent longest, known ones all."""
        monkeypatch.setattr("toolspan.store.held._MOST_LOADED", 1)
        for number in (3, 1, 2, 4):
            write(held, number)
            clock.pass_s(0.1)
        clock.pass_s(3)

        first, second, third = (
            [each.traces for each in held.write([], knows=lambda traces: trace_id(4) in traces).settled]
            for _ in range(3)
        )

        assert [frozenset({trace_id(4)}), frozenset({trace_id(3)})] == first
        assert [[frozenset({trace_id(1)})], [frozenset({trace_id(2)})]] == [second, third]
        assert 0 == held.overdue()

    def test_settles_no_more_than_takes_a_moment(
        self, held: HeldStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of those that are known, too."""
        monkeypatch.setattr("toolspan.store.held._MOST_SETTLED", 2)
        for number in (3, 1, 2):
            write(held, number)
            clock.pass_s(0.1)
        clock.pass_s(3)

        settled = held.write([], knows=knows_all).settled

        assert [frozenset({trace_id(3)}), frozenset({trace_id(1)})] == [each.traces for each in settled]
        assert 1 == held.overdue()

    def test_of_a_late_span_wakes_a_settled_group(self, held: HeldStore, clock: Clock) -> None:
        """What it was before was settled."""
        write(held, 1)
        clock.pass_s(3)
        held.write([], knows=knows_none)

        [derived] = held.write([tool_span(1, 9, start=70)], knows=knows_none).derived

        assert [[True]] == [[task.settled for task in rows.tasks] for rows in derived.before]
        assert 1 == held.open_tasks()

    def test_of_a_group_that_settles_again_counts_once(self, held: HeldStore, clock: Clock) -> None:
        """Also in the totals by hour, of which a window from its beginning is made."""
        for spans in (a_trace(1), [], [tool_span(1, 9, start=70)], []):
            held.write(spans, knows=knows_none)
            clock.pass_s(3)

        with held.reading() as connection:
            [tasks] = fetch(connection, Tasks, until_ns=10 * HOUR_NS)
            [calls] = fetch(connection, Calls, until_ns=10 * HOUR_NS)
        assert (1, 3) == (tasks.total, calls.calls)

    def test_counts_what_was_rejected_before(self, held: HeldStore) -> None:
        """In the store's own count of what came."""
        held.write([], knows=knows_none, rejected=3)

        with held.reading() as connection:
            found = connection.execute("select spans from intake where reason = 'rejected'").fetchall()
        assert [(3,)] == found


class TestReading:
    def test_sees_one_moment(self, held: HeldStore) -> None:
        """What is written while somebody reads shows in the next reading."""
        write(held, 1)

        with held.reading() as connection:
            first = ask_report(connection, scope=EVERYTHING)
            write(held, 2)
            again = ask_report(connection, scope=EVERYTHING)

        assert first == again
        assert 4 == calls_in(held)

    def test_serves_whoever_asks_a_store_file(self, held: HeldStore) -> None:
        """Queries, reports, calls and groups, all of the same moment."""
        write(held, 1)
        with held.reading() as connection:
            write(held, 2)
            [tasks] = fetch(connection, Tasks)
            report = ask_report(connection, scope=EVERYTHING)
            calls = list(read_calls(connection))
            groups = load_groups(connection, [trace_id(1), trace_id(2)])

        assert 1 == tasks.total == report["tasks"]["total"]
        assert [trace_id(1)] * 2 == [call.trace_id for call in calls]
        assert [sorted(a_trace(1))] == [sorted(group) for group in groups]

    def test_cannot_write(self, held: HeldStore) -> None:
        """Who reads does not know of the lock."""
        with held.reading() as connection, pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("delete from spans")

    def test_is_interrupted_when_the_store_is_closed(self, path: Path) -> None:
        """A query that takes long ends with an error, and the file can be opened again."""
        store = hold(path, tell=pytest.fail)
        has_begun, ends = Event(), list[str]()

        def read_for_long() -> None:
            try:
                with store.reading() as connection:
                    has_begun.set()
                    connection.execute("select count(*) from range(10_000_000) as a, range(10_000_000) as b").fetchall()
            except StoreError as error:
                ends.append(str(error))

        reader = Thread(target=read_for_long)
        reader.start()
        has_begun.wait()
        store.close()
        reader.join()

        [end] = ends
        assert "Interrupted" in end
        with closing(hold(path, tell=pytest.fail)) as again:
            assert 0 == calls_in(again)

    def test_ends_when_the_store_is_closed(self, path: Path) -> None:
        """Who reads is interrupted; who comes later is told."""
        store = hold(path, tell=pytest.fail)
        store.close()

        with pytest.raises(StoreError, match="is not open just now"), store.reading():
            pass
        with pytest.raises(StoreError, match="was closed"):
            write(store, 1)


def test_what_was_written_is_there_after_a_restart(path: Path, clock: Clock) -> None:
    """Open groups go on and settle."""
    with closing(hold(path, tell=pytest.fail, clock=clock)) as store:
        write(store, 1)
        key = store.hash_key()
    clock.pass_s(3)

    with closing(hold(path, tell=pytest.fail, clock=clock)) as store:
        [settled] = store.write([], knows=knows_none).settled

        assert frozenset({trace_id(1)}) == settled.traces
        assert key == store.hash_key()
        assert sorted_rows(settled_rows(a_trace(1))) == sorted_rows(read(store))


class TestUpkeep:
    def test_prunes_an_hour_at_a_time(self, held: HeldStore, clock: Clock) -> None:
        """Old tasks go, with their spans and totals; what is younger stays."""
        write(held, 1, 2)
        clock.pass_s(3)
        held.write([], knows=knows_none)

        result = held.prune(2**62)

        assert (2, 4) == result
        assert 0 == calls_in(held)
        assert (0, 0) == held.prune(2**62)

    @pytest.mark.parametrize("most", [1, 2, 50_000])
    def test_prunes_some_tasks_at_a_time(self, held: HeldStore, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        """However many slices that makes, the same tasks go; those of a group that has a later one stay."""
        monkeypatch.setattr("toolspan.store.pruning._SLICE_TASKS", most)
        hours = [0, 0, 1, 3, 3, 5]
        spans = [
            span._replace(start_ns=span.start_ns + hour * HOUR_NS, end_ns=span.end_ns + hour * HOUR_NS)
            for number, hour in enumerate(hours)
            for span in a_trace(number + 1)
        ]
        held.write(spans, knows=knows_none)

        result = held.prune(4 * HOUR_NS)

        assert (5, 10) == result
        assert {trace_id(6)} == {task.trace_id for task in read(held).tasks}

    def test_copies_the_store_while_it_is_in_use(self, held: HeldStore, path: Path, clock: Clock) -> None:
        """A store itself, as it was at one moment."""
        write(held, 1)
        target = path.with_name("copy.duckdb")

        held.snapshot(target)
        write(held, 2)

        assert 2 == len(open_store(target, clock=clock).rows().calls)
        with pytest.raises(StoreError, match="is there already"):
            held.snapshot(target)
        with pytest.raises(StoreError, match="beside a store"):
            held.snapshot(path.with_name("copy.duckdb.lock"))
        assert [] == list(path.parent.glob("*.partial*"))

    def test_a_checkpoint_leaves_no_log(self, held: HeldStore) -> None:
        """What a restart would replay."""
        write(held, 1)
        before = held.wal_bytes()

        held.checkpoint()

        assert before > 0 == held.wal_bytes()

    def test_a_checkpoint_waits_for_nobody(self, held: HeldStore) -> None:
        """Who is idle tries again."""
        write(held, 1)
        with held.reading():
            write(held, 2)
            refused = held.checkpoint()

        assert (False, True) == (refused, held.checkpoint())

    def test_checkpoints_when_the_log_is_large(self, held: HeldStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """A restart takes no longer than that takes to replay."""
        monkeypatch.setattr("toolspan.store.held.MOST_WAL_BYTES", 0)

        write(held, 1)

        assert 0 == held.wal_bytes()

    @pytest.mark.parametrize(("more", "is_left"), [(0, False), (2**20, True)])
    def test_checkpoints_a_large_log_after_a_long_reader(
        self, held: HeldStore, monkeypatch: pytest.MonkeyPatch, more: int, *, is_left: bool
    ) -> None:
        """No write is the worse for him, and not each of them waits: only when the log has grown again."""
        monkeypatch.setattr("toolspan.store.held.MOST_WAL_BYTES", 0)
        monkeypatch.setattr("toolspan.store.held._MORE_WAL_BYTES", more)
        monkeypatch.setattr("toolspan.store.holding._PATIENCE_S", 0)
        with held.reading():
            written = write(held, 1)
            beside_him = held.wal_bytes()
        write(held, 2)

        assert (3, True, is_left) == (written.appended.new, beside_him > 0, held.wal_bytes() > 0)

    def test_readers_wait_for_a_checkpoint_that_has_to_be(
        self, held: HeldStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else those who read without a pause would keep it off for ever."""
        monkeypatch.setattr("toolspan.store.held.MOST_WAL_BYTES", 0)
        is_over, logs = Event(), list[int]()

        def read_again_and_again() -> None:
            while not is_over.is_set():
                calls_in(held)

        readers = [Thread(target=read_again_and_again) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(10):
            write(held, number)
            logs.append(held.wal_bytes())
        is_over.set()
        for reader in readers:
            reader.join()

        assert [0] * 10 == logs
