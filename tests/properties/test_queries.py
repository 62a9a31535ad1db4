"""
The queries against a slow, literal reading of the definitions, and against what Python makes of the same rows.

Three ways to each number: calls, tasks and escalations read literally, the sums of rows in Python, and the hourly
totals of a store with the edges of a window. Times are stretched until hours matter.
"""

import json
from functools import cache

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filled import clear, empty_store, fill, take_back
from tests.literal_numbers import literal_report, tasks_of
from tests.span_trees import TICK_NS, groups, lone_runs
from toolspan.derive import derive
from toolspan.documents import Report
from toolspan.numbers import Scope, Targets, report, report_by
from toolspan.records import Rows, SpanFacts, extend
from toolspan.report_answers import ReportAnswers, fetch_report, report_by_from, report_from
from toolspan.scope import Dimension
from toolspan_queries import Asked, fetch, rows

HOUR_NS = 3600 * 10**9
TARGETS = Targets(min_cases=2)

#: An example takes 0.1 s, most of it to plan queries.
laws = settings(max_examples=30, deadline=None)


@st.composite
def spans_of(draw: st.DrawFn, place: int, stretch: int) -> list[SpanFacts]:
    """
    Spans of groups of their own, *place*, their times *stretch* times as long.

    Only where every call is one span is an escalation for a deferred span known by the call's span id.
    """
    spans = draw(lone_runs() | groups(call_ids=("",), sides=("",)).map(without_deferred))
    return [
        span._replace(
            trace_id=bytes([span.trace_id[0], place]) + span.trace_id[2:],
            start_ns=span.start_ns * stretch,
            end_ns=span.end_ns * stretch,
            marks=span.marks and span.marks._replace(task_id=span.marks.task_id and f"{span.marks.task_id}-{place}"),
        )
        for span in spans
    ]


def without_deferred(spans: list[SpanFacts]) -> list[SpanFacts]:
    """
    The *spans*, those that ended deferred as cancelled.
    """
    return [
        span._replace(call=span.call._replace(judgement=span.call.judgement._replace(outcome="cancelled")))
        if span.call is not None and span.call.judgement.outcome == "deferred"
        else span
        for span in spans
    ]


@st.composite
def all_rows(draw: st.DrawFn) -> Rows:
    """
    The rows of a few groups, some of them open, over some ticks or some hours; a tick may be an hour, too.
    """
    stretch = draw(st.sampled_from((1, HOUR_NS // TICK_NS // 6, HOUR_NS // TICK_NS // 3, HOUR_NS // TICK_NS)))
    merged = Rows([], [], [], [], [])
    for place in range(draw(st.integers(1, 3))):
        is_settled = draw(st.sampled_from((True, True, False)))
        extend(merged, derive(draw(spans_of(place, stretch)), settled=is_settled))
    return merged


@st.composite
def scopes(draw: st.DrawFn, derived: Rows) -> Scope:
    """
    A window with ends on hours, in hours, and where tasks end; and filters.
    """
    ends = [task.ended_ns for task in derived.tasks]
    near = [end + by for end in ends for by in (-1, 0, 1)]
    moment = st.none() | st.sampled_from(near + [half * HOUR_NS // 2 for half in range(-1, 50)])
    return Scope(
        since_ns=draw(moment),
        until_ns=draw(moment),
        tool=draw(st.sampled_from((None, None, None, "pay", "none"))),
        agent=draw(st.sampled_from((None, None, None, "a", ""))),
        service=draw(st.sampled_from((None, None, None, "s", ""))),
        environment=draw(st.sampled_from((None, None, None, "prod", ""))),
    )


@cache
def the_store() -> duckdb.DuckDBPyConnection:
    """
    One store for all examples: making the tables takes longer than filling them.
    """
    return empty_store()


def refill(derived: Rows, before: Rows | None) -> duckdb.DuckDBPyConnection:
    """
    A store of the rows *derived*, in which *before* stood until it was derived again.
    """
    connection = the_store()
    clear(connection)
    if before is not None:
        fill(connection, before)
        take_back(connection)
    fill(connection, derived)
    return connection


@laws
@given(st.data())
def test_a_store_reports_what_the_definitions_say(data: st.DataObject) -> None:
    """
    Every number of any tasks, in any window, with any filter; the order is that of the report on the rows.
    """
    derived = data.draw(all_rows())
    scope = data.draw(scopes(derived))
    connection = refill(derived, data.draw(st.none() | all_rows()))

    answers = fetch_report(connection, scope=scope)
    document = report_from(answers, scope=scope, targets=TARGETS)

    assert literal_report(derived, scope, TARGETS) == {"tasks": document["tasks"], "tools": document["tools"]}
    assert json.dumps(report(derived, scope=scope, targets=TARGETS)) == json.dumps(document)
    assert rates_of(document) == rates_in(answers, "")


@laws
@given(st.data(), st.sampled_from(("agent", "service", "environment")))
def test_a_store_reports_by_group_what_the_definitions_say(data: st.DataObject, by: Dimension) -> None:
    """
    A group is what the filter on its value leaves.
    """
    derived = data.draw(all_rows())
    scope = data.draw(scopes(derived))

    answers = fetch_report(refill(derived, None), by=by, scope=scope)
    document = report_by_from(answers, by=by, scope=scope, targets=TARGETS)

    for value in {getattr(task, by) for task in tasks_of(derived, scope)}:
        group = document["groups"][value]
        expected = literal_report(derived, scope._replace(**{by: value}), TARGETS)
        assert expected == {"tasks": group["tasks"], "tools": group["tools"]}
        assert rates_of(group) == rates_in(answers, value)
    assert json.dumps(report_by(derived, by=by, scope=scope, targets=TARGETS)) == json.dumps(document)


@laws
@given(st.data())
def test_classes_and_the_share_without_one_are_those_of_codes(data: st.DataObject) -> None:
    """
    Failures by class, and those of no class, which a report adds up from its codes.
    """
    derived = data.draw(all_rows())
    scope = data.draw(scopes(derived))
    connection = refill(derived, None)
    asked = Asked(since_ns=scope.since_ns, until_ns=scope.until_ns, agent=scope.agent, tool=scope.tool)

    tools = report(derived, scope=scope._replace(service=None, environment=None))["tools"]

    assert {(name, each): count for name, tool in tools.items() for each, count in tool["errors"].items() if count} == {
        (row.tool, row.error_class): row.failures for row in fetch(connection, rows.Errors, **asked)
    }
    assert {
        name: (sum(tool["errors"].values()), tool["errors"]["unclassified"], tool["detail"]["unclassified_share"])
        for name, tool in tools.items()
        if any(tool["errors"].values())
    } == {row.tool: row[2:] for row in fetch(connection, rows.UnclassifiedShare, **asked)}


def rates_of(document: Report) -> dict[tuple[str, str], float]:
    """
    What is a rate, a mean or a share in *document*, where there is one.
    """
    found: dict[tuple[str, str], float | None] = {}
    for name, tool in document["tools"].items():
        found[name, "mean"] = tool["retries_per_resolved_task"]["mean"]
        found[name, "tail"] = tool["detail"]["tail"]
        found[name, "per_step"] = tool["retries"]["per_step"]
        found[name, "presumed retries"] = tool["detail"]["presumed_share"]["retries"]
        found[name, "recovery"] = tool["validation_recovery"]["rate"]
        found[name, "presumed rewrites"] = tool["detail"]["presumed_share"]["rewrites"]
        found[name, "escalations"] = tool["escalations"]["rate"]
        for code, recovery in tool["detail"]["recovery_by_code"].items():
            found[name, f"code {code}"] = recovery["rate"]
        for field, recovery in tool["detail"]["recovery_by_field"].items():
            found[name, f"field {field}"] = recovery["rate"]
    return {key: value for key, value in found.items() if value is not None}


def rates_in(answers: ReportAnswers, value: str) -> dict[tuple[str, str], float]:
    """
    The same from what the queries compute, of the group *value*.
    """
    found: dict[tuple[str, str], float | None] = {}
    for each in (row for row in answers.retries_per_resolved_task if row.group_value == value):
        found[each.tool, "mean"], found[each.tool, "tail"] = each.mean, each.tail
    for retries in (row for row in answers.retries if row.group_value == value):
        found[retries.tool, "per_step"] = retries.per_step
        found[retries.tool, "presumed retries"] = retries.presumed_share
    for recovery in (row for row in answers.validation_recovery if row.group_value == value):
        found[recovery.tool, "recovery"] = recovery.rate
        found[recovery.tool, "presumed rewrites"] = recovery.presumed_share
    for escalations in (row for row in answers.escalations if row.group_value == value):
        found[escalations.tool, "escalations"] = escalations.rate
    for by_code in (row for row in answers.recovery_by_code if row.group_value == value):
        found[by_code.tool, f"code {by_code.code}"] = by_code.rate
    for by_field in (row for row in answers.recovery_by_field if row.group_value == value):
        found[by_field.tool, f"field {by_field.field}"] = by_field.rate
    return {key: rate for key, rate in found.items() if rate is not None}
