"""
What a span is: a tool call, an agent run, an escalation, or none of them; and the name of the tool it calls.
"""

import re
from collections.abc import Mapping
from typing import Final

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.contents import count
from toolspan.evidence.payloads import is_array, is_object, parse
from toolspan.records import Role, SpanView

#: A model may invent a tool name; what is longer than this is none.
MAX_NAME_CHARS: Final = 256
#: In messages a part of this type, or this finish reason; inside a text its quotes would be escaped.
_WAITING: Final = re.compile(
    rf'"type"\s*:\s*"{conv.APPROVAL_PART}"|"{conv.FINISH_REASON_KEY}"\s*:\s*"{conv.FINISH_WAITING}"'
)
LOOKALIKE_TOOLS: Final = frozenset(lookalike.tool for lookalike in conv.LOOKALIKES)


def role_of(span: SpanView) -> Role:
    """
    What *span* is to us by its markers; a tool may still only look like a call.
    """
    attributes = span.attributes
    if _matches(attributes, conv.TOOL_MARKERS):
        return Role.TOOL
    if _matches(attributes, conv.ESCALATION_MARKERS):
        return Role.ESCALATION
    if _matches(attributes, conv.RUN_MARKERS):
        return Role.RUN
    return Role.OTHER


def convention_of(span: SpanView) -> str:
    """
    The convention by which *span* is recognised, empty where by none.
    """
    for markers in (conv.TOOL_MARKERS, conv.ESCALATION_MARKERS, conv.RUN_MARKERS):
        marker = _matches(span.attributes, markers)
        if marker is not None:
            return marker.convention
    return ""


def only_looks_like_a_call(span: SpanView, tool: str) -> bool:
    """
    Whether *span*, marked as a call of *tool*, is none: a handoff, or what a framework itself marks so.
    """
    if span.attributes.get(conv.OPERATION) == conv.HANDOFF_OPERATION or span.name.startswith(conv.HANDOFF_NAME):
        return True
    return tool in LOOKALIKE_TOOLS and any(
        tool == lookalike.tool and lookalike.scope in span.scope for lookalike in conv.LOOKALIKES
    )


def tool_name(span: SpanView) -> str:
    """
    The tool that *span* called: the convention's attribute, else what the span's name says of it; never empty.
    """
    for key in conv.TOOL_NAME:
        value = span.attributes.get(key)
        if isinstance(value, str) and value.strip():
            return value[:MAX_NAME_CHARS]
    return _name_from_span_name(span) or conv.UNKNOWN_TOOL


def ends_waiting(span: SpanView) -> bool:
    """
    Whether an agent run ends waiting for a human.
    """
    attributes = span.attributes
    for holder in (attributes, *(event.attributes for event in span.events)):
        if any(_has_word(holder.get(key), conv.FINISH_WAITING) for key in conv.FINISH_REASONS):
            return True
        messages = holder.get(conv.OUTPUT_MESSAGES)
        if isinstance(messages, str) and _WAITING.search(messages):
            return True
    final = attributes.get(conv.FINAL_RESULT)
    if isinstance(final, str) and conv.APPROVALS in final:
        final = parse(final)
    return is_object(final) and bool(final.get(conv.APPROVALS))


def failed_http_status(kind: int, attributes: Mapping[str, object]) -> int:
    """
    The status of an HTTP client span that failed, else 0.
    """
    if kind != attr.KIND_CLIENT:
        return 0
    for key in attr.HTTP_STATUS:
        status = count(attributes.get(key))
        if status is not None:
            return status if 400 <= status <= 599 else 0
    return 0


def _matches(attributes: Mapping[str, object], markers: tuple[conv.Marker, ...]) -> conv.Marker | None:
    for marker in markers:
        value = attributes.get(marker.attribute)
        if value is not None and (not marker.values or (isinstance(value, str) and value in marker.values)):
            return marker
    return None


def _name_from_span_name(span: SpanView) -> str:
    name = span.name
    if name.startswith(conv.NAME_GENAI):
        return name.removeprefix(conv.NAME_GENAI).strip()[:MAX_NAME_CHARS]
    before, found, after = name.partition(conv.NAME_MCP)
    if found:
        return after.strip()[:MAX_NAME_CHARS]
    if span.attributes.get(conv.TRACELOOP_KIND) is not None:
        return before.removesuffix(conv.NAME_TRACELOOP_SUFFIX).strip()[:MAX_NAME_CHARS]
    if any(span.attributes.get(key) is not None for key in conv.NAMED_BY_SPAN):
        return before.strip()[:MAX_NAME_CHARS]
    return ""


def _has_word(value: object, word: str) -> bool:
    if isinstance(value, str):
        value = parse(value)
    return value == word or (is_array(value) and word in value)
