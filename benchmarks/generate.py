"""
Spans for benchmarks: traces of one agent run, three model calls and six tool calls, a quarter of them failing.

About 750 bytes a span, with the attributes that pydantic-ai sets (12 or 13 on each); every trace is different, every
run the same.
"""

import json
import random
from collections.abc import Iterator

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

SPANS_PER_TRACE = 10
CALLS_PER_TRACE = 6
FAILING = 0.25
TOOLS = 20
#: Distinct URLs of an upstream; clients print the URL in their message.
ENDPOINTS = 40
START_NS = 1_777_900_000_000_000_000
STEP_NS = 100_000_000

_STACK = "Traceback (most recent call last):\n" + "".join(
    f'  File "/app/tools/booking.py", line {line}, in call\n    return await send(it)\n' for line in range(40, 48)
)
_FAILURES = (
    (
        "httpx.HTTPStatusError",
        "Server error '503 Service Unavailable' for url 'https://api.example.test/v1/bookings/{}'",
    ),
    ("httpx.HTTPStatusError", "Client error '409 Conflict' for url 'https://api.example.test/v1/bookings/{}'"),
    ("httpx.HTTPStatusError", "Client error '403 Forbidden' for url 'https://api.example.test/v1/refunds/{}'"),
    ("httpx.ReadTimeout", "The read operation timed out"),
    ("TypeError", "search_flights() missing 1 required positional argument: 'date'"),
    ("RuntimeError", "connection pool exhausted: cannot reach ledger"),
)


def _attributes(**values: str | int) -> list[KeyValue]:
    return [
        KeyValue(
            key=key.replace("__", "."),
            value=AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value),
        )
        for key, value in values.items()
    ]


def requests(spans: int, *, spans_per_request: int = 510, seed: int = 1) -> Iterator[bytes]:
    """
    About *spans* spans as serialised ExportTraceServiceRequests of *spans_per_request* each.
    """
    chance = random.Random(seed)
    traces_per_request = spans_per_request // SPANS_PER_TRACE
    trace = 0
    for _ in range(max(1, spans // (traces_per_request * SPANS_PER_TRACE))):
        request = ExportTraceServiceRequest()
        resource_spans = request.resource_spans.add()
        resource_spans.resource.attributes.extend(
            _attributes(service__name="travel-agent", deployment__environment__name="bench")
        )
        scope_spans = resource_spans.scope_spans.add()
        scope_spans.scope.name = "pydantic-ai"
        for _ in range(traces_per_request):
            scope_spans.spans.extend(_trace(chance, START_NS + trace * 10 * STEP_NS))
            trace += 1
        yield request.SerializeToString()


def _trace(chance: random.Random, start: int) -> Iterator[Span]:
    trace_id, run_id = chance.randbytes(16), chance.randbytes(8)
    conversation = chance.randbytes(16).hex()
    for index in range(CALLS_PER_TRACE):
        if index % 2 == 0:
            yield _model_call(chance, trace_id, run_id, start + index * STEP_NS - STEP_NS // 2, conversation)
        yield _tool_call(chance, trace_id, run_id, start + index * STEP_NS, conversation)
    yield Span(
        trace_id=trace_id,
        span_id=run_id,
        name="invoke_agent trip_desk",
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start - STEP_NS,
        end_time_unix_nano=start + (CALLS_PER_TRACE + 1) * STEP_NS,
        attributes=_attributes(
            gen_ai__operation__name="invoke_agent",
            gen_ai__agent__name="trip_desk",
            gen_ai__conversation__id=conversation,
        ),
    )


def _model_call(chance: random.Random, trace_id: bytes, run_id: bytes, start: int, conversation: str) -> Span:
    return Span(
        trace_id=trace_id,
        span_id=chance.randbytes(8),
        parent_span_id=run_id,
        name="chat gpt-5",
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=start,
        end_time_unix_nano=start + STEP_NS // 3,
        attributes=_attributes(
            gen_ai__operation__name="chat",
            gen_ai__provider__name="openai",
            gen_ai__request__model="gpt-5",
            gen_ai__response__model="gpt-5-2026-08-01",
            gen_ai__response__id=chance.randbytes(12).hex(),
            gen_ai__usage__input_tokens=chance.randrange(4000),
            gen_ai__usage__output_tokens=chance.randrange(400),
            gen_ai__output__type="text",
            gen_ai__agent__name="trip_desk",
            gen_ai__agent__call__id=conversation,
            gen_ai__conversation__id=conversation,
            server__address="api.example.test",
            server__port=443,
        ),
    )


def _tool_call(chance: random.Random, trace_id: bytes, run_id: bytes, start: int, conversation: str) -> Span:
    tool = f"tool_{chance.randrange(TOOLS)}"
    # few distinct arguments, so that calls of a task repeat and rewrite each other
    arguments = {"date": f"2026-12-{chance.randrange(1, 4):02}", "fare": "economy", "seats": chance.randrange(3)}
    span = Span(
        trace_id=trace_id,
        span_id=chance.randbytes(8),
        parent_span_id=run_id,
        name=f"execute_tool {tool}",
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start,
        end_time_unix_nano=start + STEP_NS // 2,
        attributes=_attributes(
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name=tool,
            gen_ai__tool__type="function",
            gen_ai__tool__description="Looks up flights.",
            gen_ai__tool__call__id=f"call_{chance.randbytes(12).hex()}",
            gen_ai__tool__call__arguments=json.dumps({**arguments, "trip": conversation}),
            gen_ai__agent__name="trip_desk",
            gen_ai__agent__call__id=conversation,
            gen_ai__conversation__id=conversation,
            logfire__msg=f"running tool: {tool}",
        ),
    )
    if chance.random() < FAILING:
        kind, message = chance.choice(_FAILURES)
        span.status.code = Status.STATUS_CODE_ERROR
        event = span.events.add(name="exception", time_unix_nano=start + STEP_NS // 2)
        event.attributes.extend(
            _attributes(
                exception__type=kind,
                exception__message=message.format(chance.randrange(ENDPOINTS)),
                exception__stacktrace=_STACK,
                exception__escaped="True",
            )
        )
    else:
        flights = [{"id": chance.randbytes(4).hex(), "price": chance.randrange(999)} for _ in range(3)]
        span.attributes.extend(_attributes(gen_ai__tool__call__result=json.dumps({"flights": flights})))
    return span
