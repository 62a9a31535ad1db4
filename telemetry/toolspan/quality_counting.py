"""
Rows in, tallies out: what `quality` counts of each tool in scope.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from toolspan.quality_tallies import (
    NO_STREAK,
    AttemptTally,
    AuditTally,
    LastCall,
    LinkTally,
    QualityTally,
    StreakTally,
    TaskTally,
    ToolQualityTally,
)
from toolspan.records import Call, Rows, Task, TaskTool
from toolspan.scope import Scope, ToolRows, failures_and_answers, rows_by_tool, tasks_in
from toolspan.tallies import Cause
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass


def tally_quality(rows: Rows, scope: Scope) -> QualityTally:
    """
    What is counted of *rows* in *scope*.
    """
    tasks = tasks_in(rows.tasks, scope)
    settled = [task for task in tasks.values() if task.settled]
    unhandled = {task.task_id: task for task in settled if task.unhandled}
    return QualityTally(
        TaskTally(len(settled), sum(task.outcome == "resolved" for task in settled), len(unhandled)),
        {tool: _tool(part) for tool, part in rows_by_tool(rows, tasks, scope).items()},
        [call for call in _last_calls(rows.calls, unhandled) if scope.tool in (None, call.tool)],
    )


def tells_of_class(failure: Call, answer: Call) -> bool:
    """
    Whether the end of *answer*, which answers *failure*, shows if the class of the failure is right.
    """
    if answer.follow_up != "retry" or answer.presumed:
        return False
    return failure.error_class != ErrorClass.PERMISSION or answer.verdict == "wasted"


def _tool(part: ToolRows) -> ToolQualityTally:
    failures = [call for call in part.calls if call.outcome == "error"]
    presumed = [call.presumed for call in part.settled if call.follow_up is not None]
    return ToolQualityTally(
        calls=part.outcomes.total(),
        causes=Counter(map(_cause, failures)),
        audits=_audits(part.settled),
        streak=_streak(part.task_tools),
        lint=Counter(call.lint for call in part.calls if call.lint),
        attempts=_attempts(part),
        links=LinkTally(len(presumed), sum(presumed)),
        evidence=Counter(call.evidence for call in failures if _cause(call)[0] == ErrorClass.UNCLASSIFIED),
    )


def _cause(failure: Call) -> Cause:
    return failure.error_class or ErrorClass.UNCLASSIFIED.value, failure.code or UNCLASSIFIED_CODE


def _audits(settled: Sequence[Call]) -> dict[Cause, AuditTally]:
    failures: Counter[Cause] = Counter()
    retried: Counter[Cause] = Counter()
    succeeded: Counter[Cause] = Counter()
    for failure, answer in failures_and_answers(settled):
        cause = _cause(failure)
        failures[cause] += 1
        if answer is not None and tells_of_class(failure, answer):
            retried[cause] += 1
            succeeded[cause] += answer.outcome == "ok"
    return {cause: AuditTally(failures[cause], count, succeeded[cause]) for cause, count in retried.items()}


def _streak(task_tools: Iterable[TaskTool]) -> StreakTally:
    longest = min(
        (row for row in task_tools if row.streak),
        key=lambda row: (-row.streak, row.streak_code or "", row.task_id),  # the same in whatever order rows arrive
        default=None,
    )
    return NO_STREAK if longest is None else StreakTally(longest.streak, longest.streak_code, longest.task_id)


def _attempts(part: ToolRows) -> AttemptTally:
    return AttemptTally(
        part.outcomes.total() + sum(call.attempts - 1 for call in part.calls),
        sum(call.attempts > 1 for call in part.calls),
        sum(call.waited_ms or 0 for call in part.calls),
        sum(call.budget_exhausted for call in part.calls),
    )


def _last_calls(calls: Iterable[Call], tasks: Mapping[str, Task]) -> list[LastCall]:
    last: dict[str, Call] = {}
    for call in calls:
        if call.task_id in tasks:
            earlier = last.get(call.task_id)
            if earlier is None or _ended(call) > _ended(earlier):
                last[call.task_id] = call
    return [
        LastCall(task_id, tasks[task_id].name, call.tool, _cause(call), call.ended_ns) for task_id, call in last.items()
    ]


def _ended(call: Call) -> tuple[int, int, bytes, bytes]:
    return call.ended_ns, call.started_ns, call.span_id, call.trace_id
