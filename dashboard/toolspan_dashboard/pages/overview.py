"""
Which tool is hurting, why, and what would you change?
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import streamlit as st

from toolspan.documents import Report, Tasks, ToolReport
from toolspan.numbers import Targets
from toolspan_dashboard import data, tables
from toolspan_dashboard.findings import find, headline
from toolspan_dashboard.page import Page, link
from toolspan_dashboard.pages.cards import show_findings
from toolspan_dashboard.states import show_nothing
from toolspan_dashboard.tables import Cell, figure, mix, spark
from toolspan_dashboard.words import NOTHING, counted, number, percent
from toolspan_queries.page_rows import DamageOverTime

#: A table beyond this is none for a person; where models make tool names up there can be thousands.
_MOST_TOOLS: Final = 100


def show(page: Page) -> None:
    """
    The findings, ranked by damage; then all tools.
    """
    found = data.overview(page.store, page.view.scope)
    if not found.report["tools"]:
        show_nothing(page, data.facts(page.store)[0])
        return
    targets = data.settings().targets
    findings = find(found.report, quality=found.quality, examples=found.examples, targets=targets)
    st.markdown(f"### {headline(findings, found.report)}", anchors=False)
    st.caption(_tasks_line(found.report["tasks"]))
    show_findings(page, findings)
    unhandled = found.quality["tasks"]
    if unhandled["unhandled"]:
        share = percent(unhandled["unhandled_share"] or 0)
        st.markdown(
            f"**{counted(unhandled['unhandled'], 'resolved task')}** ({share}) say resolved, though their last call"
            " failed and nobody was told."
        )
        page.show_links(link("quality", "Which tasks those are"))
    st.html(_tools_table(page, found.report, _trends(found.damage), targets))
    st.caption(_legend(found.report))


def _tasks_line(tasks: Tasks) -> str:
    parts = (
        (tasks["resolved"], "resolved"),
        (tasks["unresolved"], "unresolved"),
        (tasks["escalated"], "escalated"),
        (tasks["unknown"], "of unknown outcome"),
        (tasks["open"], "open"),
    )
    of = ", ".join(f"{count:,} {name}" for count, name in parts if count)
    return (
        f"{counted(tasks['total'], 'task')}: {of}. Damage counts retries in vain, validation failures that were not"
        " repaired, and escalations after a retry."
    )


def _trends(rows: Iterable[DamageOverTime]) -> Mapping[str, list[int]]:
    """
    Damage of each tool in each part of the window, the same parts for all.
    """
    parts: defaultdict[str, dict[int, int]] = defaultdict(dict)
    width, begins = 1, list[int]()
    for row in rows:
        parts[row.tool][row.begin_ns] = row.damage
        width = row.width_ns
        begins.append(row.begin_ns)
    if not begins:
        return {}
    places = range(min(begins), max(begins) + width, width)
    return {tool: [of_tool.get(begin, 0) for begin in places] for tool, of_tool in parts.items()}


def _tools_table(page: Page, report: Report, trends: Mapping[str, list[int]], targets: Targets) -> str:
    shown = list(report["tools"].items())[:_MOST_TOOLS]
    caption = f"All tools by damage: {counted(len(report['tools']), 'tool')}"
    if len(report["tools"]) > len(shown):
        caption += f", the {_MOST_TOOLS} with the most damage shown"
    headings = (
        "Tool",
        "Damage",
        "Damage over time",
        "Calls failed",
        "Failures by class",
        f"Retries per resolved task (p95 target {targets.retries_p95})",
        f"Validation recovery (target {percent(targets.validation_recovery)})",
        f"Escalated at once (target {percent(targets.clean_escalations)})",
    )
    rows = [_row(page, name, tool, trends.get(name, [])) for name, tool in shown]
    return tables.table(caption, headings, rows, key="tools")


def _row(page: Page, name: str, tool: ToolReport, trend: Sequence[int]) -> list[Cell]:
    detail, broken = tool["detail"], tool["broken"]
    recovery, escalations = tool["validation_recovery"], tool["escalations"]
    failed = sum(tool["errors"].values())
    presumed = detail["presumed_share"]
    return [
        tables.link(name, "tool", page.view.link(tool=name)),
        figure(f"{tool['damage']:,}"),
        spark(trend, what=f"Damage of {name}"),
        figure(_of(failed, tool["calls"]), note=_weak(detail["unclassified_share"], "unclassified")),
        mix(tool["errors"]),
        figure(
            _retries(tool),
            note=_weak(presumed["retries"], "presumed"),
            is_bad=bool({"retries_p95", "retries_per_step"} & set(broken)),
        ),
        figure(
            _of(recovery["recovered"], recovery["failures"]),
            note=_weak(presumed["rewrites"], "presumed"),
            is_bad="validation_recovery" in broken,
        ),
        figure(_of(escalations["without_prior_retry"], escalations["escalated"]), is_bad="clean_escalations" in broken),
    ]


def _weak(share: float | None, what: str) -> str:
    return f"{percent(share)} {what}" if share else ""


def _of(part: int, whole: int) -> str:
    return f"{percent(part / whole)} of {whole:,}" if whole else NOTHING


def _retries(tool: ToolReport) -> str:
    per_task, per_step = tool["retries_per_resolved_task"], tool["retries"]["per_step"]
    if per_task["mean"] is not None:
        return f"mean {number(per_task['mean'])}, p95 {per_task['p95']}"
    return NOTHING if per_step is None else f"{number(per_step)} a step"


def _legend(report: Report) -> str:
    notes = ["▲ misses its target."]
    details = [tool["detail"] for tool in report["tools"].values()]
    if any(detail["unclassified_share"] for detail in details):
        notes.append("Unclassified: failures of which the evidence names no class.")
    if any(detail["presumed_share"]["retries"] or detail["presumed_share"]["rewrites"] for detail in details):
        notes.append("Presumed: links that rest on unknown arguments; `toolspan doctor FILE` says how to record them.")
    return " ".join(notes)
