"""
The shape of the JSON documents of `report` and `quality`: which keys, in which order.

Other programs read `report --format json`, so every key of it but `detail` is fixed; what we add goes into `detail`.
A share or rate with an empty denominator is null, never 0 or 1. Milliseconds have at most three decimals.
"""

from typing import TypedDict


class Window(TypedDict):
    """
    `[since, until)` on the task's end, RFC 3339; null where it is open.
    """

    since: str | None
    until: str | None


class Tasks(TypedDict):
    """
    Tasks in scope by outcome; *total* includes the open ones.
    """

    total: int
    resolved: int
    unresolved: int
    escalated: int
    unknown: int
    open: int


class RetriesPerResolvedTask(TypedDict):
    """
    Over the resolved tasks that called the tool: how often each retried it.
    """

    resolved_tasks: int
    retries: int
    mean: float | None
    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None


class Retries(TypedDict):
    """
    Retries of all settled tasks by verdict; *steps* counts every step in which the tool was called.
    """

    total: int
    presumed: int
    allowed: int
    early: int
    over_cap: int
    wasted: int
    wasted_ms: float
    steps: int
    per_step: float | None


class Recovery(TypedDict):
    """
    What became of validation failures: *recovered* by a rewrite that ended ok, *accepted* by one that was no longer a
    validation failure.
    """

    failures: int
    recovered: int
    rate: float | None
    accepted: int


class Escalations(TypedDict):
    """
    Permission episodes, the ones a human heard of, and those of which nobody retried before.
    """

    episodes: int
    escalated: int
    without_prior_retry: int
    rate: float | None


class Attempts(TypedDict):
    """
    Tries inside the tool.
    """

    total: int
    calls_with_local_retry: int


class Durations(TypedDict):
    """
    Nearest rank over durations of three significant digits.
    """

    p50: float
    p95: float


class PresumedShare(TypedDict):
    """
    The share of links that rest on unknown arguments.
    """

    retries: float | None
    rewrites: float | None


CauseOfFailure = TypedDict("CauseOfFailure", {"class": str, "code": str, "failures": int})
"""
How many calls failed of one class and code.
"""

RetriedInVain = TypedDict("RetriedInVain", {"class": str, "code": str, "early": int, "over_cap": int, "wasted": int})
"""
Retries that are damage, by verdict, after failures of one class and code; settled tasks count.
"""


class Detail(TypedDict):
    """
    What else a person on call asks of a tool: how far its numbers can be trusted, and which code or field does it.

    *unresolved_tasks* called the tool; what is a table or a list comes with the most first.
    """

    tail: float | None
    presumed_share: PresumedShare
    unclassified_share: float | None
    recovery_by_code: dict[str, Recovery]
    recovery_by_field: dict[str, Recovery]
    wasted_by_code: dict[str, int]
    causes: list[CauseOfFailure]
    retried_in_vain: list[RetriedInVain]
    unresolved_tasks: int


class ToolReport(TypedDict):
    """
    The numbers of one tool.
    """

    calls: int
    ok: int
    cancelled: int
    deferred: int
    errors: dict[str, int]
    codes: dict[str, int]
    retries_per_resolved_task: RetriesPerResolvedTask
    retries: Retries
    validation_recovery: Recovery
    escalations: Escalations
    attempts: Attempts
    damage: int
    broken: list[str]
    duration_ms: Durations
    detail: Detail


class Report(TypedDict):
    """
    The document of `report`; *tools* in order of damage, the worst first.
    """

    window: Window
    tasks: Tasks
    tools: dict[str, ToolReport]


class GroupedReport(TypedDict):
    """
    The document of `report --by`; the group with the most damage first, an unknown value is "".
    """

    by: str
    groups: dict[str, Report]


AuditedCode = TypedDict(
    "AuditedCode",
    {
        "code": str,
        "class": str,
        "failures": int,
        "identical_retries": int,
        "succeeded": int,
        "rate": float,
        "interval": list[float],
        "suspect": bool,
    },
)
"""
How often the identical call succeeded after a failure of one code and class; *interval* is Wilson's, 95 %.
"""


class Streak(TypedDict):
    """
    The longest run of consecutive failures with one code in one task; null *code* and *task_id* where none failed.
    """

    longest: int
    code: str | None
    task_id: str | None


Cluster = TypedDict("Cluster", {"class": str, "failures": int, "share": float})
"""
The class that makes up more than half of a tool's failures.
"""


class LocalAttempts(TypedDict):
    """
    Retries inside the tool, which the model never sees.
    """

    calls_with_local_retry: int
    attempts_per_call: float | None
    waited_ms: int
    budget_exhausted: int


class Presumed(TypedDict):
    """
    Links between calls, and those of them that rest on unknown arguments.
    """

    links: int
    presumed: int
    share: float | None


class Unclassified(TypedDict):
    """
    Failures of no class, with the most frequent evidence, so that it can be given one.
    """

    failures: int
    share: float | None
    evidence: dict[str, int]


class ToolQuality(TypedDict):
    """
    How far the failures of one tool can be trusted, and what its envelopes get wrong.

    *lint* counts calls by broken rule, *codes_with_two_classes* failures by code and class.
    """

    calls: int
    failures: int
    class_audit: list[AuditedCode]
    streak: Streak
    cluster: Cluster | None
    lint: dict[str, int]
    codes_with_two_classes: dict[str, dict[str, int]]
    local_attempts: LocalAttempts
    presumed: Presumed
    unclassified: Unclassified


UnhandledFailure = TypedDict(
    "UnhandledFailure", {"task_id": str, "task": str, "tool": str, "class": str, "code": str, "ended_at": str}
)
"""
A task that says resolved though its last call failed and nobody was told; this is that call.
"""


class QualityTasks(TypedDict):
    """
    Settled tasks in scope; *unhandled_share* is of the resolved ones.
    """

    settled: int
    resolved: int
    unhandled: int
    unhandled_share: float | None


class Quality(TypedDict):
    """
    The document of `quality`; *tools* with the most failures first, *unhandled_failures* with the latest first.
    """

    window: Window
    tasks: QualityTasks
    tools: dict[str, ToolQuality]
    unhandled_failures: list[UnhandledFailure]


class GroupedQuality(TypedDict):
    """
    The document of `quality --by`; groups by name, an unknown value is "".
    """

    by: str
    groups: dict[str, Quality]
