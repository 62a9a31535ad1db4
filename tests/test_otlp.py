"""
One decoder: protobuf and JSON give the same facts, and nothing odd about a span loses the others.
"""

import base64
import json

import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests import otlp_builder as build
from toolspan.arguments import ArgumentHasher
from toolspan.errors import InputError
from toolspan.otlp import Decoded, Decoder
from toolspan.otlp_json import UNREADABLE_PARENT
from toolspan.recognise import Recogniser
from toolspan.records import Role
from toolspan.rules import RuleBook


@pytest.fixture
def decoder() -> Decoder:
    return Decoder(Recogniser(RuleBook(()), ArgumentHasher(b"key")))


def protobuf(line: bytes) -> bytes:
    """
    The request of an OTLP/JSON line in protobuf; protobuf's own JSON mapping wants base64 ids.
    """
    document = json.loads(line)
    for group in document["resourceSpans"]:
        for scope in group["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    span[key] = _base64(span[key])
    return json_format.ParseDict(document, TracesData()).SerializeToString()


def _base64(identifier: str) -> str:
    return base64.b64encode(bytes.fromhex(identifier)).decode()


TRACE = [
    build.run_span(1, {"toolspan.task.id": "T-1", "toolspan.task.outcome": "resolved"}, end_ms=100),
    build.tool_span(
        2,
        "search",
        {"gen_ai.tool.call.arguments": '{"date": "x"}', "gen_ai.tool.call.id": "c1"},
        parent=1,
        status=2,
        message="boom",
        events=[build.event(exception_type="TimeoutError", exception_message="")],
    ),
    build.span(3, {"http.response.status_code": 503, "server.address": "a"}, parent=2, kind=3, name="POST", status=2),
    build.span(4, {"gen_ai.operation.name": "chat"}, parent=1, name="chat gpt"),
    build.span(5, {"toolspan.kind": "escalation", "toolspan.escalation.tool": "search"}, parent=1),
    build.span(7, {"app.note": "x"}, parent=1, name="child", status=2),
    build.span(8, {"toolspan.kind": "step"}, parent=1, name="step"),
    build.tool_span(9, "book", {"gen_ai.tool.call.id": "c", "gen_ai.agent.name": ["x"]}, parent=1),
    build.tool_span(10, "book", {"gen_ai.tool.call.result": "fine"}, parent=1, events=[build.event("log")]),
    build.tool_span(6, "búsca ✈", {"gen_ai.tool.call.result": "x" * 200 + '"ok": false'}, parent=1),
]


class TestBothEncodings:
    def test_give_the_same_facts(self, decoder: Decoder) -> None:
        """Protobuf and JSON of one request are one request."""
        line = build.json_line(TRACE)

        assert decoder.decode_json(line) == decoder.decode_protobuf(protobuf(line))

    def test_keep_what_matters_of_each_span(self, decoder: Decoder) -> None:
        """Roles, marks and failed HTTP clients are recognised; a model call leaves ids and times."""
        run, tool, client, chat, escalation, *_ = decoder.decode_json(build.json_line(TRACE)).spans

        roles = [Role.RUN, Role.TOOL, Role.OTHER, Role.OTHER, Role.ESCALATION]
        assert roles == [span.role for span in (run, tool, client, chat, escalation)]
        assert run.marks is not None
        assert ("T-1", "resolved", "travel-agent") == (run.marks.task_id, run.marks.outcome, run.marks.service)
        assert (503, 0) == (client.http_status, chat.http_status)
        assert chat.marks is None
        assert escalation.escalation is not None
        assert escalation.escalation.tool == "search"


def test_the_wire_form_of_any_value_is_read_whole(decoder: Decoder) -> None:
    """Texts of every length around the sizes at which their length takes another byte arrive whole."""
    for size in (0, 1, 126, 127, 128, 129, 130, 16_380, 16_383, 16_384, 16_390, 70_000):
        name = "t" * min(size, 200) or "x"
        line = build.json_line(
            [build.tool_span(2, name, {"gen_ai.tool.call.arguments": json.dumps({"a": "x" * size})})]
        )

        assert decoder.decode_json(line) == decoder.decode_protobuf(protobuf(line))


class TestOddSpans:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"traceId": "00" * 16}, "trace_id"),
            ({"traceId": "4b4b"}, "trace_id"),
            ({"traceId": 5}, "trace_id"),
            ({"traceId": "zz" * 16}, "trace_id"),
            ({"spanId": "00" * 8}, "span_id"),
            ({"spanId": None}, "span_id"),
            ({"startTimeUnixNano": "0", "endTimeUnixNano": "0"}, "time"),
            ({"startTimeUnixNano": str(2**63), "endTimeUnixNano": str(2**63)}, "time"),
            ({"startTimeUnixNano": "-5"}, "time"),
            ({"startTimeUnixNano": {}, "endTimeUnixNano": []}, "time"),
        ],
    )
    def test_that_cannot_be_kept_are_counted(self, decoder: Decoder, change: dict[str, object], reason: str) -> None:
        """A span without a usable id or time is rejected by reason; its neighbours are kept."""
        line = build.json_line([{**build.tool_span(2), **change}, build.tool_span(3)])

        decoded = decoder.decode_json(line)

        assert ({reason: 1}, 1) == (decoded.rejected, len(decoded.spans))

    @pytest.mark.parametrize(
        "change",
        [
            {"attributes": None},
            {"attributes": {"a": 1}},
            {"attributes": [None, 5, {"key": 5}, {"key": "x"}, {"key": "y", "value": 7}]},
            {"events": "none"},
            {"events": [None, {"name": 5, "attributes": 5}]},
            {"status": "ERROR"},
            {"status": {"code": "STATUS_CODE_ERROR", "message": 5}},
            {"kind": "SPAN_KIND_CLIENT"},
            {"kind": [1]},
            {"name": None},
            {"parentSpanId": 17},
            {"parentSpanId": "00" * 8},
            {"endTimeUnixNano": "1"},
            {"endTimeUnixNano": None},
            {"startTimeUnixNano": float(build.START_NS)},
        ],
    )
    def test_are_kept_with_what_can_be_read(self, decoder: Decoder, change: dict[str, object]) -> None:
        """A field of the wrong type counts as absent and loses no span."""
        line = build.json_line([{**build.tool_span(2), **change}])

        assert len(decoder.decode_json(line).spans) == 1

    def test_a_number_of_thousands_of_digits_costs_only_itself(self, decoder: Decoder) -> None:
        """Python refuses to convert it; the line is read all the same."""
        line = build.json_line([build.tool_span(2), build.tool_span(3)]).replace(
            b'"kind": 1', b'"kind": ' + b"9" * 5000, 1
        )

        assert len(decoder.decode_json(line).spans) == 2

    @pytest.mark.parametrize("parent", ["xyz", 5, ["a"]])
    def test_an_unreadable_parent_is_one_that_never_comes(self, decoder: Decoder, parent: object) -> None:
        """It makes no second root."""
        (span,) = decoder.decode_json(build.json_line([{**build.tool_span(2), "parentSpanId": parent}])).spans

        assert len(span.parent_id) == 8

    @pytest.mark.parametrize(
        ("change", "rejected", "parents"),
        [
            ({"traceId": "00" * 16}, {"trace_id": 1}, []),
            ({"spanId": "00" * 8}, {"span_id": 1}, []),
            ({"parentSpanId": "00" * 8}, {}, [b""]),
            ({"parentSpanId": "4b4b"}, {}, [UNREADABLE_PARENT]),
        ],
    )
    def test_ids_of_protobuf_are_held_to_the_same(
        self, decoder: Decoder, change: dict[str, object], rejected: dict[str, int], parents: list[bytes]
    ) -> None:
        """Zeros of the right length are no id, and no parent; a parent of another length is one that never comes."""
        line = json.dumps(build.request([{**build.tool_span(2, parent=1), **change}])).encode()

        decoded = decoder.decode_protobuf(protobuf(line))

        assert (rejected, parents) == (decoded.rejected, [span.parent_id for span in decoded.spans])

    def test_an_end_before_its_start_is_0_long(self, decoder: Decoder) -> None:
        """A clock that ran backwards makes no negative durations."""
        (span,) = decoder.decode_json(build.json_line([build.tool_span(2, start_ms=50, end_ms=10)])).spans

        assert span.start_ns == span.end_ns

    def test_lone_surrogates_and_nul_do_not_get_in(self, decoder: Decoder) -> None:
        """What no encoder takes is replaced at the door."""
        line = build.json_line([build.tool_span(2, "bo\ud800ok\0")])

        (span,) = decoder.decode_json(line).spans

        assert span.call is not None
        assert span.call.tool == "bo\ufffdok\0"

    def test_text_that_is_no_utf8_is_replaced(self, decoder: Decoder) -> None:
        """A broken text in protobuf costs neither its span nor the request."""
        message = protobuf(build.json_line([build.tool_span(2, "bookx"), build.tool_span(3)]))

        spans = decoder.decode_protobuf(message.replace(b"bookx", b"bo\xffkx")).spans

        assert ["bo\ufffdkx", "book"] == [span.call.tool for span in spans if span.call is not None]

    def test_a_key_that_is_no_utf8_costs_only_itself(self, decoder: Decoder) -> None:
        """The other attributes of the span are still read."""
        message = protobuf(build.json_line([build.tool_span(2, "book", {"keyyy": "v"})]))

        (span,) = decoder.decode_protobuf(message.replace(b"keyyy", b"ke\xffyy")).spans

        assert span.call is not None
        assert span.call.tool == "book"


class TestRequestsThatAreNone:
    @pytest.mark.parametrize(
        ("data", "word"),
        [
            (b"{", "not JSON"),
            (b"[]", "no OTLP request"),
            (b'{"a": 1}', "no OTLP request"),
            (b'{"resourceLogs": []}', "logs"),
            (b'{"resourceMetrics": []}', "metrics"),
            (b'{"resourceSpans": 5}', "not a list"),
            (b"[" * 100_000, "not JSON"),
        ],
    )
    def test_say_what_they_are(self, decoder: Decoder, data: bytes, word: str) -> None:
        """One line tells what was read in place of OTLP traces."""
        with pytest.raises(InputError, match=word):
            decoder.decode_json(data)

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b'{"resourceSpans": ["ab', "not JSON: Unterminated string"),
            (b'{"resourceSpans": [1 2]}', "not JSON: Expecting ',' delimiter"),
            (b'{"resourceSpans": "a\nb"}', "not JSON: Invalid control character"),
        ],
    )
    def test_name_no_position_of_their_own(self, decoder: Decoder, data: bytes, said: str) -> None:
        """Who reads a file says in which line the request stands, and a second line number would contradict it."""
        with pytest.raises(InputError) as raised:
            decoder.decode_json(data)

        assert said == str(raised.value)

    def test_truncated_protobuf_is_refused(self, decoder: Decoder) -> None:
        """A message cut short is no message."""
        message = protobuf(build.json_line(TRACE))

        with pytest.raises(InputError, match="protobuf"):
            decoder.decode_protobuf(message[:-7])


def test_an_empty_export_is_a_request(decoder: Decoder) -> None:
    """`{}` holds no spans and is no error."""
    assert decoder.decode_json(b"{}").spans == []


def test_an_observer_sees_every_span(decoder: Decoder) -> None:
    """What explains and diagnoses sees spans whole, also those of no role."""
    seen: list[str] = []
    watching = Decoder(
        Recogniser(RuleBook(()), ArgumentHasher(b"key")), observer=lambda span: seen.append(span.view.name)
    )
    line = build.json_line(TRACE)

    watched: Decoded = watching.decode_protobuf(protobuf(line))

    assert [span["name"] for span in TRACE] == seen
    assert watched == decoder.decode_json(line)
