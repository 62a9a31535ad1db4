"""
The store that one process holds for life: durable when it says so, read beside writes, and not to be taken away.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from tests.facts import tool_span, trace_id
from tests.stores import Clock, a_trace, open_store, settled_rows, sorted_rows
from toolspan.config import Settings
from toolspan.errors import StoreBusyError, StoreError
from toolspan.records import Rows
from toolspan.report_answers import ask_report
from toolspan.scope import EVERYTHING
from toolspan.store.duckdb import DuckDBStore
from toolspan.store.held import HeldStore, Written
from toolspan.store.memory import MemoryStore
from toolspan.store.reading import read_rows

URL = "http://127.0.0.1:9464"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder / "x.duckdb"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def held(path: Path, clock: Clock, told: list[str]) -> Generator[HeldStore]:
    store = HeldStore(path, url=URL, settings=Settings(), tell=told.append, clock_ns=clock)
    yield store
    store.close()


def knows_none(traces: frozenset[bytes]) -> bool:
    del traces
    return False


def knows_all(traces: frozenset[bytes]) -> bool:
    return bool(traces)


def write(store: HeldStore, *traces: int) -> Written:
    return store.write([span for number in traces for span in a_trace(number)], knows=knows_none)


def calls_in(store: HeldStore) -> int:
    with store.reading() as connection:
        return len(read_rows(connection).calls)


class TestWriting:
    def test_keeps_what_is_new_and_says_which_groups_it_touched(self, held: HeldStore) -> None:
        """With their rows, as they were derived; of a new group there was nothing before."""
        written = write(held, 1)

        assert (2 + 1, 0) == (written.appended.new, written.appended.duplicates)
        [derived] = written.derived
        assert (frozenset({trace_id(1)}), ()) == (derived.traces, derived.before)
        assert sorted_rows(derived.rows) == sorted_rows(read(held))
        assert () == tuple(written.settled)

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

    def test_of_a_late_span_wakes_a_settled_group(self, held: HeldStore, clock: Clock) -> None:
        """What it was before was settled."""
        write(held, 1)
        clock.pass_s(3)
        held.write([], knows=knows_none)

        [derived] = held.write([tool_span(1, 9, start=70)], knows=knows_none).derived

        assert [[True]] == [[task.settled for task in rows.tasks] for rows in derived.before]
        assert 1 == held.open_tasks()

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

    def test_ends_when_the_store_is_closed(self, path: Path) -> None:
        """Who reads is interrupted; who comes later is told."""
        store = HeldStore(path, url=URL, settings=Settings(), tell=pytest.fail)
        store.close()

        with pytest.raises(StoreError, match="is not open just now"), store.reading():
            pass
        with pytest.raises(StoreError, match="was closed"):
            write(store, 1)


def read(store: HeldStore) -> Rows:
    with store.reading() as connection:
        return read_rows(connection)


def test_others_are_told_where_to_ask(held: HeldStore, path: Path) -> None:
    """Whoever wants the file gets the address of who holds it."""
    other = DuckDBStore(path, purpose="a test", settings=Settings(), timeout_s=0.05, tell=pytest.fail)
    write(held, 1)

    with pytest.raises(StoreBusyError, match=URL), other.reading():
        pass


def test_what_was_written_is_there_after_a_restart(path: Path, clock: Clock) -> None:
    """Open groups go on and settle."""
    with closing(HeldStore(path, url=URL, settings=Settings(), tell=pytest.fail, clock_ns=clock)) as store:
        write(store, 1)
        key = store.hash_key()
    clock.pass_s(3)

    with closing(HeldStore(path, url=URL, settings=Settings(), tell=pytest.fail, clock_ns=clock)) as store:
        [settled] = store.write([], knows=knows_none).settled

        assert frozenset({trace_id(1)}) == settled.traces
        assert key == store.hash_key()
        assert sorted_rows(settled_rows(a_trace(1))) == sorted_rows(read(store))


class TestTakenAway:
    @pytest.mark.parametrize("how", ["removed", "renamed", "replaced", "with its folder", "with its locks"])
    def test_nothing_is_lost(self, held: HeldStore, path: Path, told: list[str], how: str, clock: Clock) -> None:
        """All that the open connection holds is written again, and what stands there is set aside."""
        write(held, 1)
        take_away(path, how)

        write(held, 2)
        held.close()

        [line] = told
        assert f"{path} was taken away while it was in use: it was written again" in line
        assert sorted_rows(both()) == sorted_rows(open_store(path, clock=clock).rows())
        asides = [file.read_bytes() for file in path.parent.glob("*.replaced-*")]
        assert ([b"somebody's"] if how == "replaced" else []) == asides

    def test_it_is_tried_again_until_it_can_be_written(
        self, held: HeldStore, path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch, clock: Clock
    ) -> None:
        """Nothing else has what was acknowledged: the connection is kept until a disk has room for it."""
        write(held, 1)
        path.unlink()
        with monkeypatch.context() as patched:
            patched.setattr("toolspan.store.restoring.copied_open", full)
            for _ in range(2):
                with pytest.raises(StoreError, match="no space"):
                    write(held, 2)

        write(held, 2)
        held.close()

        assert 1 == len(told)
        assert sorted_rows(both()) == sorted_rows(open_store(path, clock=clock).rows())

    def test_when_it_goes_in_the_middle_of_a_write_nothing_is_lost(
        self, held: HeldStore, path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch, clock: Clock
    ) -> None:
        """Committed to a file that has no name any more, it is not acknowledged before it is in one that has."""
        write(held, 1)

        def take(*_: object, **__: object) -> None:
            path.unlink()

        with monkeypatch.context() as patched:
            patched.setattr("toolspan.store.held.count_intake", take)
            write(held, 2)
        held.close()

        assert 1 == len(told)
        assert sorted_rows(both()) == sorted_rows(open_store(path, clock=clock).rows())

    def test_between_two_writes_a_reader_goes_on(self, held: HeldStore, path: Path) -> None:
        """Reading needs no name."""
        write(held, 1)
        path.unlink()

        assert 2 == calls_in(held)

    def test_keeps_its_mode(self, held: HeldStore, path: Path) -> None:
        """The hash key is in the file: who could not read it before cannot now."""
        path.chmod(0o600)
        held.close()
        store = HeldStore(path, url=URL, settings=Settings(), tell=lambda _: None)
        path.unlink()

        write(store, 1)
        store.close()

        assert 0o600 == path.stat().st_mode & 0o777


def full(*_: object) -> None:
    raise StoreError("no space")


def both() -> Rows:
    store = MemoryStore()
    store.append([*a_trace(1), *a_trace(2)])
    return store.rows()


def take_away(path: Path, how: str) -> None:
    match how:
        case "removed":
            path.unlink()
        case "renamed":
            path.rename(path.parent.parent / "elsewhere.duckdb")
        case "replaced":
            stranger = path.with_name("stranger")
            stranger.write_bytes(b"somebody's")
            stranger.replace(path)
        case "with its folder":
            shutil.rmtree(path.parent)
        case _:
            for file in path.parent.iterdir():
                file.unlink()


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

    def test_copies_the_store_while_it_is_in_use(self, held: HeldStore, path: Path, clock: Clock) -> None:
        """A store itself, as it was at one moment."""
        write(held, 1)
        target = path.with_name("copy.duckdb")

        held.snapshot(target)
        write(held, 2)

        assert 2 == len(open_store(target, clock=clock).rows().calls)
        with pytest.raises(StoreError, match="is there already"):
            held.snapshot(target)

    def test_a_checkpoint_leaves_no_log(self, held: HeldStore) -> None:
        """What a restart would replay."""
        write(held, 1)
        before = held.wal_bytes()

        held.checkpoint()

        assert before > 0 == held.wal_bytes()

    def test_checkpoints_when_the_log_is_large(self, held: HeldStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """A restart takes no longer than that takes to replay."""
        monkeypatch.setattr("toolspan.store.held.MOST_WAL_BYTES", 0)

        write(held, 1)

        assert 0 == held.wal_bytes()


def test_a_checkpoint_that_others_are_in_the_way_of_is_put_off(
    held: HeldStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write is durable all the same; whoever writes next tries again."""
    monkeypatch.setattr("toolspan.store.held.MOST_WAL_BYTES", 0)
    with held.reading() as connection:
        other = connection.cursor()
        other.begin()
        other.execute("create table in_the_way as select 1 as one")

        written = write(held, 1)
        put_off = held.wal_bytes()
        other.rollback()
    write(held, 2)

    assert 3 == written.appended.new
    assert put_off > 0 == held.wal_bytes()


def test_a_write_that_fails_keeps_nothing_and_the_next_goes_on(
    held: HeldStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is opened again by whoever writes next."""
    write(held, 1)
    with monkeypatch.context() as patched:
        patched.setattr("toolspan.store.held.count_intake", fail)
        with pytest.raises(ZeroDivisionError):
            write(held, 2)
    with pytest.raises(StoreError, match="is not open just now"):
        calls_in(held)

    write(held, 3)

    assert 4 == calls_in(held)


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def test_a_store_of_a_forked_parent_is_not_used(held: HeldStore) -> None:
    """A child says so, and the parent goes on."""
    write(held, 1)
    pid = os.fork()
    if not pid:
        try:
            write(held, 2)
        except StoreError:
            os._exit(7)
        os._exit(1)

    assert 7 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert 2 == calls_in(held)
