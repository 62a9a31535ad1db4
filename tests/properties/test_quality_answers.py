"""
What a store answers to `quality` against `quality` of the rows.

The latter is the slow, literal form: it reads every call and every task. What it takes from sums (streaks, which tasks
are unhandled) is compared with calls and escalations among the laws of deriving.
"""

import json
from functools import cache
from random import Random
from typing import Final

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filled import clear, empty_store, fill, take_back
from tests.quality_documents import clusters, codes_with_two_classes
from tests.span_trees import TICK_NS, groups, lone_runs
from tests.stores import HOUR_NS
from toolspan.derive import derive
from toolspan.lint import LintFlag
from toolspan.quality import quality, quality_by
from toolspan.quality_answers import ask_quality, ask_quality_by
from toolspan.records import Judgement, Rows, SpanFacts, extend
from toolspan.scope import Dimension, Scope
from toolspan_queries import fetch
from toolspan_queries.quality_rows import Cluster, CodesWithTwoClasses

_LINT: Final = (0, 0, 1, int(LintFlag.HINT_TOO_LONG | LintFlag.FIELD_MISSING), sum(LintFlag))
_EVIDENCE: Final = ("", "status", "flag", "text", "http:418", "exception:E", "exception:F")
#: One of them often enough to be a cluster.
_CAUSES: Final = (
    *[("transient", "SHARED")] * 6,
    ("fatal", "SHARED"),
    ("business_rule", "CONFLICT"),
    ("permission", "DENIED"),
    (None, None),
    (None, None),
)
_DIMENSIONS: Final[tuple[Dimension, ...]] = ("agent", "service", "environment")


def varied(judgement: Judgement, random: Random) -> Judgement:
    """
    *judgement* with other lint and evidence, and where it failed mostly of another cause.
    """
    error_class, code = judgement.error_class, judgement.code
    if judgement.outcome == "error" and random.random() < 0.7:
        error_class, code = random.choice(_CAUSES)
    return judgement._replace(
        error_class=error_class, code=code, lint=random.choice(_LINT), evidence=random.choice(_EVIDENCE)
    )


def moved(spans: list[SpanFacts], place: int, *, start_ns: int, stretch: int, random: Random) -> list[SpanFacts]:
    """
    *spans* in traces and tasks of their own, from *start_ns* on and *stretch* times as long.
    """
    found: list[SpanFacts] = []
    for span in spans:
        marks, call = span.marks, span.call
        if marks is not None and marks.task_id:
            marks = marks._replace(task_id=f"{marks.task_id}-{place}")
        if call is not None:
            judgement = varied(call.judgement, random)
            call = call._replace(judgement=judgement, budget_exhausted=random.random() < 0.3)
        trace_id = place.to_bytes(2, "big") + span.trace_id[2:]
        times = (start_ns + span.start_ns * stretch, start_ns + span.end_ns * stretch)
        found.append(
            span._replace(trace_id=trace_id, start_ns=times[0], end_ns=times[1], marks=marks, call=call),
        )
    return found


def in_a_row(spans: list[SpanFacts]) -> list[SpanFacts]:
    """
    A run, and what lies below it one after the other and again and again: so most failures are answered.
    """
    run, *below = spans
    return [
        run,
        *(
            span._replace(
                span_id=(100 + place).to_bytes(8, "big"),
                start_ns=place * TICK_NS,
                end_ns=place * TICK_NS + TICK_NS // 2,
            )
            for place, span in enumerate((below * 6)[:12])
        ),
    ]


@st.composite
def all_rows(draw: st.DrawFn) -> Rows:
    """
    The rows of one to three groups over some hours, some of them open, some there many times.
    """
    random = Random(draw(st.integers(0, 1000)))
    rows = Rows([], [], [], [], [])
    for group in range(draw(st.integers(1, 3))):
        spans = draw(lone_runs().map(in_a_row) | groups() | lone_runs())
        start_ns = draw(st.integers(0, 3)) * HOUR_NS + draw(st.sampled_from((0, 1, HOUR_NS - 1, HOUR_NS // 3)))
        stretch = draw(st.sampled_from((500_000, 1)))
        is_settled = draw(st.sampled_from((True, True, False)))
        for copy in range(draw(st.sampled_from((20, 4, 1)))):
            at_ns = start_ns + copy * HOUR_NS // 5
            spans_of_copy = moved(spans, 100 * group + copy, start_ns=at_ns, stretch=stretch, random=random)
            extend(rows, derive(spans_of_copy, settled=is_settled))
    return rows


@st.composite
def scopes(draw: st.DrawFn, rows: Rows) -> Scope:
    """
    A part of *rows*; its window has edges on, beside and between hours and ends of tasks.
    """
    moments = [*(hour * HOUR_NS for hour in range(1, 8)), *(task.ended_ns for task in rows.tasks)]
    edges = st.none() | st.sampled_from([moment + by for moment in moments for by in (-1, 0, 1)])
    since_ns, until_ns = draw(edges), draw(edges)
    if since_ns is not None and until_ns is not None and since_ns > until_ns:
        since_ns, until_ns = until_ns, since_ns
    return Scope(
        since_ns,
        until_ns,
        draw(st.sampled_from((*(None,) * 6, "pay", "absent"))),
        draw(st.sampled_from((*(None,) * 6, "a", ""))),
        draw(st.sampled_from((*(None,) * 6, "s", ""))),
        draw(st.sampled_from((*(None,) * 6, "prod", ""))),
    )


@cache
def the_store() -> duckdb.DuckDBPyConnection:
    """
    One store for all examples: making the tables takes ten times as long as filling them.
    """
    return empty_store()


#: Filling takes 40 ms, asking for a document as long.
@settings(max_examples=20, deadline=None)
@given(st.data(), st.sampled_from(_DIMENSIONS))
def test_a_store_answers_what_its_rows_say(data: st.DataObject, by: Dimension) -> None:
    """
    Whatever the window, the filters and the groups, also where others were derived before.
    """
    rows, store = data.draw(all_rows()), the_store()
    clear(store)
    if data.draw(st.booleans()):
        fill(store, data.draw(all_rows()))
        take_back(store)
    fill(store, rows)

    for scope in data.draw(st.lists(scopes(rows), min_size=3, max_size=3)):
        whole, grouped = quality(rows, scope=scope), quality_by(rows, by=by, scope=scope)

        assert json.dumps(whole) == json.dumps(ask_quality(store, scope=scope))
        assert json.dumps(grouped) == json.dumps(ask_quality_by(store, by=by, scope=scope))
        assert clusters(grouped["groups"]) == sorted(fetch(store, Cluster, **scope._asdict(), by=by))
        assert codes_with_two_classes({"": whole}) == sorted(fetch(store, CodesWithTwoClasses, **scope._asdict()))
