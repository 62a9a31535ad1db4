"""
What stands on every page: losses, and what to do where there is nothing to show or nothing can be had.
"""

import streamlit as st

from toolspan.store.facts import StoreFacts
from toolspan_dashboard.page import Page, link
from toolspan_dashboard.words import counted, duration, md, percent

#: What is lost, and what it means; `duplicate` is not here: a repeat loses nothing.
LOSSES = {
    "dropped": "dropped before they were kept",
    "rejected": "rejected: no usable ids or times",
    "late": "late: their task was closed",
    "conflict": "conflicting: the same ids with other content",
}
#: Fewer tasks without their span than this are tasks that broke off; more are sampling, or exporters that lose spans.
_UNSEEN_SHARE = 0.02
_SECOND_NS = 10**9


def loss_lines(facts: StoreFacts, waiting: int, *, when: str) -> list[str]:
    """
    What is in no number, in words; empty where nothing is missing. *when* is the time of which *facts* count what came.
    """
    lines: list[str] = []
    received = facts.intake.get("received", 0)
    lost = {reason: facts.intake.get(reason, 0) for reason in LOSSES}
    total = sum(lost.values())
    if total:
        share = percent(min(1.0, total / max(received + lost["rejected"] + lost["dropped"], 1)))
        reasons = ", ".join(f"{count:,} {LOSSES[reason]}" for reason, count in lost.items() if count)
        lines.append(f"{counted(total, 'span')} ({share}) that came {when} are in no number: {reasons}.")
    if facts.tasks and facts.unseen_tasks > _UNSEEN_SHARE * facts.tasks:
        lines.append(
            f"Of {counted(facts.tasks, 'task')} {facts.unseen_tasks:,} ({percent(facts.unseen_tasks / facts.tasks)})"
            " never sent their own span: traces are sampled, or spans get lost on the way. They count as unknown, and"
            " in no number of resolved tasks."
        )
    if waiting:
        lines.append(
            f"{counted(waiting, 'task')} ended but not settled: whoever writes to the store next settles them."
        )
    return lines


def age_text(facts: StoreFacts, now_ns: int) -> str:
    """
    How old the newest data is; of spans that were pruned only the hour is known in which the last one came.
    """
    if not facts.last_arrival_ns:
        return "no data yet"
    age = duration(max(0, now_ns - facts.last_arrival_ns) // _SECOND_NS * 1000)
    return f"{age} old" if facts.is_last_arrival_exact else f"up to {age} old"


def show_banner(page: Page, facts: StoreFacts, waiting: int) -> None:
    """
    Loss, where there is some: it is never hidden.
    """
    lines = loss_lines(facts, waiting, when="in this window")
    if lines:
        st.warning("  \n".join(md(line, longest=1000) for line in lines), icon=":material/warning:")
        page.show_links(link("pipeline", "What was lost, and why"))


def show_nothing(page: Page, facts: StoreFacts) -> None:
    """
    Why there is nothing to show, and what to do about it.
    """
    view = page.view
    if not facts.tasks:
        st.info(
            "The store has no tasks yet. Send spans to a collector (`toolspan collect`), or read them from a file"
            " (`toolspan ingest FILE`); `toolspan doctor` says why spans that came are no tool calls.",
            icon=":material/hourglass_empty:",
        )
        return
    filters = ", ".join(
        f"{name} {md(value)}" for name, value in view.choices.items() if name in ("agent", "service", "environment")
    )
    st.info(
        f"No tool was called from {md(view.window_text())}{f' with {filters}' if filters else ''}."
        f" The store has {counted(facts.tasks, 'task')}.",
        icon=":material/search_off:",
    )
    everything = dict.fromkeys(("agent", "service", "environment", "since", "until"), "")
    page.show_links(link("", "Show everything there is", range="all", **everything))
