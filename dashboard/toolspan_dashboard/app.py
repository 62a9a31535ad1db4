"""
The dashboard: navigation, and the filters that every page shares.

Each filter is bound to the parameter of the URL that has its name, so that a view is a link and outlives a change of
page. `toolspan dashboard` has Streamlit run `entry/script.py`, with the store in `TOOLSPAN_STORE`.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

import streamlit as st

from toolspan.errors import ToolspanError
from toolspan.scope import Scope
from toolspan.windows import parse_age
from toolspan_dashboard import data, states, tables
from toolspan_dashboard.choosing import choose
from toolspan_dashboard.page import Page
from toolspan_dashboard.pages import compare, overview, pipeline, quality, task, tool
from toolspan_dashboard.sources import NamesKnown
from toolspan_dashboard.view import DEFAULT_RANGE, RANGES, UNKNOWN, View, view_of
from toolspan_dashboard.words import md

Show = Callable[[Page], None]

#: By path in the URL: what it is called, the question it answers, its icon, and what lays it out.
PAGES: Final[Mapping[str, tuple[str, str, str, Show]]] = {
    "overview": (
        "Overview",
        "Which tool is hurting, why, and what would you change?",
        ":material/monitor_heart:",
        overview.show,
    ),
    "tool": ("Tool", "What happens when this tool fails?", ":material/handyman:", tool.show),
    "task": ("Task", "What did the agent do in this task, call by call?", ":material/timeline:", task.show),
    "quality": ("Quality of errors", "Can the errors be believed?", ":material/fact_check:", quality.show),
    "compare": ("Compare", "Did it get better?", ":material/compare_arrows:", compare.show),
    "pipeline": ("Pipeline", "Is anything missing from these numbers?", ":material/conveyor_belt:", pipeline.show),
}
#: How often a page asks again; any other age can be typed.
_REFRESHES: Final = ("10s", "60s", "off")
_LEAST_REFRESH_S: Final = 1.0
_ICON: Final = Path(__file__).with_name("icon.svg")
_UTC: Final = "UTC"
HOUR_NS: Final = 3600 * 10**9


def main() -> None:
    """
    Lays out the page that the URL names.
    """
    st.set_page_config(page_title="toolspan", page_icon=str(_ICON), layout="wide")
    st.html(tables.STYLE)
    if os.environ.get("TOOLSPAN_DASHBOARD_LOGIN") and not _is_known():
        return
    store = os.environ.get("TOOLSPAN_STORE") or "toolspan.duckdb"
    filters: list[tuple[View, float | None] | ToolspanError] = []

    def shown(name: str) -> Callable[[], None]:
        return lambda: _show(name, store, filters[0])

    chosen = st.navigation(
        [
            st.Page(shown(name), title=title, icon=icon, url_path=name, default=name == "overview")
            for name, (title, _, icon, _) in PAGES.items()
        ]
    )
    # here and not in the page: a widget of a page is another one on the next, and its parameter goes with it
    try:
        filters.append(_filters(store))
    except ToolspanError as error:
        filters.append(error)
    chosen.run()


def _is_known() -> bool:
    """
    Whether who looks has logged in; else they are asked to.
    """
    is_logged_in = st.user.get("is_logged_in")
    if is_logged_in is None:
        st.error("A login is asked for, and none is set up: name its provider in .streamlit/secrets.toml, [auth].")
    elif not is_logged_in:
        st.header("Who is it?", anchor=False)
        st.button("Log in", on_click=st.login)
    return bool(is_logged_in)


def _show(name: str, store: str, filters: tuple[View, float | None] | ToolspanError) -> None:
    _, question, _, show = PAGES[name]
    st.header(question, anchor=False)
    if isinstance(filters, ToolspanError):
        _failed(filters)
        return
    view, every_s = filters

    @st.fragment(run_every=every_s)
    def body() -> None:
        # a moment of its own: what is refreshed asks for another window than the page before
        try:
            with _waiting(name):
                _body(Page(name, store, _now(view)), show)
        except ToolspanError as error:
            _failed(error)

    body()


def _waiting(what: str) -> AbstractContextManager[None]:
    """
    Says that the store is asked, the first time that *what* is shown; later what is there stays until there is more.
    """
    key = f"has seen {what}"  # which no widget has
    is_new = key not in st.session_state
    st.session_state[key] = True
    return st.spinner("Asking the store…") if is_new else nullcontext()


def _now(view: View) -> View:
    return view_of(view.choices, zone=view.zone, now_ns=time.time_ns())


def _body(page: Page, show: Show) -> None:
    facts, waiting = data.facts(page.store, arrivals(page.view.scope))
    age = states.age_text(facts, page.view.now_ns)
    st.caption(f"{md(page.view.window_text())} · newest data: {age} · {md(page.store, longest=200)}")
    states.show_banner(page, facts, waiting)
    show(page)


def arrivals(scope: Scope) -> Scope:
    """
    The window in which spans came that *scope* is about: it begins with an hour, since what came is counted by the
    hour, and ends with it, so that who looks again within it is answered from memory.
    """
    since_ns = None if scope.since_ns is None else scope.since_ns - scope.since_ns % HOUR_NS
    return Scope(since_ns=since_ns)


def _failed(error: ToolspanError) -> None:
    st.error(md(str(error), longest=2000), icon=":material/cloud_off:")
    st.caption("The page asks again by itself when it refreshes, or when it is reloaded.")


def _filters(store: str) -> tuple[View, float | None]:
    """
    The widgets of the sidebar, and what they say.
    """
    with st.sidebar:
        chosen = st.selectbox(
            "Tasks that ended in the last",
            RANGES,
            index=RANGES.index(DEFAULT_RANGE),
            key="range",
            bind="query-params",
            accept_new_options=True,
            help="An age, such as 90m or 3d; all: everything; custom: from one time to another.",
        )
        choices = {"range": "" if chosen == DEFAULT_RANGE else str(chosen)}
        if chosen == "custom":
            told = "RFC 3339 or an age: 2026-05-04T10:00, 2026-05-04, 90m, 24h. Empty: no bound."
            choices["since"] = st.text_input("From", key="since", bind="query-params", help=told)
            choices["until"] = st.text_input("To", key="until", bind="query-params", help=told)
        zone = st.selectbox("Times in", _zones(), key="zone", bind="query-params", accept_new_options=True)
        choices["zone"] = "" if zone == _UTC else str(zone)
        known = _names(store)
        for name, values in (
            ("agent", known.agents),
            ("service", known.services),
            ("environment", known.environments),
        ):
            shown = [value or UNKNOWN for value in values]
            choices[name] = choose(name.capitalize(), shown, key=name, placeholder=f"All {name}s") or ""
        every = st.selectbox(
            "Refresh every",
            _REFRESHES,
            key="refresh",
            bind="query-params",
            accept_new_options=True,
        )
        choices["refresh"] = "" if every == _REFRESHES[0] else str(every)
    view = view_of({name: value for name, value in choices.items() if value}, zone=str(zone), now_ns=time.time_ns())
    every_s = None if every == "off" else max(_LEAST_REFRESH_S, parse_age(str(every)) / 10**9)
    return view, every_s


def _names(store: str) -> NamesKnown:
    """
    What can be chosen; nothing while the store cannot be had, which the page says, and it asks again.
    """
    try:
        with _waiting("names"):
            return data.names(store)
    except ToolspanError:
        return NamesKnown((), (), (), ())


def _zones() -> list[str]:
    own = st.context.timezone
    return list(dict.fromkeys([_UTC, *([own] if own else [])]))
