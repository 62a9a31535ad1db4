"""
Tallies in, the document of `quality` out: whether the numbers and the tools that fail can be believed.

**Class audit.** A class says whether the identical call may succeed, and identical retries show it. An honest
non-transient code succeeds almost never when nothing changes, an honest transient one mostly does; a code is suspect
when the interval around its rate of success lies wholly on the wrong side of 30 %. The interval is Wilson's at 95 %
(that of the normal approximation is 100 %…100 % for 3 of 3): 0 of 9 suffice against a transient code, 4 of 5 against
another. Below five retries nothing is suspect, since 3 of 3 is already [44 %, 100 %]. Two kinds of retry say nothing of
the class and are left out: presumed ones, and those of a permission failure after an escalation, for then a human may
have changed what it takes. An unclassified failure claims nothing, so it is shown and never suspect.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Final

from toolspan.documents import (
    AuditedCode,
    Cluster,
    GroupedQuality,
    LocalAttempts,
    Quality,
    ToolQuality,
    Unclassified,
    UnhandledFailure,
)
from toolspan.lint import LintFlag
from toolspan.numbers import by_count, rate, window_of
from toolspan.quality_counting import tally_quality, tells_of_class
from toolspan.quality_tallies import AttemptTally, AuditTally, LastCall, QualityTally, ToolQualityTally
from toolspan.records import Rows
from toolspan.scope import EVERYTHING, Dimension, Scope, rows_by
from toolspan.tallies import Cause
from toolspan.taxonomy import ErrorClass
from toolspan.windows import format_time

__all__ = [
    "by_rule",
    "grouped_quality_of",
    "quality",
    "quality_by",
    "quality_of",
    "tells_of_class",
    "wilson",
]

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
    The document of `quality --format json`.
    """
    return quality_of(tally_quality(rows, scope), scope=scope)


def quality_by(rows: Rows, *, by: Dimension, scope: Scope = EVERYTHING) -> GroupedQuality:
    """
    One document per agent, service or environment.
    """
    tallies = {value: tally_quality(part, scope) for value, part in rows_by(rows, by, scope).items()}
    return grouped_quality_of(tallies, by=by, scope=scope)


def quality_of(counted: QualityTally, *, scope: Scope) -> Quality:
    """
    The document of what was *counted* in *scope*; its tools come in order of failures, ties by name.
    """
    tools = [(name, _tool_quality(tool)) for name, tool in counted.tools.items()]
    tools.sort(key=lambda item: (-item[1]["failures"], item[0]))
    settled, resolved, unhandled = counted.tasks
    return {
        "window": window_of(scope),
        "tasks": {
            "settled": settled,
            "resolved": resolved,
            "unhandled": unhandled,
            "unhandled_share": rate(unhandled, resolved),
        },
        "tools": dict(tools),
        "unhandled_failures": _unhandled_failures(counted.last_calls),
    }


def grouped_quality_of(counted: Mapping[str, QualityTally], *, by: Dimension, scope: Scope) -> GroupedQuality:
    """
    The documents of what was *counted* for each value of *by*, in order of name.
    """
    return {"by": by, "groups": {value: quality_of(part, scope=scope) for value, part in sorted(counted.items())}}


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


def by_rule(counted: Mapping[int, int]) -> dict[str, int]:
    """
    Calls by broken rule, from calls by the set of rules that they break; the most frequent first.
    """
    rules: Counter[str] = Counter()
    for bits, count in counted.items():
        for flag in LintFlag(bits):
            rules[str(flag.name).lower()] += count
    return by_count(rules)


def _tool_quality(tool: ToolQualityTally) -> ToolQuality:
    longest, code, task_id = tool.streak
    links, presumed = tool.links
    return {
        "calls": tool.calls,
        "failures": sum(tool.causes.values()),
        "class_audit": _class_audit(tool.audits),
        "streak": {"longest": longest, "code": code, "task_id": task_id},
        "cluster": _cluster(tool.causes),
        "lint": by_rule(tool.lint),
        "codes_with_two_classes": _codes_with_two_classes(tool.causes),
        "local_attempts": _local_attempts(tool.calls, tool.attempts),
        "presumed": {"links": links, "presumed": presumed, "share": rate(presumed, links)},
        "unclassified": _unclassified(tool.causes, tool.evidence),
    }


def _class_audit(counted: Mapping[Cause, AuditTally]) -> list[AuditedCode]:
    audited = [_audited(cause, counts) for cause, counts in counted.items()]
    return sorted(audited, key=lambda row: (not row["suspect"], -row["identical_retries"], row["code"], row["class"]))


def _audited(cause: Cause, counted: AuditTally) -> AuditedCode:
    (error_class, code), (failures, retried, succeeded) = cause, counted
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


def _cluster(causes: Mapping[Cause, int]) -> Cluster | None:
    """
    One class of more than half of the failures, of at least 20: an envelope problem more than a prompt problem.
    """
    classes: Counter[str] = Counter()
    for (error_class, _), failures in causes.items():
        classes[error_class] += failures
    if classes.total() < _CLUSTER_CASES:
        return None
    [(error_class, failures)] = classes.most_common(1)
    if error_class == ErrorClass.UNCLASSIFIED or failures <= _CLUSTER_SHARE * classes.total():
        return None
    return {"class": error_class, "failures": failures, "share": failures / classes.total()}


def _codes_with_two_classes(causes: Mapping[Cause, int]) -> dict[str, dict[str, int]]:
    classes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (error_class, code), failures in causes.items():
        if error_class != ErrorClass.UNCLASSIFIED:
            classes[code][error_class] += failures
    return {code: by_count(counts) for code, counts in sorted(classes.items()) if len(counts) > 1}


def _local_attempts(calls: int, counted: AttemptTally) -> LocalAttempts:
    return {
        "calls_with_local_retry": counted.locally_retried,
        "attempts_per_call": rate(counted.total, calls),
        "waited_ms": counted.waited_ms,
        "budget_exhausted": counted.budget_exhausted,
    }


def _unclassified(causes: Mapping[Cause, int], evidence: Mapping[str, int]) -> Unclassified:
    failures = sum(evidence.values())
    return {
        "failures": failures,
        "share": rate(failures, sum(causes.values())),
        "evidence": dict(list(by_count(evidence).items())[:_EVIDENCE_SHOWN]),
    }


def _unhandled_failures(last_calls: Iterable[LastCall]) -> list[UnhandledFailure]:
    return [
        {
            "task_id": task_id,
            "task": task,
            "tool": tool,
            "class": error_class,
            "code": code,
            "ended_at": format_time(ended_ns),
        }
        for task_id, task, tool, (error_class, code), ended_ns in sorted(
            last_calls, key=lambda call: (-call.ended_ns, call.task_id)
        )
    ]
