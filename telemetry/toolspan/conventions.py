"""
What the conventions call things, as data: one table per question, the first name that a span carries answers it.

A convention is recognised by what a span says of itself, never by span names: those vary with every version.
Sources: OpenTelemetry GenAI and MCP semantic conventions, OpenInference's specification, OpenLLMetry's semantic
conventions, and what the frameworks were seen to emit.
"""

from typing import Final, NamedTuple

from toolspan import attributes as attr


class Marker(NamedTuple):
    """
    An attribute and the values of it that make a span a tool call, an agent run, …; no values: any will do.
    """

    attribute: str
    values: frozenset[str]
    convention: str


def _marker(attribute: str, values: str, convention: str) -> Marker:
    return Marker(attribute, frozenset(values.split()), convention)


OPERATION: Final = "gen_ai.operation.name"
OPENINFERENCE_KIND: Final = "openinference.span.kind"
TRACELOOP_KIND: Final = "traceloop.span.kind"
MCP_METHOD: Final = "mcp.method.name"
LANGFUSE_KIND: Final = "langfuse.observation.type"

#: In this order: a span that is both a tool and something else is a tool.
TOOL_MARKERS: Final = (
    _marker(OPERATION, "execute_tool", "GenAI"),
    _marker(OPENINFERENCE_KIND, "TOOL", "OpenInference"),
    _marker(TRACELOOP_KIND, "tool", "OpenLLMetry"),
    _marker(MCP_METHOD, "tools/call", "MCP"),
    _marker("haystack.tool.name", "", "Haystack"),
    _marker("ai.toolCall.name", "", "Vercel AI SDK"),
    _marker(LANGFUSE_KIND, "tool", "Langfuse"),
)

RUN_MARKERS: Final = (
    _marker(OPERATION, "invoke_agent invoke_workflow", "GenAI"),
    _marker(OPENINFERENCE_KIND, "AGENT", "OpenInference"),
    _marker(TRACELOOP_KIND, "workflow agent", "OpenLLMetry"),
    _marker(attr.KIND, attr.KIND_TASK, "toolspan"),
    _marker(LANGFUSE_KIND, "agent", "Langfuse"),
)

ESCALATION_MARKERS: Final = (
    _marker(attr.KIND, attr.KIND_ESCALATION, "toolspan"),
    _marker(MCP_METHOD, "elicitation/create", "MCP"),
)

#: Attributes of ours that matter on any span.
_OWN: Final = (attr.TASK_ID, attr.STEP_ID, attr.TASK_OUTCOME)


def gate() -> list[tuple[str, frozenset[str]]]:
    """
    What makes a span worth a second look: attributes and their values (none: any), each attribute once.

    A span that passes none of these costs these look-ups and no more.
    """
    values: dict[str, frozenset[str]] = {}
    for marker in (*TOOL_MARKERS, *RUN_MARKERS, *ESCALATION_MARKERS):
        values[marker.attribute] = values.get(marker.attribute, frozenset()) | marker.values
    # any attribute of ours makes a span worth keeping, whatever kind it names
    values[attr.KIND] = frozenset()
    return [*values.items(), *((name, frozenset[str]()) for name in _OWN)]


#: Spans that only look like calls. A handoff passes the conversation on; nothing is called.
HANDOFF_OPERATION: Final = "handoff"
HANDOFF_NAME: Final = "handoff to "


class Lookalike(NamedTuple):
    """
    A tool name that is no tool in spans of a framework whose scope name contains *scope*.
    """

    tool: str
    scope: str


LOOKALIKES: Final = (
    # ADK sums up the parallel calls of a turn in one more span
    Lookalike("(merged tools)", "gcp.vertex.agent"),
    Lookalike("(merged tools)", "google_adk"),
    Lookalike("(merged tools)", "google-adk"),
    # smolagents ends a run by "calling" its answer
    Lookalike("final_answer", "smolagents"),
)

UNKNOWN_TOOL: Final = "_unknown"
TOOL_NAME: Final = ("gen_ai.tool.name", "tool.name", "haystack.tool.name", "ai.toolCall.name", "traceloop.entity.name")
#: Prefix of a GenAI span name, and the MCP method that stands anywhere in one.
NAME_GENAI: Final = "execute_tool "
NAME_MCP: Final = "tools/call "
NAME_TRACELOOP_SUFFIX: Final = ".tool"

CALL_ID: Final = (
    "gen_ai.tool.call.id",
    "tool_call.id",
    "tool.call_id",
    "tool.id",
    "ai.toolCall.id",
)
#: ADK's word for "the call raised before I knew its id".
NO_CALL_ID: Final = "<not specified>"
REQUEST_ID: Final = "jsonrpc.request.id"

ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "input.value",
    "traceloop.entity.input",
    "gcp.vertex.agent.tool_call_args",
    "haystack.agent.step.tool.input",
    "ai.toolCall.args",
    "langfuse.observation.input",
    # LangSmith's export writes what any run was given and gave under the names of a model call
    "gen_ai.prompt",
)
RESULT: Final = (
    "gen_ai.tool.call.result",
    "tool_response",
    "output.value",
    "traceloop.entity.output",
    "gcp.vertex.agent.tool_response",
    "haystack.agent.step.tool.output",
    "ai.toolCall.result",
    "gen_ai.output.messages",
    "langfuse.observation.output",
    "gen_ai.completion",
)


class EventContent(NamedTuple):
    """
    Where an event carries what other conventions put into an attribute.
    """

    event: str
    attributes: tuple[str, ...]


ARGUMENT_EVENTS: Final = (
    EventContent("gen_ai.tool.message", ("content",)),
    EventContent("gen_ai.client.inference.operation.details", ("gen_ai.input.messages",)),
)
RESULT_EVENTS: Final = (
    EventContent("gen_ai.choice", ("message", "content")),
    EventContent("gen_ai.client.inference.operation.details", ("gen_ai.output.messages",)),
)


class FailureFlag(NamedTuple):
    """
    An attribute whose value says that the call failed, and nothing of why.
    """

    attribute: str
    value: str


#: Values are compared as lower-case text, so that True, "true" and "True" are one.
FAILURE_FLAGS: Final = (
    FailureFlag("haystack.tool.error", "true"),
    FailureFlag("gen_ai.tool.status", "error"),
    FailureFlag("tool.status", "error"),
    FailureFlag("gen_ai.task.status", "failure"),
    FailureFlag("mcp.tool.result.is_error", "true"),
)

#: An attribute whose presence says that the call waits for a human or for somebody else's answer.
DEFERRALS: Final = ("pydantic_ai.tool.deferral.name",)

AGENT: Final = ("gen_ai.agent.name", "agent.name", "agent_name")
#: Names the agent on an OpenLLMetry span of kind `agent`; elsewhere it is a tool's or a workflow's name.
TRACELOOP_ENTITY: Final = "traceloop.entity.name"
SERVICE: Final = ("service.name",)
ENVIRONMENT: Final = ("deployment.environment.name", "deployment.environment")

#: Span names are the tool's name where these conventions give it in no attribute.
NAMED_BY_SPAN: Final = (OPENINFERENCE_KIND, LANGFUSE_KIND)

#: How an agent run says that it ends waiting for a human.
FINISH_REASONS: Final = ("gen_ai.response.finish_reasons", "finish_reason", "gen_ai.response.finish_reason")
FINISH_WAITING: Final = "interrupt"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
FINISH_REASON_KEY: Final = "finish_reason"
APPROVAL_PART: Final = "function_approval_request"
FINAL_RESULT: Final = "final_result"
APPROVALS: Final = "approvals"
