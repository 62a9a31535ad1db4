"""
One function per query of `quality`, as in `frames`.
"""

from typing import TYPE_CHECKING, Unpack

from toolspan_queries import quality_rows as rows
from toolspan_queries._asking import Asked, Connection
from toolspan_queries.frames import frame

if TYPE_CHECKING:
    import pandas as pd


def unhandled_tasks(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Settled tasks, those of them that say resolved, and of these the ones whose last call failed and nobody was told; 0
    where all tasks are open.

    Columns: *group_value*; tasks: *settled* and, of them, *resolved*, of these *unhandled*; *unhandled_share* of the
    resolved ones, 0…1.
    """
    return frame(connection, rows.UnhandledTasks, **asked)


def unhandled_failures(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Unhandled failures, the latest first: the last call, by its end, of each settled task that says resolved though this
    call failed with a class other than business_rule and no escalation came at or after its end.

    Columns: *group_value*; the task's id and name: *task_id*, *task*; of the call: *tool*, *error_class*, *code*, and
    when it ended in nanoseconds since 1970, *ended_ns*.
    """
    return frame(connection, rows.UnhandledFailures, **asked)


def class_audit(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Class audit: of each tool's failures by error class and code, the identical retries that tell of the class, and
    those that succeeded; settled tasks count. Presumed retries tell nothing, nor do those of a permission failure after
    an escalation.

    Columns: *group_value*, *tool*, *error_class*, *code*; calls that failed: *failures*; their retries:
    *identical_retries* and, of them, *succeeded*; *rate* of those, 0…1.
    """
    return frame(connection, rows.ClassAudit, **asked)


def streaks(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Same-error streak: the longest run of consecutive failures of each tool with one code in one settled task, whatever
    the arguments. An ok call breaks it, cancelled and deferred ones do not; among equals the first code, then the first
    task.

    Columns: *group_value*, *tool*; calls: *longest*; where it was: *code*, *task_id*.
    """
    return frame(connection, rows.Streaks, **asked)


def cluster(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Cluster: the class that makes up more than half of a tool's failures, of at least 20: an envelope problem more than
    a prompt problem. Unclassified is no class; every call counts, those of open tasks too.

    Columns: *group_value*, *tool*, *error_class*; calls that failed with it: *failures*; *share* of those, 0…1.
    """
    return frame(connection, rows.Cluster, **asked)


def codes_with_two_classes(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Codes that a tool gave to failures of more than one class, with the failures of each. Unclassified is no class;
    every call counts, those of open tasks too.

    Columns: *group_value*, *tool*, *code*, *error_class*; calls that failed: *failures*.
    """
    return frame(connection, rows.CodesWithTwoClasses, **asked)


def lint(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Calls of each tool whose envelope breaks rules, by the rules, a bit for each; every call counts, those of open tasks
    too.

    Columns: *group_value*, *tool*; the rules, a bit for each: *lint* (`toolspan.lint` names them); *calls*.
    """
    return frame(connection, rows.Lint, **asked)


def local_attempts(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Local attempts of each tool: calls that were tried more than once inside it, tries per call, the time waited between
    them, and budgets used up; every call counts, those of open tasks too.

    Columns: *group_value*, *tool*; calls: *calls*; tries: *attempts*; calls that took more than one:
    *calls_with_local_retry*; tries per call: *attempts_per_call*; milliseconds between tries: *waited_ms*; calls that
    used their budget up: *budget_exhausted*.
    """
    return frame(connection, rows.LocalAttempts, **asked)


def presumed(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Presumed links: of each tool's retries and rewrites in settled tasks, those that rest on unknown arguments.

    Columns: *group_value*, *tool*; retries and rewrites: *links* and, of them, *presumed*; *share* of those, 0…1.
    """
    return frame(connection, rows.Presumed, **asked)


def unclassified_evidence(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Failed calls of no class by the evidence that said that they failed, the most frequent first, so that it can be
    given one; every call counts, those of open tasks too.

    Columns: *group_value*, *tool*, *evidence*; calls that failed: *failures*.
    """
    return frame(connection, rows.UnclassifiedEvidence, **asked)
