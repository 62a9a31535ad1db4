"""
Where an alert leads: the page of its runbook, and the page of the dashboard that shows what it is about.
"""

from typing import Final, NamedTuple


class Links(NamedTuple):
    """
    The addresses below which the *dashboard* and the *runbooks* are.
    """

    dashboard: str
    runbooks: str

    def runbook_of(self, alert: str) -> str:
        """
        The page about *alert*.
        """
        return f"{self.runbooks.rstrip('/')}/{alert}.md"

    def page_of(self, page: str, *, window: str) -> str:
        """
        The *page* of the dashboard over the last *window*; of the alert's tool, where it is the page of a tool.

        The name of a tool is data: Prometheus escapes it when it fills in the template.
        """
        tool = "&tool={{ $labels.tool | urlquery }}" if page == "tool" else ""
        return f"{self.dashboard.rstrip('/')}/{page}?range={window}{tool}"


#: Where `toolspan dashboard` is unless told otherwise, and where the pages lie in the project.
DEFAULT_LINKS: Final = Links("http://127.0.0.1:8501", "docs/runbooks")
