"""
The rules by which Prometheus alerts, as data: thresholds in, one document out.
"""

from toolspan.alerts.alert import Alert, Severity
from toolspan.alerts.document import rule_document
from toolspan.alerts.links import DEFAULT_LINKS, Links
from toolspan.alerts.rules import alerts_of, recordings_of
from toolspan.alerts.thresholds import DEFAULT_THRESHOLDS, Burn, Thresholds

__all__ = [
    "DEFAULT_LINKS",
    "DEFAULT_THRESHOLDS",
    "Alert",
    "Burn",
    "Links",
    "Severity",
    "Thresholds",
    "alerts_of",
    "recordings_of",
    "rule_document",
]
