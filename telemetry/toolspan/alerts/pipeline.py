"""
The alerts about what feeds all others: no data, and data that is lost.

A tool about which nothing comes breaks no target. So that silence is an alert of its own, unless it is that of a night:
it counts where enough spans should have come by then, going by the day before.
"""

from collections.abc import Iterator

from toolspan.alerts.alert import Alert, Severity
from toolspan.alerts.durations import duration, number
from toolspan.alerts.recordings import Names
from toolspan.alerts.thresholds import Thresholds
from toolspan.metrics.families import DROPPED, OPEN_TASKS, RECEIVED
from toolspan.numbers import Targets

#: These are about no single tool, and say so.
_ALL_TOOLS = "all tools"


def pipeline_alerts(thresholds: Thresholds, targets: Targets) -> Iterator[Alert]:
    """
    Every alert about the pipeline.
    """
    yield _no_collector(thresholds)
    yield _no_data(thresholds, targets)
    yield _lost(thresholds, targets)


def _no_collector(thresholds: Thresholds) -> Alert:
    # No minimum of traffic: a collector that was never scraped has none to show, and is what this is for.
    return Alert(
        "ToolspanNoCollector",
        f"absent({OPEN_TASKS.name})",
        Severity.PAGE,
        thresholds.silence_s,
        "No collector is scraped: nothing is known of any tool.",
        f"Prometheus has seen no metrics of toolspan for {duration(thresholds.silence_s)}, so no other alert can fire.",
        "pipeline",
        thresholds.window_s,
        tool=_ALL_TOOLS,
    )


def _no_data(thresholds: Thresholds, targets: Targets) -> Alert:
    silence, baseline = duration(thresholds.silence_s), duration(thresholds.baseline_s)
    expected = f"sum(increase({RECEIVED.name}[{baseline}])) * {thresholds.silence_s} / {thresholds.baseline_s}"
    return Alert(
        "ToolspanNoData",
        f"sum(increase({RECEIVED.name}[{silence}])) == 0\nand {expected} >= {targets.min_cases}",
        Severity.PAGE,
        thresholds.pending_s,
        f"No span came for {silence}: nothing is known of any tool.",
        f"Going by the last {baseline}, {targets.min_cases} spans or more should have come in that time.",
        "pipeline",
        thresholds.baseline_s,
        tool=_ALL_TOOLS,
    )


def _lost(thresholds: Thresholds, targets: Targets) -> Alert:
    names = Names(thresholds.recent_s)
    return Alert(
        "ToolspanSpansLost",
        f"{names.spans_dropped} / {names.spans_come} > {number(thresholds.lost)}"
        f"\nand {names.spans_come} >= {targets.min_cases}",
        Severity.PAGE,
        thresholds.pending_s,
        "{{ $value | humanizePercentage }} of the spans that come are not kept: the numbers of all tools miss them.",
        f"Over {names.window} more than {number(thresholds.lost * 100)} % of the spans were dropped; the metric"
        f" {DROPPED.name} has the reasons.",
        "pipeline",
        thresholds.window_s,
        tool=_ALL_TOOLS,
    )
