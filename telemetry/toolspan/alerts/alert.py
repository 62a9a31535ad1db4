"""
An alert before it is written down: what it watches for, and what the person reads who is called.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from toolspan.alerts.durations import duration
from toolspan.alerts.links import Links


class Severity(StrEnum):
    """
    Whether somebody is to be woken, or to look by daylight.
    """

    PAGE = "page"
    TICKET = "ticket"


class Recording(NamedTuple):
    """
    A query that several rules ask, under the *name* by which they do.
    """

    name: str
    expression: str

    def document(self) -> dict[str, object]:
        """
        The rule as it stands in a rule file.
        """
        return {"record": self.name, "expr": self.expression}


class Alert(NamedTuple):
    """
    An alert on *expression*, once it holds for *pending_s* seconds.

    *summary* is one line with the tool in it, *description* what the number means. *page* is the dashboard's page that
    shows it, over *window_s*. An alert about a tool has its name; *tool* is for those about all of them.
    """

    name: str
    expression: str
    severity: Severity
    pending_s: int
    summary: str
    description: str
    page: str
    window_s: int
    tool: str = "{{ $labels.tool }}"
    labels: Mapping[str, str] = MappingProxyType({})

    def document(self, links: Links) -> dict[str, object]:
        """
        The rule as it stands in a rule file.
        """
        return {
            "alert": self.name,
            "expr": self.expression,
            "for": duration(self.pending_s),
            "labels": {"severity": str(self.severity), **self.labels},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "tool": self.tool,
                "runbook_url": links.runbook_of(self.name),
                "dashboard_url": links.page_of(self.page, window=duration(self.window_s)),
            },
        }
