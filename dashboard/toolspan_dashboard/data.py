"""
What the pages show, fetched: one function per page, each one look at the store, kept for some seconds.

The key of what is kept is the store's name and the scope. The scope's times are rounded to some seconds (`view.tick`),
so ten people who watch one page cost one look. None of it shows a spinner: on a page that refreshes it would move what
is read.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import streamlit as st

from toolspan.config import Settings, load_settings
from toolspan.documents import Quality, Report
from toolspan.quality_answers import QualityAnswers, quality_from
from toolspan.scope import EVERYTHING, Dimension, Scope
from toolspan.store.facts import StoreFacts
from toolspan_dashboard.sources import Looking, NamesKnown, Source, TaskShown, open_source
from toolspan_queries import page_rows, quality_rows

#: Shorter than any refresh: who watches sees what is new, and ten who do cost one look.
_NUMBERS_S: Final = 2
#: Names, and what the store says of itself, cost a pass over all of it and change slowly.
_FACTS_S: Final = 10
_ENTRIES: Final = 200


class OverviewData(NamedTuple):
    """
    What the overview shows; *quality* knows of the class audit and of unhandled failures only.
    """

    report: Report
    quality: Quality
    damage: Sequence[page_rows.DamageOverTime]
    examples: Sequence[page_rows.ExampleTasks]


class ToolData(NamedTuple):
    """
    What there is of one tool.
    """

    report: Report
    quality: Quality
    attempts: Sequence[quality_rows.LocalAttempts]
    retries: Sequence[page_rows.RetriesOverTime]
    actions: Sequence[page_rows.NextActions]
    codes: Sequence[page_rows.CodesSeen]
    examples: Sequence[page_rows.ExampleTasks]


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    """
    The settings of `TOOLSPAN_CONFIG`, read once.
    """
    return load_settings(environ=os.environ)


@st.cache_resource(show_spinner=False)
def source(name: str) -> Source:
    """
    The store of that name.
    """
    return open_source(name, settings=settings(), environ=os.environ)


@st.cache_data(ttl=_FACTS_S, max_entries=_ENTRIES, show_spinner=False)
def names(store: str) -> NamesKnown:
    """
    What can be chosen.
    """
    with source(store).looking() as look:
        return look.names()


@st.cache_data(ttl=_FACTS_S, max_entries=_ENTRIES, show_spinner=False)
def facts(store: str, scope: Scope = EVERYTHING) -> tuple[StoreFacts, int]:
    """
    What the store says of itself, with what came in the window of *scope*, and how many tasks wait to be settled.
    """
    with source(store).looking() as look:
        return look.facts(scope)


@st.cache_data(ttl=_NUMBERS_S, max_entries=_ENTRIES, show_spinner=False)
def overview(store: str, scope: Scope) -> OverviewData:
    """
    All tools.
    """
    with source(store).looking() as look:
        return look_at_overview(look, scope, settings())


def look_at_overview(look: Looking, scope: Scope, settings: Settings) -> OverviewData:
    """
    What the overview shows of *scope*.
    """
    return OverviewData(
        report=look.numbers(scope, settings),
        quality=_audit(look, scope),
        damage=look.rows(page_rows.DamageOverTime, scope),
        examples=look.rows(page_rows.ExampleTasks, scope),
    )


def _audit(look: Looking, scope: Scope) -> Quality:
    """
    Of the document of `quality` what takes no pass over the calls.
    """
    answers = QualityAnswers(
        unhandled_tasks=look.rows(quality_rows.UnhandledTasks, scope),
        unhandled_failures=(),
        local_attempts=look.rows(quality_rows.LocalAttempts, scope),
        codes=(),
        class_audit=look.rows(quality_rows.ClassAudit, scope),
        streaks=(),
        lint=(),
        presumed=(),
        unclassified_evidence=(),
    )
    return quality_from(answers, scope=scope)


@st.cache_data(ttl=_NUMBERS_S, max_entries=_ENTRIES, show_spinner=False)
def tool(store: str, scope: Scope) -> ToolData:
    """
    The tool that *scope* names.
    """
    with source(store).looking() as look:
        return ToolData(
            report=look.report(scope, settings()),
            quality=_audit(look, scope),
            attempts=look.rows(quality_rows.LocalAttempts, scope),
            retries=look.rows(page_rows.RetriesOverTime, scope),
            actions=look.rows(page_rows.NextActions, scope),
            codes=look.rows(page_rows.CodesSeen, scope),
            examples=look.rows(page_rows.ExampleTasks, scope),
        )


@st.cache_data(ttl=_NUMBERS_S, max_entries=_ENTRIES, show_spinner=False)
def worst_tasks(store: str, scope: Scope) -> Sequence[page_rows.WorstTasks]:
    """
    The tasks with the most damage.
    """
    with source(store).looking() as look:
        return look.rows(page_rows.WorstTasks, scope)


@st.cache_data(ttl=_NUMBERS_S, max_entries=_ENTRIES, show_spinner=False)
def task(store: str, task_id: str) -> TaskShown | None:
    """
    One task.
    """
    with source(store).looking() as look:
        return look.task(task_id)


@st.cache_data(ttl=_NUMBERS_S, max_entries=_ENTRIES, show_spinner=False)
def quality(store: str, scope: Scope) -> Quality:
    """
    Whether errors can be believed.
    """
    with source(store).looking() as look:
        return look.quality(scope)


@st.cache_data(ttl=_NUMBERS_S, max_entries=_ENTRIES, show_spinner=False)
def reports(store: str, scopes: tuple[Scope, ...]) -> list[Report]:
    """
    One report for each of *scopes*, from one look.
    """
    with source(store).looking() as look:
        return [look.numbers(scope, settings()) for scope in scopes]


@st.cache_data(ttl=_NUMBERS_S, max_entries=_ENTRIES, show_spinner=False)
def reports_by(store: str, by: Dimension, scope: Scope) -> Mapping[str, Report]:
    """
    One report for each agent, service or environment.
    """
    with source(store).looking() as look:
        return look.numbers_by(by, scope, settings())["groups"]
