"""
`toolspan check`: the targets, for a pipeline that is to stop when one is broken.

A number is judged once it rests on enough cases, and what is not judged breaks nothing: a tool that was hardly called
has no number yet. Where nothing is judged at all, by a misspelt filter or since no spans come any more, to pass proves
nothing; so that is said, and fails where cases are demanded.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Final, Literal, NamedTuple

import click

from toolspan.cli._messages import say
from toolspan.cli._names import nothing_line
from toolspan.cli._options import Source, count_option, format_option, scope_options, share_option, source_options
from toolspan.cli._reading import reading
from toolspan.cli._text import counted, inert
from toolspan.documents import Report, ToolReport
from toolspan.numbers import Targets
from toolspan.scope import Scope

_FAILED: Final = 1

Verdict = Literal["broken", "kept", "unjudged"]


class Target(NamedTuple):
    """
    How a number is to stand to its limit, and what kind of cases it rests on.
    """

    demand: Literal["under", "at most", "at least"]
    kind: str


TARGETS: Final[Mapping[str, Target]] = {
    "retries_per_step": Target("under", "step"),
    "retries_p95": Target("at most", "resolved task"),
    "tail": Target("at most", "resolved task"),
    "validation_recovery": Target("at least", "validation failure"),
    "clean_escalations": Target("at least", "permission escalation"),
    "unclassified": Target("at most", "failure"),
}


class Number(NamedTuple):
    """
    A number of a tool, and how many cases it rests on.
    """

    value: float | None
    cases: int


class Judged(NamedTuple):
    """
    What became of one target of one tool: `unjudged` where it rests on too few *cases*.
    """

    tool: str
    target: str
    value: float | None
    limit: float
    cases: int
    verdict: Verdict


@click.command("check")
@source_options
@scope_options
@count_option("--max-retries-p95", "95th percentile of retries per resolved task.", least=0)
@share_option("--max-tail", "Share of resolved tasks with more than one retry.")
@share_option("--min-recovery", "Share of validation failures that recover.")
@share_option("--min-clean-escalations", "Share of permission escalations without a retry before.")
@share_option("--max-unclassified", "Share of failures that name no class.")
@count_option("--min-cases", "Judge nothing on fewer cases; else 20.", least=1)
@click.option("--require-cases", is_flag=True, help="Exit 1 also where nothing is judged: no number has enough cases.")
@format_option("table", "json")
def check(
    source: Source,
    scope: Scope,
    min_cases: int | None,
    require_cases: bool,
    output: str,
    **given: float | None,
) -> None:
    """
    Whether the targets are kept; exit 1 when one is broken.

    A target that is not given is that of the configuration, else: under 1 retry per step, p95 at most 1, recovery at
    least 0.8, clean escalations at least 0.9. Tail and unclassified are judged only where they are given. What rests on
    too few cases, or is left out by a filter or window, breaks nothing; where that is all, it is said why.
    """
    with reading(source, purpose="toolspan check") as (asked, settings):
        report = asked.report(scope=scope, targets=settings.targets)
        nothing = "" if report["tools"] else nothing_line(asked.names(), scope)
    min_cases = settings.targets.min_cases if min_cases is None else min_cases
    judged = list(judge(report, limits_of(settings.targets, given), min_cases=min_cases))
    verdicts = Counter(each.verdict for each in judged)
    is_judged = bool(verdicts["broken"] or verdicts["kept"])
    is_kept = not verdicts["broken"] and (is_judged or not require_cases)
    if nothing:
        say(nothing)
    elif not is_judged:
        # said in the answer alone: so it is of every new store, every time that a scheduler asks
        nothing = f"No number rests on {counted(min_cases, 'case')}."
    if output == "json":
        document = {
            "window": report["window"],
            "kept": is_kept,
            "judged": verdicts["broken"] + verdicts["kept"],
            "nothing": None if is_judged else nothing,
            "min_cases": min_cases,
            "numbers": [each._asdict() for each in judged],
        }
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        for line in judged_lines(judged, min_cases=min_cases, is_demanded=require_cases):
            click.echo(line)
    if not is_kept:
        raise click.exceptions.Exit(_FAILED)


def limits_of(targets: Targets, given: Mapping[str, float | None]) -> dict[str, float]:
    """
    The limit of each target that has one: of the options *given*, else of the *targets* of the settings.
    """
    limits = {
        "retries_per_step": targets.retries_per_step,
        "retries_p95": _first(given["max_retries_p95"], targets.retries_p95),
        "tail": given["max_tail"],
        "validation_recovery": _first(given["min_recovery"], targets.validation_recovery),
        "clean_escalations": _first(given["min_clean_escalations"], targets.clean_escalations),
        "unclassified": given["max_unclassified"],
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


def _first(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


def judge(report: Report, limits: Mapping[str, float], *, min_cases: int) -> Iterator[Judged]:
    """
    Each number of each tool in *report* that has a limit, the tool with the most damage first.
    """
    for name, tool in report["tools"].items():
        for target, (value, cases) in _numbers_of(tool).items():
            if target in limits:
                limit = limits[target]
                verdict: Verdict = "unjudged"
                if value is not None and cases >= min_cases:
                    verdict = "kept" if _is_kept(TARGETS[target], value, limit) else "broken"
                yield Judged(name, target, value, limit, cases, verdict)


def _numbers_of(tool: ToolReport) -> dict[str, Number]:
    """
    What each target is about, by its name.
    """
    per_task, retries, detail = tool["retries_per_resolved_task"], tool["retries"], tool["detail"]
    recovery, escalations = tool["validation_recovery"], tool["escalations"]
    return {
        "retries_per_step": Number(retries["per_step"], retries["steps"]),
        "retries_p95": Number(per_task["p95"], per_task["resolved_tasks"]),
        "tail": Number(detail["tail"], per_task["resolved_tasks"]),
        "validation_recovery": Number(recovery["rate"], recovery["failures"]),
        "clean_escalations": Number(escalations["rate"], escalations["escalated"]),
        "unclassified": Number(detail["unclassified_share"], sum(tool["errors"].values())),
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
            target = TARGETS[each.target]
            cases = counted(each.cases, target.kind)
            yield (
                f"! {inert(each.tool)}: {each.target} {_told(target, each.value)} of {cases},"
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
    return f"{rounded / 1000:g}"
