"""
What did the agent do in this task, call by call?
"""

from collections.abc import Sequence
from typing import Final

import streamlit as st

from toolspan.records import Call
from toolspan_dashboard import charts, data, tables
from toolspan_dashboard.page import Page
from toolspan_dashboard.sources import MOST_CALLS, EscalationShown, TaskShown
from toolspan_dashboard.tables import Cell, figure, link, text
from toolspan_dashboard.view import clock, clock_s
from toolspan_dashboard.words import CLASS_NAMES, counted, duration, md, short_id
from toolspan_queries.page_rows import WorstTasks

_MS: Final = 10**6
#: Of the worst tasks; who looks further narrows the window or asks for one tool.
_MOST_SHOWN: Final = 30
_NEXT: Final = {
    "retry": "retried",
    "rewrite": "rewrote the arguments",
    "other": "did something else",
    "escalated": "asked a human",
    "nothing": "did nothing more",
}


def show(page: Page) -> None:
    """
    The task that the URL or the search names, and below it the worst.
    """
    task_id = st.text_input(
        "Task id", key="task", bind="query-params", placeholder="Paste the id of a task, or choose one below"
    )
    task_id = (task_id or "").strip()
    if task_id:
        task = data.task(page.store, task_id)
        if task is None:
            st.warning(
                f"There is no task {md(task_id)} in this store: it was pruned, or its id is another. A trace of which"
                " nobody named the task has the id of its trace, then of its run."
            )
        else:
            _show_task(page, task)
    _show_worst(page, is_closed=bool(task_id))


def _show_task(page: Page, task: TaskShown) -> None:
    zone = page.view.zone
    state = task.outcome if task.settled else "open"
    facts = (
        ("agent", task.agent),
        ("service", task.service),
        ("environment", task.environment),
    )
    of = ", ".join(f"{name} {md(value)}" for name, value in facts if value)
    st.subheader(f"{md(task.name or task.task_id)}: {state}", anchor=False)
    st.caption(
        f"{md(clock_s(task.started_ns, zone))} to {md(clock_s(task.ended_ns, zone))} ({md(zone)}),"
        f" {duration((task.ended_ns - task.started_ns) / _MS)}; {of}; task {md(task.task_id)}"
    )
    if task.outcome == "unknown" and task.settled:
        st.info("Nobody knows how it ended: its own span never came, so it counts in no number of resolved tasks.")
    if task.unhandled:
        st.warning("It says resolved, but its last call failed and nobody was told.", icon=":material/report:")
    if not task.calls:
        st.info("It called no tool.")
        return
    st.altair_chart(
        charts.timeline(task.calls, started_ns=task.started_ns),
        alt="The calls in order of start, and which answered which failure; the table below says it all",
    )
    if len(task.calls) > charts.MOST_DRAWN:
        st.caption(f"The first {charts.MOST_DRAWN} calls are drawn; the table has more.")
    st.html(_calls_table(page, task))
    if task.more:
        st.caption(f"The first {MOST_CALLS:,} calls; toolspan calls --task has all.")
    for escalation in task.escalations:
        st.markdown(_escalation_line(escalation, task.started_ns))


def _escalation_line(escalation: EscalationShown, started_ns: int) -> str:
    about = f" about {md(escalation.tool)}" if escalation.tool else ""
    why = f": {md(escalation.reason, longest=300)}" if escalation.reason else ""
    return f":material/person_raised_hand: A human was asked{about} after {_after(escalation.at_ns, started_ns)}{why}"


def _after(at_ns: int, started_ns: int) -> str:
    return duration(max(0, at_ns - started_ns) / _MS)


def _calls_table(page: Page, task: TaskShown) -> str:
    places = {call.span_id: place for place, call in enumerate(task.calls, 1)}
    rows = [_row(page, task, place, call, places) for place, call in enumerate(task.calls, 1)]
    headings = ("Call", "Began", "Took", "Ended", "Field", "Evidence", "Answers", "What the agent did next")
    return tables.table(f"{counted(len(task.calls), 'call')} in order of start", headings, rows, key="calls")


def _row(page: Page, task: TaskShown, place: int, call: Call, places: dict[bytes, int]) -> list[Cell]:
    tool = link(f"{place}. {call.tool}", "tool", page.view.link(tool=call.tool))
    attempts = f"{call.attempts:,} attempts inside" if call.attempts > 1 else ""
    return [
        tool,
        figure(f"+{_after(call.started_ns, task.started_ns)}"),
        figure(duration(max(0, call.ended_ns - call.started_ns) / _MS), note=attempts),
        _ended(call),
        text(call.field or ""),
        text(call.evidence if call.outcome == "error" else "", note=_asked_to_wait(call)),
        _answers(call, places),
        text(_NEXT.get(call.next_action or "", "")),
    ]


def _ended(call: Call) -> Cell:
    if call.outcome != "error":
        return text(call.outcome)
    return text(call.code or "UNCLASSIFIED", note=CLASS_NAMES.get(call.error_class or "", ""))


def _asked_to_wait(call: Call) -> str:
    return "" if call.retry_after_ms is None else f"asked to wait {duration(call.retry_after_ms)}"


def _answers(call: Call, places: dict[bytes, int]) -> Cell:
    if call.follows is None or call.follow_up is None:
        return text("")
    failure = places.get(call.follows)
    of = "an earlier call" if failure is None else f"call {failure}"
    presumed = "presumed: arguments unknown" if call.presumed else ""
    if call.follow_up == "rewrite":
        return text(f"rewrite of {of}", note=presumed)
    verdict = (call.verdict or "").replace("_", " ")
    cost = f"{duration(call.wasted_ns / _MS)} wasted" if call.wasted_ns else ""
    notes = ", ".join(note for note in (cost, presumed) if note)
    return text(f"retry of {of}: {verdict}", note=notes, is_bad=call.verdict in ("wasted", "over_cap", "early"))


def _show_worst(page: Page, *, is_closed: bool) -> None:
    of = st.query_params.get("of", "")
    known = data.names(page.store).tools
    tool = of if of in known else None
    worst = data.worst_tasks(page.store, page.view.scope._replace(tool=tool))
    if not worst:
        st.info(f"No task did damage from {md(page.view.window_text())} with these filters.")
        return
    with st.expander("The worst tasks", expanded=not is_closed):
        st.html(_worst_table(page, worst[:_MOST_SHOWN], tool))


def _worst_table(page: Page, worst: Sequence[WorstTasks], tool: str | None) -> str:
    zone = page.view.zone
    rows = [
        [
            link(short_id(row.task_id), "task", page.view.link(task=row.task_id), note=row.task),
            figure(f"{row.damage:,}"),
            figure(f"{row.retries:,}"),
            figure(f"{row.calls:,}"),
            figure(duration(row.wasted_ns / _MS)),
            text(row.outcome),
            text(clock(row.ended_ns, zone)),
        ]
        for row in worst
    ]
    of = f" of {tool}" if tool else ""
    caption = f"By damage{of}, the worst first" + (f" ({_MOST_SHOWN} shown)" if len(worst) == _MOST_SHOWN else "")
    headings = ("Task", "Damage", "Retries", "Calls", "Wasted", "Outcome", f"Ended ({zone})")
    return tables.table(caption, headings, rows, key="worst")
