"""
`report()` against a slow, literal reading of the definitions: calls, tasks and escalations only, no sums.
"""

import json
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.facts import MS, escalation, run, tool_span
from toolspan.derive import derive
from toolspan.documents import Report
from toolspan.numbers import Scope, Targets, report, report_by
from toolspan.records import Call, Rows, SpanFacts, Task

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
        rows = derive(draw(trace_spans(trace)), settled=draw(st.sampled_from((True, True, False))))
        merged.calls.extend(rows.calls)
        merged.tasks.extend(rows.tasks)
        merged.escalations.extend(rows.escalations)
        merged.episodes.extend(rows.episodes)
        merged.task_tools.extend(rows.task_tools)
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


def percentile(values: Sequence[float], percent: int) -> float | None:
    """
    The smallest value such that at least so many percent of the values are not above it.
    """
    for value in sorted(values):
        if Fraction(sum(other <= value for other in values), len(values)) >= Fraction(percent, 100):
            return value
    return None


def ratio(part: int, whole: int) -> float | None:
    """
    None of nothing.
    """
    return None if whole == 0 else part / whole


def rounded_ms(ns: int) -> float:
    """
    Three significant digits of the nanoseconds, then three decimals of the milliseconds, both half up.
    """
    number = Decimal(ns)
    digits = number.quantize(Decimal(1).scaleb(max(0, number.adjusted() - 2)), rounding=ROUND_HALF_UP)
    return float((digits / MS).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP))


def tasks_of(rows: Rows, scope: Scope) -> list[Task]:
    """
    The tasks that the window and the filters hold.
    """
    return [
        task
        for task in rows.tasks
        if (scope.since_ns is None or scope.since_ns <= task.ended_ns)
        and (scope.until_ns is None or (task.settled and task.ended_ns < scope.until_ns))
        and (scope.agent is None or scope.agent == task.agent)
    ]


def episodes_of(calls: list[Call], rows: Rows, task: Task) -> tuple[int, int, int]:
    """
    Episodes, escalated ones, and those without a retry before, of one tool in one task.
    """
    heard = sorted(
        row.at_ns for row in rows.escalations if row.task_id == task.task_id and row.tool in ("", calls[0].tool)
    )
    opened = escalated = clean = 0
    reopens_at: float = -1
    for failure in sorted(calls, key=lambda call: (call.started_ns, call.span_id)):
        if failure.error_class != "permission" or failure.started_ns < reopens_at:
            continue
        closing = next((at for at in heard if at >= failure.ended_ns), None)
        opened += 1
        reopens_at = float("inf") if closing is None else closing
        if closing is not None:
            escalated += 1
            clean += not any(
                failure.ended_ns <= call.started_ns < closing for call in calls if call.span_id != failure.span_id
            )
    return opened, escalated, clean


def literal_tool(calls: list[Call], rows: Rows, tasks: list[Task]) -> dict[str, object]:
    """
    The numbers of one tool, each as its definition reads.
    """
    settled = [task for task in tasks if task.settled]
    ids = {task.task_id for task in settled}
    closed = [call for call in calls if call.task_id in ids]
    retries = [call for call in closed if call.follow_up == "retry"]
    verdicts = Counter(call.verdict for call in retries)
    failures = [call for call in closed if call.error_class == "validation"]
    rewrites = [
        call
        for failure in failures
        for call in closed
        if (call.task_id, call.follows, call.follow_up) == (failure.task_id, failure.span_id, "rewrite")
    ]
    recovered = sum(call.outcome == "ok" for call in rewrites)
    steps = len({(call.task_id, call.step) for call in closed})
    callers = [task for task in settled if any(call.task_id == task.task_id for call in calls)]
    per_task = [sum(call.task_id == task.task_id for call in retries) for task in callers if task.outcome == "resolved"]
    episodes = [episodes_of([call for call in calls if call.task_id == task.task_id], rows, task) for task in callers]
    opened, escalated, clean = (sum(row[place] for row in episodes) for place in range(3))
    p95 = percentile(per_task, 95)
    judged = {
        "retries_per_step": steps >= 2 and len(retries) / steps >= 1,
        "retries_p95": len(per_task) >= 2 and p95 is not None and p95 > 1,
        "validation_recovery": len(failures) >= 2 and recovered / len(failures) < 0.8,
        "clean_escalations": escalated >= 2 and clean / escalated < 0.9,
    }
    errors = Counter(call.error_class for call in calls if call.outcome == "error")
    durations = [rounded_ms(call.ended_ns - call.started_ns) for call in calls]
    return {
        "calls": len(calls),
        "ok": sum(call.outcome == "ok" for call in calls),
        "cancelled": 0,
        "deferred": 0,
        "errors": {
            name: errors[name]
            for name in ("transient", "validation", "permission", "business_rule", "fatal", "unclassified")
        },
        "codes": dict(Counter(call.code for call in calls if call.outcome == "error")),
        "retries_per_resolved_task": {
            "resolved_tasks": len(per_task),
            "retries": sum(per_task),
            "mean": ratio(sum(per_task), len(per_task)),
            "p50": percentile(per_task, 50),
            "p95": p95,
            "p99": percentile(per_task, 99),
            "max": max(per_task, default=None),
        },
        "retries": {
            "total": len(retries),
            "presumed": sum(call.presumed for call in retries),
            "allowed": verdicts["allowed"],
            "early": verdicts["early"],
            "over_cap": verdicts["over_cap"],
            "wasted": verdicts["wasted"],
            "wasted_ms": float(
                (Decimal(sum(call.wasted_ns for call in closed)) / MS).quantize(
                    Decimal("0.001"), rounding=ROUND_HALF_UP
                )
            ),
            "steps": steps,
            "per_step": ratio(len(retries), steps),
        },
        "validation_recovery": {
            "failures": len(failures),
            "recovered": recovered,
            "rate": ratio(recovered, len(failures)),
            "accepted": sum(call.error_class != "validation" for call in rewrites),
        },
        "escalations": {
            "episodes": opened,
            "escalated": escalated,
            "without_prior_retry": clean,
            "rate": ratio(clean, escalated),
        },
        "attempts": {"total": len(calls), "calls_with_local_retry": 0},
        "damage": verdicts["wasted"]
        + verdicts["over_cap"]
        + verdicts["early"]
        + len(failures)
        - recovered
        + escalated
        - clean,
        "broken": [name for name, is_broken in judged.items() if is_broken],
        "duration_ms": {"p50": percentile(durations, 50), "p95": percentile(durations, 95)},
    }


def literal_report(rows: Rows, scope: Scope) -> dict[str, object]:
    """
    The fixed part of the document, without its order.
    """
    tasks = tasks_of(rows, scope)
    by_id = {task.task_id for task in tasks}
    calls = [call for call in rows.calls if call.task_id in by_id and scope.tool in (None, call.tool)]
    outcomes = Counter(task.outcome if task.settled else "open" for task in tasks)
    names = ("resolved", "unresolved", "escalated", "unknown", "open")
    return {
        "tasks": {"total": len(tasks), **{name: outcomes[name] for name in names}},
        "tools": {
            tool: literal_tool([call for call in calls if call.tool == tool], rows, tasks)
            for tool in {call.tool for call in calls}
        },
    }


def fixed_part(document: Report) -> dict[str, object]:
    """
    The document without what we add to it.
    """
    return {
        "tasks": document["tasks"],
        "tools": {
            name: {key: value for key, value in tool.items() if key != "detail"}
            for name, tool in document["tools"].items()
        },
    }


@settings(max_examples=150, deadline=None)
@given(all_rows(), SCOPES)
def test_report_is_what_the_definitions_say(rows: Rows, scope: Scope) -> None:
    """
    Every fixed number, of any tasks, in any scope.
    """
    assert literal_report(rows, scope) == fixed_part(report(rows, scope=scope, targets=TARGETS))


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
