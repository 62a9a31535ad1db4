"""
One SQL file per number, and one function per file that answers with a pandas frame.

    import duckdb, toolspan_queries

    connection = duckdb.connect("snapshot.duckdb", read_only=True)  # of `toolspan snapshot`: never a store in use
    toolspan_queries.retries_per_resolved_task(connection, agent="planner")

`fetch` answers with plain tuples instead, whose types are in `toolspan_queries.rows` and `quality_rows`; `load` gives
a query's text.
"""

from toolspan_queries._asking import Asked, Connection, Result, ask, fetch, writable
from toolspan_queries._catalogue import Query, QueryError, load, names
from toolspan_queries.frames import (
    calls,
    codes,
    durations,
    errors,
    escalations,
    recovery_by_code,
    recovery_by_field,
    retried_in_vain,
    retries,
    retries_per_resolved_task,
    tasks,
    unclassified_share,
    unresolved_tasks,
    validation_recovery,
)
from toolspan_queries.quality_frames import (
    class_audit,
    cluster,
    codes_with_two_classes,
    lint,
    local_attempts,
    presumed,
    streaks,
    unclassified_evidence,
    unhandled_failures,
    unhandled_tasks,
)

__all__ = [
    "Asked",
    "Connection",
    "Query",
    "QueryError",
    "Result",
    "ask",
    "calls",
    "class_audit",
    "cluster",
    "codes",
    "codes_with_two_classes",
    "durations",
    "errors",
    "escalations",
    "fetch",
    "lint",
    "load",
    "local_attempts",
    "names",
    "presumed",
    "recovery_by_code",
    "recovery_by_field",
    "retried_in_vain",
    "retries",
    "retries_per_resolved_task",
    "streaks",
    "tasks",
    "unclassified_evidence",
    "unclassified_share",
    "unhandled_failures",
    "unhandled_tasks",
    "unresolved_tasks",
    "validation_recovery",
    "writable",
]
