"""
OTLP requests for tests, built the way a person would write a trace down.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolspan.evidence.payloads import is_array, is_object

START_NS: Final = 1_777_900_000_000_000_000
MS: Final = 1_000_000
TRACE_ID: Final = "4b" * 16


def attributes(values: Mapping[str, object]) -> list[dict[str, object]]:
    """
    *values* as OTLP/JSON attributes.
    """
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def any_value(value: object) -> dict[str, object]:
    """
    *value* as an OTLP/JSON AnyValue.
    """
    if is_array(value):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if is_object(value):
        return {"kvlistValue": {"values": attributes(value)}}
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case None:
            return {}
        case _:
            return {"stringValue": value}


def event(name: str = "exception", **values: object) -> dict[str, object]:
    """
    A span event; `exception_type=…` is the attribute `exception.type`.
    """
    named = {key.replace("_", "."): value for key, value in values.items()}
    return {"timeUnixNano": str(START_NS), "name": name, "attributes": attributes(named)}


def span(
    span_id: int,
    values: Mapping[str, object] | None = None,
    *,
    parent: int = 0,
    name: str = "",
    kind: int = 1,
    start_ms: int = 0,
    end_ms: int = 10,
    status: int = 0,
    message: str = "",
    events: Sequence[Mapping[str, object]] = (),
    trace_id: str = TRACE_ID,
) -> dict[str, object]:
    """
    A span in OTLP/JSON; times in ms after a fixed moment, ids are numbers.
    """
    return {
        "traceId": trace_id,
        "spanId": f"{span_id:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(START_NS + start_ms * MS),
        "endTimeUnixNano": str(START_NS + end_ms * MS),
        "attributes": attributes(values or {}),
        "status": {"code": status, "message": message},
        "events": list(events),
    }


def tool_span(
    span_id: int, tool: str = "book", values: Mapping[str, object] | None = None, **more: object
) -> dict[str, object]:
    """
    A tool span of the GenAI conventions.
    """
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    return span(span_id, {**own, **(values or {})}, name=f"execute_tool {tool}", **more)  # type: ignore[arg-type]  # passed on


def run_span(span_id: int = 1, values: Mapping[str, object] | None = None, **more: object) -> dict[str, object]:
    """
    An agent run of the GenAI conventions.
    """
    own = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "trip_desk"}
    return span(span_id, {**own, **(values or {})}, name="invoke_agent trip_desk", **more)  # type: ignore[arg-type]  # passed on


def request(
    spans: Iterable[Mapping[str, object]], *, scope: str = "tests", resource: Mapping[str, object] | None = None
) -> dict[str, object]:
    """
    An ExportTraceServiceRequest in OTLP/JSON.
    """
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource or {"service.name": "travel-agent"})},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }


def json_line(spans: Iterable[Mapping[str, object]], **more: object) -> bytes:
    """
    A request as one line of OTLP/JSON.
    """
    return json.dumps(request(spans, **more)).encode() + b"\n"  # type: ignore[arg-type]  # passed on
