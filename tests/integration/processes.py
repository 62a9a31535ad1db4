"""
What other processes do to a store file in tests: writers, readers, and one that is killed.

They start from a server that has imported everything, so that a test spends its time in the store, and a kill hits it
there.
"""

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

from tests import otlp_builder
from tests.facts import run, tool_span
from toolspan.cli import main
from toolspan.config import Settings
from toolspan.records import SpanFacts
from toolspan.store.duckdb import DuckDBStore

#: The store of those who are given a folder.
STORE: Final = "killed.duckdb"
CONTEXT: Final = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.integration.processes", "toolspan.cli.ingest"])


def trace_of(number: int) -> list[SpanFacts]:
    """
    The spans of trace *number*: a run and three calls, of which one failed and was retried.
    """
    return [
        run(number, end=200),
        tool_span(number, 2, start=5),
        tool_span(number, 3, start=30, error=("transient", "UNAVAILABLE"), tool="book"),
        tool_span(number, 4, start=60, tool="book"),
    ]


def store_at(path: Path, *, timeout_s: float = 120.0) -> DuckDBStore:
    """
    The store of a process; what it is told goes to standard error.
    """
    return DuckDBStore(path, purpose="a test", settings=Settings(), timeout_s=timeout_s, tell=_tell)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def append_traces(path: Path, numbers: range, done: Connection) -> None:
    """
    Appends the traces *numbers*, each in two parts, and says which are acknowledged.
    """
    store = store_at(path)
    for number in numbers:
        spans = trace_of(number)
        store.append(spans[:2])
        store.append(spans[1:])
        done.send(number)
    store.settle()
    done.send(None)


def ingest_traces(folder: Path, numbers: range, done: Connection) -> None:
    """
    Ingests a file of each of the traces *numbers* in *folder*, and says which are acknowledged: the command ended well.
    """
    for number in numbers:
        file = folder / f"{number}.otlp.jsonl"
        file.write_bytes(otlp_builder.json_line(otlp_trace_of(number)))
        try:
            main(["ingest", str(file), "--store", str(folder / STORE), "--format", "json"])
        except SystemExit as ended:
            if ended.code == 0:
                done.send(number)


def otlp_trace_of(number: int) -> list[dict[str, object]]:
    """
    As `trace_of`, before it was read: a run and three calls, of which one failed and was retried.
    """
    trace_id = f"{number:032x}"
    refused = {"http.response.status_code": 503, "gen_ai.tool.call.arguments": '{"seat": 1}'}
    again = {"gen_ai.tool.call.arguments": '{"seat": 1}'}
    return [
        otlp_builder.run_span(1, end_ms=200, trace_id=trace_id),
        otlp_builder.tool_span(2, "search", parent=1, start_ms=5, end_ms=20, trace_id=trace_id),
        otlp_builder.tool_span(3, "book", refused, parent=1, start_ms=30, end_ms=50, status=2, trace_id=trace_id),
        otlp_builder.tool_span(4, "book", again, parent=1, start_ms=60, end_ms=90, trace_id=trace_id),
    ]


def read_until(path: Path, stop: Event, seen: Connection) -> None:
    """
    Counts the spans again and again until *stop*, and says the counts.
    """
    store = store_at(path)
    while not stop.is_set():
        with store.reading() as file:
            [(spans, calls)] = file.connection.execute(
                "select (select count(*) from spans), (select count(*) from calls)"
            ).fetchall()
        seen.send((spans, calls))


def spawn(target: Callable[..., None], *arguments: object) -> tuple[ForkServerProcess, Connection]:
    """
    A process that runs *target*, and what it says.
    """
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=target, args=(*arguments, sender), daemon=True)
    process.start()
    sender.close()
    return process, receiver


def heard(receiver: Connection) -> list[object]:
    """
    What came through *receiver* until its sender went away.
    """
    said: list[object] = []
    while True:
        try:
            said.append(receiver.recv())
        except EOFError:
            return said
