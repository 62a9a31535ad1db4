"""
Tallies in, the document of `report` out: the three numbers per tool, what they cost, and which targets are broken.

Nothing is rounded but times. A rate without cases is None.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from toolspan.counting import tally
from toolspan.documents import (
    CauseOfFailure,
    Detail,
    Escalations,
    GroupedReport,
    Recovery,
    Report,
    RetriedInVain,
    Retries,
    RetriesPerResolvedTask,
    ToolReport,
    Window,
)
from toolspan.records import Rows
from toolspan.scope import EVERYTHING, Dimension, Scope, rows_by
from toolspan.tallies import (
    Cause,
    EscalationTally,
    RecoveryTally,
    RetriesOfTasks,
    RetryTally,
    Tally,
    ToolTally,
    VainTally,
)
from toolspan.taxonomy import ErrorClass
from toolspan.windows import format_time, milliseconds

__all__ = ["Scope", "Targets", "grouped_report_of", "report", "report_by", "report_of"]


class Targets(NamedTuple):
    """
    When a tool is broken: retries per step not under *retries_per_step*, the 95th percentile of retries per resolved
    task over *retries_p95*, a rate under its own. Each is judged once its denominator is *min_cases*.
    """

    retries_per_step: float = 1.0
    retries_p95: int = 1
    validation_recovery: float = 0.8
    clean_escalations: float = 0.9
    min_cases: int = 20


DEFAULT_TARGETS: Final = Targets()


def report(rows: Rows, *, scope: Scope = EVERYTHING, targets: Targets = DEFAULT_TARGETS) -> Report:
    """
    The document of `report --format json`.
    """
    return report_of(tally(rows, scope), scope=scope, targets=targets)


def report_by(
    rows: Rows, *, by: Dimension, scope: Scope = EVERYTHING, targets: Targets = DEFAULT_TARGETS
) -> GroupedReport:
    """
    One document per agent, service or environment.
    """
    tallies = {value: tally(part, scope) for value, part in rows_by(rows, by, scope).items()}
    return grouped_report_of(tallies, by=by, scope=scope, targets=targets)


def report_of(counted: Tally, *, scope: Scope, targets: Targets = DEFAULT_TARGETS) -> Report:
    """
    The document of what was *counted* in *scope*; its tools come in order of damage, ties by wasted time, then by name.
    """
    tools = [(name, _tool_report(tool, targets)) for name, tool in counted.tools.items()]
    tools.sort(key=lambda item: (-item[1]["damage"], -item[1]["retries"]["wasted_ms"], item[0]))
    return {"window": window_of(scope), "tasks": counted.tasks, "tools": dict(tools)}


def grouped_report_of(
    counted: Mapping[str, Tally], *, by: Dimension, scope: Scope, targets: Targets = DEFAULT_TARGETS
) -> GroupedReport:
    """
    The documents of what was *counted* for each value of *by*; the most damage first, ties by name.
    """
    groups = [(value, report_of(part, scope=scope, targets=targets)) for value, part in counted.items()]
    groups.sort(key=lambda item: (-sum(tool["damage"] for tool in item[1]["tools"].values()), item[0]))
    return {"by": by, "groups": dict(groups)}


def window_of(scope: Scope) -> Window:
    """
    The window of *scope* as documents say it.
    """
    since_ns, until_ns = scope.since_ns, scope.until_ns
    return {
        "since": None if since_ns is None else format_time(since_ns),
        "until": None if until_ns is None else format_time(until_ns),
    }


def rate(part: int, whole: int) -> float | None:
    """
    *part* of *whole*, None where there is nothing to be a part of.
    """
    return part / whole if whole else None


def by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """
    *counts* with the largest first, ties by name.
    """
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _tool_report(tool: ToolTally, targets: Targets) -> ToolReport:
    errors: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for (error_class, code), failures in tool.causes.items():
        errors[error_class] += failures
        codes[code] += failures
    per_task = _retries_per_resolved_task(tool.retries_of_tasks)
    retries = _retries(tool.retries)
    recovery = _recovery(tool.recovery)
    escalations = _escalations(tool.escalations)
    return {
        "calls": tool.calls,
        "ok": tool.ok,
        "cancelled": tool.cancelled,
        "deferred": tool.deferred,
        "errors": {name.value: errors[name] for name in ErrorClass},
        "codes": by_count(codes),
        "retries_per_resolved_task": per_task,
        "retries": retries,
        "validation_recovery": recovery,
        "escalations": escalations,
        "attempts": {"total": tool.attempts, "calls_with_local_retry": tool.locally_retried},
        "damage": _damage(retries, recovery, escalations),
        "broken": _broken(per_task, retries, recovery, escalations, targets=targets),
        "duration_ms": {"p50": milliseconds(tool.p50_ns), "p95": milliseconds(tool.p95_ns)},
        "detail": _detail(tool, rate(errors[ErrorClass.UNCLASSIFIED], errors.total())),
    }


def _retries_per_resolved_task(counted: RetriesOfTasks) -> RetriesPerResolvedTask:
    return {
        "resolved_tasks": counted.resolved_tasks,
        "retries": counted.retries,
        "mean": rate(counted.retries, counted.resolved_tasks),
        "p50": counted.p50,
        "p95": counted.p95,
        "p99": counted.p99,
        "max": counted.max,
    }


def _retries(counted: RetryTally) -> Retries:
    return {
        "total": counted.total,
        "presumed": counted.presumed,
        "allowed": counted.allowed,
        "early": counted.early,
        "over_cap": counted.over_cap,
        "wasted": counted.wasted,
        "wasted_ms": milliseconds(counted.wasted_ns),
        "steps": counted.steps,
        "per_step": rate(counted.total, counted.steps),
    }


def _recovery(counted: RecoveryTally) -> Recovery:
    return {
        "failures": counted.failures,
        "recovered": counted.recovered,
        "rate": rate(counted.recovered, counted.failures),
        "accepted": counted.accepted,
    }


def _escalations(counted: EscalationTally) -> Escalations:
    return {
        "episodes": counted.episodes,
        "escalated": counted.escalated,
        "without_prior_retry": counted.clean,
        "rate": rate(counted.clean, counted.escalated),
    }


def _damage(retries: Retries, recovery: Recovery, escalations: Escalations) -> int:
    return (
        retries["wasted"]
        + retries["over_cap"]
        + retries["early"]
        + recovery["failures"]
        - recovery["recovered"]
        + escalations["escalated"]
        - escalations["without_prior_retry"]
    )


def _broken(
    per_task: RetriesPerResolvedTask,
    retries: Retries,
    recovery: Recovery,
    escalations: Escalations,
    *,
    targets: Targets,
) -> list[str]:
    """
    The names of the broken targets, each judged only on *min_cases* and more.
    """
    per_step, p95 = retries["per_step"], per_task["p95"]
    recovered, clean = recovery["rate"], escalations["rate"]
    judged = (
        ("retries_per_step", retries["steps"], per_step is not None and per_step >= targets.retries_per_step),
        ("retries_p95", per_task["resolved_tasks"], p95 is not None and p95 > targets.retries_p95),
        (
            "validation_recovery",
            recovery["failures"],
            recovered is not None and recovered < targets.validation_recovery,
        ),
        ("clean_escalations", escalations["escalated"], clean is not None and clean < targets.clean_escalations),
    )
    return [name for name, cases, is_missed in judged if is_missed and cases >= targets.min_cases]


def _detail(tool: ToolTally, unclassified_share: float | None) -> Detail:
    wasted: Counter[str] = Counter()
    for (_, code), counts in tool.in_vain.items():
        wasted[code] += counts.wasted
    return {
        "tail": rate(tool.retries_of_tasks.in_tail, tool.retries_of_tasks.resolved_tasks),
        "presumed_share": {
            "retries": rate(tool.retries.presumed, tool.retries.total),
            "rewrites": rate(tool.presumed_rewrites, tool.rewrites),
        },
        "unclassified_share": unclassified_share,
        "recovery_by_code": _recovery_by(tool.recovery_by_code),
        "recovery_by_field": _recovery_by(tool.recovery_by_field),
        "wasted_by_code": by_count(+wasted),
        "causes": _causes(tool.causes),
        "retried_in_vain": _retried_in_vain(tool.in_vain),
        "unresolved_tasks": tool.unresolved_tasks,
    }


def _recovery_by(counted: Mapping[str, RecoveryTally]) -> dict[str, Recovery]:
    """
    Validation recovery of each key, the one that loses most first, ties by name.
    """
    ordered = sorted(counted.items(), key=lambda item: (item[1].recovered - item[1].failures, item[0]))
    return {key: _recovery(counts) for key, counts in ordered}


def _causes(counted: Mapping[Cause, int]) -> list[CauseOfFailure]:
    """
    The most frequent first, ties by class and code.
    """
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return [{"class": error_class, "code": code, "failures": count} for (error_class, code), count in ordered]


def _retried_in_vain(counted: Mapping[Cause, VainTally]) -> list[RetriedInVain]:
    """
    What was retried most first, ties by class and code.
    """
    ordered = sorted(counted.items(), key=lambda item: (-sum(item[1]), item[0]))
    return [
        {"class": error_class, "code": code, "early": early, "over_cap": over_cap, "wasted": wasted}
        for (error_class, code), (early, over_cap, wasted) in ordered
    ]
