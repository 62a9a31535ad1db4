"""
The numbers of `report` once more, each as its definition reads and as slow: from calls, tasks and escalations only, no
sums, no episodes, no totals.

Every call is taken for one span, so that an escalation for a span that ended deferred is of the call with that span id.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import TypeAlias

from toolspan.numbers import Scope, Targets
from toolspan.records import Call, Escalation, Rows, Task

MS = 10**6
CLASSES = ("transient", "validation", "permission", "business_rule", "fatal", "unclassified")
OUTCOMES = ("resolved", "unresolved", "escalated", "unknown", "open")
VAIN = ("early", "over_cap", "wasted")
Document: TypeAlias = dict[str, object]


def literal_report(rows: Rows, scope: Scope, targets: Targets) -> Document:
    """
    The document but for its window and the order of what has no order.
    """
    tasks = tasks_of(rows, scope)
    ids = {task.task_id for task in tasks}
    calls = [call for call in rows.calls if call.task_id in ids and scope.tool in (None, call.tool)]
    outcomes = Counter(task.outcome if task.settled else "open" for task in tasks)
    return {
        "tasks": {"total": len(tasks), **{name: outcomes[name] for name in OUTCOMES}},
        "tools": {
            tool: LiteralTool([call for call in calls if call.tool == tool], rows.escalations, tasks).document(targets)
            for tool in {call.tool for call in calls}
        },
    }


def tasks_of(rows: Rows, scope: Scope) -> list[Task]:
    """
    The tasks that the window and the filters hold.
    """
    return [
        task
        for task in rows.tasks
        if (scope.since_ns is None or scope.since_ns <= task.ended_ns)
        and (scope.until_ns is None or (task.settled and task.ended_ns < scope.until_ns))
        and (scope.agent is None or scope.agent == task.agent)
        and (scope.service is None or scope.service == task.service)
        and (scope.environment is None or scope.environment == task.environment)
    ]


def percentile(values: Sequence[float], percent: int) -> float | None:
    """
    The smallest value such that at least so many percent of the values are not above it.
    """
    for value in sorted(values):
        if Fraction(sum(other <= value for other in values), len(values)) >= Fraction(percent, 100):
            return value
    return None


def ratio(part: int, whole: int) -> float | None:
    """
    None of nothing.
    """
    return None if whole == 0 else part / whole


def rounded_ms(ns: Decimal) -> float:
    """
    Three decimals of the milliseconds, half up.
    """
    return float((ns / MS).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP))


def duration_ms(call: Call) -> float:
    """
    Three significant digits of the nanoseconds, half up, then milliseconds.
    """
    number = Decimal(max(0, call.ended_ns - call.started_ns))
    digit = Decimal(1).scaleb(max(0, number.adjusted() - 2))
    return rounded_ms(number.quantize(digit, rounding=ROUND_HALF_UP))


class LiteralTool:
    """
    One tool.

    Args:
        calls: its calls of *tasks*, which are those in scope.
    """

    def __init__(self, calls: list[Call], escalations: Sequence[Escalation], tasks: Sequence[Task]) -> None:
        self.calls = sorted(calls, key=lambda call: (call.started_ns, call.span_id, call.trace_id))
        self.escalations = sorted(escalations, key=lambda row: (row.at_ns, row.trace_id, row.span_id, row.source))
        called = {call.task_id for call in calls}
        self.settled = [task for task in tasks if task.settled and task.task_id in called]
        ids = {task.task_id for task in self.settled}
        self.closed = [call for call in self.calls if call.task_id in ids]
        self.retries = [call for call in self.closed if call.follow_up == "retry"]
        self.rewrites = [call for call in self.closed if call.follow_up == "rewrite"]
        self.failures = [call for call in self.closed if call.error_class == "validation"]

    def document(self, targets: Targets) -> Document:
        """
        All its numbers.
        """
        errors = [call for call in self.calls if call.outcome == "error"]
        by_class = Counter(call.error_class for call in errors)
        outcomes = Counter(call.outcome for call in self.calls)
        durations = [duration_ms(call) for call in self.calls]
        return {
            "calls": len(self.calls),
            **{name: outcomes[name] for name in ("ok", "cancelled", "deferred")},
            "errors": {name: by_class[name] for name in CLASSES},
            "codes": dict(Counter(call.code for call in errors)),
            "retries_per_resolved_task": self.retries_per_resolved_task(),
            "retries": self.retries_by_verdict(),
            "validation_recovery": self.recovery(self.failures),
            "escalations": self.escalation(),
            "attempts": {
                "total": sum(call.attempts for call in self.calls),
                "calls_with_local_retry": sum(call.attempts > 1 for call in self.calls),
            },
            "damage": self.damage(),
            "broken": self.broken(targets),
            "duration_ms": {"p50": percentile(durations, 50), "p95": percentile(durations, 95)},
            "detail": self.detail(errors),
        }

    def per_task(self) -> list[int]:
        """
        "For resolved tasks that called the tool (no others): number of retries in each."
        """
        return [
            sum(call.task_id == task.task_id for call in self.retries)
            for task in self.settled
            if task.outcome == "resolved"
        ]

    def retries_per_resolved_task(self) -> Document:
        per_task = self.per_task()
        return {
            "resolved_tasks": len(per_task),
            "retries": sum(per_task),
            "mean": ratio(sum(per_task), len(per_task)),
            **{f"p{percent}": percentile(per_task, percent) for percent in (50, 95, 99)},
            "max": max(per_task, default=None),
        }

    def steps(self) -> int:
        """
        "every step in which the tool was called"
        """
        return len({(call.task_id, call.step) for call in self.closed})

    def count(self, verdict: str) -> int:
        """
        Retries of one verdict.
        """
        return sum(call.verdict == verdict for call in self.retries)

    def retries_by_verdict(self) -> Document:
        return {
            "total": len(self.retries),
            "presumed": sum(call.presumed for call in self.retries),
            **{verdict: self.count(verdict) for verdict in ("allowed", *VAIN)},
            "wasted_ms": rounded_ms(Decimal(sum(call.wasted_ns for call in self.closed))),
            "steps": self.steps(),
            "per_step": ratio(len(self.retries), self.steps()),
        }

    def answers(self, failure: Call) -> list[Call]:
        """
        The call that answers *failure*, if there is one.
        """
        key = (failure.task_id, failure.span_id)
        return [call for call in self.closed if (call.task_id, call.follows) == key]

    def recovered(self, failures: Iterable[Call]) -> tuple[int, int]:
        """
        Rewrites that ended ok, and those that were no longer a validation failure.
        """
        rewrites = [call for failure in failures for call in self.answers(failure) if call.follow_up == "rewrite"]
        accepted = sum(call.error_class != "validation" for call in rewrites)
        return sum(call.outcome == "ok" for call in rewrites), accepted

    def recovery(self, failures: Sequence[Call]) -> Document:
        recovered, accepted = self.recovered(failures)
        return {
            "failures": len(failures),
            "recovered": recovered,
            "rate": ratio(recovered, len(failures)),
            "accepted": accepted,
        }

    def episodes(self) -> tuple[int, int, int]:
        """
        Episodes, escalated ones, and those without a retry before.
        """
        opened = escalated = clean = 0
        for task in self.settled:
            reopens_at: float = -1
            calls = [call for call in self.calls if call.task_id == task.task_id]
            heard = [row for row in self.escalations if row.task_id == task.task_id and row.tool in ("", calls[0].tool)]
            for failure in (call for call in calls if call.error_class == "permission"):
                if failure.started_ns < reopens_at:
                    continue
                closing = next((row for row in heard if row.at_ns >= failure.ended_ns), None)
                opened += 1
                reopens_at = float("inf") if closing is None else closing.at_ns
                if closing is not None:
                    escalated += 1
                    clean += not any(is_between(failure, call, closing) for call in calls)
        return opened, escalated, clean

    def escalation(self) -> Document:
        opened, escalated, clean = self.episodes()
        return {
            "episodes": opened,
            "escalated": escalated,
            "without_prior_retry": clean,
            "rate": ratio(clean, escalated),
        }

    def damage(self) -> int:
        """
        "wasted + over_cap + early retries + validation failures not recovered + escalations after a retry"
        """
        recovered, _ = self.recovered(self.failures)
        _, escalated, clean = self.episodes()
        return sum(self.count(verdict) for verdict in VAIN) + len(self.failures) - recovered + escalated - clean

    def broken(self, targets: Targets) -> list[str]:
        per_task, steps, failures = self.per_task(), self.steps(), len(self.failures)
        p95 = percentile(per_task, 95)
        recovered, _ = self.recovered(self.failures)
        _, escalated, clean = self.episodes()
        least = max(1, targets.min_cases)
        judged = {
            "retries_per_step": steps >= least and len(self.retries) / steps >= targets.retries_per_step,
            "retries_p95": len(per_task) >= least and p95 is not None and p95 > targets.retries_p95,
            "validation_recovery": failures >= least and recovered / failures < targets.validation_recovery,
            "clean_escalations": escalated >= least and clean / escalated < targets.clean_escalations,
        }
        return [name for name, is_broken in judged.items() if is_broken]

    def detail(self, errors: Sequence[Call]) -> Document:
        per_task = self.per_task()
        vain = [(f, call.verdict) for f in self.closed for call in self.answers(f) if call.verdict in VAIN]
        by_cause = Counter((f.error_class, f.code, verdict) for f, verdict in vain)
        retried = Counter((f.error_class, f.code) for f, _ in vain)
        return {
            "tail": ratio(sum(retries > 1 for retries in per_task), len(per_task)),
            "presumed_share": {
                "retries": ratio(sum(call.presumed for call in self.retries), len(self.retries)),
                "rewrites": ratio(sum(call.presumed for call in self.rewrites), len(self.rewrites)),
            },
            "unclassified_share": ratio(sum(call.error_class == "unclassified" for call in errors), len(errors)),
            "recovery_by_code": {
                code or "": self.recovery([f for f in self.failures if f.code == code])
                for code in {f.code for f in self.failures}
            },
            "recovery_by_field": {
                field or "": self.recovery([f for f in self.failures if f.field == field])
                for field in {f.field for f in self.failures}
            },
            "wasted_by_code": dict(Counter(f.code for f, verdict in vain if verdict == "wasted")),
            "causes": [
                {"class": error_class, "code": code, "failures": count}
                for (error_class, code), count in most_first(Counter((f.error_class, f.code) for f in errors))
            ],
            "retried_in_vain": [
                {"class": error_class, "code": code, **{name: by_cause[error_class, code, name] for name in VAIN}}
                for (error_class, code), _ in most_first(retried)
            ],
            "unresolved_tasks": sum(task.outcome == "unresolved" for task in self.settled),
        }


def is_between(failure: Call, call: Call, closing: Escalation) -> bool:
    """
    Whether *call* is a retry after *failure* and before the escalation *closing*, which is not its own.
    """
    is_own = closing.source in ("deferred", "tool") and (closing.trace_id, closing.span_id) == key_of(call)
    is_after = key_of(call) != key_of(failure) and failure.ended_ns <= call.started_ns
    return is_after and call.started_ns < closing.at_ns and not is_own


def key_of(call: Call) -> tuple[bytes, bytes]:
    """
    What identifies the span of *call*.
    """
    return call.trace_id, call.span_id


Cause: TypeAlias = tuple[str | None, str | None]


def most_first(counts: Counter[Cause]) -> list[tuple[Cause, int]]:
    """
    The largest first, ties by class and code.
    """
    return sorted(counts.items(), key=lambda item: (-item[1], str(item[0][0]), str(item[0][1])))
