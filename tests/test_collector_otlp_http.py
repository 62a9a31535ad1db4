"""
OTLP over HTTP where it meets the world: senders that go away, are slow, lie, or send what nobody foresaw.

What the specification prescribes for one whole request is in `test_otlp_http.py`.
"""

import asyncio
import gc
import gzip
import json
import logging
import weakref
import zlib
from collections.abc import Callable
from concurrent.futures import Future

import pytest
from google.rpc.error_details_pb2 import BadRequest
from google.rpc.status_pb2 import Status
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import otlp_builder as build
from tests.exchanges import BODY, Answered, Exchange, ask
from tests.inlets import MemoryInlet
from toolspan.collector.answers import JSON, PROTOBUF
from toolspan.collector.bodies import MAX_BODY_BYTES, Room
from toolspan.collector.inlet import Receipt
from toolspan.collector.otlp_http import otlp_app
from toolspan.errors import InputError, OverloadedError, UnavailableError


class TestEncodings:
    @pytest.mark.parametrize("kind", [PROTOBUF, JSON, "Application/JSON ; charset=UTF-8", "application/x-protobuf;v=1"])
    def test_an_answer_is_in_that_of_the_request(self, kind: str) -> None:
        """Whether it is a success or not."""
        app = otlp_app(MemoryInlet())
        expected = kind.partition(";")[0].strip().lower()

        answers = [ask(app, kind, body=b"" if expected == PROTOBUF else b"{}"), ask(app, kind, body=b"\xff")]

        assert [(200, expected), (400, expected)] == [(each.status, each.headers["content-type"]) for each in answers]
        assert "not" in answers[1].message

    @pytest.mark.parametrize("kind", ["", "text/plain", "application/protobuf", "application/jsonx", "é"])
    def test_another_is_refused_with_those_there_are(self, kind: str) -> None:
        """In JSON, which a person can read: exporters send one of the two."""
        answer = ask(otlp_app(MemoryInlet()), kind)

        assert (415, JSON, f"{PROTOBUF}, {JSON}") == (
            answer.status,
            answer.headers["content-type"],
            answer.headers["accept"],
        )
        assert answer.message.endswith(f"; send {PROTOBUF} or {JSON}.")

    @pytest.mark.parametrize(
        ("coding", "body"),
        [
            ("gzip", gzip.compress(BODY, mtime=0)),
            ("X-GZIP", gzip.compress(BODY, mtime=0)),
            ("deflate", zlib.compress(BODY)),
            ("identity", BODY),
            ("", BODY),
        ],
    )
    def test_of_contents_are_those_that_exporters_have(self, coding: str, body: bytes) -> None:
        """By the names that they have, in any case."""
        inlet = MemoryInlet()

        assert 200 == ask(otlp_app(inlet), body=body, Content_Encoding=coding).status
        assert 2 == len(inlet.spans)

    @pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "gzip;q=1", "é"])
    def test_of_contents_others_are_refused_with_those_there_are(self, coding: str) -> None:
        """Before the body is read."""
        exchange = Exchange()

        answer = asyncio.run(exchange.run(otlp_app(MemoryInlet()), Content_Encoding=coding))

        assert (415, "gzip, deflate", 2) == (answer.status, answer.headers["accept-encoding"], exchange.left)

    def test_one_more_layer_of_gzip_is_no_otlp(self) -> None:
        """It is not looked for."""
        assert (
            400 == ask(otlp_app(MemoryInlet()), body=gzip.compress(gzip.compress(BODY)), Content_Encoding="gzip").status
        )

    def test_a_large_body_is_decompressed_beside_the_loop(self) -> None:
        """With the same outcome."""
        inlet = MemoryInlet()
        large = build.json_line([build.tool_span(number, values={"x": "y" * 2_000}) for number in range(1, 800)])

        assert 200 == ask(otlp_app(inlet), body=gzip.compress(large), Content_Encoding="gzip").status
        assert 799 == len(inlet.spans)


class TestPaths:
    @pytest.mark.parametrize("path", ["/", "/v1/traces/", "/v1/metrics", "/v1/logs", "/v1development/profiles", "/é\n"])
    def test_others_are_told_the_right_one(self, path: str) -> None:
        """Without a redirection: an exporter that is wrong is better told."""
        answer = ask(otlp_app(MemoryInlet()), PROTOBUF, path=path)

        assert (404, PROTOBUF) == (answer.status, answer.headers["content-type"])
        assert answer.message.endswith("; send spans to /v1/traces.")
        assert "\n" not in answer.message

    @pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])
    def test_other_methods_are_told_the_right_one(self, method: str) -> None:
        """As HTTP asks for."""
        answer = asyncio.run(Exchange().run(otlp_app(MemoryInlet()), method=method))

        assert (405, "POST") == (answer.status, answer.headers["allow"])


class TestRefusing:
    def test_who_does_not_know_the_token_gets_a_status(self) -> None:
        """In the encoding of the request; nothing of the body is read, and no path is told."""
        exchange = Exchange()

        answer = asyncio.run(exchange.run(otlp_app(MemoryInlet(), token="s3cret"), PROTOBUF, path="/x"))  # noqa: S106

        assert (401, "Bearer", PROTOBUF) == (
            answer.status,
            answer.headers["www-authenticate"],
            answer.headers["content-type"],
        )
        assert "Send the header Authorization: Bearer with the collector's token." == answer.message
        assert 2 == exchange.left

    def test_says_what_cannot_be_read(self) -> None:
        """In the details that the specification asks for."""
        found = BadRequest()

        assert Status.FromString(ask(otlp_app(MemoryInlet()), PROTOBUF, body=b"\xff").body).details[0].Unpack(found)
        assert "not an OTLP trace message" in found.field_violations[0].description

    @pytest.mark.parametrize(("retry_after_s", "header"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.5, "2"), (30, "30")])
    def test_waits_are_whole_seconds(self, retry_after_s: float, header: str) -> None:
        """At least one, or all would be back at once."""
        inlet = MemoryInlet()
        inlet.failures = [OverloadedError("much waits", retry_after_s=retry_after_s)]
        inlet.faults = [UnavailableError("the disk is full", retry_after_s=retry_after_s)]
        app = otlp_app(inlet)

        answers = [ask(app), ask(app)]

        assert [(429, header), (503, header)] == [(each.status, each.headers["retry-after"]) for each in answers]

    def test_a_fault_is_logged_in_one_line(self, caplog: pytest.LogCaptureFixture) -> None:
        """And its sender is told nothing of it."""
        inlet = MemoryInlet()
        inlet.failures = [ZeroDivisionError("of\nthe inside")]
        inlet.faults = [TimeoutError("inside")]
        app = otlp_app(inlet)

        with caplog.at_level(logging.INFO):
            answers = [ask(app), ask(app, PROTOBUF, body=b"")]

        assert [500, 500] == [answer.status for answer in answers]
        assert not any("inside" in answer.message for answer in answers)
        assert [
            "A request failed: ZeroDivisionError('of\\nthe inside')",
            "A request failed: TimeoutError('inside')",
        ] == caplog.messages


class _Body:
    """
    What a frame holds.
    """


class _HoldingInlet:
    """
    Fails in a frame that holds the body and, in a circle, the future that holds the failure; as decoders do.
    """

    def __init__(self) -> None:
        self.bodies: list[weakref.ref[_Body]] = []

    def submit(self, data: bytes, *, is_json: bool) -> "Future[Receipt]":
        """
        A failure.
        """
        body = _Body()
        self.bodies.append(weakref.ref(body))
        done: Future[Receipt] = Future()
        try:
            try:
                int(f"{data[:9]!r} {is_json} {body}")
            except ValueError as error:
                raise InputError("no OTLP") from error
        except InputError as error:
            done.set_exception(error)
        return done


def test_a_body_that_was_refused_is_gone_with_the_answer() -> None:
    """Not with the next collection of garbage, before which many may come."""
    inlet = _HoldingInlet()
    gc.disable()
    try:
        status = ask(otlp_app(inlet)).status

        assert (400, [None]) == (status, [body() for body in inlet.bodies])
    finally:
        gc.enable()


class TestSenders:
    def test_who_goes_away_in_the_middle_of_a_body_is_forgotten(self, caplog: pytest.LogCaptureFixture) -> None:
        """Nothing of it is kept, its room is there for others, and nobody is told of a fault."""
        inlet, room = MemoryInlet(), Room(len(BODY))
        app = otlp_app(inlet, room=room)

        asyncio.run(Exchange([BODY[:50]], ends=False, disconnects=True).run(app))
        kept = len(inlet.spans)

        assert (0, 200, []) == (kept, ask(app).status, caplog.messages)

    def test_who_goes_away_while_it_waits_harms_nobody(self) -> None:
        """What was handed over is committed, whoever waits for it."""
        inlet = MemoryInlet()
        inlet.holds = True
        app = otlp_app(inlet)

        async def cancelled() -> "Future[Receipt]":
            waiting = asyncio.create_task(Exchange(disconnects=True).run(app))
            handed_over = await asyncio.to_thread(inlet.held.get)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return handed_over

        handed_over = asyncio.run(cancelled())

        assert not handed_over.cancelled()
        handed_over.set_result(Receipt())
        assert 2 == len(inlet.spans)

    def test_who_is_slow_is_disconnected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Memory that waits for the rest of a body is nobody else's."""
        monkeypatch.setattr("toolspan.collector.otlp_http._BODY_S", 0.02)

        answer = asyncio.run(Exchange([BODY[:50]], ends=False).run(otlp_app(MemoryInlet())))

        assert (408, "close") == (answer.status, answer.headers["connection"])
        assert "The body took more than 0.02 s; send smaller batches, or over a faster connection." == answer.message

    def test_a_wait_for_the_commit_is_not_slowness(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is ours, and takes what it takes."""
        monkeypatch.setattr("toolspan.collector.otlp_http._BODY_S", 0.02)
        inlet = MemoryInlet()
        inlet.holds = True

        async def waited() -> Answered:
            waiting = asyncio.create_task(Exchange().run(otlp_app(inlet)))
            handed_over = await asyncio.to_thread(inlet.held.get)
            await asyncio.wait([waiting], timeout=0.1)
            handed_over.set_result(Receipt())
            return await waiting

        assert 200 == asyncio.run(waited()).status

    def test_who_declares_too_much_is_told_before_it_is_sent(self) -> None:
        """And who does not declare it, at the bound."""
        exchange = Exchange()

        answer = asyncio.run(exchange.run(otlp_app(MemoryInlet()), Content_Length=str(MAX_BODY_BYTES + 1)))

        assert (413, 2) == (answer.status, exchange.left)
        assert (
            "A request may hold 67,108,864 bytes, compressed and uncompressed; send smaller batches." == answer.message
        )

    def test_more_than_there_is_room_for_is_to_be_sent_again(self) -> None:
        """Soon: whoever is there hands over, and then there is room."""
        inlet = MemoryInlet()
        app = otlp_app(inlet, room=Room(len(BODY) - 1))

        answer = ask(app)

        assert (429, "1") == (answer.status, answer.headers["retry-after"])
        assert 200 == ask(app, body=b"{}").status
        assert [] == inlet.spans

    def test_room_is_free_while_the_commit_is_waited_for(self) -> None:
        """The inlet counts what it has."""
        inlet = MemoryInlet()
        inlet.holds = True
        app = otlp_app(inlet, room=Room(len(BODY)))

        async def both() -> list[int]:
            waiting = [asyncio.create_task(Exchange().run(app))]
            handed_over = [await asyncio.to_thread(inlet.held.get)]
            waiting.append(asyncio.create_task(Exchange().run(app)))
            handed_over.append(await asyncio.to_thread(inlet.held.get))
            for each in handed_over:
                each.set_result(Receipt())
            return [(await each).status for each in waiting]

        assert [200, 200] == asyncio.run(both())


_BODIES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(str.encode),
    st.integers(0, len(BODY)).map(lambda end: BODY[:end]),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["resourceSpans", "scopeSpans", "spans", "traceId", "attributes", "key", "x"]),
                inner,
                max_size=3,
            ),
        ),
        max_leaves=12,
    ).map(lambda document: json.dumps(document).encode()),
)


def _cut(data: bytes) -> bytes:
    return gzip.compress(data)[:-5]


_CODINGS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zlib.compress, _cut]


@settings(max_examples=200, deadline=None)
@given(
    _BODIES,
    st.sampled_from(_CODINGS),
    st.sampled_from([PROTOBUF, JSON]),
    st.sampled_from(["gzip", "deflate", "identity"]),
)
def test_any_bytes_get_a_prescribed_status(
    body: bytes, encode: Callable[[bytes], bytes], kind: str, coding: str
) -> None:
    """Taken, or the sender's: never a fault, and always in the sender's encoding."""
    answer = ask(otlp_app(MemoryInlet()), kind, body=encode(body), Content_Encoding=coding)

    assert answer.status in {200, 400}
    assert kind == answer.headers["content-type"]
    assert answer.status == 200 or (answer.message and "\n" not in answer.message)
