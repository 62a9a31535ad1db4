"""
A held store among others: readers beside its writer, killed at any moment, its file made by somebody else meanwhile.
"""

import random
import shutil
import signal
import sys
from collections.abc import Iterable
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.held import hold, knows_all, knows_none, read
from tests.integration.processes import CONTEXT, heard, spawn, store_at, trace_of
from tests.stores import Clock, open_store, settled_rows, sorted_rows
from toolspan.errors import StoreBusyError
from toolspan.records import Rows
from toolspan.report_answers import ask_report
from toolspan.scope import EVERYTHING
from toolspan.store.held import HeldStore


def tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def write_until_killed(path: Path, first: int, done: Connection) -> None:
    """
    Writes traces from *first* on, each in two parts, and says which are acknowledged; checkpoints now and then.
    """
    store = hold(path, tell=tell)
    for number in range(first, first + 100_000):
        spans = trace_of(number)
        store.write(spans[:2], knows=knows_all)
        store.write(spans[1:], knows=knows_all)
        done.send(number)
        if number % 5 == 0:
            store.checkpoint()


def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    """At any moment; no span is there twice, open groups go on and settle, and nobody is told of a loss."""
    path, chance = tmp_path / "x.duckdb", random.Random(5)
    acknowledged, ends = list[int](), set[int | None]()
    begun = 0
    for _ in range(6):
        process, said = spawn(write_until_killed, path, begun)
        last = begun + chance.randrange(1, 12)
        while said.recv() != last:
            pass
        process.kill()
        acknowledged += range(begun, last + 1)
        acknowledged += [number for number in heard(said) if isinstance(number, int)]
        process.join()
        ends.add(process.exitcode)
        begun = max(acknowledged) + 2  # the next one may have been begun

    clock = Clock()
    clock.pass_s(3)
    with closing(hold(path, tell=pytest.fail, clock=clock)) as store:
        store.write([], knows=knows_none)
        settled = read(store)
        store.write([span for number in range(begun) for span in trace_of(number)], knows=knows_none)
        clock.pass_s(3)
        store.write([], knows=knows_none)
        completed = read(store)
        with store.reading() as connection:
            [(spans, distinct)] = connection.execute(
                "select count(*), count(distinct (trace_hi, trace_lo, span_id)) from spans"
            ).fetchall()

    assert {-signal.SIGKILL} == ends
    assert rows_of(acknowledged).calls == [call for call in rows_of(acknowledged).calls if call in settled.calls]
    assert rows_of(acknowledged).tasks == [task for task in rows_of(acknowledged).tasks if task in settled.tasks]
    assert spans == distinct == 4 * begun
    assert sorted_rows(rows_of(range(begun))) == sorted_rows(completed)


def rows_of(numbers: Iterable[int]) -> Rows:
    """
    The rows of the traces *numbers*, settled.
    """
    return settled_rows([span for number in numbers for span in trace_of(number)])


def test_readers_copies_and_pruning_beside_a_writer(tmp_path: Path) -> None:
    """Every reader sees whole transactions, in every query of one reading; every copy is a store."""
    path, is_over, faults = tmp_path / "x.duckdb", Event(), list[object]()
    with closing(hold(path, tell=pytest.fail)) as store:
        store.write(trace_of(0), knows=knows_none)

        def read_again_and_again() -> None:
            try:
                while not is_over.is_set():
                    faults.extend(what_is_torn(store))
            except Exception as error:  # noqa: BLE001 - told by the assertion
                faults.append(error)

        readers = [Thread(target=read_again_and_again) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(1, 41):
            store.write(trace_of(number), knows=knows_all)
            if number % 10 == 0:
                store.snapshot(tmp_path / f"{number}.copy")
                store.checkpoint()
                store.prune(0)
        is_over.set()
        for reader in readers:
            reader.join()

    assert [] == faults
    assert [4 * 11, 4 * 21, 4 * 31, 4 * 41] == [spans_of(tmp_path / f"{number}.copy") for number in (10, 20, 30, 40)]


def what_is_torn(store: HeldStore) -> list[object]:
    """
    What one reading sees that no moment had.
    """
    with store.reading() as connection:
        [(spans,)] = connection.execute("select count(*) from spans").fetchall()
        report = ask_report(connection, scope=EVERYTHING)
        [(calls,)] = connection.execute("select count(*) from calls").fetchall()
    tasks = report["tasks"]["total"]
    return [] if spans == 4 * tasks and calls == 3 * tasks else [(spans, tasks, calls)]


def spans_of(path: Path) -> int:
    with open_store(path).reading() as file:
        return int(file.connection.execute("select count(*) from spans").fetchall()[0][0])


def make_another(path: Path, hold_it: Connection, done: Connection) -> None:
    """
    Makes a store of its own at *path*, and has it open until it is told.
    """
    store = store_at(path)
    with store.transaction():
        done.send("open")
        hold_it.recv()
    store.append(trace_of(7))
    done.send("appended")


def test_a_store_that_somebody_made_in_its_place_is_not_taken_from_under_him(tmp_path: Path) -> None:
    """While he has it open nothing is acknowledged; then his is set aside, whole."""
    path, told = tmp_path / "store" / "x.duckdb", list[str]()
    path.parent.mkdir()
    with closing(hold(path, tell=told.append, timeout_s=0.1)) as store:
        store.write(trace_of(1), knows=knows_none)
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        told_him, tell_him = _pipe()
        process, said = spawn(make_another, path, told_him)
        said.recv()
        with pytest.raises(StoreBusyError, match="in use by a test"):
            store.write(trace_of(2), knows=knows_none)
        tell_him.send("go on")
        heard(said)
        process.join()

        store.write(trace_of(3), knows=knows_none)
        rows = read(store)

    [aside] = [file for file in path.parent.glob("*.replaced-*") if file.suffix != ".wal"]
    assert {1, 3} == {int.from_bytes(task.trace_id) for task in rows.tasks}
    assert {7} == {int.from_bytes(task.trace_id) for task in open_store(aside).rows().tasks}
    assert 1 == len(told)


def _pipe() -> tuple[Connection, Connection]:
    return CONTEXT.Pipe(duplex=False)
