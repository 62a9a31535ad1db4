"""
Hourly totals: what makes a number over months as quick as one over a day.

A total is a sum of signed rows: a task that settles adds its rows, one that is derived again takes them away first. So
nothing has to be found to be changed; rows of one hour and key are summed up when they have become many.
"""

from typing import TYPE_CHECKING, Final

from toolspan.store.statements import Bounds, run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Table → what a row of it is about; the other columns are summed.
TOTALS: Final = {
    "hourly_tasks": ("hour", "agent", "service", "environment", "outcome"),
    "hourly_tools": ("hour", "agent", "service", "environment", "tool", "task_outcome", "retries"),
    "hourly_calls": ("hour", "agent", "service", "environment", "tool", "outcome", "class", "code", "field"),
    "hourly_durations": ("hour", "agent", "service", "environment", "tool", "duration_ns"),
}

#: An hour is summed up when it has this many rows more than keys; fewer cost a query nothing.
MOST_SPARE_ROWS: Final = 20_000


def add_totals(connection: "DuckDBPyConnection", bounds: Bounds, *, sign: int) -> None:
    """
    Adds the rows of the settled ones of the chosen tasks to the totals, or with *sign* -1 takes them away.
    """
    for table in TOTALS:
        run(connection, f"add_{table}", **bounds._asdict(), sign=sign)


#: Looking for hours with many rows takes as long as the rest of a small append, and a commit adds some dozens.
_COMMITS_BETWEEN: Final = 64


def is_time_to_sum_up(connection: "DuckDBPyConnection") -> bool:
    """
    Whether enough was committed since rows were last looked through.
    """
    [(commits,)] = connection.execute("select commits from ledger").fetchall()
    return bool(commits % _COMMITS_BETWEEN == 0)


def sum_up(connection: "DuckDBPyConnection", *, most_spare_rows: int = MOST_SPARE_ROWS) -> None:
    """
    Makes one row of all rows with one key in the hours that have more than *most_spare_rows* too many; a key that comes
    to nothing goes.
    """
    for table, keys in TOTALS.items():
        names = [str(row[0]) for row in connection.execute(f"describe {table}").fetchall()]
        sums = [name for name in names if name not in keys]
        key_list, sum_list = ", ".join(keys), ", ".join(f"sum({name}) as {name}" for name in sums)
        anything = " or ".join(f"sum({name}) <> 0" for name in sums)
        connection.execute(
            f"create temporary table crowded as select hour from (select hour, count(*) as rows from {table}"  # noqa: S608 - our own names
            f" group by {key_list}) group by hour having sum(rows) - count(*) > {most_spare_rows:d}"
        )
        if connection.execute("select count(*) from crowded").fetchall()[0][0]:
            connection.execute(
                f"create temporary table summed as select {key_list}, {sum_list} from {table}"  # noqa: S608 - our own names
                f" semi join crowded using (hour) group by {key_list} having {anything}"
            )
            connection.execute(f"delete from {table} using crowded where {table}.hour = crowded.hour")  # noqa: S608
            connection.execute(f"insert into {table} by name select * from summed")  # noqa: S608
            connection.execute("drop table summed")
        connection.execute("drop table crowded")
