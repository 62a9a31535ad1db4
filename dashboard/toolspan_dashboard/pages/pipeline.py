"""
Is anything missing from these numbers?
"""

from typing import Final

import streamlit as st

from toolspan.config import Settings
from toolspan.store.facts import StoreFacts
from toolspan_dashboard import data, tables
from toolspan_dashboard.page import Page
from toolspan_dashboard.states import LOSSES, age_text, loss_lines
from toolspan_dashboard.tables import Cell, figure, text
from toolspan_dashboard.view import clock_s
from toolspan_dashboard.words import NOTHING, counted, percent

#: What became of spans, in words; the losses are those of the banner.
_BECAME: Final = {
    "received": "came in",
    "duplicate": "repeats of what is kept, which lose nothing",
    **LOSSES,
}
_CHANGE: Final = {
    "dropped": "A full queue dropped them: raise OTEL_BSP_MAX_QUEUE_SIZE, or send to a collector.",
    "rejected": "Look at the collector's or ingest's messages: they say what was wrong with them.",
    "late": "Raise [settle] late in the configuration, or send spans sooner.",
    "conflict": "Look for processes that share a random seed after a fork.",
}


def show(page: Page) -> None:
    """
    What came, what was lost, what waits, and how far the rest can be trusted; of the whole store, whatever the filters.
    """
    facts, waiting = data.facts(page.store)
    st.caption("Since the store was made, whatever the filters say.")
    if not facts.intake.get("received"):
        st.info(
            "No span ever came. Send some to a collector (`toolspan collect` prints where), or `toolspan ingest FILE`.",
            icon=":material/hourglass_empty:",
        )
    elif not loss_lines(facts, waiting, when=""):
        st.success("Nothing that came was lost.", icon=":material/check_circle:")
    st.html(_intake_table(facts))
    st.html(_state_table(facts, waiting, page))
    st.html(_trust_table(facts))
    st.html(_labels_table(facts, data.settings()))
    st.markdown(
        "`toolspan doctor FILE` looks at spans whole, with their frameworks, sampling and what they record;"
        " `toolspan doctor --store` looks at a store, as this page does."
    )


def _intake_table(facts: StoreFacts) -> str:
    received = facts.intake.get("received", 0)
    rows: list[list[Cell]] = []
    for reason, meaning in _BECAME.items():
        count = facts.intake.get(reason, 0)
        is_loss = reason in LOSSES and count > 0
        share = percent(min(1.0, count / received)) if received and reason != "received" else ""
        rows.append(
            [
                text(reason),
                figure(f"{count:,}", is_bad=is_loss),
                figure(share),
                text(meaning),
                text(_CHANGE.get(reason, "") if is_loss else "", longest=200),
            ]
        )
    others = [(reason, count) for reason, count in facts.intake.items() if reason not in _BECAME]
    rows += [[text(reason), figure(f"{count:,}"), figure(""), text(""), text("")] for reason, count in others]
    headings = ("Spans", "Count", "Of received", "What became of them", "What to change")
    return tables.table("What came, and what became of it", headings, rows, key="intake")


def _state_table(facts: StoreFacts, waiting: int, page: Page) -> str:
    zone = page.view.zone
    newest = clock_s(facts.last_arrival_ns, zone) if facts.last_arrival_ns else "never"
    rows = [
        [text("Newest data"), figure(age_text(facts, page.view.now_ns)), text(f"{newest} ({zone})")],
        [
            text("Open tasks"),
            figure(f"{facts.open_tasks:,}"),
            text("count their calls, and in none of the three numbers until they settle", longest=200),
        ],
        [
            text("Ended, not settled"),
            figure(f"{waiting:,}", is_bad=waiting > 0),
            text("whoever writes to the store next settles them"),
        ],
        [text("Tasks in all"), figure(f"{facts.tasks:,}"), text("")],
        [
            text("Spans kept"),
            figure(f"{facts.spans:,}"),
            text(f"of {counted(facts.traces, 'trace')}; older rows stay"),
        ],
    ]
    return tables.table("The store now", ("", "Value", "Meaning"), rows, key="state")


def _trust_table(facts: StoreFacts) -> str:
    calls = sum(tool.calls for tool in facts.tools.values())
    unknown = sum(tool.unknown_arguments for tool in facts.tools.values())
    failures = sum(tool.failures for tool in facts.tools.values())
    unclassified = sum(tool.unclassified for tool in facts.tools.values())
    rows = [
        _share_row("Calls with unknown arguments", unknown, calls, "links of these are presumed: record arguments"),
        _share_row("Presumed links", facts.presumed, facts.links, "retries and rewrites, as far as one can tell"),
        _share_row("Failures without a class", unclassified, failures, "the page Quality of errors has their evidence"),
        _share_row(
            "Tasks without their own span",
            facts.unseen_tasks,
            facts.tasks,
            "sampled traces, or spans lost on the way: sample whole traces, or not at all",
        ),
    ]
    return tables.table("How far the rest can be trusted", ("", "Count", "Share", "Meaning"), rows, key="trust")


def _share_row(name: str, part: int, whole: int, meaning: str) -> list[Cell]:
    share = percent(part / whole) if whole else NOTHING
    return [text(name), figure(f"{part:,} of {whole:,}"), figure(share), text(meaning, longest=200)]


def _labels_table(facts: StoreFacts, settings: Settings) -> str:
    limit = settings.metric_limits.tools
    over = max(0, len(facts.tools) - limit)
    rows = [
        [
            text("Tools"),
            figure(f"{len(facts.tools):,} of {limit:,}", is_bad=over > 0),
            text(
                f"{over:,} tools stand under _other in Prometheus; the pages have all"
                if over
                else "Prometheus shows each",
                longest=200,
            ),
        ]
    ]
    return tables.table("Room for names in Prometheus", ("Label", "Used", "Meaning"), rows, key="labels")
