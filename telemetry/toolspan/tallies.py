"""
What is counted of one tool, before it is a document: between rows or queries on one side and the numbers on the other.

Whoever counts, Python over rows or SQL over a store, ends here, so that rates, damage, targets and order exist once.
"""

from collections.abc import Mapping
from typing import NamedTuple

from toolspan.documents import Tasks

#: The class and the code of failures.
Cause = tuple[str, str]


class RetriesOfTasks(NamedTuple):
    """
    How often each resolved task that called the tool retried it: nearest ranks, None where there is no such task.

    *in_tail* are the tasks with more than one retry.
    """

    resolved_tasks: int = 0
    retries: int = 0
    p50: int | None = None
    p95: int | None = None
    p99: int | None = None
    max: int | None = None
    in_tail: int = 0


class RetryTally(NamedTuple):
    """
    Retries of settled tasks by verdict, and the steps in which the tool was called.
    """

    steps: int = 0
    total: int = 0
    presumed: int = 0
    allowed: int = 0
    early: int = 0
    over_cap: int = 0
    wasted: int = 0
    wasted_ns: int = 0


class RecoveryTally(NamedTuple):
    """
    Validation failures of settled tasks and what became of them.
    """

    failures: int = 0
    recovered: int = 0
    accepted: int = 0


class EscalationTally(NamedTuple):
    """
    Permission episodes of settled tasks; *clean* are the escalated ones without prior retry.
    """

    episodes: int = 0
    escalated: int = 0
    clean: int = 0


class VainTally(NamedTuple):
    """
    Retries that are damage, by verdict.
    """

    early: int = 0
    over_cap: int = 0
    wasted: int = 0


class ToolTally(NamedTuple):
    """
    What one tool did.

    *locally_retried* are calls of more than one attempt; *p50_ns* and *p95_ns* durations of three significant digits;
    *causes* failed calls; *in_vain* retries by the cause of what they repeat; *unresolved_tasks* those that called it.
    """

    calls: int
    ok: int
    cancelled: int
    deferred: int
    attempts: int
    locally_retried: int
    p50_ns: int
    p95_ns: int
    causes: Mapping[Cause, int]
    retries_of_tasks: RetriesOfTasks
    retries: RetryTally
    recovery: RecoveryTally
    rewrites: int
    presumed_rewrites: int
    recovery_by_code: Mapping[str, RecoveryTally]
    recovery_by_field: Mapping[str, RecoveryTally]
    escalations: EscalationTally
    in_vain: Mapping[Cause, VainTally]
    unresolved_tasks: int


class Tally(NamedTuple):
    """
    Tasks by outcome, and what each tool did.
    """

    tasks: Tasks
    tools: Mapping[str, ToolTally]
