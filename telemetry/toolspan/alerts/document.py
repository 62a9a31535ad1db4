"""
The rule file as a document, ready to be written as YAML.
"""

from toolspan.alerts.durations import duration
from toolspan.alerts.links import DEFAULT_LINKS, Links
from toolspan.alerts.rules import alerts_of, recordings_of
from toolspan.alerts.thresholds import DEFAULT_THRESHOLDS, Thresholds
from toolspan.numbers import DEFAULT_TARGETS, Targets


def rule_document(
    thresholds: Thresholds = DEFAULT_THRESHOLDS, targets: Targets = DEFAULT_TARGETS, *, links: Links = DEFAULT_LINKS
) -> dict[str, object]:
    """
    The groups of a rule file: what is recorded, then what is alerted on.

    One group, since the rules of a group are evaluated in order and at one moment: an alert never sees the recordings
    of the round before.
    """
    rules = [recording.document() for recording in recordings_of(thresholds)]
    rules += [alert.document(links) for alert in alerts_of(thresholds, targets)]
    return {"groups": [{"name": "toolspan", "interval": duration(thresholds.interval_s), "rules": rules}]}
