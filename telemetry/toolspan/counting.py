"""
Rows in, tallies out: what is counted of each tool in scope.

Each count is one expression over what one tool left in scope. Percentiles are nearest rank: a value that occurred.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from toolspan.documents import Tasks
from toolspan.records import Call, Rows, Task, TaskTool
from toolspan.scope import Scope, ToolRows, failures_and_answers, rows_by_tool, tasks_in
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
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass


def tally(rows: Rows, scope: Scope) -> Tally:
    """
    What is counted of *rows* in *scope*.
    """
    tasks = tasks_in(rows.tasks, scope)
    tools = rows_by_tool(rows, tasks, scope)
    return Tally(_tasks(tasks.values()), {tool: _tool(part) for tool, part in tools.items()})


def nearest_rank(ordered: Sequence[int], percent: int) -> int | None:
    """
    The smallest of the *ordered* values such that at least *percent* of them are not above it; None of no values.

    In integers: in floats 0.07 * 100 is 7.000000000000001, and the rank would be one too high.
    """
    return ordered[(len(ordered) * percent + 99) // 100 - 1] if ordered else None


def three_digits(duration_ns: int) -> int:
    """
    *duration_ns* rounded to three significant digits, half up; an end before its start is 0.
    """
    duration_ns = max(0, duration_ns)  # clocks of two processes may disagree
    unit: int = 10 ** max(0, len(str(duration_ns)) - 3)
    return (duration_ns + unit // 2) // unit * unit


def _tasks(tasks: Iterable[Task]) -> Tasks:
    outcomes = Counter(task.outcome if task.settled else "open" for task in tasks)
    return {
        "total": outcomes.total(),
        "resolved": outcomes["resolved"],
        "unresolved": outcomes["unresolved"],
        "escalated": outcomes["escalated"],
        "unknown": outcomes["unknown"],
        "open": outcomes["open"],
    }


def _tool(part: ToolRows) -> ToolTally:
    calls = part.outcomes.total()
    # rounding keeps the order, so the percentile of rounded values is the rounded percentile: no need to round each
    durations = sorted(part.durations_ns)
    rewrites = [call.presumed for call in part.settled if call.follow_up == "rewrite"]
    answered = list(failures_and_answers(part.settled))
    validation = [each for each in answered if each[0].error_class == ErrorClass.VALIDATION]
    return ToolTally(
        calls=calls,
        ok=part.outcomes["ok"],
        cancelled=part.outcomes["cancelled"],
        deferred=part.outcomes["deferred"],
        attempts=calls + sum(call.attempts - 1 for call in part.calls),
        locally_retried=sum(call.attempts > 1 for call in part.calls),
        p50_ns=three_digits(nearest_rank(durations, 50) or 0),
        p95_ns=three_digits(nearest_rank(durations, 95) or 0),
        causes=Counter(_cause(call) for call in part.calls if call.outcome == "error"),
        retries_of_tasks=_retries_of_tasks(part.retries_when_resolved),
        retries=_retries(part),
        recovery=_recovery(part.task_tools),
        rewrites=len(rewrites),
        presumed_rewrites=sum(rewrites),
        recovery_by_code=_recovery_by((failure.code or "", answer) for failure, answer in validation),
        recovery_by_field=_recovery_by((failure.field or "", answer) for failure, answer in validation),
        escalations=_escalations(part.task_tools),
        in_vain=_in_vain(answered),
        unresolved_tasks=part.unresolved_tasks,
    )


def _cause(failure: Call) -> Cause:
    return failure.error_class or ErrorClass.UNCLASSIFIED.value, failure.code or UNCLASSIFIED_CODE


def _retries_of_tasks(retries: Sequence[int]) -> RetriesOfTasks:
    ordered = sorted(retries)
    return RetriesOfTasks(
        resolved_tasks=len(ordered),
        retries=sum(ordered),
        p50=nearest_rank(ordered, 50),
        p95=nearest_rank(ordered, 95),
        p99=nearest_rank(ordered, 99),
        max=nearest_rank(ordered, 100),
        in_tail=sum(count > 1 for count in ordered),
    )


def _retries(part: ToolRows) -> RetryTally:
    retried = [row for row in part.task_tools if row.retries]
    return RetryTally(
        part.steps,
        sum(row.retries for row in retried),
        sum(row.presumed for row in retried),
        sum(row.allowed for row in retried),
        sum(row.early for row in retried),
        sum(row.over_cap for row in retried),
        sum(row.wasted for row in retried),
        sum(row.wasted_ns for row in retried),
    )


def _recovery(task_tools: Sequence[TaskTool]) -> RecoveryTally:
    failed = [row for row in task_tools if row.validation_failures]
    return RecoveryTally(
        sum(row.validation_failures for row in failed),
        sum(row.recovered for row in failed),
        sum(row.accepted for row in failed),
    )


def _escalations(task_tools: Sequence[TaskTool]) -> EscalationTally:
    denied = [row for row in task_tools if row.episodes]
    return EscalationTally(
        sum(row.episodes for row in denied),
        sum(row.escalated for row in denied),
        sum(row.clean for row in denied),
    )


def _recovery_by(answered: Iterable[tuple[str, Call | None]]) -> dict[str, RecoveryTally]:
    tallies: dict[str, RecoveryTally] = {}
    for key, answer in answered:
        failures, recovered, accepted = tallies.get(key, RecoveryTally())
        if answer is not None and answer.follow_up == "rewrite":
            recovered += answer.outcome == "ok"
            accepted += answer.error_class != ErrorClass.VALIDATION
        tallies[key] = RecoveryTally(failures + 1, recovered, accepted)
    return tallies


def _in_vain(answered: Iterable[tuple[Call, Call | None]]) -> dict[Cause, VainTally]:
    verdicts = Counter(
        (_cause(failure), answer.verdict) for failure, answer in answered if answer is not None and answer.verdict
    )
    tallies = {
        cause: VainTally(verdicts[cause, "early"], verdicts[cause, "over_cap"], verdicts[cause, "wasted"])
        for cause, _ in verdicts
    }
    return {cause: counts for cause, counts in tallies.items() if any(counts)}
