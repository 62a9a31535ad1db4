"""
The audit of a tool: its ten points, one after the other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from toolspan.audit import answers, points, policies
from toolspan.audit.points import Complaint, Finding, Point, Reason, Verdict
from toolspan.audit.running import Runner
from toolspan.audit.subjects import Subject
from toolspan.audit.trials import UnjudgedError

#: The check of each point, in their order.
CHECKS: Final[Mapping[Point, Callable[[Runner], Iterator[Complaint]]]] = {
    points.ENVELOPE: answers.check_envelope,
    points.CLASSES: answers.check_classes,
    points.RETRYABLE: answers.check_retryable,
    points.WAIT: answers.check_wait,
    points.FIELD: answers.check_field,
    points.HINT: answers.check_hint,
    points.SAFE: answers.check_safe,
    points.BUDGET: policies.check_budget,
    points.WRITES: policies.check_writes,
    points.FAULTS: policies.check_faults,
}


def audit(
    subjects: Iterable[Subject],
    *,
    arguments: Mapping[str, Mapping[str, object]] | None = None,
    is_executed: bool = False,
) -> Iterator[Finding]:
    """
    What became of each point of each of *subjects*.

    Args:
        subjects: the tools, from `find_subjects`.
        arguments: what to call a tool with, by its name; else they are made up.
        is_executed: the tools' own functions are run, also of those that may write.
    """
    given = arguments or {}
    for subject in subjects:
        runner = Runner(subject, arguments=given.get(subject.name), is_executed=is_executed)
        for point, check in CHECKS.items():
            yield _judge(runner, point, check)


def _judge(runner: Runner, point: Point, check: Callable[[Runner], Iterator[Complaint]]) -> Finding:
    try:
        reasons = _reasons(check(runner))
    except UnjudgedError as error:
        return Finding(runner.subject.name, point, Verdict.UNJUDGED, (Reason(str(error)),))
    verdict = Verdict.FAILED if reasons else Verdict.PASSED
    return Finding(runner.subject.name, point, verdict, reasons)


def _reasons(complaints: Iterable[Complaint]) -> tuple[Reason, ...]:
    """
    Each thing that is wrong once, with the places in their order.
    """
    places: dict[str, dict[str, None]] = {}
    for complaint in complaints:
        places.setdefault(complaint.said, {})[complaint.where] = None
    return tuple(Reason(said, tuple(filter(None, where))) for said, where in places.items())
