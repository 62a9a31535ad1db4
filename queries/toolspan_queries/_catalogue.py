"""
The catalogue: which queries there are, what each defines, and which parameters it takes.

A query is a file beside this module. Its first comment is the definition of its number and its documentation
everywhere; below stand its parameters, as `-- $name Type: meaning` with ClickHouse's types. DuckDB takes the text as it
is; for ClickHouse each `$name` becomes `{name:Type}`.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from toolspan_queries import page_rows, quality_rows, rows

_PARAMETER: Final = re.compile(r"-- \$(\w+) ([\w()]+): (.+)")


class QueryError(Exception):
    """
    There is no such query, or it cannot be asked this; its text is one line that names the remedy.
    """


class Query(NamedTuple):
    """
    One query: its *text*, one statement, and what the head of its file says.

    *parameters* are ClickHouse's types by name, in the order of the file.
    """

    name: str
    text: str
    definition: str
    parameters: Mapping[str, str]


#: The type of a query's rows by its name: the list of all queries.
ROWS: Final[Mapping[str, type]] = {
    "calls": rows.Calls,
    "class_audit": quality_rows.ClassAudit,
    "cluster": quality_rows.Cluster,
    "codes": rows.Codes,
    "codes_seen": page_rows.CodesSeen,
    "codes_with_two_classes": quality_rows.CodesWithTwoClasses,
    "damage_over_time": page_rows.DamageOverTime,
    "durations": rows.Durations,
    "errors": rows.Errors,
    "escalations": rows.Escalations,
    "example_tasks": page_rows.ExampleTasks,
    "lint": quality_rows.Lint,
    "local_attempts": quality_rows.LocalAttempts,
    "next_actions": page_rows.NextActions,
    "presumed": quality_rows.Presumed,
    "recovery_by_code": rows.RecoveryByCode,
    "recovery_by_field": rows.RecoveryByField,
    "retried_in_vain": rows.RetriedInVain,
    "retries": rows.Retries,
    "retries_over_time": page_rows.RetriesOverTime,
    "retries_per_resolved_task": rows.RetriesPerResolvedTask,
    "streaks": quality_rows.Streaks,
    "tasks": rows.Tasks,
    "unclassified_evidence": quality_rows.UnclassifiedEvidence,
    "unclassified_share": rows.UnclassifiedShare,
    "unhandled_failures": quality_rows.UnhandledFailures,
    "unhandled_tasks": quality_rows.UnhandledTasks,
    "unresolved_tasks": rows.UnresolvedTasks,
    "validation_recovery": rows.ValidationRecovery,
    "worst_tasks": page_rows.WorstTasks,
}


def names() -> list[str]:
    """
    The names of all queries, in order.
    """
    return sorted(ROWS)


@cache
def load(name: str) -> Query:
    """
    The query *name*.

    Raises:
        QueryError: there is none.
    """
    if name not in ROWS:
        raise QueryError(f"Unknown query {name!r}; {_meant(name)}")
    text = files("toolspan_queries").joinpath(f"{name}.sql").read_text(encoding="utf-8")
    head = text.partition("\nwith\n")[0]
    definition = head.partition("\n--\n")[0].replace("\n-- ", " ").removeprefix("-- ")
    parameters = {parameter: kind for parameter, kind, _ in _PARAMETER.findall(head)}
    return Query(name, text, definition, parameters)


def _meant(name: str) -> str:
    close = get_close_matches(name, ROWS, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names())}."
