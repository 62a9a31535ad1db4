"""
`report()` against a slow, literal reading of the definitions: calls, tasks and escalations only, no sums.
"""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.facts import MS, escalation, run, tool_span
from tests.literal_numbers import literal_report
from toolspan.derive import derive
from toolspan.numbers import Scope, Targets, report, report_by
from toolspan.records import Rows, SpanFacts, extend

TOOLS = ("search", "book")
ERRORS = (
    None,
    ("transient", "UNAVAILABLE"),
    ("validation", "FORMAT"),
    ("validation", "RANGE"),
    ("permission", "DENIED"),
    ("business_rule", "SOLD_OUT"),
    ("unclassified", "UNCLASSIFIED"),
)
TARGETS = Targets(min_cases=2)


@st.composite
def trace_spans(draw: st.DrawFn, trace: int) -> list[SpanFacts]:
    """
    A run with up to eight calls, one after the other, and up to two escalations between them.
    """
    outcome = draw(st.sampled_from(("", "resolved", "resolved", "unresolved", "escalated")))
    spans = [run(trace, end=draw(st.integers(1, 5)) * 1000, outcome=outcome)]
    for place in range(draw(st.integers(0, 8))):
        span = tool_span(
            trace,
            10 + place,
            start=place * 20,
            tool=draw(st.sampled_from(TOOLS)),
            error=draw(st.sampled_from(ERRORS)),
            args=draw(st.sampled_from(("k:1", "k:1", "k:2", None))),
        )
        spans.append(span._replace(end_ns=span.start_ns + draw(st.integers(0, 20 * MS))))
    spans += [
        escalation(trace, 50 + place, at=at, tool=draw(st.sampled_from(("", *TOOLS))))
        for place, at in enumerate(draw(st.lists(st.integers(0, 160), max_size=2)))
    ]
    return spans


@st.composite
def all_rows(draw: st.DrawFn) -> Rows:
    """
    The rows of up to four tasks, some of them open.
    """
    merged = Rows([], [], [], [], [])
    for trace in range(1, draw(st.integers(1, 4)) + 1):
        extend(merged, derive(draw(trace_spans(trace)), settled=draw(st.sampled_from((True, True, False)))))
    return merged


SCOPES = st.builds(
    Scope,
    since_ns=st.none() | st.integers(0, 5).map(lambda s: s * 1000 * MS),
    until_ns=st.none() | st.integers(0, 5).map(lambda s: s * 1000 * MS),
    tool=st.none() | st.sampled_from(TOOLS),
    agent=st.none() | st.sampled_from(("planner", "")),
    service=st.none(),
    environment=st.none(),
)


@settings(max_examples=150, deadline=None)
@given(all_rows(), SCOPES)
def test_report_is_what_the_definitions_say(rows: Rows, scope: Scope) -> None:
    """
    Every number, of any tasks, in any scope.
    """
    document = report(rows, scope=scope, targets=TARGETS)

    assert literal_report(rows, scope, TARGETS) == {"tasks": document["tasks"], "tools": document["tools"]}


@settings(max_examples=50, deadline=None)
@given(all_rows())
def test_the_worst_tool_stands_first(rows: Rows) -> None:
    """
    Damage, then wasted time, then the name.
    """
    keys = [(-tool["damage"], -tool["retries"]["wasted_ms"], name) for name, tool in report(rows)["tools"].items()]

    assert sorted(keys) == keys


@settings(max_examples=50, deadline=None)
@given(all_rows())
def test_detail_adds_up_to_the_fixed_numbers(rows: Rows) -> None:
    """
    Recovery by code and by field are the same failures, cut in two ways.
    """
    for tool in report(rows)["tools"].values():
        for cut in (tool["detail"]["recovery_by_code"], tool["detail"]["recovery_by_field"]):
            sums = [sum(part[key] for part in cut.values()) for key in ("failures", "recovered", "accepted")]
            recovery = tool["validation_recovery"]

            assert [recovery["failures"], recovery["recovered"], recovery["accepted"]] == sums
        assert tool["retries"]["wasted"] == sum(tool["detail"]["wasted_by_code"].values())


@settings(max_examples=50, deadline=None)
@given(all_rows(), SCOPES)
def test_groups_add_up_to_the_whole(rows: Rows, scope: Scope) -> None:
    """
    Every task and every call is in exactly one group.
    """
    whole = report(rows, scope=scope)
    groups = report_by(rows, by="agent", scope=scope)["groups"].values()

    assert whole["tasks"]["total"] == sum(group["tasks"]["total"] for group in groups)
    assert sum(tool["calls"] for tool in whole["tools"].values()) == sum(
        tool["calls"] for group in groups for tool in group["tools"].values()
    )


@settings(max_examples=50, deadline=None)
@given(all_rows(), SCOPES)
def test_the_document_is_json_without_nan(rows: Rows, scope: Scope) -> None:
    """
    What is not known is null.
    """
    document = report(rows, scope=scope)

    assert document == json.loads(json.dumps(document, allow_nan=False))
