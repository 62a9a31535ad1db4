"""
Whatever comes in, every span is kept or counted, and every call is judged with one of the known words.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from tests import otlp_builder as build
from tests.test_rules import rule
from toolspan import attributes as attr
from toolspan.arguments import ArgumentHasher
from toolspan.derive import derive
from toolspan.errors import InputError
from toolspan.otlp import Decoded, Decoder
from toolspan.recognise import Recogniser
from toolspan.rules import Condition, RuleBook
from toolspan.taxonomy import ErrorClass
from toolspan.wanted import WANTED

OUTCOMES: Final = {"ok", "error", "cancelled", "deferred"}
CLASSES: Final = {str(error_class) for error_class in ErrorClass}

TEXTS: Final = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "execute_tool",
            "TOOL",
            "tools/call",
            "invoke_agent",
            "escalation",
            "ToolException",
            "ModelRetry",
            "ValueError",
            "asyncio.exceptions.CancelledError",
            "503 Service Unavailable",
            "Traceback (most recent call last):\n  File x\nKeyError: 'a'",
            '{"ok": false, "error": {"class": "transient", "code": 5, "retry_after_ms": "x"}}',
            '{"ok": true, "error": {"class": "fatal"}}',
            '{"isError": true, "content": [{"text": "{\\"ok\\": 0}"}]}',
            "{'status': 'error', 'tool_call_id': None}",
            "\ud800",
            "\0",
            "-32602",
            "503",
            "14",
        ]
    ),
)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
VALUES: Final = st.one_of(TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.lists(TEXTS, max_size=2))
ATTRIBUTES: Final = st.dictionaries(st.sampled_from(sorted(WANTED)), VALUES, max_size=8)


@st.composite
def spans(draw: st.DrawFn) -> dict[str, object]:
    """
    A tool span with anything where something is read.
    """
    events = [
        build.event(exception_type=draw(TEXTS), exception_message=draw(TEXTS), exception_stacktrace=draw(TEXTS))
        for _ in range(draw(st.integers(0, 2)))
    ]
    return build.tool_span(
        2,
        "book",
        draw(ATTRIBUTES),
        parent=1,
        status=draw(st.sampled_from([0, 1, 2])),
        message=draw(TEXTS),
        kind=draw(st.sampled_from([1, 2, 3])),
        events=events,
    )


def new_decoder() -> Decoder:
    return Decoder(Recogniser(RuleBook(()), ArgumentHasher(b"key")))


@settings(max_examples=300)
@given(spans())
def test_every_call_gets_one_of_the_known_words(span: Mapping[str, object]) -> None:
    """The classifier is total: outcome, class and code are always of the closed sets, whatever a span carries."""
    facts = new_decoder().decode_json(build.json_line([span])).spans

    for call in derive(facts).calls:
        assert call.outcome in OUTCOMES
        assert (call.error_class in CLASSES) == (call.outcome == "error")
        assert call.outcome == "error" or call.code in (None, "REJECTED")
        assert call.outcome != "error" or call.code
        call.tool.encode()
        call.evidence.encode()


@settings(max_examples=150)
@given(spans(), st.text(max_size=5))
def test_the_judgement_is_deterministic_and_blind_to_noise(span: dict[str, object], noise: str) -> None:
    """An unknown attribute, another decoder and a warm cache change nothing."""
    noisy = dict(span)
    noisy["attributes"] = [*span["attributes"], *build.attributes({"app.noise": noise})]  # type: ignore[misc]  # a list
    decoder = new_decoder()

    first = decoder.decode_json(build.json_line([span])).spans
    again = decoder.decode_json(build.json_line([span])).spans
    other = new_decoder().decode_json(build.json_line([noisy])).spans

    assert first == again == other


COMMON_CALL: Final[dict[str, object]] = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "book",
    "gen_ai.tool.call.id": "c1",
    "gen_ai.tool.call.arguments": '{"b": 1.0, "a": "x"}',
    "gen_ai.agent.name": "a",
}
COMMON_RUN: Final[dict[str, object]] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
#: One thing or two that make a common call another one, or none.
CHANGES: Final[list[tuple[str, object]]] = [
    ("gen_ai.operation.name", "invoke_agent"),
    ("gen_ai.operation.name", "chat"),
    *(("gen_ai.tool.name", value) for value in ("cancel", " ", "final_answer", "b" * 300, 5, "é", "")),
    *(("gen_ai.tool.call.id", value) for value in ("", "<not specified>", "c" * 300, 7)),
    *(("gen_ai.tool.call.arguments", value) for value in ("{}", "[redacted]", '{"kwargs": {"a": 1}}', "", 3)),
    *(("gen_ai.tool.call.result", value) for value in ('{"n": 1}', '{"ok": true}', "fine", "", 1, "x" * 20_000)),
    *(("gen_ai.tool.call.result", value) for value in ('{"a": "' + "é" * 100 + '"}', "409 Conflict")),
    *(("gen_ai.agent.name", value) for value in ("", "a" * 300, 1)),
    *(("error.type", value) for value in ("TimeoutError", "", 503)),
    *(("app.own", "x"), ("toolspan.step.id", "s"), ("agent.name", "b"), ("http.response.status_code", 503)),
    *(("finish_reason", "interrupt"), ("traceloop.span.kind", "agent"), ("mcp.method.name", "tools/call")),
]
#: Bytes that are no UTF-8 in place of a text, or nothing.
BROKEN: Final = st.sampled_from(
    [b"", b"", b"", b"", b"app.own", b"gen_ai.agent.name", b"book", b"fine", b"execute_tool x"]
)


def span_of(
    values: Mapping[str, object],
    *,
    name: str = "execute_tool x",
    status: Status | None = None,
    said: Sequence[str] = (),
    event: str = "exception",
    parent: bytes = bytes([1] * 8),
) -> Span:
    """
    A span with attributes of these *values*, and an *event* for each that it *said*.
    """
    span = Span(trace_id=bytes([7] * 16), span_id=bytes([2] * 8), parent_span_id=parent, name=name, status=status)
    span.start_time_unix_nano, span.end_time_unix_nano = build.START_NS, build.START_NS + 5
    for key, value in values.items():
        into = span.attributes.add(key=key).value
        if isinstance(value, int):
            into.int_value = value
        else:
            into.string_value = str(value)
    for number, text in enumerate(said):
        added = span.events.add(name=event, time_unix_nano=number)
        for key in ("exception.type", "exception.message", "message", "finish_reason"):
            added.attributes.add(key=key).value.string_value = text
    return span


@st.composite
def common_spans(draw: st.DrawFn) -> Span:
    """
    A span of the kind that is read straight from the wire, or nearly one.
    """
    return span_of(
        COMMON_CALL | dict(draw(st.lists(st.sampled_from(CHANGES), max_size=2))),
        name=draw(st.sampled_from(["execute_tool x", "execute_tool x", ""])),
        status=draw(st.sampled_from([None, Status(code=Status.STATUS_CODE_ERROR)])),
        said=draw(st.lists(st.sampled_from(["ValueError", "409 Conflict"]), max_size=2)),
        event=draw(st.sampled_from(["exception", "exception", "gen_ai.choice"])),
        parent=draw(st.sampled_from([b"", bytes([1] * 8)])),
    )


def both_ways(data: bytes, *, has_rules: bool) -> list[Decoded]:
    """
    *data* read through views of its spans, as an observer sees them, then twice as it is read without one.
    """
    book = RuleBook((rule(Condition.ERROR_TYPE, "ValueError", tool="book"),) if has_rules else ())
    looking = Decoder(Recogniser(book, ArgumentHasher(b"key")), observer=lambda _span: None)
    decoder = Decoder(Recogniser(book, ArgumentHasher(b"key")))
    return [looking.decode_protobuf(data), decoder.decode_protobuf(data), decoder.decode_protobuf(data)]


def request_of(spans: Iterable[Span]) -> bytes:
    """
    *spans* in one request, of a scope in which some tools are none.
    """
    request = TracesData()
    request.resource_spans.add().scope_spans.add(spans=spans).scope.name = "smolagents"
    return request.SerializeToString()


@settings(max_examples=200)
@given(st.lists(common_spans(), min_size=2, max_size=6), BROKEN, st.booleans())
def test_common_spans_are_read_as_all_others(spans: list[Span], broken: bytes, has_rules: bool) -> None:
    """What is read straight from the wire gives the facts that it gives through a view, once and again."""
    data = request_of(spans)
    if broken:
        data = data.replace(broken, b"\xff" + broken[1:])

    seen, once, again = both_ways(data, has_rules=has_rules)

    assert seen == once == again


@pytest.mark.parametrize("has_rules", [False, True])
@pytest.mark.parametrize("common", [COMMON_CALL, COMMON_RUN])
def test_every_change_of_a_common_span_is_read_as_all_others(common: dict[str, object], has_rules: bool) -> None:
    """Each thing that may be odd about one, with each ending: no two are taken for each other."""
    spans = [
        span_of(common | change, name=name, status=status, said=said)
        for change in ({}, *({key: value} for key, value in CHANGES))
        for name in ("execute_tool x", "handoff to b")
        for status in (None, Status(code=Status.STATUS_CODE_ERROR), Status(code=Status.STATUS_CODE_OK, message="503"))
        for said in ((), ("ValueError",), ("409 Conflict",), ("interrupt",))
    ]

    seen, once, again = both_ways(request_of(spans), has_rules=has_rules)

    assert seen == once == again


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["traceId", "spanId", "name", "kind", "attributes", "events", "status"]), JSON))
def test_wrong_types_in_every_field_lose_no_neighbour(change: dict[str, object]) -> None:
    """A span that is odd in any field is kept or counted, and the span beside it is read."""
    line = build.json_line([{**build.tool_span(2), **change}, build.tool_span(3)])

    decoded = new_decoder().decode_json(line)

    assert len(decoded.spans) + sum(decoded.rejected.values()) == 2
    assert decoded.spans[-1].span_id == bytes(7) + b"\x03"


@settings(max_examples=200)
@given(JSON)
def test_arbitrary_json_is_read_or_refused_in_one_line(document: object) -> None:
    """What is no request is an InputError of one line, never another exception."""
    refusal = ""
    try:
        new_decoder().decode_json(json.dumps(document).encode())
    except InputError as error:
        refusal = str(error)

    assert len(refusal.splitlines()) <= 1


@settings(max_examples=300)
@given(st.data())
def test_damaged_protobuf_is_read_or_refused(data: st.DataObject) -> None:
    """Truncated or overwritten messages give what can be read of them, or an InputError."""
    message = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(0, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(message)))

    try:
        facts = new_decoder().decode_protobuf(bytes(message[:cut])).spans
    except InputError:
        return
    derive(facts)


def _sample() -> bytes:
    request = TracesData()
    scope_spans = request.resource_spans.add().scope_spans.add()
    for number in (1, 2):
        span = scope_spans.spans.add(
            trace_id=bytes([7] * 16), span_id=bytes([number] * 8), name="execute_tool book", kind=1
        )
        span.start_time_unix_nano, span.end_time_unix_nano = build.START_NS, build.START_NS + 5
        for key, value in (
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "book"),
            ("gen_ai.tool.call.arguments", '{"a": 1}'),
            (attr.ERROR_TYPE, "TimeoutError"),
        ):
            span.attributes.add(key=key).value.string_value = value
        span.events.add(name="exception").attributes.add(key="exception.type").value.string_value = "ValueError"
        span.status.code = Status.STATUS_CODE_ERROR
    return request.SerializeToString()


SAMPLE: Final = _sample()
