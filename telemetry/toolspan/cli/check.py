"""
`toolspan check`: the targets, for a pipeline that is to stop when one is broken.

A number is judged once it rests on enough cases, and what is not judged breaks nothing: a tool that was hardly called
has no number yet. Where nothing is judged at all, by a misspelt filter or since no spans come any more, to pass proves
nothing; so that is said, and fails where cases are demanded.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import click

from toolspan.alerts import Thresholds
from toolspan.cli._judging import Number, alert_limits, judge, judge_store, judged_lines, target_limits
from toolspan.cli._messages import say
from toolspan.cli._names import nothing_line
from toolspan.cli._options import Source, count_option, format_option, scope_options, share_option, source_options
from toolspan.cli._reading import Reading, reading
from toolspan.cli._text import counted
from toolspan.config import Settings
from toolspan.scope import Scope
from toolspan.windows import parse_age

_FAILED: Final = 1
_SECOND_NS: Final = 10**9
#: Of the store, which is asked only where one of these has a limit.
_OF_STORE: Final = frozenset({"silence_seconds", "lost"})


@click.command("check")
@source_options
@scope_options
@count_option("--max-retries-p95", "95th percentile of retries per resolved task.", least=0)
@share_option("--max-tail", "Share of resolved tasks with more than one retry.")
@share_option("--min-recovery", "Share of validation failures that recover.")
@share_option("--min-clean-escalations", "Share of permission escalations without a retry before.")
@share_option("--max-unclassified", "Share of failures that name no class.")
@count_option("--max-wasted", "Seconds that a tool spends on retries that could not help.", least=0)
@share_option("--max-cluster", "Share of a tool's failures that are of one class.")
@share_option("--max-lost", "Share of spans that came and were not kept; of a store.")
@click.option("--max-silence", metavar="AGE", help="How long no span came, such as 15m; of a store.")
@click.option("--alerts", "is_of_alerts", is_flag=True, help="Judge all that toolspan alerts alerts on.")
@count_option("--min-cases", "Judge nothing on fewer cases; else 20.", least=1)
@click.option("--require-cases", is_flag=True, help="Exit 1 also where nothing is judged: no number has enough cases.")
@format_option("table", "json")
def check(
    source: Source,
    scope: Scope,
    min_cases: int | None,
    require_cases: bool,
    is_of_alerts: bool,
    output: str,
    **given: float | str | None,
) -> None:
    """
    Whether the targets are kept; exit 1 when one is broken.

    A target that is not given is that of the configuration, else: under 1 retry per step, p95 at most 1, recovery at
    least 0.8, clean escalations at least 0.9. The others are judged only where they are given, or by [alerts] of the
    configuration with --alerts: then the verdicts on a window are those of the alerts over it. What rests on too few
    cases, or is left out by a filter or window, breaks nothing; where that is all, it is said why.
    """
    with reading(source, purpose="toolspan check") as (asked, settings):
        report = asked.report(scope=scope, targets=settings.targets)
        limits = limits_of(settings, given, is_of_alerts=is_of_alerts)
        silence_s, now_ns = limits.get("silence_seconds"), time.time_ns()
        numbers = (
            dict(store_numbers(asked, scope, settings.thresholds, silence_s=silence_s, now_ns=now_ns))
            if _OF_STORE & limits.keys()
            else {}
        )
        nothing = "" if report["tools"] else nothing_line(asked.names(), scope)
    min_cases = settings.targets.min_cases if min_cases is None else min_cases
    judged = [
        *judge(report, limits, min_cases=min_cases),
        *judge_store(numbers, limits, min_cases=min_cases),
    ]
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


def limits_of(settings: Settings, given: Mapping[str, float | str | None], *, is_of_alerts: bool) -> dict[str, float]:
    """
    The limit of each target that has one: of the options *given*, else of the *settings*, those of alerts where they
    are asked for.
    """
    silence = given["max_silence"]
    asked = {
        "retries_p95": given["max_retries_p95"],
        "tail": given["max_tail"],
        "validation_recovery": given["min_recovery"],
        "clean_escalations": given["min_clean_escalations"],
        "wasted_seconds": given["max_wasted"],
        "unclassified": given["max_unclassified"],
        "cluster": given["max_cluster"],
        "silence_seconds": None if silence is None else parse_age(str(silence)) / _SECOND_NS,
        "lost": given["max_lost"],
    }
    limits = target_limits(settings.targets)
    if is_of_alerts:
        limits |= alert_limits(settings.thresholds)
    return limits | {name: float(limit) for name, limit in asked.items() if limit is not None}


def store_numbers(
    asked: Reading, scope: Scope, thresholds: Thresholds, *, silence_s: float | None, now_ns: int
) -> Iterator[tuple[str, Number]]:
    """
    What is judged of what came: the share that was lost of the spans in the window of *scope*, by their arrival, and
    how long none came, beside how many should have come in *silence_s* going by the baseline before the last.
    """
    in_window = asked.arrivals(since_ns=scope.since_ns, until_ns=scope.until_ns)
    if in_window is None:
        return
    yield "lost", Number(in_window.lost / in_window.came if in_window.came else None, in_window.came)
    last_ns = in_window.last_ns
    if silence_s is not None and last_ns:
        before = asked.arrivals(since_ns=last_ns - thresholds.baseline_s * _SECOND_NS, until_ns=None)
        expected = int(before.came * silence_s / thresholds.baseline_s) if before else 0
        yield "silence_seconds", Number(max(0, now_ns - last_ns) / _SECOND_NS, expected)
