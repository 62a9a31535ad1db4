"""
Can the errors be believed?
"""

from collections.abc import Iterator, Mapping
from typing import Final

import streamlit as st

from toolspan.documents import AuditedCode, Quality, ToolQuality
from toolspan.windows import parse_time
from toolspan_dashboard import data, tables
from toolspan_dashboard.page import Page
from toolspan_dashboard.ready_rules import rule_for
from toolspan_dashboard.states import show_nothing
from toolspan_dashboard.tables import Cell, figure, link, text
from toolspan_dashboard.view import clock
from toolspan_dashboard.words import CLASS_NAMES, counted, md, percent, short_id

#: A failure, its one retry, and one more: from here on nobody is trying anything new.
_LONG_STREAK: Final = 3
_MOST_ROWS: Final = 50
_MOST_RULES: Final = 5
#: What each rule of the envelope means, and what to change.
_LINT: Final[Mapping[str, str]] = {
    "retryable_contradicts_class": "`retryable` says otherwise than the class: only transient can be retried",
    "field_missing": "a validation error without `field`: the agent cannot see what to change",
    "hint_too_long": "the hint is too long to be followed",
    "hint_missing": "no hint: the agent does not know what to do",
    "code_invalid": "the code is not of the form UPPER_CASE",
    "class_unknown": "the class is none of the five",
    "error_beside_ok": "`ok: true` beside an error: nobody can tell which is meant",
    "error_missing": "`ok: false` without an error",
    "retry_after_not_transient": "`retry_after_ms` where no retry can help",
    "retry_after_invalid": "`retry_after_ms` is no number of milliseconds",
    "field_not_validation": "`field` where the class is not validation",
    "stack_trace_in_hint": "a stack trace in the hint",
}


def show(page: Page) -> None:
    """
    What makes errors unreliable, each with what to do about it.
    """
    found = data.quality(page.store, page.view.scope)
    if not found["tools"]:
        show_nothing(page, data.facts(page.store)[0])
        return
    _show_unclassified(page, found)
    _show_audit(page, found)
    _show_lint(page, found)
    _show_streaks(page, found)
    _show_unhandled(page, found)


def _show_unclassified(page: Page, found: Quality) -> None:
    tools = {name: tool for name, tool in found["tools"].items() if tool["unclassified"]["failures"]}
    failures = sum(tool["failures"] for tool in found["tools"].values())
    missing = sum(tool["unclassified"]["failures"] for tool in tools.values())
    st.subheader("Failures that name no class", anchor=False)
    if not missing:
        st.markdown(f"None of {counted(failures, 'failure')}: each says who or what must change.")
        return
    st.markdown(
        f"{missing:,} of {counted(failures, 'failure')} ({percent(missing / failures)}) name no class, so nobody knows"
        " whether a retry, a rewrite or a human would have helped. Return the envelope, or paste a rule."
    )
    rows = [
        [_tool(page, name), text(evidence or "(none)"), figure(f"{count:,}"), figure(percent(count / tool["failures"]))]
        for name, tool in tools.items()
        for evidence, count in tool["unclassified"]["evidence"].items()
    ]
    headings = ("Tool", "Most frequent evidence", "Failures", "Of the tool's failures")
    st.html(tables.table("Evidence without a class", headings, rows[:_MOST_ROWS], key="unclassified"))
    rules = [(name, evidence) for name, tool in tools.items() for evidence in tool["unclassified"]["evidence"]]
    with st.expander("Rules to paste into the configuration (TOOLSPAN_CONFIG)", expanded=len(rules) == 1):
        st.markdown("Put in the class that it is, and the code that you call it by; the rule counts for spans to come.")
        st.code("\n\n".join(rule_for(*each) for each in rules[:_MOST_RULES]), language="toml")


def _tool(page: Page, name: str) -> Cell:
    return link(name, "tool", page.view.link(tool=name))


def _show_audit(page: Page, found: Quality) -> None:
    st.subheader("Is the tool lying? Codes whose class the evidence contradicts", anchor=False)
    rows = [
        [
            _tool(page, name),
            text(row["code"]),
            text(CLASS_NAMES[row["class"]]),
            figure(f"{row['succeeded']:,} of {row['identical_retries']:,}"),
            figure(f"{percent(row['interval'][0])} to {percent(row['interval'][1])}"),
            text(_judged(row), is_bad=row["suspect"]),
        ]
        for name, tool in found["tools"].items()
        for row in tool["class_audit"]
    ]
    rows.sort(key=lambda row: not row[-1].is_bad)
    if not rows:
        st.markdown("No failure was answered by the identical call, so there is nothing to compare its class with.")
    else:
        headings = ("Tool", "Code", "Class", "Identical retries that succeeded", "95 % interval", "Verdict")
        st.html(
            tables.table(
                "How often the identical call succeeded after a failure", headings, rows[:_MOST_ROWS], key="audit"
            )
        )
    for name, tool in found["tools"].items():
        for code, classes in tool["codes_with_two_classes"].items():
            seen = " and ".join(f"{CLASS_NAMES[each]} ({count:,})" for each, count in classes.items())
            st.markdown(f"- {md(name)}: {md(code)} was seen as {seen}. One code, one class.")
        cluster = tool["cluster"]
        if cluster is not None:
            st.markdown(
                f"- {md(name)}: {percent(cluster['share'])} of {counted(tool['failures'], 'failure')} are"
                f" {CLASS_NAMES[cluster['class']]}: an envelope problem more than a prompt problem."
            )


def _judged(row: AuditedCode) -> str:
    if not row["suspect"]:
        return "no contradiction"
    if row["class"] == "transient":
        return "says transient, and repeating it never helps: probably a business rule"
    return "the same call works later: probably transient"


def _show_lint(page: Page, found: Quality) -> None:
    st.subheader("Envelope lint", anchor=False)
    rows = [
        [_tool(page, name), text(rule), figure(f"{count:,}"), text(_LINT.get(rule, "").replace("`", ""), longest=200)]
        for name, tool in found["tools"].items()
        for rule, count in tool["lint"].items()
    ]
    if not rows:
        st.markdown("No envelope breaks a rule.")
        return
    st.html(tables.table("Broken rules of the envelope", ("Tool", "Rule", "Calls", "What it means"), rows, key="lint"))


def _show_streaks(page: Page, found: Quality) -> None:
    st.subheader("The same error again and again in one task", anchor=False)
    rows = [
        [
            _tool(page, name),
            figure(f"{tool['streak']['longest']:,}"),
            text(tool["streak"]["code"] or ""),
            _task(page, tool["streak"]["task_id"] or ""),
        ]
        for name, tool in _by_streak(found)
    ]
    if not rows:
        st.markdown(f"No tool failed {_LONG_STREAK} times in a row with one code.")
        return
    headings = ("Tool", "Failures in a row", "Code", "In task")
    st.html(tables.table("Longest streaks", headings, rows[:_MOST_ROWS], key="streaks"))


def _by_streak(found: Quality) -> Iterator[tuple[str, ToolQuality]]:
    tools = sorted(found["tools"].items(), key=lambda item: -item[1]["streak"]["longest"])
    return ((name, tool) for name, tool in tools if tool["streak"]["longest"] >= _LONG_STREAK)


def _task(page: Page, task_id: str) -> Cell:
    return link(short_id(task_id), "task", page.view.link(task=task_id))


def _show_unhandled(page: Page, found: Quality) -> None:
    st.subheader("Resolved tasks that end in a failure", anchor=False)
    tasks, failures = found["tasks"], found["unhandled_failures"]
    if not failures:
        st.markdown(f"None of {counted(tasks['resolved'], 'resolved task')}.")
        return
    st.markdown(
        f"{counted(tasks['unhandled'], 'task')} ({percent(tasks['unhandled_share'] or 0)} of the resolved ones) say"
        " resolved, though the last call failed and no human was asked: the answer may claim what did not happen."
    )
    zone = page.view.zone
    rows = [
        [
            _task(page, failure["task_id"]),
            _tool(page, failure["tool"]),
            text(failure["code"], note=CLASS_NAMES[failure["class"]]),
            text(clock(parse_time(failure["ended_at"], now_ns=0), zone)),
        ]
        for failure in failures[:_MOST_ROWS]
    ]
    caption = "The latest first" if len(failures) <= _MOST_ROWS else f"The latest {_MOST_ROWS} of {len(failures):,}"
    st.html(tables.table(caption, ("Task", "Last call", "Failed with", f"At ({zone})"), rows, key="unhandled"))
