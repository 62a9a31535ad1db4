"""
Several processes on one store file: nothing acknowledged is lost, whoever else writes, reads or is killed.
"""

import os
import random
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import duckdb
import pytest

from tests.cli_runner import Cli
from tests.integration.processes import (
    CONTEXT,
    STORE,
    append_traces,
    heard,
    ingest_traces,
    read_until,
    spawn,
    store_at,
    trace_of,
)
from tests.stores import open_store, settled_rows, sorted_rows

#: Traces per writer: some seconds of four writers and three readers. A minute of it is in benchmarks/store.py.
_TRACES = int(os.environ.get("TOOLSPAN_TEST_TRACES", "12"))


def test_four_writers_and_three_readers_lose_no_row(tmp_path: Path) -> None:
    """Every acknowledged span is there once, readers never see fewer than before, and the numbers are right."""
    path = tmp_path / "shared.duckdb"
    store_at(path).hash_key()
    stop = CONTEXT.Event()
    readers = [spawn(read_until, path, stop) for _ in range(3)]
    writers = [spawn(append_traces, path, range(first, first + _TRACES)) for first in range(1, 4 * _TRACES, _TRACES)]

    acknowledged = [number for _, receiver in writers for number in heard(receiver) if number is not None]
    stop.set()
    counts = [heard(receiver) for _, receiver in readers]
    for process, _ in (*writers, *readers):
        process.join()

    expected = settled_rows([span for number in range(1, 4 * _TRACES + 1) for span in trace_of(number)])
    assert list(range(1, 4 * _TRACES + 1)) == sorted(acknowledged)  # type: ignore[type-var]  # numbers only
    assert sorted_rows(expected) == sorted_rows(store_at(path).rows())
    assert all(seen and seen == sorted(seen) for seen in counts)  # type: ignore[type-var]  # pairs of numbers


def test_an_ingest_that_is_killed_at_any_moment_loses_nothing_it_acknowledged(toolspan: Cli, tmp_path: Path) -> None:
    """Fifty times: the file opens, acknowledged files are there once, no loss is told, the next run completes."""
    path = tmp_path / STORE
    chance = random.Random(7)
    last = 0
    for _ in range(50):
        process, receiver = spawn(ingest_traces, tmp_path, range(last + 1, last + 7))
        receiver.poll(30)
        time.sleep(chance.random() * 0.1)  # a moment within a run, which takes about that long
        process.kill()
        process.join()
        last = max([last, *(number for number in heard(receiver) if isinstance(number, int))])
        told: list[str] = []
        [(spans, distinct)] = count_spans(path, told)

        assert ([], spans) == (told, distinct)
        assert spans >= 4 * last
    files = sorted(tmp_path.glob("*.otlp.jsonl"))
    assert len(files) >= last >= 50
    assert 0 == toolspan("ingest", *files, "--store", path).status

    for command in ("report", "quality"):
        assert (
            toolspan(command, *files, "--format", "json").out
            == toolspan(command, "--store", path, "--format", "json").out
        )
    assert toolspan("calls", *files).out == toolspan("calls", "--store", path).out


def count_spans(path: Path, told: list[str]) -> list[tuple[int, int]]:
    """
    How many spans the file holds, and how many different ones; what the store tells goes to *told*.
    """
    with open_store(path, tell=told.append).reading() as file:
        return file.connection.execute(
            "select count(*), count(distinct (trace_hi, trace_lo, span_id)) from spans"
        ).fetchall()


#: Delays the third time that DuckDB opens the file: the first two read its header, this one takes its lock.
_DELAY = ("-f", "-e", "trace=openat", "-e", "inject=openat:delay_enter=1500000:when=3")


def open_slowly(path: Path, script: str, trace: Path) -> subprocess.Popen[bytes]:
    """
    Runs *script*, with DuckDB held up between reading the header of *path* and locking it; returns once it is there.
    """
    command = ["strace", *_DELAY, "-P", str(path), "-o", str(trace), sys.executable, "-c", textwrap.dedent(script)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    while process.poll() is None and (not trace.exists() or trace.read_text().count("openat(") < 2):
        time.sleep(0.01)
    return process


def test_an_open_that_overlaps_a_commit_discards_nothing(tmp_path: Path) -> None:
    """DuckDB alone loses the commit of a process that closes between another's reading the header and locking."""
    if shutil.which("strace") is None:
        assert not os.environ.get("CI"), "strace is missing"
        pytest.skip("needs strace to hold a process up")
    bare = tmp_path / "bare.duckdb"
    duckdb.connect(str(bare)).execute("create table t (i integer)").close()
    insert = "import duckdb; duckdb.connect({!r}).execute('insert into t values ({})').close()"
    slow = open_slowly(bare, insert.format(str(bare), 1), tmp_path / "bare.trace")
    subprocess.run([sys.executable, "-c", insert.format(str(bare), 2)], check=True)
    slow.wait()
    bare_rows = duckdb.connect(str(bare)).execute("select i from t order by i").fetchall()

    path = tmp_path / "ours.duckdb"
    store = store_at(path)
    store.append(trace_of(1))
    script = f"""
        from pathlib import Path
        from tests.integration.processes import store_at, trace_of
        store_at(Path({str(path)!r})).append(trace_of(2))
    """
    slow = open_slowly(path, script, tmp_path / "ours.trace")
    store.append(trace_of(3))
    slow.wait()

    assert [(1,)] == bare_rows, "DuckDB's own lock has learnt to protect a file; ours may go"
    assert 0 == slow.returncode
    assert [(12, 12)] == count_spans(path, [])
