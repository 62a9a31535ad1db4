"""
The census of spans: what each is, how much it says, and that nothing is lost in counting.
"""

from collections.abc import Iterable, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import otlp_builder as build
from toolspan import survey as surveys
from toolspan.arguments import ArgumentHasher
from toolspan.groups import split_groups
from toolspan.otlp import Decoder
from toolspan.recognise import Recogniser
from toolspan.records import SeenSpan, SpanFacts
from toolspan.rules import RuleBook
from toolspan.survey import Entry, Kind, NearMiss, Shape, Survey, ToolUse, measure

Spans = Iterable[Mapping[str, object]]


def facts_of(spans: Spans, *, scope: str = "tests", into: Survey | None = None) -> list[SpanFacts]:
    """
    The facts of *spans*, which are counted *into* a survey on the way.
    """
    seen: list[SeenSpan] = []
    decoder = Decoder(Recogniser(RuleBook(()), ArgumentHasher(b"key")), observer=seen.append)
    facts = decoder.decode_json(build.json_line(spans, scope=scope)).spans
    for whole, reduced in zip(seen, facts, strict=True):
        if into is not None:
            into.add(whole.view, reduced)
    return facts


def survey_of(spans: Spans, *, scope: str = "tests") -> Survey:
    survey = Survey()
    facts_of(spans, scope=scope, into=survey)
    return survey


def shape_of(spans: Spans) -> Shape:
    return measure(split_groups(facts_of(spans)))


class TestCensus:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a"}, (Kind.TOOL, "GenAI")),
            ({"openinference.span.kind": "TOOL", "tool.name": "a"}, (Kind.TOOL, "OpenInference")),
            ({"gen_ai.operation.name": "invoke_agent"}, (Kind.RUN, "GenAI")),
            ({"traceloop.span.kind": "workflow"}, (Kind.RUN, "OpenLLMetry")),
            ({"toolspan.kind": "escalation"}, (Kind.ESCALATION, "toolspan")),
            ({"gen_ai.operation.name": "chat"}, (Kind.MODEL, "GenAI")),
            ({"openinference.span.kind": "LLM"}, (Kind.MODEL, "OpenInference")),
            ({"ai.model.id": "m"}, (Kind.MODEL, "Vercel AI SDK")),
            ({"openinference.span.kind": "CHAIN"}, (Kind.OTHER, "OpenInference")),
            ({"gen_ai.operation.name": "create_agent"}, (Kind.OTHER, "GenAI")),
            ({"gen_ai.operation.name": "handoff"}, (Kind.LEFT_OUT, "GenAI")),
            ({"http.request.method": "GET"}, (Kind.HTTP, "")),
            ({"db.system": "postgresql"}, (Kind.DATABASE, "")),
            ({"rpc.system": "grpc"}, (Kind.RPC, "")),
            ({"messaging.system": "kafka"}, (Kind.MESSAGING, "")),
            ({}, (Kind.OTHER, "")),
        ],
    )
    def test_a_span_is_counted_as_what_it_says_it_is(
        self, values: dict[str, object], expected: tuple[Kind, str]
    ) -> None:
        """Kind and convention come from attributes."""
        survey = survey_of([build.span(1, values)])

        [entry] = survey.census
        assert (expected, "tests") == ((entry.kind, entry.convention), entry.scope)

    def test_a_scope_without_a_name_is_called_so(self) -> None:
        """An empty cell would look like a fault of ours."""
        survey = survey_of([build.run_span(1)], scope="")

        assert [Entry(surveys.NO_SCOPE, "GenAI", Kind.RUN)] == list(survey.census)

    def test_the_first_span_of_a_line_is_its_example(self) -> None:
        """A name tells more than a number."""
        survey = survey_of([build.span(1, name="turn"), build.span(2, name="tools")])

        [tally] = survey.census.values()
        assert ("turn", 2) == (tally.example, tally.spans)

    def test_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Past the limit, scopes and tools are counted together, and still counted."""
        monkeypatch.setattr(surveys, "MOST_DISTINCT", 3)
        survey = Survey()
        for number in range(1, 11):
            facts_of([build.tool_span(number, f"tool_{number}")], scope=f"scope {number}", into=survey)

        assert (4, 10) == (len(survey.census), sum(tally.spans for tally in survey.census.values()))
        assert (4, 10) == (len(survey.tools), sum(use.spans for use in survey.tools.values()))


class TestNearMisses:
    @pytest.mark.parametrize(
        ("name", "values", "carries", "lacks"),
        [
            ("execute_tool search", {}, "only the name", "gen_ai.operation.name=execute_tool"),
            ("running tool", {}, "only the name", "gen_ai.operation.name=execute_tool"),
            ("search.tool", {}, "only the name", "gen_ai.operation.name=execute_tool"),
            ("ai.toolCall", {"ai.toolCall.id": "1"}, "ai.toolCall.id", "ai.toolCall.name"),
            ("search", {"tool.name": "search"}, "tool.name", "openinference.span.kind=TOOL"),
            ("search", {"gen_ai.tool.name": "search"}, "gen_ai.tool.name", "gen_ai.operation.name=execute_tool"),
            (
                "search",
                {"openinference.span.kind": "tool"},
                "openinference.span.kind=tool",
                "openinference.span.kind=TOOL",
            ),
            (
                "search",
                {"langsmith.span.kind": "tool"},
                "langsmith.span.kind=tool",
                "gen_ai.operation.name=execute_tool",
            ),
            ("search", {"traceloop.span.kind": "TOOL"}, "traceloop.span.kind=TOOL", "traceloop.span.kind=tool"),
        ],
    )
    def test_say_what_they_have_and_what_is_missing(
        self, name: str, values: dict[str, object], carries: str, lacks: str
    ) -> None:
        """A span that seems to be a tool call is told what would make it one."""
        survey = survey_of([build.span(1, values, name=name)])

        assert [NearMiss("tests", carries, lacks)] == list(survey.near_misses)

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("tools", {"openinference.span.kind": "CHAIN"}),
            ("execute_task tools", {"traceloop.span.kind": "task"}),
            ("running tools", {}),
            ("tools/list", {"mcp.method.name": "tools/list", "fastmcp.component.type": "tool"}),
            ("chat", {"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": "[]"}),
            ("ToolErrorMiddleware.after_agent", {}),
            ("POST /tools/call", {"http.request.method": "POST"}),
            ("toolbox", {}),
        ],
    )
    def test_are_not_all_that_has_tools_in_its_name(self, name: str, values: dict[str, object]) -> None:
        """Nodes, lists, model requests and web routes around tools are no calls, and nobody forgot anything."""
        survey = survey_of([build.span(1, values, name=name)])

        assert {} == survey.near_misses


class TestToolUse:
    def test_tells_unrecorded_from_withheld_and_from_none(self) -> None:
        """A tool that takes nothing is called with {}, and that is recorded."""
        key = "gen_ai.tool.call.arguments"
        survey = survey_of(
            [
                build.tool_span(1, "a"),
                build.tool_span(2, "b", {key: "__REDACTED__"}),
                build.tool_span(3, "c", {key: "{}"}),
                build.tool_span(4, "d", {key: '{"x": 1}'}),
            ]
        )

        found = {tool: (use.unrecorded, use.withheld) for (tool, _), use in survey.tools.items()}
        assert {"a": (1, 0), "b": (0, 1), "c": (0, 0), "d": (0, 0)} == found

    def test_finds_content_in_events(self) -> None:
        """Some frameworks write arguments and results into events."""
        events = [
            {"name": "gen_ai.tool.message", "attributes": build.attributes({"content": '{"x": 1}'})},
            {"name": "gen_ai.choice", "attributes": build.attributes({"message": "done"})},
        ]

        survey = survey_of([build.tool_span(1, "a", events=events)])

        assert {("a", "tests"): ToolUse(spans=1, answered=1, results=1)} == survey.tools

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            ("Error: no such airport", 1),
            ("error: no such airport", 1),
            ("Exception in worker", 1),
            ("Traceback (most recent call last)", 1),
            ("Failed to fetch", 1),
            (" Error", 1),
            ('{"error": "boom"}', 1),
            ('{"error": "boom", "status": 1}', 1),
            ('[{"type": "text", "text": "Error: x"}]', 1),
            ('{"kwargs": {"content": "Failed to get", "tool_call_id": "1", "type": "tool"}}', 1),
            ("No Error", 0),
            ("Errors and how to avoid them", 0),
            ("Exceptional service", 0),
            ('{"error": null}', 0),
            ('{"error": ""}', 0),
            ('{"items": [], "error": "boom"}', 0),
            ('{"ok": true, "data": "Error: x"}', 0),
            ('["Error: x", {"ok": true}]', 0),
            ('[{"title": "Error budgets", "id": 1}]', 0),
            ("42", 0),
        ],
    )
    def test_counts_successes_that_read_like_errors(self, result: str, expected: int) -> None:
        """By how they begin; what is deeper inside is data."""
        survey = survey_of([build.tool_span(1, "a", {"gen_ai.tool.call.result": result})])

        [use] = survey.tools.values()
        assert (1, expected) == (use.answered, use.error_like)

    def test_keeps_nothing_of_what_they_say(self) -> None:
        """Results are read and forgotten."""
        survey = survey_of([build.tool_span(1, "a", {"gen_ai.tool.call.result": "Error: of Mrs Miller"})])

        assert "Miller" not in repr(survey)

    def test_counts_failures_that_say_nothing_and_those_that_were_redacted(self) -> None:
        """Only failures without a class: the others said enough."""
        survey = survey_of(
            [
                build.tool_span(1, "a", status=2),
                build.tool_span(2, "a", status=2, message="Error details are redacted."),
                build.tool_span(3, "a", status=2, message="Server error '503 Service Unavailable'"),
                build.tool_span(4, "a", status=2, events=[build.event(exception_message="boom")]),
            ]
        )

        [use] = survey.tools.values()
        assert (4, 1, 1) == (use.failed, use.silent, use.redacted)


@pytest.mark.parametrize(
    "values",
    [
        {"gen_ai.response.finish_reasons": ["tool_calls"]},
        {"gen_ai.output.messages": '[{"parts": [{"type": "tool_call"}]}]'},
        {"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "a"},
        {"ai.response.toolCalls": "[]"},
    ],
)
def test_a_model_that_asks_for_tools_is_noticed(values: dict[str, object]) -> None:
    """So that doctor can tell an agent without tools from one whose tools nobody traces."""
    spans = [
        build.span(1, {"gen_ai.operation.name": "chat", **values}),
        build.span(2, {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"]}),
    ]

    assert survey_of(spans).asked == 1


def test_signs_of_sampling_are_counted() -> None:
    """A sampler that keeps everything is none."""
    spans = [
        build.span(1, {"sampler.type": "probabilistic"}),
        build.span(2, {"sampler.type": "const"}),
        build.span(3, {"SampleRate": 10}),
        build.span(4, {"SampleRate": 1}),
    ]

    assert {"sampler.type": 1, "SampleRate": 1} == survey_of(spans).sampling


class TestShape:
    def test_knows_orphans_and_broken_traces(self) -> None:
        """A parent that never came breaks its trace."""
        spans = [
            build.run_span(1),
            build.span(2, parent=1),
            build.span(3, parent=9, trace_id="11" * 16),
            build.span(4, parent=8, trace_id="11" * 16),
        ]

        shape = shape_of(spans)

        assert (2, 1, 2, 1) == (shape.traces, shape.broken, shape.orphans, shape.runs)

    def test_knows_spans_out_of_time(self) -> None:
        """By more than a millisecond: clocks that are kept in time differ by less."""
        spans = [
            build.run_span(1, start_ms=100, end_ms=200),
            build.span(2, parent=1, start_ms=40, end_ms=50),
            build.span(3, parent=1, start_ms=99, end_ms=150),
            build.span(4, parent=1, start_ms=300, end_ms=301),
        ]

        shape = shape_of(spans)

        assert (1, 60 * build.MS, 1) == (shape.early, shape.early_ns, shape.late)

    def test_knows_tool_spans_with_nothing_above_them(self) -> None:
        """A task id joins them all the same."""
        spans = [build.tool_span(1), build.tool_span(2, values={"toolspan.task.id": "T"}), build.tool_span(3, parent=1)]

        assert shape_of(spans).top_tools == 1


SOME = [
    build.run_span(1, end_ms=100),
    build.tool_span(2, "a", parent=1),
    build.tool_span(3, "b", {"gen_ai.tool.call.arguments": "{}"}, parent=1, status=2),
    build.span(4, {"gen_ai.operation.name": "chat"}, parent=1),
    build.span(5, {"tool.name": "x"}, parent=77),
    build.span(6, {"http.request.method": "GET"}, parent=3, start_ms=-50),
    build.tool_span(7, "a", trace_id="22" * 16),
]


@given(st.lists(st.sampled_from(SOME), max_size=20), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_spans_changes_no_count(spans: list[dict[str, object]], chance: Random) -> None:
    """Every span is in one line of the census, in whatever order it came."""
    shuffled = list(spans)
    chance.shuffle(shuffled)

    one, other = survey_of(spans), survey_of(shuffled)

    assert len(spans) == sum(tally.spans for tally in one.census.values())
    counts = [{entry: tally.spans for entry, tally in survey.census.items()} for survey in (one, other)]
    assert counts[0] == counts[1]
    assert (one.tools, one.asked, one.sampling) == (other.tools, other.asked, other.sampling)
    assert shape_of(spans) == shape_of(shuffled)
