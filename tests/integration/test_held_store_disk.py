"""
The disk of a held store is full: one line, nothing that was acknowledged is lost, and it goes on once there is space.
"""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.held import hold, knows_none, read
from tests.integration.processes import trace_of
from tests.integration.test_store_disk import MANY, small_disk
from tests.stores import sorted_rows
from toolspan.errors import StoreError
from toolspan.records import Rows
from toolspan.store.memory import MemoryStore

__all__ = ["small_disk"]


def rows_of(*numbers: int) -> Rows:
    store = MemoryStore()
    store.append([span for number in numbers for span in trace_of(number)])
    return store.rows()


def fill(folder: Path, *, leave: int) -> Path:
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(folder).free - leave))
    return ballast


def test_a_full_disk_is_one_line_and_loses_nothing(small_disk: Path) -> None:
    """Whoever reads goes on; so does the next write when there is space, and not before, however small it is."""
    path = small_disk / "x.duckdb"
    with closing(hold(path, tell=pytest.fail)) as store:
        store.write(trace_of(1), knows=knows_none)

        ballast = fill(small_disk, leave=300_000)
        with pytest.raises(StoreError) as raised:
            store.write(MANY, knows=knows_none)
        during = read(store)
        with pytest.raises(StoreError, match="less than 1 MiB left"):
            store.write(trace_of(2), knows=knows_none)
        ballast.unlink()
        store.write(trace_of(3), knows=knows_none)

    with closing(hold(path, tell=pytest.fail)) as store:
        after = read(store)

    assert "\n" not in str(raised.value)
    assert "free some space" in str(raised.value)
    assert sorted_rows(rows_of(1)) == sorted_rows(during)
    assert sorted_rows(rows_of(1, 3)) == sorted_rows(after)


def test_a_file_that_cannot_be_put_back_for_want_of_space_is_kept_open(small_disk: Path) -> None:
    """Nothing is acknowledged until there is space; then all of it is written to the path."""
    path, told = small_disk / "x.duckdb", list[str]()
    with closing(hold(path, tell=told.append)) as store:
        store.write([span for number in range(300) for span in trace_of(number)], knows=knows_none)

        path.unlink()
        ballast = fill(small_disk, leave=100_000)
        for _ in range(2):
            with pytest.raises(StoreError, match="No space left"):
                store.write(trace_of(301), knows=knows_none)
        ballast.unlink()
        store.write(trace_of(302), knows=knows_none)

    with closing(hold(path, tell=pytest.fail)) as store:
        after = read(store)

    assert sorted_rows(rows_of(*range(300), 302)) == sorted_rows(after)
    assert 1 == len(told)
    assert not list(small_disk.glob(".toolspan-*"))


def test_a_copy_for_which_there_is_no_space_leaves_nothing(small_disk: Path, tmp_path: Path) -> None:
    """Neither a part of it, nor a store that cannot be written to."""
    path = tmp_path / "x.duckdb"
    with closing(hold(path, tell=pytest.fail)) as store:
        store.write([span for number in range(300) for span in trace_of(number)], knows=knows_none)
        fill(small_disk, leave=100_000)

        with pytest.raises(StoreError, match="No space left"):
            store.snapshot(small_disk / "copy.duckdb")
        store.write(trace_of(301), knows=knows_none)

        assert sorted_rows(rows_of(*range(300), 301)) == sorted_rows(read(store))
    assert ["ballast"] == [file.name for file in small_disk.iterdir()]
