"""
The file of a store that is held: not to be taken away, mended when it is damaged, and nobody else's meanwhile.
"""

import os
import shutil
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.facts import trace_id
from tests.held import URL, calls_in, hold, knows_all, read, rows_of, write
from tests.stores import Clock, open_store, sorted_rows
from toolspan.errors import StoreBusyError, StoreError
from toolspan.store.held import HeldStore
from toolspan.store.lock import FileLock, locked
from toolspan.store.reading import read_rows


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
    with closing(hold(path, tell=told.append, clock=clock)) as store:
        yield store


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
        assert sorted_rows(rows_of(1, 2)) == sorted_rows(open_store(path, clock=clock).rows())
        asides = [file.read_bytes() for file in path.parent.glob("*.replaced-*")]
        assert ([b"somebody's"] if how == "replaced" else []) == asides

    def test_between_two_writes_a_reader_goes_on(self, held: HeldStore, path: Path) -> None:
        """Reading needs no name."""
        write(held, 1)
        path.unlink()

        assert 2 == calls_in(held)

    def test_while_nobody_writes(self, held: HeldStore, path: Path, told: list[str]) -> None:
        """Whoever writes asks what is overdue from time to time: that looks after the file."""
        write(held, 1)
        path.unlink()

        held.overdue()

        assert path.exists()
        assert 1 == len(told)

    def test_to_where_it_cannot_be_put_back(self, held: HeldStore, path: Path, clock: Clock, told: list[str]) -> None:
        """Nothing is acknowledged until it can; what was is not lost, and can be read meanwhile."""
        write(held, 1)
        shutil.rmtree(path.parent)
        path.parent.write_text("a file where the folder was")
        for _ in range(2):
            with pytest.raises(StoreError, match="was taken away and cannot be written again: File exists"):
                write(held, 2)
            held.overdue()
        meanwhile = calls_in(held)

        path.parent.unlink()
        write(held, 3)
        held.close()

        assert 2 == meanwhile
        assert sorted_rows(rows_of(1, 3)) == sorted_rows(open_store(path, clock=clock).rows())
        assert 1 == len(told)

    def test_in_the_middle_of_a_write(
        self, held: HeldStore, path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was committed to the file that is gone is written to the path before it is acknowledged."""
        write(held, 1)
        with monkeypatch.context() as patched:
            patched.setattr("toolspan.store.held.count_intake", removing(path))
            write(held, 2)

        left = copy_of(path)

        assert sorted_rows(rows_of(1, 2)) == sorted_rows(open_store(left, clock=clock).rows())

    def test_with_a_log_of_another_file(self, held: HeldStore, path: Path, clock: Clock) -> None:
        """It is set aside with the file it belongs to."""
        write(held, 1)
        held.checkpoint()
        take_away(path, "replaced")
        log = path.with_name(f"{path.name}.wal")
        log.write_bytes(b"somebody's log")

        write(held, 2)

        [aside] = path.parent.glob("*.replaced-*.wal")
        assert b"somebody's log" == aside.read_bytes()
        assert sorted_rows(rows_of(1, 2)) == sorted_rows(open_store(copy_of(path), clock=clock).rows())

    def test_of_the_log_alone(self, held: HeldStore, path: Path, clock: Clock, told: list[str]) -> None:
        """What was in it is put into the file; what comes then goes to another one."""
        write(held, 1)
        path.with_name(f"{path.name}.wal").unlink()

        write(held, 2)
        write(held, 3)

        assert [f"The log of {path} was taken away while it was in use: what was in it is in the file now."] == told
        assert sorted_rows(rows_of(1, 2, 3)) == sorted_rows(open_store(copy_of(path), clock=clock).rows())

    def test_of_the_log_in_the_middle_of_a_write(
        self, held: HeldStore, path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A commit to a log that has no name is no commit."""
        write(held, 1)
        log = path.with_name(f"{path.name}.wal")
        with monkeypatch.context() as patched:
            patched.setattr("toolspan.store.held.count_intake", removing(log))
            write(held, 2)

        assert sorted_rows(rows_of(1, 2)) == sorted_rows(open_store(copy_of(path), clock=clock).rows())

    def test_of_the_lock_alone(self, held: HeldStore, path: Path) -> None:
        """It is made again, and held: nobody gets in beside."""
        for suffix in ("lock", "turn"):
            path.with_name(f"{path.name}.{suffix}").unlink()

        write(held, 1)

        with pytest.raises(StoreBusyError, match=URL), acquiring(path):
            pass

    def test_keeps_its_mode(self, held: HeldStore, path: Path) -> None:
        """The hash key is in the file: who could not read it before cannot now."""
        path.chmod(0o600)
        held.close()
        store = hold(path, tell=lambda _: None)
        path.unlink()

        write(store, 1)
        store.close()

        assert 0o600 == path.stat().st_mode & 0o777


def acquiring(path: Path) -> AbstractContextManager[FileLock]:
    return locked(path, exclusive=False, purpose="a test", timeout_s=0)


def removing(file: Path) -> Callable[..., None]:
    """
    What removes *file* in the middle of whatever it takes the place of.
    """

    def remove(*_: object, **__: object) -> None:
        file.unlink()

    return remove


def copy_of(path: Path) -> Path:
    """
    What would be left of the store in the file *path* if its process were killed now.
    """
    folder = path.parent / "left"
    folder.mkdir()
    for file in path.parent.glob("x.duckdb*"):
        shutil.copy2(file, folder)
    return folder / path.name


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


class TestFailing:
    def test_keeps_nothing_and_goes_on(self, held: HeldStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever reads meanwhile does not notice."""
        write(held, 1)
        with held.reading() as connection, monkeypatch.context() as patched:
            patched.setattr("toolspan.store.held.count_intake", fail)
            with pytest.raises(ZeroDivisionError):
                write(held, 2)
            during = len(read_rows(connection).calls)

        after = calls_in(held)
        write(held, 3)

        assert (2, 2, 4) == (during, after, calls_in(held))

    def test_opens_again_what_duckdb_gave_up(self, held: HeldStore) -> None:
        """By whoever writes next; until then readers are told."""
        write(held, 1)
        spoil(held)
        with pytest.raises(StoreError, match="Failed to create checkpoint"):
            held.checkpoint()
        with pytest.raises(StoreError, match="is not open just now"):
            calls_in(held)

        write(held, 2)

        assert 4 == calls_in(held)

    def test_opens_again_while_nobody_writes(self, held: HeldStore) -> None:
        """The one who writes asks what is overdue, from time to time."""
        write(held, 1)
        spoil(held)
        with pytest.raises(StoreError, match="Failed to create checkpoint"):
            held.checkpoint()

        held.overdue()

        assert 2 == calls_in(held)

    def test_tells_later_what_was_committed_and_not_noted(
        self, held: HeldStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is a repeat when it is delivered again, and would be counted by nobody."""
        with monkeypatch.context() as patched:
            patched.setattr(FileLock, "note", refuse)
            with pytest.raises(StoreError, match="refused"):
                write(held, 1)

        written = write(held, 1, 2)
        nothing = held.write([], knows=knows_all)

        assert (3, 3) == (written.appended.new, written.appended.duplicates)
        assert [frozenset({trace_id(1)}), frozenset({trace_id(2)})] == [each.traces for each in written.derived]
        assert [] == nothing.derived

    def test_of_a_checkpoint_is_none_of_the_write(
        self, held: HeldStore, monkeypatch: pytest.MonkeyPatch, told: list[str]
    ) -> None:
        """What was committed before it may be acknowledged."""
        spoil(held)
        with monkeypatch.context() as patched:
            patched.setattr("toolspan.store.held.MOST_WAL_BYTES", 0)
            first = write(held, 1)
        second = write(held, 2)

        assert (3, 3, 4) == (first.appended.new, second.appended.new, calls_in(held))
        [line] = told
        assert "All is kept; the log is put into the file later." in line

    def test_a_checkpoint_waits_for_space(self, held: HeldStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that finds the disk full costs the connection."""
        write(held, 1)
        log = held.wal_bytes()
        with monkeypatch.context() as patched:
            patched.setattr("shutil.disk_usage", disk_with(2 * log - 1))
            refused = held.checkpoint()
            kept = held.wal_bytes()

        assert (False, log, True, 0) == (refused, kept, held.checkpoint(), held.wal_bytes())


def disk_with(free: int) -> Callable[[Path], SimpleNamespace]:
    """
    A disk on which so many bytes are free.
    """

    def usage(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=free)

    return usage


def refuse(*_: object, **__: object) -> bool:
    raise StoreError("refused")


def spoil(store: HeldStore) -> None:
    """
    Makes the next checkpoint fail in the middle, after which DuckDB gives up a database.
    """
    with store.reading() as connection:
        connection.execute("set debug_checkpoint_abort = 'before_header'")


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def test_others_are_told_who_has_it_and_where_to_ask(held: HeldStore, path: Path) -> None:
    """In one line."""
    write(held, 1)

    with pytest.raises(StoreBusyError) as raised, acquiring(path):
        pass

    assert f"in use by toolspan collect (pid {os.getpid()})" in str(raised.value)
    assert f"Ask it at {URL} instead." in str(raised.value)


def test_what_is_damaged_is_set_aside_and_the_rest_goes_on(path: Path, clock: Clock, told: list[str]) -> None:
    """A log that was cut in the middle loses commits that were acknowledged: that is told."""
    with closing(hold(path, tell=pytest.fail, clock=clock)) as store:
        write(store, 1)
        store.checkpoint()
        write(store, 2)
        left = copy_of(path)
    log = left.with_name(f"{left.name}.wal")
    log.write_bytes(log.read_bytes()[:-20])

    with closing(hold(left, tell=told.append, clock=clock)) as store:
        written = write(store, 2, 3)

        assert 6 == written.appended.new
        assert sorted_rows(rows_of(1, 2, 3)) == sorted_rows(read(store))
    [line] = told
    assert "1 of 2 commits" in line
    assert "a copy as it was found is" in line
    assert 1 == len(list(left.parent.glob("*.damaged-*Z")))


def test_what_is_no_store_is_left_alone(path: Path) -> None:
    """And its place is free again."""
    path.write_bytes(b"somebody's")

    with pytest.raises(StoreError, match="is no store"):
        hold(path, tell=pytest.fail)

    assert [path] == list(path.parent.iterdir())


def test_is_closed_once(path: Path) -> None:
    """Whoever uses it then is told, and others may have it."""
    store = hold(path, tell=pytest.fail)
    store.close()
    store.close()

    for use in (store.open_tasks, store.overdue, store.checkpoint, store.hash_key, lambda: store.prune(1)):
        with pytest.raises(StoreError, match=r"was closed|is not open"):
            use()
    with acquiring(path):
        pass


def test_a_store_of_a_forked_parent_is_not_used(held: HeldStore) -> None:
    """A child says so, and the parent goes on."""
    write(held, 1)
    pid = os.fork()
    if not pid:
        ended = 1
        try:
            write(held, 2)
        except StoreError:
            ended = 7
        finally:
            os._exit(ended)  # whatever happened: a child must not go on with the tests

    assert 7 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert 2 == calls_in(held)
