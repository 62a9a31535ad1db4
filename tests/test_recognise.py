"""
Spans are recognised by what they say of themselves, whatever convention they speak.
"""

from collections.abc import Mapping

import pytest

from toolspan.arguments import ArgumentHasher
from toolspan.recognise import Recogniser
from toolspan.records import CallFacts, Event, Role, SpanFacts, SpanView
from toolspan.roles import role_of, tool_name
from toolspan.rules import RuleBook

RECOGNISER = Recogniser(RuleBook(()), ArgumentHasher(b"key"))


def view(
    attributes: Mapping[str, object],
    *,
    name: str = "",
    kind: int = 1,
    scope: str = "",
    status: int = 0,
    events: tuple[Event, ...] = (),
) -> SpanView:
    return SpanView(name, kind, scope, status, "", attributes, events)


def reduce(span: SpanView) -> SpanFacts:
    return RECOGNISER.reduce(span, b"t" * 16, b"s" * 8, b"p" * 8, 1, 2)


def call_of(span: SpanView) -> CallFacts:
    call = reduce(span).call
    assert call is not None
    return call


class TestRole:
    @pytest.mark.parametrize(
        ("attributes", "role"),
        [
            ({"gen_ai.operation.name": "execute_tool"}, Role.TOOL),
            ({"openinference.span.kind": "TOOL"}, Role.TOOL),
            ({"traceloop.span.kind": "tool"}, Role.TOOL),
            ({"mcp.method.name": "tools/call"}, Role.TOOL),
            ({"haystack.tool.name": "search"}, Role.TOOL),
            ({"langfuse.observation.type": "tool"}, Role.TOOL),
            ({"langfuse.observation.type": "agent"}, Role.RUN),
            ({"langfuse.observation.type": "span"}, Role.OTHER),
            ({"gen_ai.operation.name": "execute_tool", "openinference.span.kind": "AGENT"}, Role.TOOL),
            ({"gen_ai.operation.name": "invoke_agent"}, Role.RUN),
            ({"gen_ai.operation.name": "invoke_workflow"}, Role.RUN),
            ({"openinference.span.kind": "AGENT"}, Role.RUN),
            ({"traceloop.span.kind": "workflow"}, Role.RUN),
            ({"traceloop.span.kind": "agent"}, Role.RUN),
            ({"toolspan.kind": "task"}, Role.RUN),
            ({"toolspan.kind": "escalation"}, Role.ESCALATION),
            ({"mcp.method.name": "elicitation/create"}, Role.ESCALATION),
            ({"gen_ai.operation.name": "chat"}, Role.OTHER),
            ({"gen_ai.operation.name": "create_agent"}, Role.OTHER),
            ({"openinference.span.kind": "CHAIN"}, Role.OTHER),
            ({"mcp.method.name": "tools/list"}, Role.OTHER),
            ({"gen_ai.operation.name": ["execute_tool"]}, Role.OTHER),
            ({}, Role.OTHER),
        ],
    )
    def test_is_told_by_the_markers(self, attributes: dict[str, object], role: Role) -> None:
        """Each convention marks tools, runs and escalations in its own attribute."""
        assert role == role_of(view(attributes))

    @pytest.mark.parametrize(
        ("span", "role"),
        [
            (view({"openinference.span.kind": "TOOL"}, name="handoff to human_desk"), Role.OTHER),
            (view({"traceloop.span.kind": "tool", "gen_ai.operation.name": "handoff"}), Role.OTHER),
            (view({"openinference.span.kind": "TOOL", "tool.name": "transfer_to_human"}), Role.TOOL),
            (
                view(
                    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"},
                    scope="gcp.vertex.agent",
                ),
                Role.OTHER,
            ),
            (view({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}), Role.TOOL),
            (
                view(
                    {"openinference.span.kind": "TOOL", "tool.name": "final_answer"},
                    scope="openinference.instrumentation.smolagents",
                ),
                Role.OTHER,
            ),
            (view({"openinference.span.kind": "TOOL", "tool.name": "final_answer"}), Role.TOOL),
        ],
    )
    def test_what_only_looks_like_a_call_is_none(self, span: SpanView, role: Role) -> None:
        """Handoffs, and two frameworks' own pseudo tools in their scope only."""
        assert role == reduce(span).role


class TestToolName:
    @pytest.mark.parametrize(
        ("attributes", "name", "tool"),
        [
            ({"gen_ai.tool.name": "a", "tool.name": "b"}, "execute_tool c", "a"),
            ({"tool.name": "b", "traceloop.entity.name": "d"}, "", "b"),
            ({}, "execute_tool search flights", "search flights"),
            ({}, "tools/call search", "search"),
            ({}, "MCP send tools/call search", "search"),
            ({"openinference.span.kind": "TOOL"}, "SimpleTool", "SimpleTool"),
            ({"langfuse.observation.type": "tool"}, "book_room", "book_room"),
            ({"traceloop.span.kind": "tool"}, "search.tool", "search"),
            ({"gen_ai.tool.name": ""}, "running tool", "_unknown"),
            ({"gen_ai.tool.name": 5}, "execute_tool ", "_unknown"),
            ({"gen_ai.tool.name": "  "}, "execute_tool book", "book"),
            ({"gen_ai.tool.name": "x" * 1000}, "", "x" * 256),
        ],
    )
    def test_is_never_empty(self, attributes: dict[str, object], name: str, tool: str) -> None:
        """The attribute, else the span's name, else `_unknown`."""
        assert tool == tool_name(view(attributes, name=name))


TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}


class TestCallFacts:
    @pytest.mark.parametrize(
        ("attributes", "call_id"),
        [
            ({"gen_ai.tool.call.id": "c1", "tool_call.id": "c2"}, "c1"),
            ({"gen_ai.tool.call.id": "<not specified>"}, ""),
            ({"tool_call.id": "c2"}, "c2"),
            ({"output.value": '{"type": "tool", "data": {"content": "x", "tool_call_id": "c3"}}'}, "c3"),
            (
                {"gen_ai.tool.call.arguments": '{"input_str": "x", "kwargs": {"tool_call_id": "c4"}, "inputs": {}}'},
                "c4",
            ),
            ({"gen_ai.tool.call.result": '{"log": "tool_call_id: c5"}'}, ""),
            ({"jsonrpc.request.id": "7"}, ""),
        ],
    )
    def test_find_the_call_id(self, attributes: dict[str, object], call_id: str) -> None:
        """An attribute, else the framework's wrapper; a placeholder or a request id is none."""
        assert call_id == call_of(view({**TOOL, **attributes})).call_id

    @pytest.mark.parametrize(
        "attributes",
        [
            {"gen_ai.tool.call.arguments": '{"room": "12"}'},
            {"tool_arguments": '{"room": "12"}'},
            {"input.value": '{"room": "12"}'},
            {"traceloop.entity.input": '{"tool_name": "book", "arguments": {"room": "12"}}'},
            {"gcp.vertex.agent.tool_call_args": '{"room": "12"}'},
            {"haystack.agent.step.tool.input": '{"room": "12"}'},
            {"langfuse.observation.input": '{"args": [], "kwargs": {"room": "12"}}'},
            {"gen_ai.prompt": '{"room": "12"}'},
            {"gen_ai.tool.call.arguments": {"room": "12"}},
        ],
    )
    def test_find_the_arguments(self, attributes: dict[str, object]) -> None:
        """Every convention's arguments hash alike."""
        expected = call_of(view({**TOOL, "gen_ai.tool.call.arguments": '{"room":"12"}'})).args_hash

        assert expected == call_of(view({**TOOL, **attributes})).args_hash

    def test_a_schema_is_no_arguments(self) -> None:
        """`tool.parameters` is what the tool takes, not what it was given."""
        assert call_of(view({**TOOL, "tool.parameters": '{"type": "object"}'})).args_hash is None

    def test_arguments_and_result_are_found_in_events(self) -> None:
        """Some frameworks record content as events."""
        events = (
            Event("gen_ai.tool.message", {"content": '{"room": "12"}', "role": "tool", "id": "t"}),
            Event("gen_ai.choice", {"message": '[{"text": "{\\"ok\\": false}"}]', "id": "t"}),
        )

        call = call_of(view(TOOL, events=events))

        assert call.args_hash is not None
        assert call.judgement.outcome == "error"

    def test_a_tagged_hash_serves_where_arguments_are_gone(self) -> None:
        """A collector takes the agent's hash only where it cannot make its own."""
        tagged = {"toolspan.call.args_hash": "abcd0123456789abcdef"}

        assert call_of(view({**TOOL, **tagged})).args_hash == "abcd0123456789abcdef"
        assert call_of(view({**TOOL, **tagged, "input.value": '{"a": 1}'})).args_hash != "abcd0123456789abcdef"

    @pytest.mark.parametrize(("kind", "side"), [(3, "client"), (2, "server"), (1, "")])
    def test_an_mcp_span_knows_its_side(self, kind: int, side: str) -> None:
        """Client and server of one MCP call are told by the span's kind."""
        call = call_of(view({"mcp.method.name": "tools/call", "jsonrpc.request.id": "7"}, kind=kind))

        assert (side, "7") == (call.side, call.request_id)

    def test_no_attempt_at_all_is_no_count(self) -> None:
        """A call that was made was tried."""
        assert call_of(view({**TOOL, "toolspan.call.attempts": 0})).attempts is None

    def test_a_tool_that_asks_a_human_is_an_escalation_too(self) -> None:
        """A tool span may say itself that it stands for an escalation."""
        own = {"toolspan.kind": "escalation", "toolspan.escalation.tool": "refund"}

        facts = reduce(view({**TOOL, **own}))

        assert facts.role == Role.TOOL
        assert facts.escalation is not None
        assert facts.escalation.tool == "refund"

    def test_odd_counts_are_absent(self) -> None:
        """Negative, boolean or unreadable counts say nothing."""
        odd = {"toolspan.call.attempts": -1, "toolspan.call.waited_ms": True}

        call = call_of(view({**TOOL, **odd}))

        assert (None, None) == (call.attempts, call.waited_ms)


RUN = {"gen_ai.operation.name": "invoke_agent"}


class TestRunsThatEndWaiting:
    @pytest.mark.parametrize(
        ("attributes", "events"),
        [
            ({"gen_ai.response.finish_reasons": ["interrupt"]}, ()),
            ({"gen_ai.response.finish_reasons": '["interrupt"]'}, ()),
            ({}, (Event("gen_ai.choice", {"finish_reason": "interrupt"}),)),
            ({"gen_ai.output.messages": '[{"parts": [{"type": "function_approval_request"}]}]'}, ()),
            ({"gen_ai.output.messages": '[{"parts": [], "finish_reason": "interrupt"}]'}, ()),
            (
                {},
                (
                    Event(
                        "gen_ai.client.inference.operation.details",
                        {"gen_ai.output.messages": '[{"parts": [], "finish_reason":"interrupt"}]'},
                    ),
                ),
            ),
            ({"final_result": '{"calls": [], "approvals": [{"tool_name": "book"}]}'}, ()),
        ],
    )
    def test_are_escalations(self, attributes: dict[str, object], events: tuple[Event, ...]) -> None:
        """A run that ends asking for approval has reached a human."""
        escalation = reduce(view({**RUN, **attributes}, events=events)).escalation

        assert escalation is not None
        assert escalation.source == "run"

    @pytest.mark.parametrize(
        "attributes",
        [
            {},
            {"gen_ai.response.finish_reasons": ["stop"]},
            {"final_result": '{"approvals": []}'},
            {"final_result": "approvals are pending"},
            {"gen_ai.output.messages": '[{"content": "the \\"type\\": \\"function_approval_request\\" part"}]'},
        ],
    )
    def test_other_runs_are_none(self, attributes: dict[str, object]) -> None:
        """The words alone make no escalation."""
        assert reduce(view({**RUN, **attributes})).escalation is None


@pytest.mark.parametrize("number", [2**31, 2**63 - 1, 2**70, "99999999999"])
def test_a_number_that_nobody_counts_to_is_no_count(number: object) -> None:
    """Sums of such attempts and waits would fit no column; the call stays."""
    call = call_of(view({**TOOL, "toolspan.call.attempts": number, "toolspan.call.waited_ms": number}))

    assert (None, None) == (call.attempts, call.waited_ms)
