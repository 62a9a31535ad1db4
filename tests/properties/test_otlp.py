"""
Whatever comes in, every span is kept or counted, and every call is judged with one of the known words.
"""

import json
from collections.abc import Mapping
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Status, TracesData

from tests import otlp_builder as build
from toolspan import attributes as attr
from toolspan.arguments import ArgumentHasher
from toolspan.derive import derive
from toolspan.errors import InputError
from toolspan.otlp import Decoder
from toolspan.recognise import Recogniser
from toolspan.rules import RuleBook
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
