"""
The store file: `ingest` against a bare loop, report queries over millions of calls, bytes per call, flush latency.

    python benchmarks/store.py [ingest] [queries] [flush] [--spans 1000000] [--calls 1000000 10000000] [--seconds 60]

Every part prints its own baseline of the same run: the bare loop that parses the same messages and reads every
attribute; an open and close of an empty store; the same queries on a tenth of the data.
"""

import argparse
import gc
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from core import bare_loop
from generate import requests

from toolspan.cli.ingest import Ingestion
from toolspan.config import Settings
from toolspan.garbage import collections_rare
from toolspan.pipeline import make_decoder
from toolspan.report_answers import ask_report
from toolspan.store.duckdb import DuckDBStore
from toolspan.store.statements import Bounds, run
from toolspan.store.totals import TOTALS, add_totals

#: The least share of the bare loop's speed that `ingest` keeps.
INGEST_TARGET = 0.4
#: Seconds for all queries of a report, by calls in the store.
QUERY_TARGETS = {1_000_000: 0.15, 10_000_000: 0.4}
BYTES_TARGET = 60

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["duckdb", "pyarrow", "generate", "toolspan.store.duckdb", "toolspan.report_answers"])
_HOUR_NS = 3600 * 10**9


def tell(line: str) -> None:
    print(f"told: {line}")


def open_store(path: Path, *, lingers: bool = False) -> DuckDBStore:
    return DuckDBStore(path, purpose="a benchmark", settings=Settings(), tell=tell, lingers=lingers)


def ingest(source: Path, path: Path) -> None:
    """
    What `toolspan ingest` does, once it is imported.
    """
    with collections_rare(), closing(open_store(path, lingers=True)) as store:
        ingestion = Ingestion(store, Settings())
        ingestion.read([str(source)])
        ingestion.finish()


def write_payloads(payloads: Iterable[bytes], path: Path) -> Path:
    """
    A file of *payloads* as the Collector writes them.
    """
    with path.open("wb") as file:
        for payload in payloads:
            file.write(len(payload).to_bytes(4) + payload)
    return path


def measure_ingest(spans: int, folder: Path) -> None:
    payloads = list(requests(spans))
    count = bare_loop(payloads)
    source = write_payloads(payloads, folder / "spans.pb")
    bare: list[float] = []
    ours: list[float] = []
    path = folder
    for round_ in range(3):
        gc.disable()
        bare.append(timed(lambda: bare_loop(payloads)))
        gc.enable()
        path = folder / f"ingest{round_}.duckdb"
        ours.append(timed(partial(ingest, source, path)))
        gc.collect()
    for name, times in (("bare loop (baseline)", bare), ("ingest", ours)):
        print(f"{name:28} {statistics.median(times) / count * 1e6:7.2f} µs/span")
    ratio = statistics.median(before / after for before, after in zip(bare, ours, strict=True))
    print(f"ratio to the baseline        {ratio:7.2f} (target {INGEST_TARGET})")
    print_bytes(path)


def print_bytes(path: Path) -> None:
    """
    Bytes a call takes, with the spans of a day beside it and once they are pruned.
    """
    before = path.stat().st_size
    later = DuckDBStore(
        path,
        purpose="a benchmark",
        settings=Settings(),
        tell=tell,
        clock_ns=lambda: time.time_ns() + 25 * _HOUR_NS,
    )
    later.settle_overdue()
    compact = path.with_suffix(".compact.duckdb")
    later.snapshot(compact)
    with later.reading() as file:
        [(calls,)] = file.connection.execute("select count(*) from calls").fetchall()
    print(f"bytes per call, with spans   {before / calls:7.1f}")
    print(f"bytes per call, pruned       {compact.stat().st_size / calls:7.1f} (aim {BYTES_TARGET})")


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def multiply(path: Path, times: int) -> None:
    """
    Makes *times* as much of the rows in *path*, each copy of other tasks in later hours, and their totals.
    """
    shifts = {"started_ns", "task_ended_ns", "ended_ns", "at_ns", "opened_ns", "closed_ns"}
    with duckdb.connect(str(path)) as connection:
        for table in ("calls", "tasks", "escalations", "episodes", "task_tools"):
            names = [str(row[0]) for row in connection.execute(f"describe {table}").fetchall()]
            columns = ", ".join(
                f"{name} + copy * {7 * _HOUR_NS}"
                if name in shifts
                else "hash(task, copy)"
                if name == "task"
                else f"{name} || copy"
                if name == "task_id"
                else name
                for name in names
            )
            connection.execute(
                f"insert into {table} select {columns}"  # noqa: S608 - names of our own
                f" from {table} cross join (select unnest(range(1, {times}))) as copies (copy) order by copy"
            )
        for table in TOTALS:
            connection.execute(f"delete from {table}")  # noqa: S608 - names of our own
        connection.execute("create temporary table chosen as select task, true as settled from tasks")
        add_totals(connection, Bounds(0, 2**62), sign=1)
        connection.execute("drop table chosen")
        run(connection, "sum_intake")


def measure_queries(calls: Sequence[int], folder: Path) -> None:
    seed = folder / "seed.duckdb"
    ingest(write_payloads(requests(170_000), folder / "seed.pb"), seed)
    earlier: tuple[int, float] | None = None
    for wanted in calls:
        path = folder / f"calls{wanted}.duckdb"
        open_store(seed).snapshot(path)
        multiply(path, round(wanted / 102_000))
        with open_store(path).reading() as file:
            [(count,)] = file.connection.execute("select count(*) from calls").fetchall()
            ask_report(file.connection)
            seconds = statistics.median(timed(lambda: ask_report(file.connection)) for _ in range(7))
        target = QUERY_TARGETS.get(wanted)
        against = "" if target is None else f" (target {target})"
        print(f"queries of report, {count:>10,} calls: {seconds:.3f} s{against}")
        if earlier is not None:
            print(f"  {count / earlier[0]:.1f} times the calls take {seconds / earlier[1]:.1f} times as long")
        earlier = count, seconds


def flush(path: Path, number: int, ready: Barrier, stop: Event, done: Connection) -> None:
    """
    One service: a flush of three traces five times a second or as fast as it can, until *stop*.
    """
    store = open_store(path)
    decoder = make_decoder(Settings())
    payloads = requests(15_000, spans_per_request=30, seed=number)
    batches = [decoder.decode_protobuf(payload).spans for payload in payloads]
    kept = 0
    ready.wait()
    for batch in batches:
        if stop.is_set():
            break
        start = time.perf_counter()
        result, _ = store.flush([span._replace(trace_id=number.to_bytes(2) + span.trace_id[2:]) for span in batch])
        kept += result.new
        done.send(time.perf_counter() - start)
        stop.wait(0.2)
    done.send(-kept)


def read(path: Path, ready: Barrier, stop: Event, done: Connection) -> None:
    """
    A reader: one report after the other.
    """
    store = open_store(path)
    ready.wait()
    while not stop.wait(0.2):
        start = time.perf_counter()
        with store.reading() as file:
            ask_report(file.connection)
        done.send(time.perf_counter() - start)


def measure_flush(seconds: float, folder: Path) -> None:
    path = folder / "flush.duckdb"
    empty = statistics.median(timed(open_store(path).hash_key) for _ in range(9))
    ready, stop = CONTEXT.Barrier(6), CONTEXT.Event()
    targets = [(flush, (path, number, ready, stop)) for number in range(1, 5)] + [(read, (path, ready, stop))]
    running: list[Connection] = []
    for target, arguments in targets:
        receiver, sender = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=target, args=(*arguments, sender), daemon=True)
        process.start()
        sender.close()
        running.append(receiver)
    ready.wait()
    time.sleep(seconds)
    stop.set()
    heard = [hear(receiver) for receiver in running]
    flushes = sorted(each for said in heard[:4] for each in said if each >= 0)
    acknowledged = -round(sum(each for said in heard[:4] for each in said if each < 0))
    reads = sorted(heard[4])
    with open_store(path).reading() as file:
        [(kept,)] = file.connection.execute("select count(*) from spans").fetchall()
    print(f"open and close (baseline)    {empty * 1e3:7.1f} ms")
    for name, times in (("flush, 4 writers, 1 reader", flushes), ("report beside them", reads)):
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"{name:28} {p50 * 1e3:7.1f} ms p50, {p99 * 1e3:.1f} ms p99, of {len(times)}")
    print(f"spans acknowledged {acknowledged:,}, in the file {kept:,}")
    assert acknowledged == kept


def hear(receiver: Connection) -> list[float]:
    said: list[float] = []
    while True:
        try:
            said.append(receiver.recv())
        except EOFError:
            return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["ingest", "queries", "flush"])
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        if "ingest" in options.parts:
            measure_ingest(options.spans, folder)
        if "queries" in options.parts:
            measure_queries(options.calls, folder)
        if "flush" in options.parts:
            measure_flush(options.seconds, folder)


if __name__ == "__main__":
    main()
