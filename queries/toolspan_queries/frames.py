"""
One function per query, named as its file is, that answers with a pandas frame.

All take a connection and what is asked of it: *since_ns*, *until_ns*, *tool*, *agent*, *service*, *environment*, *by*,
as `Asked` says. Frames are in the order of the query, their first column is the value of *by*, an empty string without
it; where there are no cases a rate or share is missing (NaN).

pandas is imported with the first frame: it is an extra, and importing it takes 0.4 s.
"""

from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Unpack, get_args, get_type_hints

from toolspan_queries import rows
from toolspan_queries._asking import Asked, Connection, fetch

if TYPE_CHECKING:
    import pandas as pd

#: How a column of each type is kept; the counts are never missing.
_KINDS: Final = {str: "str", int: "int64", float: "float64"}


def frame(connection: Connection, row: type, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    The answer of the query whose rows are of the type *row*, its columns of the types that the row has.
    """
    import pandas as pd

    columns: dict[str, Any] = get_type_hints(row)
    answer = fetch(connection, row, **asked)
    return pd.DataFrame(answer, columns=list(columns)).astype({name: _kind(of) for name, of in columns.items()})


def _kind(annotated: Any) -> str:
    types = [each for each in get_args(annotated) if each is not NoneType] or [annotated]
    return _KINDS[types[0]]


def tasks(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Tasks by outcome: those that ended in the window, and open ones where the window has no end.

    Columns: *group_value*; tasks: *total* and, of it, *resolved*, *unresolved*, *escalated*, *unknown* (settled, by
    outcome), *open* (not settled).
    """
    return frame(connection, rows.Tasks, **asked)


def calls(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Calls of each tool by outcome, with their attempts, the tries inside the tool; every call counts, those of open
    tasks too.

    Columns: *group_value*, *tool*; calls: *calls* and, of them, *ok*, *error*, *cancelled*, *deferred*; tries:
    *attempts*; calls that took more than one: *calls_with_local_retry*.
    """
    return frame(connection, rows.Calls, **asked)


def errors(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Failed calls of each tool by error class; every call counts, those of open tasks too.

    Columns: *group_value*, *tool*, *error_class*; calls that failed: *failures*.
    """
    return frame(connection, rows.Errors, **asked)


def codes(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Failed calls of each tool by error class and code; every call counts, those of open tasks too.

    Columns: *group_value*, *tool*, *error_class*, *code*; calls that failed: *failures*.
    """
    return frame(connection, rows.Codes, **asked)


def unclassified_share(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    The share of a tool's failed calls about which the evidence says nothing; every call counts, those of open tasks
    too.

    Columns: *group_value*, *tool*; calls that failed: *failures* and, of them, *unclassified*; *share* of those, 0…1.
    """
    return frame(connection, rows.UnclassifiedShare, **asked)


def durations(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Percentiles of how long the calls of a tool took: nearest rank over durations rounded to three significant digits,
    half up; every call counts, those of open tasks too.

    Columns: *group_value*, *tool*; calls: *calls*; nanoseconds: *p50_ns*, *p95_ns*.
    """
    return frame(connection, rows.Durations, **asked)


def retries_per_resolved_task(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Retries per resolved task: how often each resolved task that called a tool retried it, as mean, percentiles by
    nearest rank, and the tail, the share of those tasks with more than one retry.

    Columns: *group_value*, *tool*; tasks: *resolved_tasks*; retries: *retries* (of all those tasks), *mean*, *p50*,
    *p95*, *p99*, *max* (of one task); tasks with more than one retry: *tasks_in_tail*; *tail*, their share, 0…1.
    """
    return frame(connection, rows.RetriesPerResolvedTask, **asked)


def retries(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Retries of each tool by verdict, and the steps in which it was called; settled tasks count.

    Columns: *group_value*, *tool*; steps: *steps*; retries: *total* and, of it, *presumed* (the arguments are
    unknown), and by verdict *allowed*, *early*, *over_cap*, *wasted*; nanoseconds from the failures to the ends of
    wasted retries: *wasted_ns*; retries per step: *per_step*; *presumed_share*, 0…1.
    """
    return frame(connection, rows.Retries, **asked)


def retried_in_vain(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Retries that are damage (early, over the cap, wasted) by class and code of the failure they repeat; settled tasks
    count.

    Columns: *group_value*, *tool*, *error_class*, *code* (of the failure); retries: *early*, *over_cap*, *wasted*,
    and all three, *retries*.
    """
    return frame(connection, rows.RetriedInVain, **asked)


def validation_recovery(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Validation recovery rate: of a tool's validation failures in settled tasks, those answered by a rewrite that ended
    ok (recovered), and by one that was no longer a validation failure (accepted).

    Columns: *group_value*, *tool*; validation failures: *failures* and, of them, *recovered*, *accepted*; *rate*, the
    share that recovered, 0…1; rewrites: *rewrites* and, of them, *presumed_rewrites* (arguments are unknown);
    *presumed_share*, 0…1.
    """
    return frame(connection, rows.ValidationRecovery, **asked)


def recovery_by_code(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Validation recovery by code: of a tool's validation failures in settled tasks, those answered by a rewrite that
    ended ok (recovered), and by one that was no longer a validation failure (accepted).

    Columns: *group_value*, *tool*, *code*; validation failures: *failures* and, of them, *recovered*, *accepted*;
    *rate*, the share that recovered, 0…1.
    """
    return frame(connection, rows.RecoveryByCode, **asked)


def recovery_by_field(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Validation recovery by the field that was wrong: of a tool's validation failures in settled tasks, those answered
    by a rewrite that ended ok (recovered), and by one that was no longer a validation failure (accepted).

    Columns: *group_value*, *tool*, *field* (an empty string where nobody named it); validation failures: *failures*
    and, of them, *recovered*, *accepted*; *rate*, the share that recovered, 0…1.
    """
    return frame(connection, rows.RecoveryByField, **asked)


def escalations(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Escalations without prior retry: of a tool's permission episodes in settled tasks, those that a human heard of,
    and of these the ones in which the tool was not called again before.

    Columns: *group_value*, *tool*; permission episodes: *episodes* and, of them, *escalated*, of these
    *without_prior_retry*; *rate*, the share of the escalated ones without, 0…1.
    """
    return frame(connection, rows.Escalations, **asked)


def unresolved_tasks(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Settled tasks that called a tool and ended unresolved.

    Columns: *group_value*, *tool*; tasks: *tasks*.
    """
    return frame(connection, rows.UnresolvedTasks, **asked)
