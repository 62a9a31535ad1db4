"""
What a store file holds, for whoever looks for something in it: names, and calls by the beginning of their id.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.store.columns import trace_bytes
from toolspan.store.statements import run
from toolspan_queries import writable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ID_DIGITS: Final = 16


class KnownNames(NamedTuple):
    """
    How many *calls* there are, of which tools, and what their tasks are filtered by.
    """

    calls: int
    tools: frozenset[str]
    agents: frozenset[str]
    services: frozenset[str]
    environments: frozenset[str]


class FoundCall(NamedTuple):
    """
    Where a call is to be found.
    """

    trace_id: bytes
    span_id: bytes
    tool: str
    task_id: str


def known_names(connection: "DuckDBPyConnection") -> KnownNames:
    """
    The names in the store.
    """
    [(calls,)] = connection.execute("select count(*) from calls").fetchall()
    tools = connection.execute("select distinct tool from calls").fetchall()
    tasks = connection.execute("select distinct agent, service, environment from tasks").fetchall()
    dimensions = zip(*tasks, strict=True) if tasks else [(), (), ()]
    return KnownNames(int(calls), frozenset(str(tool) for (tool,) in tools), *map(frozenset, dimensions))


def count_open(connection: "DuckDBPyConnection") -> int:
    """
    How many tasks are not settled.
    """
    [(tasks,)] = connection.execute("select count(*) from tasks where not settled").fetchall()
    return int(tasks)


def has_task(connection: "DuckDBPyConnection", task_id: str) -> bool:
    """
    Whether the store has the task *task_id*.
    """
    return bool(connection.execute("from tasks where task_id = ? limit 1", [writable(task_id)]).fetchall())


def find_calls(connection: "DuckDBPyConnection", span: str) -> list[FoundCall]:
    """
    The calls whose span id, in hex, begins with *span*; in order of start.
    """
    if len(span) > _ID_DIGITS:
        return []
    first, last = (int(span.ljust(_ID_DIGITS, digit), 16) for digit in "0f")
    return [
        FoundCall(trace_bytes(trace_hi, trace_lo), span_id.to_bytes(8, "big"), tool, task_id)
        for trace_hi, trace_lo, span_id, tool, task_id in run(connection, "find_calls", first_id=first, last_id=last)
    ]
