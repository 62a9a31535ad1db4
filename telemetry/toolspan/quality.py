"""
Rows in, the document of `quality` out: whether the numbers and the tools that fail can be believed.

Everything that rests on links counts settled tasks, everything about single calls counts every call.

**Class audit.** A class says whether the identical call may succeed, and identical retries show it. An honest
non-transient code succeeds almost never when nothing changes, an honest transient one mostly does; a code is suspect
when the interval around its rate of success lies wholly on the wrong side of 30 %. The interval is Wilson's at 95 %
(that of the normal approximation is 100 %…100 % for 3 of 3): 0 of 9 suffice against a transient code, 4 of 5 against
another. Below five retries nothing is suspect, since 3 of 3 is already [44 %, 100 %]. Two kinds of retry say nothing of
the class and are left out: presumed ones, and those of a permission failure after an escalation, for then a human may
have changed what it takes. An unclassified failure claims nothing, so it is shown and never suspect.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final

from toolspan.documents import (
    AuditedCode,
    Cluster,
    GroupedQuality,
    LocalAttempts,
    Presumed,
    Quality,
    Streak,
    ToolQuality,
    Unclassified,
    UnhandledFailure,
)
from toolspan.lint import LintFlag
from toolspan.numbers import by_count, rate, window_of
from toolspan.records import Call, Rows, Task, TaskTool
from toolspan.scope import EVERYTHING, Dimension, Scope, ToolRows, failures_and_answers, rows_by, rows_by_tool, tasks_in
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass
from toolspan.windows import format_time

#: 97.5th percentile of the normal distribution: a two-sided 95 %
_Z: Final = 1.959964
_AUDIT_LINE: Final = 0.3
_AUDIT_CASES: Final = 5
_CLUSTER_CASES: Final = 20
_CLUSTER_SHARE: Final = 0.5
#: of unclassified evidence; the first few carry most of it, and each is work for a person
_EVIDENCE_SHOWN: Final = 5


def quality(rows: Rows, *, scope: Scope = EVERYTHING) -> Quality:
    """
    The document of `quality --format json`; its tools come in order of failures, ties by name.
    """
    tasks = tasks_in(rows.tasks, scope)
    tools = [(tool, _tool_quality(part)) for tool, part in rows_by_tool(rows, tasks, scope).items()]
    tools.sort(key=lambda item: (-item[1]["failures"], item[0]))
    settled = [task for task in tasks.values() if task.settled]
    resolved = sum(task.outcome == "resolved" for task in settled)
    unhandled = {task.task_id: task for task in settled if task.unhandled}
    return {
        "window": window_of(scope),
        "tasks": {
            "settled": len(settled),
            "resolved": resolved,
            "unhandled": len(unhandled),
            "unhandled_share": rate(len(unhandled), resolved),
        },
        "tools": dict(tools),
        "unhandled_failures": _unhandled_failures(rows.calls, unhandled, scope.tool),
    }


def quality_by(rows: Rows, *, by: Dimension, scope: Scope = EVERYTHING) -> GroupedQuality:
    """
    One document per agent, service or environment, in order of name.
    """
    groups = rows_by(rows, by, scope)
    return {"by": by, "groups": {value: quality(groups[value], scope=scope) for value in sorted(groups)}}


def wilson(successes: int, cases: int) -> tuple[float, float]:
    """
    Wilson's 95 % interval for the rate behind *successes* of *cases*; (0, 1) without a case.
    """
    if not cases:
        return 0.0, 1.0
    square = _Z * _Z
    centre = (successes + square / 2) / (cases + square)
    reach = _Z * sqrt(successes * (cases - successes) / cases + square / 4) / (cases + square)
    # the ends are exact where nothing or everything succeeded; the sums miss them by a rounding
    return 0.0 if successes == 0 else centre - reach, 1.0 if successes == cases else centre + reach


def _tool_quality(part: ToolRows) -> ToolQuality:
    failures = [call for call in part.calls if call.outcome == "error"]
    return {
        "calls": part.outcomes.total(),
        "failures": len(failures),
        "class_audit": _class_audit(part.settled),
        "streak": _streak(part.task_tools),
        "cluster": _cluster(failures),
        "lint": _lint(part.calls),
        "codes_with_two_classes": _codes_with_two_classes(failures),
        "local_attempts": _local_attempts(part),
        "presumed": _presumed(part.settled),
        "unclassified": _unclassified(failures),
    }


def _class_audit(settled: Sequence[Call]) -> list[AuditedCode]:
    failures: Counter[tuple[str, str]] = Counter()
    retried: Counter[tuple[str, str]] = Counter()
    succeeded: Counter[tuple[str, str]] = Counter()
    for failure, answer in failures_and_answers(settled):
        key = _class_of(failure), _code_of(failure)
        failures[key] += 1
        if answer is not None and _tells_of_class(failure, answer):
            retried[key] += 1
            succeeded[key] += answer.outcome == "ok"
    audited = [_audited(*key, failures[key], retried[key], succeeded[key]) for key in retried]
    return sorted(audited, key=lambda row: (not row["suspect"], -row["identical_retries"], row["code"], row["class"]))


def _tells_of_class(failure: Call, answer: Call) -> bool:
    if answer.follow_up != "retry" or answer.presumed:
        return False
    return failure.error_class != ErrorClass.PERMISSION or answer.verdict == "wasted"


def _audited(error_class: str, code: str, failures: int, retried: int, succeeded: int) -> AuditedCode:
    low, high = wilson(succeeded, retried)
    if error_class == ErrorClass.TRANSIENT:
        is_wrong = high < _AUDIT_LINE
    else:
        is_wrong = low > _AUDIT_LINE and error_class != ErrorClass.UNCLASSIFIED
    return {
        "code": code,
        "class": error_class,
        "failures": failures,
        "identical_retries": retried,
        "succeeded": succeeded,
        "rate": succeeded / retried,
        "interval": [low, high],
        "suspect": is_wrong and retried >= _AUDIT_CASES,
    }


def _streak(task_tools: Iterable[TaskTool]) -> Streak:
    longest = min(
        (row for row in task_tools if row.streak),
        key=lambda row: (-row.streak, row.streak_code or "", row.task_id),  # the same in whatever order rows arrive
        default=None,
    )
    if longest is None:
        return {"longest": 0, "code": None, "task_id": None}
    return {"longest": longest.streak, "code": longest.streak_code, "task_id": longest.task_id}


def _cluster(failures: Sequence[Call]) -> Cluster | None:
    """
    One class of more than half of the failures, of at least 20: an envelope problem more than a prompt problem.
    """
    if len(failures) < _CLUSTER_CASES:
        return None
    [(error_class, count)] = Counter(_class_of(call) for call in failures).most_common(1)
    if error_class == ErrorClass.UNCLASSIFIED or count <= _CLUSTER_SHARE * len(failures):
        return None
    return {"class": error_class, "failures": count, "share": count / len(failures)}


def _lint(calls: Iterable[Call]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for bits, count in Counter(call.lint for call in calls if call.lint).items():
        for flag in LintFlag(bits):
            counts[str(flag.name).lower()] += count
    return by_count(counts)


def _codes_with_two_classes(failures: Iterable[Call]) -> dict[str, dict[str, int]]:
    classes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for call in failures:
        if call.error_class is not None and call.error_class != ErrorClass.UNCLASSIFIED:
            classes[_code_of(call)][call.error_class] += 1
    return {code: by_count(counts) for code, counts in sorted(classes.items()) if len(counts) > 1}


def _local_attempts(part: ToolRows) -> LocalAttempts:
    calls = part.outcomes.total()
    return {
        "calls_with_local_retry": sum(call.attempts > 1 for call in part.calls),
        "attempts_per_call": rate(calls + sum(call.attempts - 1 for call in part.calls), calls),
        "waited_ms": sum(call.waited_ms or 0 for call in part.calls),
        "budget_exhausted": sum(call.budget_exhausted for call in part.calls),
    }


def _presumed(settled: Iterable[Call]) -> Presumed:
    presumed = [call.presumed for call in settled if call.follow_up is not None]
    return {"links": len(presumed), "presumed": sum(presumed), "share": rate(sum(presumed), len(presumed))}


def _unclassified(failures: Sequence[Call]) -> Unclassified:
    unclassified = [call for call in failures if _class_of(call) == ErrorClass.UNCLASSIFIED]
    evidence = by_count(Counter(call.evidence for call in unclassified))
    return {
        "failures": len(unclassified),
        "share": rate(len(unclassified), len(failures)),
        "evidence": dict(list(evidence.items())[:_EVIDENCE_SHOWN]),
    }


def _unhandled_failures(calls: Iterable[Call], tasks: dict[str, Task], tool: str | None) -> list[UnhandledFailure]:
    last: dict[str, Call] = {}
    for call in calls:
        if call.task_id in tasks:
            earlier = last.get(call.task_id)
            if earlier is None or _ended(call) > _ended(earlier):
                last[call.task_id] = call
    return [
        {
            "task_id": call.task_id,
            "task": tasks[call.task_id].name,
            "tool": call.tool,
            "class": _class_of(call),
            "code": _code_of(call),
            "ended_at": format_time(call.ended_ns),
        }
        for call in sorted(last.values(), key=lambda call: (-call.ended_ns, call.task_id))
        if tool in (None, call.tool)
    ]


def _ended(call: Call) -> tuple[int, int, bytes]:
    return call.ended_ns, call.started_ns, call.span_id


def _class_of(call: Call) -> str:
    return call.error_class or ErrorClass.UNCLASSIFIED.value


def _code_of(call: Call) -> str:
    return call.code or UNCLASSIFIED_CODE
