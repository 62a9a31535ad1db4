"""
A store file that has lost something, or is no store file: noticed, told in one line, and nothing more is lost.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.facts import run, tool_span
from tests.stores import open_store
from toolspan.errors import StoreBusyError, StoreError
from toolspan.records import SpanFacts
from toolspan.store.duckdb import DuckDBStore

Damage = Callable[[Path], None]


def traces(*numbers: int) -> list[SpanFacts]:
    """
    A run with one call for each of *numbers*.
    """
    return [span for number in numbers for span in (run(number), tool_span(number, 2, start=0))]


def crashed(folder: Path) -> Path:
    """
    A file as a writer leaves it that is killed after its third acknowledged append: with a log beside it.
    """
    alive, path = folder / "alive", folder / "crashed" / "x.duckdb"
    alive.mkdir()
    store = open_store(alive / "x.duckdb")
    store.append(traces(1))
    with store.writing() as file:
        file.connection.execute("set wal_autocheckpoint = '1GB'")
        for number in (2, 3):
            file.connection.begin()
            file.connection.execute("update ledger set commits = commits + 1")
            file.connection.execute(
                "insert into spans select trace_hi, ?, span_id, parent_id, start_ns, end_ns, facts, arrived_ns"
                " from spans limit 2",
                [number],
            )
            file.connection.commit()
            file.acknowledge()
        shutil.copytree(alive, path.parent)
    return path


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def overwrite(path: Path, share: float) -> None:
    """
    Writes over some bytes of *path*, *share* of its length from its start.
    """
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * share))
        file.write(b"\xa5" * 600)


def truncate_log(path: Path) -> None:
    os.truncate(log_of(path), log_of(path).stat().st_size * 2 // 3)


def overwrite_log(path: Path) -> None:
    overwrite(log_of(path), 0.5)


def remove_log(path: Path) -> None:
    log_of(path).unlink()


def overwrite_head(path: Path) -> None:
    overwrite(path, 0.0)


def truncate_file(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty_file(path: Path) -> None:
    path.write_bytes(b"")


def remove_file(path: Path) -> None:
    path.unlink()


DAMAGES = (truncate_log, overwrite_log, remove_log, overwrite_head, truncate_file, empty_file, remove_file)


def spans_in(store: DuckDBStore) -> int:
    with store.reading() as file:
        return int(file.connection.execute("select count(*) from spans").fetchall()[0][0])


class TestAFileThatLostSomething:
    def test_is_whole_after_a_crash(self, tmp_path: Path) -> None:
        """A log that is whole is replayed, and nothing is told."""
        path = crashed(tmp_path)

        assert 6 == spans_in(open_store(path))
        assert 2 == open_store(path).append(traces(9)).new
        assert 8 == spans_in(open_store(path))

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_is_set_aside_as_it_was_by_the_next_writer(self, tmp_path: Path, damage: Damage) -> None:
        """What is left goes on, the loss is told once, and what was found can still be looked at."""
        path = crashed(tmp_path)
        damage(path)
        found = {each.name: each.read_bytes() for each in path.parent.iterdir() if ".duckdb" in each.name}
        told: list[str] = []

        open_store(path, tell=told.append).append(traces(9))
        open_store(path).append(traces(10))  # which is told nothing

        kept = {each.name: each.read_bytes() for each in path.parent.iterdir() if ".damaged-" in each.name}
        assert told
        assert any(word in " ".join(told) for word in ("lost", "damaged", "gone"))
        for name in ("x.duckdb", "x.duckdb.wal"):
            if found.get(name):
                assert found[name] in kept.values()
        assert 4 <= spans_in(open_store(path))

    def test_keeps_what_came_before_the_damage(self, tmp_path: Path) -> None:
        """Of three appends the last is torn: the other two stay."""
        path = crashed(tmp_path)
        truncate_log(path)
        told: list[str] = []

        open_store(path, tell=told.append).append(traces(9))

        assert ["1 of 6 commits" in line or "commits" in line for line in told] == [True]
        assert spans_in(open_store(path)) >= 2 + 2

    @pytest.mark.parametrize("damage", [truncate_log, remove_log])
    def test_is_told_of_by_a_reader_and_left_as_it_is(self, tmp_path: Path, damage: Damage) -> None:
        """Reading changes nothing."""
        path = crashed(tmp_path)
        damage(path)
        before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
        told: list[str] = []

        spans_in(open_store(path, tell=told.append))

        assert 1 == len(told)
        assert "has lost" in told[0]
        assert before == {each.name: each.read_bytes() for each in path.parent.iterdir()}

    def test_is_never_shown_as_whole(self, tmp_path: Path) -> None:
        """A log that was written over is a loss or cannot be read: that depends on where it was hit."""
        path = crashed(tmp_path)
        overwrite_log(path)
        told: list[str] = []

        try:
            spans_in(open_store(path, tell=told.append))
        except StoreError as error:
            told.append(str(error))

        assert 1 == len(told)

    @pytest.mark.parametrize("damage", [overwrite_head, truncate_file])
    def test_that_cannot_be_read_is_one_line_for_a_reader(self, tmp_path: Path, damage: Damage) -> None:
        """And is left for who may write."""
        path = crashed(tmp_path)
        damage(path)

        with pytest.raises(StoreError, match=r"x\.duckdb") as raised:
            spans_in(open_store(path))

        assert "\n" not in str(raised.value)


class TestAPlaceThatIsNoStore:
    def test_a_directory(self, tmp_path: Path) -> None:
        """A file in it is meant."""
        with pytest.raises(StoreError, match=r"is a directory; name a file in it, such as .*toolspan\.duckdb"):
            open_store(tmp_path).append([])

    def test_a_missing_folder(self, tmp_path: Path) -> None:
        """It is not made: it may be a slip of the hand."""
        with pytest.raises(StoreError, match="does not exist"):
            open_store(tmp_path / "nowhere" / "x.duckdb").append([])

        assert [] == list(tmp_path.iterdir())

    def test_a_missing_file_to_read(self, tmp_path: Path) -> None:
        """What makes it is said."""
        with pytest.raises(StoreError, match="toolspan ingest FILE --store"):
            open_store(tmp_path / "x.duckdb").rows()

    def test_somebody_s_text_stays(self, tmp_path: Path) -> None:
        """A file that was never a store is not ours to move."""
        path = tmp_path / "notes.txt"
        path.write_text("remember the milk\n" * 99)

        for attempt in (open_store(path).rows, open_store(path).settle):
            with pytest.raises(StoreError, match=r"notes\.txt"):
                attempt()

        assert "remember the milk\n" * 99 == path.read_text()

    def test_somebody_s_database_stays(self, tmp_path: Path) -> None:
        """One with tables of its own, even of the same names."""
        path = tmp_path / "mine.duckdb"
        duckdb.connect(str(path)).execute("create table settings (a integer)").close()

        with pytest.raises(StoreError, match="a DuckDB database of something else"):
            open_store(path).append(traces(1))

        with duckdb.connect(str(path)) as connection:
            assert [("settings",)] == connection.execute("select table_name from duckdb_tables()").fetchall()

    @pytest.mark.parametrize(
        "content",
        [
            "create table settings (name varchar, value integer); insert into settings values ('schema_version', 1)",
            "create table settings as select 'schema_version' as name, repeat('9', 5000) as value",
            "create view v as select 1",
            "create sequence s",
            "create type t as enum ('a')",
            "create schema other",
        ],
    )
    def test_a_database_with_anything_in_it_is_somebody_s(self, tmp_path: Path, content: str) -> None:
        """Whatever its tables are called, and where it has none."""
        path = tmp_path / "mine.duckdb"
        duckdb.connect(str(path)).execute(content).close()

        with pytest.raises(StoreError, match="a DuckDB database of something else"):
            open_store(path).append(traces(1))

    def test_an_empty_file_becomes_a_store(self, tmp_path: Path) -> None:
        """As `mktemp` makes one."""
        path = tmp_path / "x.duckdb"
        path.touch()

        assert 2 == open_store(path).append(traces(1)).new

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        """What can be read is read; writing is refused."""
        path = tmp_path / "x.duckdb"
        open_store(path).append(traces(1))
        tmp_path.chmod(0o500)

        with pytest.raises(StoreError):
            open_store(tmp_path / "y.duckdb").append(traces(2))
        assert 2 == spans_in(open_store(path))

    def test_a_file_that_another_program_has_open(self, tmp_path: Path) -> None:
        """DuckDB in another process does not know our lock: one line says so, and nothing is lost."""
        path = tmp_path / "x.duckdb"
        open_store(path).append(traces(1))
        code = f"import duckdb; c = duckdb.connect({str(path)!r}); print('open', flush=True); input()"
        other = _python(code)

        with pytest.raises(StoreBusyError, match="open in a program that is not toolspan"):
            open_store(path).append(traces(2))

        other.communicate(b"\n")
        assert 2 == open_store(path).append(traces(2)).new


def _python(code: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_an_append_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """All or nothing: a batch that cannot be written is not there in part."""
    path = tmp_path / "x.duckdb"
    store = open_store(path)
    store.append(traces(1))
    unwritable = run(2)._replace(span_id=b"short")

    with pytest.raises(ValueError, match="buffer size"):
        store.append([*traces(3), unwritable])

    assert 2 == spans_in(store)
    assert 2 == store.append(traces(3)).new
