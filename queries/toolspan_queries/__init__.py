"""
One SQL file per number, and one function per file that answers with a pandas frame.

    import duckdb, toolspan_queries

    connection = duckdb.connect("snapshot.duckdb", read_only=True)  # of `toolspan snapshot`: never a store in use
    toolspan_queries.retries_per_resolved_task(connection, agent="planner")

`fetch` answers with plain tuples instead, whose types are in `toolspan_queries.rows`, `quality_rows` and
`page_rows`; `load` gives a query's text.
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
from toolspan_queries.page_frames import (
    codes_seen,
    damage_over_time,
    example_tasks,
    next_actions,
    retries_over_time,
    worst_tasks,
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
    "codes_seen",
    "codes_with_two_classes",
    "damage_over_time",
    "durations",
    "errors",
    "escalations",
    "example_tasks",
    "fetch",
    "lint",
    "load",
    "local_attempts",
    "names",
    "next_actions",
    "presumed",
    "recovery_by_code",
    "recovery_by_field",
    "retried_in_vain",
    "retries",
    "retries_over_time",
    "retries_per_resolved_task",
    "streaks",
    "tasks",
    "unclassified_evidence",
    "unclassified_share",
    "unhandled_failures",
    "unhandled_tasks",
    "unresolved_tasks",
    "validation_recovery",
    "worst_tasks",
    "writable",
]
