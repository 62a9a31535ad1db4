"""
What to switch on where spans lack something, as data: by pattern of the scope that wrote them.

Spans say of their instrumentation only the name of its scope. The settings are those that documentation or public code
of the projects named in November 2026; where a name has changed between versions, both stand here.
"""

import re
from typing import Final

Advice = tuple[tuple[str, str], ...]

_CLIENTS: Final = r"openai|anthropic|bedrock|cohere|groq|litellm|mistralai|ollama|google_gen\w+|vertexai|together"
_GENAI: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
TRACE_YOURSELF: Final = "Or trace tools yourself: spans with gen_ai.operation.name=execute_tool and gen_ai.tool.name."
TRACE_FRAMEWORK: Final = "Switch on what traces the tools of your agent framework: its own tracing, or OpenInference."

#: By pattern of the scope's name, of which the first that is found decides. How to have tool calls traced …
TRACE_TOOLS: Final[Advice] = (
    (r"^opentelemetry\.instr\w+\.crewai", "It traces crews and tasks: use openinference-instrumentation-crewai."),
    (
        r"^openinference\.instr\w+\.haystack",
        "It traces components: use Haystack's own tracer (opentelemetry-haystack).",
    ),
    (
        rf"\.instrumentation\.(genai\.)?({_CLIENTS})(_v2)?(\.v\d)?$",
        "It traces requests to a model; tools run elsewhere: trace the agent framework, too.",
    ),
    ("", TRACE_FRAMEWORK),
)
#: … arguments and results recorded …
RECORD: Final[Advice] = (
    (r"^pydantic-ai", "pydantic-ai: InstrumentationSettings(include_content=True)"),
    (r"^agent_framework", "Agent Framework: ENABLE_SENSITIVE_DATA=true"),
    (r"^gcp\.vertex\.agent", f"Google ADK: {_GENAI}; older: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"),
    (r"^haystack", "Haystack: HAYSTACK_CONTENT_TRACING_ENABLED=true, set before haystack is imported"),
    (
        r"^(mcp|fastmcp)",
        "MCP records neither: set gen_ai.tool.call.arguments and .result on the server's span",
    ),
    (r"^autogen", "AutoGen records neither: add openinference-instrumentation-autogen-agentchat"),
    (r"^ai$", "Vercel AI SDK: experimental_telemetry with recordInputs: true, recordOutputs: true"),
    (r"semantic_kernel", "Semantic Kernel: SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true"),
    (r"^openinference\.", "OpenInference: OPENINFERENCE_HIDE_INPUTS=false, OPENINFERENCE_HIDE_OUTPUTS=false"),
    (
        r"^opentelemetry\.instrumentation\.(genai\.|\w+_v2)",
        f"OpenTelemetry GenAI: {_GENAI}; older: and OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental",
    ),
    (r"^opentelemetry\.instrumentation\.", "OpenLLMetry: TRACELOOP_TRACE_CONTENT=true"),
    ("", "Set gen_ai.tool.call.arguments and gen_ai.tool.call.result on the tool's span"),
)
RECORD_AGENTS: Final = "OpenAI Agents: OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA=1 (the default)"
#: … and the messages of failures.
TELL_WHY: Final[Advice] = (
    (
        r"openai_agents",
        (
            "OpenAI Agents takes messages out: give function_tool a failure_error_function that keeps them, or None;"
            " while developing, set OPENAI_AGENTS_DONT_LOG_TOOL_DATA=0."
        ),
    ),
    (
        r"^(mcp|fastmcp)",
        "MCP spans carry no message: set toolspan.error.class and toolspan.error.code on the server's span.",
    ),
)


def advice(table: Advice, scope: str) -> str:
    """
    The advice of *table* for *scope*; empty where there is none.
    """
    return next((text for pattern, text in table if re.search(pattern, scope)), "")
