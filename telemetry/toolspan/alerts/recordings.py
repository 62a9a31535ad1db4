"""
What rules ask more than once: per tool, over a window, summed over all collectors.

Everything is an `increase()` of a counter, since counters start again with their collector. A series is shown as 0
before it counts, so the first event is one, and a sum over classes and codes misses none. The label `code` is in no
rule: its values are bounded by number, not by meaning, and what is beyond is `_other`.

A share of nothing is left out and not NaN: a tool that is not called has no number.
"""

from collections.abc import Iterator
from typing import Final

from toolspan.alerts.alert import Recording
from toolspan.alerts.durations import duration
from toolspan.metrics.families import (
    CALLS,
    DROPPED,
    ERRORS,
    ESCALATIONS,
    RECEIVED,
    RETRIES_PER_TASK,
    VALIDATION_FAILURES,
    VALIDATION_RECOVERIES,
    WASTED,
)

#: Tasks with one retry at the most; text and protobuf scrapes write the bound differently.
_AT_MOST_ONE: Final = '{le=~"1|1[.]0"}'
_QUANTILE: Final = 0.95


class Names:
    """
    What the recorded queries over *window_s* are called.
    """

    def __init__(self, window_s: int) -> None:
        self.window = duration(window_s)
        self.resolved_tasks = f"tool:toolspan_resolved_tasks:increase{self.window}"
        self.tail = f"tool:toolspan_retry_tail:ratio{self.window}"
        self.retries_p95 = f"tool:toolspan_retries_per_resolved_task:p95_{self.window}"
        self.validation_failures = f"tool:toolspan_validation_failures:increase{self.window}"
        self.validation_recovery = f"tool:toolspan_validation_recovery:ratio{self.window}"
        self.escalations = f"tool:toolspan_escalations:increase{self.window}"
        self.clean_escalations = f"tool:toolspan_clean_escalations:ratio{self.window}"
        self.wasted_seconds = f"tool:toolspan_wasted_seconds:increase{self.window}"
        self.calls = f"tool:toolspan_calls:increase{self.window}"
        self.errors = f"tool:toolspan_errors:increase{self.window}"
        self.spans_dropped = f"pipeline:toolspan_spans_dropped:increase{self.window}"
        self.spans_come = f"pipeline:toolspan_spans_come:increase{self.window}"
        self.error_share = f"tool_class:toolspan_errors:ratio{self.window}"


def tail_recordings(window_s: int) -> Iterator[Recording]:
    """
    The tail over *window_s*, and the tasks that it is a share of.
    """
    names = Names(window_s)
    count, at_most_one = f"{RETRIES_PER_TASK.name}_count", f"{RETRIES_PER_TASK.name}_bucket{_AT_MOST_ONE}"
    yield Recording(names.resolved_tasks, _increase(count, names.window))
    # of the difference: one minus 19/20 is more than 0.05 in binary fractions, 1/20 is not
    yield Recording(
        names.tail,
        f"({names.resolved_tasks} - {_increase(at_most_one, names.window)}) / ({names.resolved_tasks} > 0)",
    )


def window_recordings(window_s: int) -> Iterator[Recording]:
    """
    Every other number over *window_s*, and what it is a share of.
    """
    names = Names(window_s)
    buckets = _increase(f"{RETRIES_PER_TASK.name}_bucket", names.window, by="tool, le")
    yield Recording(names.retries_p95, f"histogram_quantile({_QUANTILE}, {buckets})")
    yield Recording(names.validation_failures, _increase(VALIDATION_FAILURES.name, names.window))
    yield Recording(
        names.validation_recovery,
        f"{_increase(VALIDATION_RECOVERIES.name, names.window)} / ({names.validation_failures} > 0)",
    )
    clean = f'{ESCALATIONS.name}{{prior_retry="false"}}'
    yield Recording(names.escalations, _increase(ESCALATIONS.name, names.window))
    yield Recording(names.clean_escalations, f"{_increase(clean, names.window)} / ({names.escalations} > 0)")
    yield Recording(names.wasted_seconds, _increase(WASTED.name, names.window))
    yield Recording(names.errors, _increase(ERRORS.name, names.window))
    by_class = _increase(ERRORS.name, names.window, by="tool, class")
    yield Recording(names.error_share, f"{by_class} / on (tool) group_left () ({names.errors} > 0)")


def traffic_recordings(window_s: int) -> Iterator[Recording]:
    """
    The calls over *window_s*, where no number is a share of them.
    """
    names = Names(window_s)
    yield Recording(names.calls, _increase(CALLS.name, names.window))


def pipeline_recordings(window_s: int) -> Iterator[Recording]:
    """
    The spans that came over *window_s*, and those of them that were not kept.
    """
    names = Names(window_s)
    yield Recording(names.spans_dropped, f"sum(increase({DROPPED.name}[{names.window}]))")
    # what a fault of our own drops was never counted as received
    received = f"sum(increase({RECEIVED.name}[{names.window}]))"
    yield Recording(names.spans_come, f"clamp_min({received}, scalar({names.spans_dropped}))")


def _increase(series: str, window: str, *, by: str = "tool") -> str:
    return f"sum by ({by}) (increase({series}[{window}]))"
