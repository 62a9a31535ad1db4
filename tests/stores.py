"""
Stores for tests: a file store with a clock that the test moves, and rows in an order of their own.
"""

from collections.abc import Callable
from pathlib import Path

from tests.facts import run, tool_span
from toolspan.config import Settings
from toolspan.records import Rows, SpanFacts
from toolspan.store.duckdb import DuckDBStore
from toolspan.store.memory import MemoryStore

SECOND_NS = 10**9
HOUR_NS = 3600 * SECOND_NS
#: Any moment; what a store does depends on differences only.
NOW_NS = 1_800_000_000 * SECOND_NS


class Clock:
    """
    A clock that stands still until it is moved.
    """

    def __init__(self, now_ns: int = NOW_NS) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns

    def pass_s(self, seconds: float) -> None:
        self.now_ns += round(seconds * SECOND_NS)


def open_store(
    path: Path,
    *,
    settings: Settings | None = None,
    clock: Callable[[], int] | None = None,
    tell: Callable[[str], None] | None = None,
) -> DuckDBStore:
    """
    A store in the file *path*; without *tell*, being told anything fails the test.
    """
    return DuckDBStore(
        path,
        purpose="a test",
        settings=settings or Settings(),
        timeout_s=20,
        tell=tell or _unexpected,
        clock_ns=clock or Clock(),
    )


def _unexpected(line: str) -> None:
    raise AssertionError(line)


def settled_rows(spans: list[SpanFacts]) -> Rows:
    """
    The rows of *spans*, every task settled.
    """
    store = MemoryStore()
    store.append(spans)
    store.settle()
    return store.rows()


def sorted_rows(rows: Rows) -> Rows:
    """
    *rows* in an order that does not depend on how they were kept.
    """
    return Rows(
        sorted(rows.calls, key=lambda row: (row.started_ns, row.trace_id, row.span_id)),
        sorted(rows.tasks, key=lambda row: (row.started_ns, row.task_id)),
        sorted(rows.escalations, key=lambda row: (row.at_ns, row.trace_id, row.span_id, row.source)),
        sorted(rows.episodes, key=lambda row: (row.opened_ns, row.task_id, row.tool, row.span_id)),
        sorted(rows.task_tools, key=lambda row: (row.task_id, row.tool)),
    )


def a_trace(number: int = 1) -> list[SpanFacts]:
    """
    A run with a call that failed and its retry.
    """
    failed = tool_span(number, 2, start=0, error=("transient", "UNAVAILABLE"))
    return [run(number), failed, tool_span(number, 3, start=20)]
