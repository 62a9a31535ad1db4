"""
A finding as a card, on whatever page it stands.
"""

from collections.abc import Sequence
from typing import Final

import streamlit as st

from toolspan_dashboard.findings import Finding
from toolspan_dashboard.page import Page, link
from toolspan_dashboard.words import counted, md

#: Cards that are open at once, and those that miss a target up to so many; the others are a click away.
_SHOWN: Final = 3
_MOST_OPEN: Final = 6
_MOST: Final = 50


def show_findings(page: Page, findings: Sequence[Finding], *, is_of_one_tool: bool = False) -> None:
    """
    The *findings* as cards; open are the first few, and those that miss a target.
    """
    opened = [finding for place, finding in enumerate(findings) if place < _SHOWN or finding.is_broken][:_MOST_OPEN]
    for finding in opened:
        _show(page, finding, is_of_one_tool=is_of_one_tool)
    more = [finding for finding in findings if finding not in opened]
    if more:
        with st.expander(f"{counted(len(more), 'more finding')} of less damage"):
            for finding in more[:_MOST]:
                _show(page, finding, is_of_one_tool=is_of_one_tool)


def _show(page: Page, finding: Finding, *, is_of_one_tool: bool) -> None:
    name = "" if is_of_one_tool else f"{md(finding.tool)}: "
    mark = " :red-badge[:material/error: misses its target]" if finding.is_broken else ""
    with st.container(border=True):
        st.markdown(
            f"**{name}{finding.title}**{mark}\n\n"
            f"**What recurs** {finding.recurs}  \n**What it costs** {finding.costs}  \n"
            f"**What to change** {finding.change}  \n**How to see that it worked** {finding.proof}"
        )
        about = [] if is_of_one_tool else [link("tool", f"All about {finding.tool}", tool=finding.tool)]
        examples = [link("task", f"Example {place}", task=task_id) for place, task_id in enumerate(finding.examples, 1)]
        page.show_links(*about, *examples, link("compare", "Before and after a change", tool=finding.tool))
