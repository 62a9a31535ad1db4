"""
The alerts about a tool: one for each number that says that it hurts.

Each demands a minimum of cases over its window, by the denominator of its own number, so that one odd call at night
wakes nobody.
"""

from collections.abc import Iterator

from toolspan.alerts.alert import Alert, Severity
from toolspan.alerts.durations import duration, number
from toolspan.alerts.recordings import Names
from toolspan.alerts.thresholds import Burn, Thresholds
from toolspan.numbers import Targets

_TOOL = "{{ $labels.tool }}"
_SHARE = "{{ $value | humanizePercentage }}"


def tool_alerts(thresholds: Thresholds, targets: Targets) -> Iterator[Alert]:
    """
    Every alert about a tool.
    """
    for burn in thresholds.burns:
        yield _tail(burn, thresholds, targets)
    yield _retries_p95(thresholds, targets)
    yield _validation_recovery(thresholds, targets)
    yield _clean_escalations(thresholds, targets)
    yield _wasted(thresholds, targets)
    yield _unclassified(thresholds, targets)
    yield _cluster(thresholds, targets)


def _tail(burn: Burn, thresholds: Thresholds, targets: Targets) -> Alert:
    long, short = Names(burn.long_s), Names(burn.short_s)
    limit = number(thresholds.tail * burn.factor)
    return Alert(
        "ToolspanRetryTail",
        f"{long.tail} > {limit}"
        f"\nand on (tool) {short.tail} > {limit}"
        f"\nand on (tool) {long.resolved_tasks} >= {targets.min_cases}",
        Severity.PAGE if burn.is_page else Severity.TICKET,
        thresholds.pending_s,
        f"{_TOOL}: {_SHARE} of the resolved tasks of {long.window} retried it more than once.",
        f"At most {number(thresholds.tail * 100)} % may; over {long.window} and over the last {short.window} it was"
        f" more than {number(thresholds.tail * burn.factor * 100)} %.",
        "tool",
        burn.long_s,
        labels={"window": long.window},
    )


def _retries_p95(thresholds: Thresholds, targets: Targets) -> Alert:
    names, recent = Names(thresholds.window_s), Names(thresholds.recent_s)
    return Alert(
        "ToolspanRetriesP95",
        f"{names.retries_p95} > {targets.retries_p95}"
        f"\nand on (tool) {recent.retries_p95} > {targets.retries_p95}"
        f"\nand on (tool) {names.resolved_tasks} >= {targets.min_cases}",
        Severity.TICKET,
        thresholds.pending_s,
        f"{_TOOL}: p95 of its retries per resolved task is over {targets.retries_p95}.",
        f"The 95th percentile over {names.window} is about {{{{ $value | humanize }}}}; the target is at most"
        f" {targets.retries_p95}.",
        "tool",
        thresholds.window_s,
    )


def _validation_recovery(thresholds: Thresholds, targets: Targets) -> Alert:
    names, recent = Names(thresholds.window_s), Names(thresholds.recent_s)
    target = number(targets.validation_recovery)
    return Alert(
        "ToolspanValidationRecovery",
        f"{names.validation_recovery} < {target}"
        f"\nand on (tool) {recent.validation_recovery} < {target}"
        f"\nand on (tool) {names.validation_failures} >= {targets.min_cases}",
        Severity.TICKET,
        thresholds.pending_s,
        f"{_TOOL}: {_SHARE} of its validation failures recover.",
        f"After a validation failure the next call with other arguments should succeed; over {names.window} fewer than"
        f" {number(targets.validation_recovery * 100)} % did.",
        "tool",
        thresholds.window_s,
    )


def _clean_escalations(thresholds: Thresholds, targets: Targets) -> Alert:
    names, recent = Names(thresholds.window_s), Names(thresholds.recent_s)
    target = number(targets.clean_escalations)
    return Alert(
        "ToolspanRetryBeforeEscalation",
        f"{names.clean_escalations} < {target}"
        f"\nand on (tool) {recent.clean_escalations} < {target}"
        f"\nand on (tool) {names.escalations} >= {targets.min_cases}",
        Severity.TICKET,
        thresholds.pending_s,
        f"{_TOOL}: only {_SHARE} of its permission failures went to a human without being tried again.",
        f"A missing permission is the same at the second try; over {names.window} fewer than"
        f" {number(targets.clean_escalations * 100)} % of the escalations came without a retry before.",
        "tool",
        thresholds.window_s,
    )


def _wasted(thresholds: Thresholds, targets: Targets) -> Alert:
    names, recent = Names(thresholds.window_s), Names(thresholds.recent_s)
    return Alert(
        "ToolspanWastedTime",
        f"{names.wasted_seconds} > {number(thresholds.wasted_s)}"
        f"\nand on (tool) {recent.wasted_seconds} > 0"
        f"\nand on (tool) {names.calls} >= {targets.min_cases}",
        Severity.TICKET,
        thresholds.pending_s,
        f"{_TOOL}: {{{{ $value | humanizeDuration }}}} wasted in {names.window} on retries that could not help.",
        "The identical call was made again after a failure that only other arguments, a human, another state of the"
        f" world or a developer can change; {duration(int(thresholds.wasted_s))} are allowed.",
        "tool",
        thresholds.window_s,
    )


def _unclassified(thresholds: Thresholds, targets: Targets) -> Alert:
    names, recent = Names(thresholds.window_s), Names(thresholds.recent_s)
    limit, unclassified = number(thresholds.unclassified), '{class="unclassified"}'
    return Alert(
        "ToolspanUnclassified",
        f"{names.error_share}{unclassified} > {limit}"
        f"\nand on (tool) {recent.error_share}{unclassified} > {limit}"
        f"\nand on (tool) {names.errors} >= {targets.min_cases}",
        Severity.TICKET,
        thresholds.pending_s,
        f"{_TOOL}: {_SHARE} of its failures say nothing of their class.",
        f"Over {names.window} more than {number(thresholds.unclassified * 100)} % of the failures could not be"
        " classified, so the other numbers of the tool rest on the rest.",
        "quality",
        thresholds.window_s,
    )


def _cluster(thresholds: Thresholds, targets: Targets) -> Alert:
    names, recent = Names(thresholds.window_s), Names(thresholds.recent_s)
    limit, classified = number(thresholds.cluster), '{class!="unclassified"}'
    return Alert(
        "ToolspanErrorCluster",
        f"{names.error_share}{classified} > {limit}"
        f"\nand on (tool, class) {recent.error_share}{classified} > {limit}"
        f"\nand on (tool) {names.errors} >= {targets.min_cases}",
        Severity.TICKET,
        thresholds.pending_s,
        f"{_TOOL}: {_SHARE} of its failures are {{{{ $labels.class }}}}.",
        f"Over {names.window} one class makes up more than {number(thresholds.cluster * 100)} % of the failures: more"
        " likely a fault of the tool's answers than of the agents' prompts.",
        "tool",
        thresholds.window_s,
    )
