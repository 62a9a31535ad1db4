"""
What each query answers with, row by row: its columns, in order, as types.

*group_value* is the agent, service or environment by which was grouped, an empty string where it is unknown or where
nothing was grouped by. Rates and shares are None where there are no cases. The functions of the package, named as the
queries are, say what each column means.
"""

from typing import NamedTuple


class Tasks(NamedTuple):
    """
    A row of `tasks`: one for each group.
    """

    group_value: str
    total: int
    resolved: int
    unresolved: int
    escalated: int
    unknown: int
    open: int


class Calls(NamedTuple):
    """
    A row of `calls`: one for each tool.
    """

    group_value: str
    tool: str
    calls: int
    ok: int
    error: int
    cancelled: int
    deferred: int
    attempts: int
    calls_with_local_retry: int


class Errors(NamedTuple):
    """
    A row of `errors`: one for each tool and class.
    """

    group_value: str
    tool: str
    error_class: str
    failures: int


class Codes(NamedTuple):
    """
    A row of `codes`: one for each tool, class and code.
    """

    group_value: str
    tool: str
    error_class: str
    code: str
    failures: int


class UnclassifiedShare(NamedTuple):
    """
    A row of `unclassified_share`: one for each tool that failed.
    """

    group_value: str
    tool: str
    failures: int
    unclassified: int
    share: float


class Durations(NamedTuple):
    """
    A row of `durations`: one for each tool.
    """

    group_value: str
    tool: str
    calls: int
    p50_ns: int
    p95_ns: int


class RetriesPerResolvedTask(NamedTuple):
    """
    A row of `retries_per_resolved_task`: one for each tool that a resolved task called.
    """

    group_value: str
    tool: str
    resolved_tasks: int
    retries: int
    mean: float
    p50: int
    p95: int
    p99: int
    max: int
    tasks_in_tail: int
    tail: float


class Retries(NamedTuple):
    """
    A row of `retries`: one for each tool that a settled task called.
    """

    group_value: str
    tool: str
    steps: int
    total: int
    presumed: int
    allowed: int
    early: int
    over_cap: int
    wasted: int
    wasted_ns: int
    per_step: float | None
    presumed_share: float | None


class RetriedInVain(NamedTuple):
    """
    A row of `retried_in_vain`: one for each tool, class and code after which was retried in vain.
    """

    group_value: str
    tool: str
    error_class: str
    code: str
    early: int
    over_cap: int
    wasted: int
    retries: int


class ValidationRecovery(NamedTuple):
    """
    A row of `validation_recovery`: one for each tool that a settled task called.
    """

    group_value: str
    tool: str
    failures: int
    recovered: int
    rate: float | None
    accepted: int
    rewrites: int
    presumed_rewrites: int
    presumed_share: float | None


class RecoveryByCode(NamedTuple):
    """
    A row of `recovery_by_code`: one for each tool and code of its validation failures.
    """

    group_value: str
    tool: str
    code: str
    failures: int
    recovered: int
    rate: float
    accepted: int


class RecoveryByField(NamedTuple):
    """
    A row of `recovery_by_field`: one for each tool and field of its validation failures.
    """

    group_value: str
    tool: str
    field: str
    failures: int
    recovered: int
    rate: float
    accepted: int


class Escalations(NamedTuple):
    """
    A row of `escalations`: one for each tool that a settled task called.
    """

    group_value: str
    tool: str
    episodes: int
    escalated: int
    without_prior_retry: int
    rate: float | None


class UnresolvedTasks(NamedTuple):
    """
    A row of `unresolved_tasks`: one for each tool that an unresolved task called.
    """

    group_value: str
    tool: str
    tasks: int
