"""
Laws of deriving: what holds of every group of spans, however odd.
"""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.literal import Literal, is_unhandled, key_of
from tests.literal_trees import Forest
from tests.span_trees import groups, lone_runs
from toolspan.derivation.ancestry import read_traces
from toolspan.derivation.units import find_units
from toolspan.derive import derive
from toolspan.groups import split_groups
from toolspan.records import Role, Rows, SpanFacts

#: Every example is a forest of up to 12 spans: 100 take about a second.
laws = settings(max_examples=100, deadline=None)
#: Call ids that never go with two arguments, or arguments of two keys without call ids; no MCP.
plain = groups(args=(None, "1111aaaaaaaaaaaaaaaa"), sides=("",)) | groups(call_ids=("",), sides=("",))


def beside() -> st.SearchStrategy[list[SpanFacts]]:
    """
    MCP clients and servers of one trace and two tools, side by side.
    """
    sides = groups(sides=("client", "server"))
    return sides.map(
        lambda spans: [span._replace(trace_id=b"\1" * 16, parent_id=b"", role=Role.TOOL) for span in spans if span.call]
    ).filter(bool)


def together(parts: list[Rows]) -> Rows:
    """
    The rows of several groups as one would derive them together.
    """
    return Rows(
        sorted(
            [row for rows in parts for row in rows.calls],
            key=lambda row: (row.started_ns, row.trace_id, row.span_id),
        ),
        sorted([row for rows in parts for row in rows.tasks], key=lambda row: (row.started_ns, row.task_id)),
        sorted(
            [row for rows in parts for row in rows.escalations],
            key=lambda row: (row.at_ns, row.trace_id, row.span_id, row.source),
        ),
        sorted(
            [row for rows in parts for row in rows.episodes],
            key=lambda row: (row.opened_ns, row.task_id, row.tool, row.span_id),
        ),
        sorted([row for rows in parts for row in rows.task_tools], key=lambda row: (row.task_id, row.tool)),
    )


@laws
@given(groups(), st.randoms(use_true_random=False))
def test_order_and_repeats_change_nothing(spans: list[SpanFacts], random: Random) -> None:
    """
    The same spans in any order, delivered once or more, give the same rows.
    """
    again = [*spans, *(span for span in spans if random.random() < 0.5)]
    random.shuffle(again)

    assert derive(spans, escalation_tools=("book",)) == derive(again, escalation_tools=("book",))


@laws
@given(groups())
def test_groups_are_derived_apart(spans: list[SpanFacts]) -> None:
    """
    What a span of one group says never changes a row of another.
    """
    assert derive(spans) == together([derive(group) for group in split_groups(spans)])


@laws
@given(groups(sides=("", "client")) | lone_runs(), st.booleans())
def test_a_trace_beside_another_has_the_rows_it_has_alone(spans: list[SpanFacts], has_tools: bool) -> None:
    """
    Plain traces are derived in a shorter way, but not beside others; both ways give the same rows.
    """
    tools = ("book",) if has_tools else ()
    beside = SpanFacts(b"\xff" * 16, b"\xff" * 8, b"", 1, 2)

    for group in split_groups(spans):
        assert derive([*group, beside], escalation_tools=tools) == derive(group, escalation_tools=tools)


@laws
@given(groups())
def test_every_tool_span_is_in_one_unit(spans: list[SpanFacts]) -> None:
    """
    No tool span is lost or counted twice, whatever lies around it.
    """
    traces = read_traces(spans).values()
    found = Counter((span.trace_id, span.span_id) for trace in traces for unit in find_units(trace) for span, _ in unit)

    assert Counter((span.trace_id, span.span_id) for span in spans if span.role == Role.TOOL) == found


def paired(spans: list[SpanFacts]) -> dict[bytes, bytes]:
    """
    Client by server, by a literal reading: by request id where both have one, else the latest that is free.
    """
    pairs: dict[bytes, bytes] = {}
    calls = [(span, span.call) for span in sorted(spans, key=lambda span: (span.start_ns, span.span_id)) if span.call]
    for is_by_id in (True, False):
        for server, asked in calls:
            if asked.side != "server" or server.span_id in pairs:
                continue
            clients = [
                client
                for client, sent in calls
                if sent.side == "client" and sent.tool == asked.tool and client.span_id not in pairs.values()
                if client.start_ns <= server.start_ns <= client.end_ns
                if (
                    sent.request_id == asked.request_id != "" if is_by_id else "" in {sent.request_id, asked.request_id}
                )
            ]
            if clients:
                pairs[server.span_id] = clients[-1].span_id
    return pairs


@laws
@given(beside())
def test_servers_are_paired_as_defined(spans: list[SpanFacts]) -> None:
    """
    Of clients and servers side by side each pair is a unit, and nothing else is.
    """
    [trace] = read_traces(spans).values()
    units = [[span.span_id for span, _ in unit] for unit in find_units(trace)]

    assert {unit[1]: unit[0] for unit in units if len(unit) > 1} == paired(spans)
    assert all(len(unit) <= 2 for unit in units)


@laws
@given(groups())
def test_every_row_belongs_to_a_task(spans: list[SpanFacts]) -> None:
    """
    Each task is there once, counts its calls, and owns every other row.
    """
    rows = derive(spans)
    tasks = {task.task_id: task.calls for task in rows.tasks}
    owned = {one.task_id for one in rows.escalations} | {sums.task_id for sums in rows.task_tools}
    owned |= {episode.task_id for episode in rows.episodes}

    assert len(tasks) == len(rows.tasks)
    assert owned <= tasks.keys()
    assert Counter(call.task_id for call in rows.calls) == Counter({task: n for task, n in tasks.items() if n})


@laws
@given(groups() | lone_runs())
def test_an_answer_comes_after_its_failure(spans: list[SpanFacts]) -> None:
    """
    A follow-up starts at or after the end of a failure of the same task, tool and step; each is answered once.
    """
    rows = derive(spans)
    failures = {(call.task_id, call.tool, call.step_id, call.span_id): call for call in rows.calls if call.error_class}
    answers = [call for call in rows.calls if call.follows is not None]
    for call in answers:
        failure = failures[call.task_id, call.tool, call.step_id, call.follows or b""]
        assert failure.ended_ns <= call.started_ns
        assert failure.next_action == call.follow_up

    assert len({call.follows for call in answers}) == len(answers)


@laws
@given(plain | lone_runs(), st.booleans())
def test_links_and_sums_are_as_defined(spans: list[SpanFacts], has_tools: bool) -> None:
    """
    Links, steps, verdicts, episodes and sums are those of a literal reading of their definitions.
    """
    rows = derive(spans, escalation_tools=("book",) if has_tools else ())
    forest = Forest(spans)
    deferred = [span for span in spans if span.call is not None and span.call.judgement.outcome == "deferred"]
    owners = {(span.trace_id, span.span_id): key_of(forest.call_of(span, rows.calls)) for span in deferred}
    readings = [
        Literal(
            sums.tool,
            [call for call in rows.calls if call.task_id == sums.task_id],
            [one for one in rows.escalations if one.task_id == sums.task_id],
            owners,
        )
        for sums in rows.task_tools
    ]
    linked = {key_of(call): reading.linked(call) for reading in readings for call in reading.calls}

    assert [linked[key_of(call)] for call in rows.calls] == rows.calls
    assert [reading.sums() for reading in readings] == rows.task_tools
    assert sorted(one for reading in readings for one in reading.episodes()) == sorted(rows.episodes)
    for task in rows.tasks:
        calls = [call for call in rows.calls if call.task_id == task.task_id]
        heard = [one for one in rows.escalations if one.task_id == task.task_id]
        streaks = [sums.streak for sums in rows.task_tools if sums.task_id == task.task_id]
        assert task.streak == max(streaks, default=0)
        assert task.unhandled == is_unhandled(task, calls, heard)


@laws
@given(plain, st.booleans())
def test_tasks_are_as_defined(spans: list[SpanFacts], has_tools: bool) -> None:
    """
    Tasks, what belongs to them and how they ended are those of a literal reading of their definitions.
    """
    rows = derive(spans, escalation_tools=("book",) if has_tools else ())
    forest = Forest(spans)

    assert {task.task_id for task in rows.tasks} == forest.task_ids()
    for call in rows.calls:
        span = forest.find(call.trace_id, call.span_id)
        assert span is not None
        assert forest.outermost(span) == span
        assert (call.task_id, call.step_id) == (forest.task_id(span), forest.step_id(span))
        assert call.parent_run == forest.parent_run(span)
    known = {task.task_id for task in rows.tasks}
    seen_escalations = [one for one in rows.escalations if one.source != "tool"]
    assert sorted(seen_escalations) == sorted(one for one in forest.escalations() if one.task_id in known)
    for task in rows.tasks:
        standing = forest.task_spans(task.task_id)
        seen = standing or forest.members(task.task_id)
        assert task.started_ns == min(span.start_ns for span in seen)
        assert task.ended_ns == max(span.end_ns for span in seen)
        calls = [call for call in rows.calls if call.task_id == task.task_id]
        heard = [one for one in rows.escalations if one.task_id == task.task_id]
        assert (task.outcome, task.outcome_source) == forest.outcome(task.task_id, calls, heard)
