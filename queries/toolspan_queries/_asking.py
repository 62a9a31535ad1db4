"""
Asking a query: what it is asked, and its answer as plain tuples.

The connection is passed in and seen through two methods, which DuckDB's connections and cursors have. Plain tuples are
for programs that print a report: importing pandas takes 0.4 s, a whole report on a million calls 0.1.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypedDict, TypeVar, Unpack

from toolspan_queries._catalogue import ROWS, QueryError, load

Row = TypeVar("Row")


class Result(Protocol):
    """
    What a statement gave.
    """

    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        """
        All rows.
        """
        ...


class Connection(Protocol):
    """
    What a query is asked through: a connection or cursor of DuckDB, or anything that runs the same statements.
    """

    def execute(self, query: str, parameters: Mapping[str, object], /) -> Result:
        """
        Runs *query* with *parameters* in the place of `$name`.
        """
        ...


class Asked(TypedDict, total=False):
    """
    Which part of a store is asked about; what is left out does not matter.

    The window `[since_ns, until_ns)` is on the task's end, in nanoseconds since 1970; an open task has none and counts,
    where calls of open tasks do, only without *until_ns*: then the end of its last span stands against *since_ns*.
    *agent*, *service* and *environment* choose tasks (an empty string: where it is unknown), *tool* chooses tools and
    leaves tasks alone. *by* makes one group for each agent, service or environment.
    """

    since_ns: int | None
    until_ns: int | None
    tool: str | None
    agent: str | None
    service: str | None
    environment: str | None
    by: Literal["", "agent", "service", "environment"]


_EVERYTHING: Final = Asked(since_ns=None, until_ns=None, tool=None, agent=None, service=None, environment=None, by="")
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_GROUPS: Final = ("", "agent", "service", "environment")


def fetch(connection: Connection, row: Callable[..., Row], /, **asked: Unpack[Asked]) -> list[Row]:
    """
    The answer of the query whose rows are of the type *row*, one of `toolspan_queries.rows`.

    Raises:
        QueryError: no query has such rows, or it cannot be asked this.
    """
    name = next((name for name, of_query in ROWS.items() if of_query is row), None)
    if name is None:
        raise QueryError(f"No query has rows of the type {row!r}; take one of toolspan_queries.rows.")
    return [row(*values) for values in ask(connection, name, **asked).fetchall()]


def ask(connection: Connection, name: str, /, **asked: Unpack[Asked]) -> Result:
    """
    The answer of the query *name* as the connection gives it.

    Raises:
        QueryError: there is no such query, or it cannot be asked this.
    """
    query = load(name)
    unknown = asked.keys() - _EVERYTHING.keys()
    if unknown:
        raise QueryError(f"Cannot ask for {min(unknown)!r}; there are {', '.join(_EVERYTHING)}.")
    given: dict[str, object] = {**_EVERYTHING, **asked}
    if given["by"] not in _GROUPS:
        raise QueryError(f"Cannot group by {given['by']!r}; there are agent, service and environment.")
    values = {parameter: writable(given[parameter]) for parameter in query.parameters}
    return connection.execute(query.text, values)


def writable(value: object) -> object:
    """
    *value*; of a text, lone surrogates as they are where spans are read, for no database takes them.
    """
    return _LONE_SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value
