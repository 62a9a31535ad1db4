"""
What happens when this tool fails?
"""

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from toolspan.documents import Recovery, ToolReport
from toolspan.numbers import Targets
from toolspan.taxonomy import ErrorClass
from toolspan_dashboard import charts, data, spread, tables
from toolspan_dashboard.choosing import choose
from toolspan_dashboard.findings import find
from toolspan_dashboard.page import Page, link
from toolspan_dashboard.pages.cards import show_findings
from toolspan_dashboard.states import show_nothing
from toolspan_dashboard.tables import Cell, figure, text
from toolspan_dashboard.view import clock
from toolspan_dashboard.words import CLASS_NAMES, NOTHING, counted, duration, md, number, percent
from toolspan_queries.page_rows import CodesSeen, NextActions
from toolspan_queries.quality_rows import LocalAttempts

_NEXT: Final[Mapping[str, str]] = {
    "retry": "retried the same call",
    "rewrite": "changed the arguments",
    "other": "did something else",
    "escalated": "asked a human",
    "nothing": "did nothing more",
}
#: The one answer that each class wants; any other is not wrong for that alone.
_WANTED: Final[Mapping[str, str]] = {
    ErrorClass.TRANSIENT: "retry",
    ErrorClass.VALIDATION: "rewrite",
    ErrorClass.PERMISSION: "escalated",
}
_MOST_CODES: Final = 50


def show(page: Page) -> None:
    """
    One tool, which the URL or the widget names.
    """
    known = data.names(page.store).tools
    if not known:
        show_nothing(page, data.facts(page.store)[0])
        return
    name = choose("Tool", known, key="tool", placeholder="Choose a tool")
    if not name:
        st.info("Choose a tool, or take one from the overview, where the one with the most damage stands first.")
        page.show_links(link("overview", "Overview"))
        return
    found = data.tool(page.store, page.view.scope._replace(tool=name))
    tool = found.report["tools"].get(name)
    if tool is None:
        st.info(f"{md(name)} was not called from {md(page.view.window_text())} with these filters.")
        page.show_links(link("tool", "Look at all of time", range="all", tool=name))
        return
    targets = data.settings().targets
    _show_numbers(tool, targets)
    show_findings(
        page, find(found.report, quality=found.quality, examples=found.examples, targets=targets), is_of_one_tool=True
    )
    _show_retries(page, found)
    st.html(_actions_table(found.actions))
    st.caption(
        "▲ marks retries that are damage: early, over the cap, or of a failure that no retry can mend. ✓ marks what"
        " the class asks for."
    )
    left, right = st.columns(2)
    detail = tool["detail"]
    with left:
        st.html(_recovery_table("Validation recovery by field", "Field", detail["recovery_by_field"], key="fields"))
    with right:
        st.html(_recovery_table("Validation recovery by code", "Code", detail["recovery_by_code"], key="recovery"))
    st.html(_codes_table(found.codes, page.view.zone))
    st.html(_attempts_table(tool, found.attempts))
    page.show_links(
        link("task", "The tasks in which it did most damage", of=name),
        link("compare", "Before and after a change", tool=name),
    )


def _show_numbers(tool: ToolReport, targets: Targets) -> None:
    failed = sum(tool["errors"].values())
    recovery, escalations = tool["validation_recovery"], tool["escalations"]
    per_task, detail = tool["retries_per_resolved_task"], tool["detail"]
    presumed = detail["presumed_share"]
    mean = NOTHING if per_task["mean"] is None else f"{number(per_task['mean'])}, p95 {per_task['p95']}"
    rows = [
        [
            figure(f"{tool['damage']:,}"),
            figure(f"{failed:,} of {tool['calls']:,}", note=_share(detail["unclassified_share"], "unclassified")),
            figure(
                mean,
                note=_share(presumed["retries"], "presumed") or f"target p95 {targets.retries_p95}",
                is_bad=bool({"retries_p95", "retries_per_step"} & set(tool["broken"])),
            ),
            figure(
                _of(recovery["recovered"], recovery["failures"]),
                note=_share(presumed["rewrites"], "presumed") or f"target {percent(targets.validation_recovery)}",
                is_bad="validation_recovery" in tool["broken"],
            ),
            figure(
                _of(escalations["without_prior_retry"], escalations["escalated"]),
                note=f"target {percent(targets.clean_escalations)}; {_episodes(tool)}",
                is_bad="clean_escalations" in tool["broken"],
            ),
            figure(f"{duration(tool['duration_ms']['p50'])}, p95 {duration(tool['duration_ms']['p95'])}"),
        ]
    ]
    headings = (
        "Damage",
        "Calls failed",
        "Retries per resolved task",
        "Validation recovery",
        "Escalated at once",
        "Call takes",
    )
    st.html(tables.table("The numbers", headings, rows, key="numbers"))


def _episodes(tool: ToolReport) -> str:
    escalations = tool["escalations"]
    late = escalations["escalated"] - escalations["without_prior_retry"]
    return f"{late:,} after a retry, {escalations['episodes'] - escalations['escalated']:,} never"


def _share(share: float | None, what: str) -> str:
    return f"{percent(share)} {what}" if share else ""


def _of(part: int, whole: int) -> str:
    return f"{percent(part / whole)} of {whole:,}" if whole else NOTHING


def _show_retries(page: Page, found: data.ToolData) -> None:
    counts = spread.distribution(found.retries)
    if not counts:
        st.info("No resolved task called it, so there is no distribution of retries per resolved task.")
        return
    values = {name: spread.nearest_rank(counts, percentile) for name, percentile in spread.PERCENTILES.items()}
    tail = sum(tasks for retries, tasks in counts.items() if retries > 1)
    total = sum(counts.values())
    st.markdown(
        f"**Retries per resolved task**: {', '.join(f'{name} {value}' for name, value in values.items())};"
        f" the tail, more than one retry, is {percent(tail / total)} of {counted(total, 'task')}."
    )
    left, right = st.columns(2)
    with left:
        st.altair_chart(charts.retries_distribution(counts), alt="How many resolved tasks retried it how often")
    with right:
        parts = spread.over_time(found.retries)
        st.altair_chart(
            charts.retries_over_time(parts, zone=page.view.zone),
            alt="Percentiles of retries per resolved task over time",
        )


def _actions_table(actions: Sequence[NextActions]) -> str:
    cells = {(row.error_class, row.next_action): row for row in actions}
    classes = [name for name in CLASS_NAMES if any(row.error_class == name for row in actions)]
    rows = [
        [text(CLASS_NAMES[name]), *(_action_cell(name, action, cells.get((name, action))) for action in _NEXT)]
        for name in classes
    ]
    caption = "What the agent did after a failure"
    if not rows:
        return tables.table(f"{caption}: nothing failed", (), (), key="actions")
    return tables.table(caption, ("After a failure of class", *_NEXT.values()), rows, key="actions")


def _action_cell(error_class: str, action: str, row: NextActions | None) -> Cell:
    wanted = "✓ " if _WANTED.get(error_class) == action else ""
    if row is None:
        return figure(f"{wanted}{NOTHING}")
    notes: list[str] = []
    if row.in_vain:
        notes.append(f"{row.in_vain:,} in vain")
    if row.wasted_ns:
        notes.append(f"{duration(row.wasted_ns / 10**6)} wasted")
    return figure(f"{wanted}{row.failures:,}", note=", ".join(notes), is_bad=bool(row.in_vain))


def _recovery_table(caption: str, heading: str, by: Mapping[str, Recovery], *, key: str) -> str:
    rows = [
        [
            text(name or "(not named)"),
            figure(f"{row['failures']:,}"),
            figure(f"{row['recovered']:,}"),
            figure(NOTHING if row["rate"] is None else percent(row["rate"])),
            figure(f"{row['accepted']:,}"),
        ]
        for name, row in list(by.items())[:_MOST_CODES]
    ]
    if not rows:
        return tables.table(f"{caption}: no validation failure", (), (), key=key)
    headings = (heading, "Failures", "Recovered", "Rate", "No longer invalid")
    return tables.table(caption, headings, rows, key=key)


def _codes_table(codes: Sequence[CodesSeen], zone: str) -> str:
    rows = [
        [
            text(row.code),
            text(CLASS_NAMES.get(row.error_class, row.error_class)),
            figure(f"{row.failures:,}"),
            text(clock(row.first_ns, zone)),
            text(clock(row.last_ns, zone)),
        ]
        for row in codes[:_MOST_CODES]
    ]
    if not rows:
        return tables.table("Codes: nothing failed", (), (), key="codes")
    caption = "Codes" if len(codes) <= _MOST_CODES else f"The {_MOST_CODES} most frequent of {len(codes):,} codes"
    return tables.table(caption, ("Code", "Class", "Failures", f"First ({zone})", f"Last ({zone})"), rows, key="codes")


def _attempts_table(tool: ToolReport, attempts: Sequence[LocalAttempts]) -> str:
    rows = [
        [
            figure(f"{tool['attempts']['total']:,}"),
            figure(number(row.attempts_per_call)),
            figure(f"{row.calls_with_local_retry:,}"),
            figure(duration(row.waited_ms)),
            figure(f"{row.budget_exhausted:,}"),
        ]
        for row in attempts
    ]
    headings = ("Attempts", "Per call", "Calls with more than one", "Waited in the tool", "Budgets used up")
    return tables.table("Retries inside the tool, which the model never sees", headings, rows, key="attempts")
