"""
Rows in, the document of `report` out: the three numbers per tool, what they cost, and which targets are broken.

Each number is one expression over what one tool left in scope.

Nothing is rounded but times. A rate without cases is None. Percentiles are nearest rank: a value that occurred.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from toolspan.documents import (
    Attempts,
    Detail,
    Durations,
    Escalations,
    GroupedReport,
    Recovery,
    Report,
    Retries,
    RetriesPerResolvedTask,
    Tasks,
    ToolReport,
    Window,
)
from toolspan.records import Call, Rows, Task, TaskTool
from toolspan.scope import EVERYTHING, Dimension, Scope, ToolRows, failures_and_answers, rows_by, rows_by_tool, tasks_in
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass
from toolspan.windows import format_time, milliseconds

__all__ = ["Scope", "Targets", "report", "report_by"]


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
    The document of `report --format json`; its tools come in order of damage, ties by wasted time, then by name.
    """
    tasks = tasks_in(rows.tasks, scope)
    tools = [(tool, _tool_report(part, targets)) for tool, part in rows_by_tool(rows, tasks, scope).items()]
    tools.sort(key=lambda item: (-item[1]["damage"], -item[1]["retries"]["wasted_ms"], item[0]))
    return {"window": window_of(scope), "tasks": _task_counts(tasks.values()), "tools": dict(tools)}


def report_by(
    rows: Rows, *, by: Dimension, scope: Scope = EVERYTHING, targets: Targets = DEFAULT_TARGETS
) -> GroupedReport:
    """
    One document per agent, service or environment; the most damage first, ties by name.
    """
    groups = [(value, report(part, scope=scope, targets=targets)) for value, part in rows_by(rows, by, scope).items()]
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


def nearest_rank(ordered: Sequence[int], percent: int) -> int | None:
    """
    The smallest of the *ordered* values such that at least *percent* of them are not above it; None of no values.
    """
    return ordered[_rank(len(ordered), percent)] if ordered else None


def by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """
    *counts* with the largest first, ties by name.
    """
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _rank(count: int, percent: int) -> int:
    """
    The place of the nearest rank among *count* values.

    In integers: in floats 0.07 * 100 is 7.000000000000001, and the rank would be one too high.
    """
    return (count * percent + 99) // 100 - 1


def _task_counts(tasks: Iterable[Task]) -> Tasks:
    outcomes = Counter(task.outcome if task.settled else "open" for task in tasks)
    return {
        "total": outcomes.total(),
        "resolved": outcomes["resolved"],
        "unresolved": outcomes["unresolved"],
        "escalated": outcomes["escalated"],
        "unknown": outcomes["unknown"],
        "open": outcomes["open"],
    }


def _tool_report(part: ToolRows, targets: Targets) -> ToolReport:
    failures = [call for call in part.calls if call.outcome == "error"]
    classes = Counter(call.error_class or ErrorClass.UNCLASSIFIED for call in failures)
    per_task = _retries_per_resolved_task(part.retries_when_resolved)
    retries = _retries(part)
    recovery = _recovery(part.task_tools)
    escalations = _escalations(part.task_tools)
    return {
        "calls": part.outcomes.total(),
        "ok": part.outcomes["ok"],
        "cancelled": part.outcomes["cancelled"],
        "deferred": part.outcomes["deferred"],
        "errors": {name.value: classes[name] for name in ErrorClass},
        "codes": by_count(Counter(call.code or UNCLASSIFIED_CODE for call in failures)),
        "retries_per_resolved_task": per_task,
        "retries": retries,
        "validation_recovery": recovery,
        "escalations": escalations,
        "attempts": _attempts(part),
        "damage": _damage(retries, recovery, escalations),
        "broken": _broken(per_task, retries, recovery, escalations, targets=targets),
        "duration_ms": _durations(part.durations_ns),
        "detail": _detail(part, rate(classes[ErrorClass.UNCLASSIFIED], len(failures))),
    }


def _retries_per_resolved_task(retries: Sequence[int]) -> RetriesPerResolvedTask:
    ordered = sorted(retries)
    return {
        "resolved_tasks": len(ordered),
        "retries": sum(ordered),
        "mean": rate(sum(ordered), len(ordered)),
        "p50": nearest_rank(ordered, 50),
        "p95": nearest_rank(ordered, 95),
        "p99": nearest_rank(ordered, 99),
        "max": nearest_rank(ordered, 100),
    }


def _retries(part: ToolRows) -> Retries:
    retried = [row for row in part.task_tools if row.retries]
    total = sum(row.retries for row in retried)
    return {
        "total": total,
        "presumed": sum(row.presumed for row in retried),
        "allowed": sum(row.allowed for row in retried),
        "early": sum(row.early for row in retried),
        "over_cap": sum(row.over_cap for row in retried),
        "wasted": sum(row.wasted for row in retried),
        "wasted_ms": milliseconds(sum(row.wasted_ns for row in retried)),
        "steps": part.steps,
        "per_step": rate(total, part.steps),
    }


def _recovery(task_tools: Sequence[TaskTool]) -> Recovery:
    failed = [row for row in task_tools if row.validation_failures]
    failures = sum(row.validation_failures for row in failed)
    recovered = sum(row.recovered for row in failed)
    return {
        "failures": failures,
        "recovered": recovered,
        "rate": rate(recovered, failures),
        "accepted": sum(row.accepted for row in failed),
    }


def _escalations(task_tools: Sequence[TaskTool]) -> Escalations:
    denied = [row for row in task_tools if row.episodes]
    escalated = sum(row.escalated for row in denied)
    clean = sum(row.clean for row in denied)
    return {
        "episodes": sum(row.episodes for row in denied),
        "escalated": escalated,
        "without_prior_retry": clean,
        "rate": rate(clean, escalated),
    }


def _attempts(part: ToolRows) -> Attempts:
    return {
        "total": part.outcomes.total() + sum(call.attempts - 1 for call in part.calls),
        "calls_with_local_retry": sum(call.attempts > 1 for call in part.calls),
    }


def _durations(durations_ns: Sequence[int]) -> Durations:
    """
    Rounding keeps the order, so the percentile of rounded values is the rounded percentile: no need to round each.
    """
    ordered, count = sorted(durations_ns), len(durations_ns)
    return {"p50": _rounded_ms(ordered[_rank(count, 50)]), "p95": _rounded_ms(ordered[_rank(count, 95)])}


def _rounded_ms(duration_ns: int) -> float:
    """
    *duration_ns* rounded to three significant digits, half up, while it is nanoseconds; then in milliseconds.
    """
    duration_ns = max(0, duration_ns)  # clocks of two processes may disagree
    unit = 10 ** max(0, len(str(duration_ns)) - 3)
    return milliseconds((duration_ns + unit // 2) // unit * unit)


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


def _detail(part: ToolRows, unclassified_share: float | None) -> Detail:
    validation: list[tuple[Call, Call | None]] = []
    wasted: Counter[str] = Counter()
    for failure, answer in failures_and_answers(part.settled):
        if failure.error_class == ErrorClass.VALIDATION:
            validation.append((failure, answer))
        if answer is not None and answer.verdict == "wasted":
            wasted[failure.code or UNCLASSIFIED_CODE] += 1
    return {
        "tail": rate(sum(retries > 1 for retries in part.retries_when_resolved), len(part.retries_when_resolved)),
        "presumed_share": {
            "retries": _presumed_share(part.settled, "retry"),
            "rewrites": _presumed_share(part.settled, "rewrite"),
        },
        "unclassified_share": unclassified_share,
        "recovery_by_code": _recovery_by((failure.code or "", answer) for failure, answer in validation),
        "recovery_by_field": _recovery_by((failure.field or "", answer) for failure, answer in validation),
        "wasted_by_code": by_count(wasted),
    }


def _presumed_share(settled: Sequence[Call], follow_up: str) -> float | None:
    presumed = [call.presumed for call in settled if call.follow_up == follow_up]
    return rate(sum(presumed), len(presumed))


def _recovery_by(answered: Iterable[tuple[str, Call | None]]) -> dict[str, Recovery]:
    """
    Validation recovery of each key, the one that loses most first, ties by name.
    """
    counts: dict[str, Recovery] = {}
    for key, answer in answered:
        entry = counts.setdefault(key, {"failures": 0, "recovered": 0, "rate": None, "accepted": 0})
        entry["failures"] += 1
        if answer is not None and answer.follow_up == "rewrite":
            entry["recovered"] += answer.outcome == "ok"
            entry["accepted"] += answer.error_class != ErrorClass.VALIDATION
    for entry in counts.values():
        entry["rate"] = rate(entry["recovered"], entry["failures"])
    return dict(sorted(counts.items(), key=lambda item: (item[1]["recovered"] - item[1]["failures"], item[0])))
