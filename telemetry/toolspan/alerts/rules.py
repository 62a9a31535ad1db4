"""
Everything that is recorded and alerted on, from one set of thresholds.
"""

from itertools import chain

from toolspan.alerts.alert import Alert, Recording
from toolspan.alerts.pipeline import pipeline_alerts
from toolspan.alerts.recordings import (
    pipeline_recordings,
    tail_recordings,
    traffic_recordings,
    window_recordings,
)
from toolspan.alerts.thresholds import Thresholds
from toolspan.alerts.tools import tool_alerts
from toolspan.numbers import Targets


def recordings_of(thresholds: Thresholds) -> list[Recording]:
    """
    Each query that is asked by a rule, once for every window; a later one may use an earlier.
    """
    pairs = ((burn.long_s, burn.short_s) for burn in thresholds.burns)
    judged = (thresholds.window_s, thresholds.recent_s)
    of_tail = sorted({*chain.from_iterable(pairs), *judged})
    return [
        *chain.from_iterable(tail_recordings(window_s) for window_s in of_tail),
        *chain.from_iterable(window_recordings(window_s) for window_s in sorted(set(judged))),
        *traffic_recordings(thresholds.window_s),
        *pipeline_recordings(thresholds.recent_s),
    ]


def alerts_of(thresholds: Thresholds, targets: Targets) -> list[Alert]:
    """
    Every alert: those about tools, then those about the pipeline.
    """
    return [*tool_alerts(thresholds, targets), *pipeline_alerts(thresholds, targets)]
