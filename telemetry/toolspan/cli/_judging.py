"""
What `check` judges: each number of a tool, and what came at all, beside the limit that it has.

A number is judged once it rests on enough cases. What `toolspan alerts` alerts on is judged by the same limits, over
the window that is asked for: `alert_limits` has them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Final, Literal, NamedTuple

from toolspan.alerts import Thresholds
from toolspan.cli._text import counted, inert
from toolspan.documents import Report, ToolReport
from toolspan.numbers import Targets
from toolspan.taxonomy import ErrorClass

Verdict = Literal["broken", "kept", "unjudged"]


class Target(NamedTuple):
    """
    How a number is to stand to its limit, and what kind of cases it rests on.
    """

    demand: Literal["under", "at most", "at least"]
    kind: str


#: Of each tool.
TARGETS: Final[Mapping[str, Target]] = {
    "retries_per_step": Target("under", "step"),
    "retries_p95": Target("at most", "resolved task"),
    "tail": Target("at most", "resolved task"),
    "validation_recovery": Target("at least", "validation failure"),
    "clean_escalations": Target("at least", "permission escalation"),
    "wasted_seconds": Target("at most", "call"),
    "unclassified": Target("at most", "failure"),
    "cluster": Target("at most", "failure"),
}
#: Of the store: seconds since the last span came, and the share of spans that were not kept.
STORE_TARGETS: Final[Mapping[str, Target]] = {
    "silence_seconds": Target("at most", "expected span"),
    "lost": Target("at most", "span"),
}


class Number(NamedTuple):
    """
    A number of a tool, and how many cases it rests on.
    """

    value: float | None
    cases: int


class Judged(NamedTuple):
    """
    What became of one target of one tool, of none where it is the store's: `unjudged` where it rests on too few
    *cases*.
    """

    tool: str
    target: str
    value: float | None
    limit: float
    cases: int
    verdict: Verdict


def target_limits(targets: Targets) -> dict[str, float]:
    """
    The limits that are judged where nobody asks for more.
    """
    return {
        "retries_per_step": targets.retries_per_step,
        "retries_p95": targets.retries_p95,
        "validation_recovery": targets.validation_recovery,
        "clean_escalations": targets.clean_escalations,
    }


def alert_limits(thresholds: Thresholds) -> dict[str, float]:
    """
    The limits that alerts have beside the targets.
    """
    return {
        "tail": thresholds.tail,
        "wasted_seconds": thresholds.wasted_s,
        "unclassified": thresholds.unclassified,
        "cluster": thresholds.cluster,
        "silence_seconds": thresholds.silence_s,
        "lost": thresholds.lost,
    }


def judge(report: Report, limits: Mapping[str, float], *, min_cases: int) -> Iterator[Judged]:
    """
    Each number of each tool in *report* that has a limit, the tool with the most damage first.
    """
    for name, tool in report["tools"].items():
        for target, number in _numbers_of(tool).items():
            if target in limits:
                yield _judged(name, target, number, limits[target], min_cases=min_cases)


def judge_store(numbers: Mapping[str, Number], limits: Mapping[str, float], *, min_cases: int) -> Iterator[Judged]:
    """
    Each of the *numbers* of a store that has a limit.
    """
    for target in STORE_TARGETS:
        if target in limits:
            yield _judged("", target, numbers.get(target, Number(None, 0)), limits[target], min_cases=min_cases)


def _judged(tool: str, target: str, number: Number, limit: float, *, min_cases: int) -> Judged:
    verdict: Verdict = "unjudged"
    if number.value is not None and number.cases >= min_cases:
        verdict = "kept" if _is_kept(_target(target), number.value, limit) else "broken"
    return Judged(tool, target, number.value, limit, number.cases, verdict)


def _target(name: str) -> Target:
    return TARGETS.get(name) or STORE_TARGETS[name]


def _numbers_of(tool: ToolReport) -> dict[str, Number]:
    """
    What each target is about, by its name.
    """
    per_task, retries, detail = tool["retries_per_resolved_task"], tool["retries"], tool["detail"]
    recovery, escalations, errors = tool["validation_recovery"], tool["escalations"], tool["errors"]
    failures = sum(errors.values())
    largest = max((count for name, count in errors.items() if name != ErrorClass.UNCLASSIFIED), default=0)
    return {
        "retries_per_step": Number(retries["per_step"], retries["steps"]),
        "retries_p95": Number(per_task["p95"], per_task["resolved_tasks"]),
        "tail": Number(detail["tail"], per_task["resolved_tasks"]),
        "validation_recovery": Number(recovery["rate"], recovery["failures"]),
        "clean_escalations": Number(escalations["rate"], escalations["escalated"]),
        "wasted_seconds": Number(retries["wasted_ms"] / 1000, tool["calls"]),
        "unclassified": Number(detail["unclassified_share"], failures),
        "cluster": Number(largest / failures if failures else None, failures),
    }


def _is_kept(target: Target, value: float, limit: float) -> bool:
    if target.demand == "under":
        return value < limit
    return value <= limit if target.demand == "at most" else value >= limit


def judged_lines(judged: Sequence[Judged], *, min_cases: int, is_demanded: bool = False) -> Iterator[str]:
    """
    A line for each broken target, and how many there are; also for cases that are missing where they are demanded.
    """
    for each in judged:
        if each.verdict == "broken" and each.value is not None:
            target = _target(each.target)
            cases = counted(each.cases, target.kind)
            yield (
                f"! {inert(each.tool) or 'the store'}: {each.target} {_told(target, each.value)} of {cases},"
                f" target {target.demand} {each.limit:g}"
            )
    verdicts = Counter(each.verdict for each in judged)
    if not verdicts["broken"] and not verdicts["kept"]:
        few = f"othing is judged: no number rests on {counted(min_cases, 'case')}"
        yield f"! n{few}, and --require-cases demands one." if is_demanded else f"N{few}."
        return
    verb = "rests" if verdicts["unjudged"] == 1 else "rest"
    few = f"; {verdicts['unjudged']:,} more {verb} on fewer than {counted(min_cases, 'case')}"
    rest = few if verdicts["unjudged"] else ""
    judged_count = verdicts["broken"] + verdicts["kept"]
    how_many = f"{verdicts['broken']:,} of {judged_count:,}" if verdicts["broken"] else f"All {judged_count:,}"
    yield f"{how_many} judged numbers {'break' if verdicts['broken'] else 'keep'} their target{rest}."


def _told(target: Target, value: float) -> str:
    """
    *value* with three decimals at most, rounded away from the limit that it breaks.
    """
    rounded = floor(value * 1000) if target.demand == "at least" else ceil(value * 1000)
    return f"{rounded / 1000:.12g}"
