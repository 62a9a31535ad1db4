"""
Did it get better?
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import streamlit as st

from toolspan.documents import Report
from toolspan.errors import InputError
from toolspan.scope import DIMENSIONS, Dimension, Scope
from toolspan.windows import parse_time
from toolspan_dashboard import data, tables
from toolspan_dashboard.choosing import choose
from toolspan_dashboard.comparing import Compared, compare
from toolspan_dashboard.page import Page
from toolspan_dashboard.tables import Cell, link, text
from toolspan_dashboard.view import UNKNOWN, View, clock, in_zone
from toolspan_dashboard.words import counted, md

_WINDOWS: Final = "time"
_MOST_ROWS: Final = 200


class Side(NamedTuple):
    """
    One of the two that are compared.
    """

    name: str
    report: Report


def show(page: Page) -> None:
    """
    Two windows, agents, services or environments side by side.
    """
    left, middle, right = st.columns(3)
    with left:
        what = st.selectbox("Compare by", (_WINDOWS, *DIMENSIONS), key="compare", bind="query-params")
    with right:
        tool = choose("Tool", data.names(page.store).tools, key="tool", placeholder="All tools")
    by: Dimension | None = next((name for name in DIMENSIONS if name == what), None)
    with middle:
        sides = _two_windows(page) if by is None else _two_groups(page, by)
    if sides is not None:
        _show(page, *sides, tool)


def _two_windows(page: Page) -> tuple[Side, Side]:
    at = st.text_input(
        "Change made at",
        key="at",
        bind="query-params",
        placeholder="2026-05-04T10:00, or an age such as 2h",
        help="Tasks that ended before it are compared with those that ended after. Empty: half of the window.",
    )
    before, after = split(page.view, at or "", first_ns=data.facts(page.store)[0].first_end_ns)
    first, second = data.reports(page.store, (before, after))
    return Side(_window(before, page.view.zone), first), Side(_window(after, page.view.zone), second)


def split(view: View, at: str, *, first_ns: int) -> tuple[Scope, Scope]:
    """
    The part of the window of *view* before *at* and the part from it on; where nobody says, the window is halved, from
    *first_ns* where it has no beginning.

    Raises:
        InputError: *at* cannot be read, or lies outside.
    """
    scope = view.scope
    begin_ns = first_ns if scope.since_ns is None else scope.since_ns
    end_ns = view.now_ns if scope.until_ns is None else scope.until_ns
    text_ = in_zone(at, view.zone)
    at_ns = (begin_ns + end_ns) // 2 if text_ is None else parse_time(text_, now_ns=view.now_ns)
    if not begin_ns < at_ns < end_ns:
        raise InputError(
            f"The change at {at!r} is not inside the window, {view.window_text()}: choose a longer window, or a time in"
            " it."
        )
    return scope._replace(until_ns=at_ns), scope._replace(since_ns=at_ns)


def _window(scope: Scope, zone: str) -> str:
    since = "the beginning" if scope.since_ns is None else clock(scope.since_ns, zone)
    until = "now" if scope.until_ns is None else clock(scope.until_ns, zone)
    return f"{since} to {until}"


def _two_groups(page: Page, by: Dimension) -> tuple[Side, Side] | None:
    reports = data.reports_by(page.store, by, page.view.scope._replace(**{by: None}))
    names = [value or UNKNOWN for value in reports]
    if len(names) < 2:
        st.info(f"There are not two {by}s in this window.")
        return None
    asked = [
        choose(f"The {label} {by}", names, key=label, placeholder=names[place])
        for place, label in enumerate(("first", "second"))
    ]
    chosen = [value or names[place] for place, value in enumerate(asked)]
    missing = [value for value in chosen if value not in names]
    if missing:
        st.info(f"There is no {by} {md(missing[0])} in this window.")
        return None
    first, second = (reports["" if value == UNKNOWN else value] for value in chosen)
    return Side(chosen[0], first), Side(chosen[1], second)


def _show(page: Page, before: Side, after: Side, tool: str | None) -> None:
    min_cases = data.settings().targets.min_cases
    rows = compare(before.report, after.report, min_cases=min_cases, tool=tool)
    if not rows:
        st.info(f"{md(tool) if tool else 'No tool'} was called in neither of the two.")
        return
    judged = [row.verdict for row in rows if row.verdict in ("better", "worse", "no clear difference")]
    counts = ", ".join(f"{judged.count(word):,} {word}" for word in ("better", "worse", "no clear difference"))
    st.markdown(
        f"**{counts}**; {counted(sum('too few' in row.verdict for row in rows), 'number')} with too few cases to say."
    )
    cells = [_row(page, row) for row in rows[:_MOST_ROWS]]
    headings = ("Tool", "Number", before.name, after.name, "Difference")
    st.html(tables.table(f"{before.name}, and {after.name}", headings, cells, key="compared"))
    st.caption(
        "Better and worse are said where the 95 % intervals do not overlap and both sides have at least"
        f" {min_cases:,} cases."
    )


def _row(page: Page, row: Compared) -> Sequence[Cell]:
    mark = {"better": "▲ better", "worse": "▼ worse"}.get(row.verdict, row.verdict)
    return (
        link(row.tool, "tool", page.view.link(tool=row.tool)),
        text(row.name),
        text(row.before),
        text(row.after),
        Cell(f'<span class="ts-{"bad" if row.verdict == "worse" else "plain"}">{mark}</span>'),
    )
