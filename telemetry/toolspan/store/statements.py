"""
The statements that write to a store file: text in `sql/`, values bound by name.

A file holds one statement or several that belong together; its first comment says what for. Tables of a statement's own
input are registered under fixed names: `asked_traces`, `asked_tasks`, `incoming`.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolspan.store.columns import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PARAMETER: Final = re.compile(r"\$(\w+)")
_COMMENT: Final = re.compile(r"^--.*$", re.MULTILINE)

#: Rows as DuckDB gives them: their types are those of the columns that were asked for.
Fetched = list[tuple[Any, ...]]


class Bounds(NamedTuple):
    """
    The times between which tasks end, both inside.
    """

    first_ns: int
    last_ns: int


def text_of(name: str) -> str:
    """
    The file *name* of `sql/`.
    """
    return files("toolspan.store").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def run(connection: "DuckDBPyConnection", name: str, **values: int | str | None) -> Fetched:
    """
    Runs the statements of the file *name*; gives the rows of the last.
    """
    rows: Fetched = []
    for statement, names in _statements(name):
        rows = connection.execute(statement, {parameter: values[parameter] for parameter in names}).fetchall()
    return rows


@cache
def _statements(name: str) -> list[tuple[str, frozenset[str]]]:
    text = _COMMENT.sub("", text_of(name))
    parts = (part.strip() for part in text.split(";"))
    return [(part, frozenset(_PARAMETER.findall(part))) for part in parts if part]


@contextmanager
def given(connection: "DuckDBPyConnection", **tables: Table) -> Generator[None]:
    """
    Lets statements read *tables* under their names while the block runs.
    """
    for name, table in tables.items():
        connection.register(name, table)
    try:
        yield
    finally:
        for name in tables:
            connection.unregister(name)


def insert(connection: "DuckDBPyConnection", table: str, rows: Table) -> None:
    """
    Appends *rows* to *table*, column by name.
    """
    with given(connection, incoming=rows):
        connection.execute(f"insert into {table} by name from incoming")
