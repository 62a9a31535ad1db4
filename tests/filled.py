"""
Tables of a store filled with rows, in memory: what queries are tested on.
"""

from typing import Final

import duckdb

from toolspan.records import Rows
from toolspan.store.columns import DerivedRows, row_tables
from toolspan.store.statements import Bounds, insert, run
from toolspan.store.totals import TOTALS, add_totals

_ROWS: Final = ("calls", "tasks", "escalations", "episodes", "task_tools")
_ALWAYS: Final = Bounds(-(2**63), 2**63 - 1)


def empty_store() -> duckdb.DuckDBPyConnection:
    """
    The tables of a store, without rows.
    """
    connection = duckdb.connect()
    # more threads than one only cost time where a table has ten rows
    connection.execute("set threads = 1")
    run(connection, "schema")
    return connection


def filled_store(rows: Rows) -> duckdb.DuckDBPyConnection:
    """
    A store that holds *rows*.
    """
    connection = empty_store()
    fill(connection, rows)
    return connection


def fill(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    """
    Puts *rows*, and what they come to by the hour, into a store without rows.
    """
    _add_rows(connection, rows)
    add_totals(connection, _ALWAYS, sign=1)


def take_back(connection: duckdb.DuckDBPyConnection) -> None:
    """
    Takes all rows out of a store as deriving again does: the totals keep what was added and what was taken.
    """
    add_totals(connection, _ALWAYS, sign=-1)
    for table in _ROWS:
        connection.execute(f"delete from {table}")  # noqa: S608 - our own names


def clear(connection: duckdb.DuckDBPyConnection) -> None:
    """
    Takes everything out.
    """
    for table in (*_ROWS, *TOTALS):
        connection.execute(f"delete from {table}")  # noqa: S608 - our own names


def _add_rows(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    revisions = dict.fromkeys((task.task_id for task in rows.tasks), 0)
    for name, table in row_tables(DerivedRows(rows, revisions)).items():
        insert(connection, name, table)
    connection.execute("create or replace temporary table chosen as select task, settled from tasks")
