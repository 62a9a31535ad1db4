"""
What the queries of `quality` answer with, row by row, as in `rows`.
"""

from typing import NamedTuple


class UnhandledTasks(NamedTuple):
    """
    A row of `unhandled_tasks`: one for each group.
    """

    group_value: str
    settled: int
    resolved: int
    unhandled: int
    unhandled_share: float | None


class UnhandledFailures(NamedTuple):
    """
    A row of `unhandled_failures`: one for each unhandled task.
    """

    group_value: str
    task_id: str
    task: str
    tool: str
    error_class: str
    code: str
    ended_ns: int


class ClassAudit(NamedTuple):
    """
    A row of `class_audit`: one for each tool, class and code after which the identical call was tried.
    """

    group_value: str
    tool: str
    error_class: str
    code: str
    failures: int
    identical_retries: int
    succeeded: int
    rate: float


class Streaks(NamedTuple):
    """
    A row of `streaks`: one for each tool that failed in a settled task.
    """

    group_value: str
    tool: str
    longest: int
    code: str
    task_id: str


class Cluster(NamedTuple):
    """
    A row of `cluster`: one for each tool that has one.
    """

    group_value: str
    tool: str
    error_class: str
    failures: int
    share: float


class CodesWithTwoClasses(NamedTuple):
    """
    A row of `codes_with_two_classes`: one for each tool, such code, and class.
    """

    group_value: str
    tool: str
    code: str
    error_class: str
    failures: int


class Lint(NamedTuple):
    """
    A row of `lint`: one for each tool and set of broken rules.
    """

    group_value: str
    tool: str
    lint: int
    calls: int


class LocalAttempts(NamedTuple):
    """
    A row of `local_attempts`: one for each tool.
    """

    group_value: str
    tool: str
    calls: int
    attempts: int
    calls_with_local_retry: int
    attempts_per_call: float
    waited_ms: int
    budget_exhausted: int


class Presumed(NamedTuple):
    """
    A row of `presumed`: one for each tool that a settled task called.
    """

    group_value: str
    tool: str
    links: int
    presumed: int
    share: float | None


class UnclassifiedEvidence(NamedTuple):
    """
    A row of `unclassified_evidence`: one for each tool and evidence of failures of no class.
    """

    group_value: str
    tool: str
    evidence: str
    failures: int
