"""
The receivers over sockets: the real exporters deliver into them, and try again when they are told to.
"""

import gzip
import json
import logging
import re
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tests import otlp_builder as build
from tests.integration.collectors import ask
from tests.integration.receivers import PATIENCE_S, Receivers, receiving
from toolspan.collector import connections
from toolspan.collector.access import Tls
from toolspan.collector.inlet import Receipt
from toolspan.errors import OverloadedError, UnavailableError

_TLS = Path(__file__).parents[1] / "data" / "tls"
_TOKEN = "s3cret"  # noqa: S105 - of a test
_HEADERS = {"authorization": f"Bearer {_TOKEN}"}
Exporter = Callable[[Receivers], SpanExporter]


def http_exporter(at: Receivers, compression: Compression = Compression.NoCompression) -> SpanExporter:
    return HttpExporter(f"http://{at.http}/v1/traces", compression=compression, headers=_HEADERS)


def grpc_exporter(at: Receivers, compression: grpc.Compression = grpc.Compression.NoCompression) -> SpanExporter:
    return GrpcExporter(at.grpc, insecure=True, compression=compression, headers=_HEADERS)


EXPORTERS: dict[str, Exporter] = {
    "http": http_exporter,
    "http gzip": lambda at: http_exporter(at, Compression.Gzip),
    "http deflate": lambda at: http_exporter(at, Compression.Deflate),
    "json": lambda at: JsonExporter(endpoint=f"http://{at.http}/v1/traces", headers=_HEADERS),
    "grpc": grpc_exporter,
    "grpc gzip": lambda at: grpc_exporter(at, grpc.Compression.Gzip),
}
STRANGERS: dict[str, Exporter] = {
    "http": lambda at: HttpExporter(f"http://{at.http}/v1/traces"),
    "grpc": lambda at: GrpcExporter(at.grpc, insecure=True),
}


@pytest.fixture(scope="module")
def running() -> Generator[Receivers]:
    with receiving(token=_TOKEN) as receivers:
        yield receivers


@pytest.fixture
def receivers(running: Receivers) -> Receivers:
    """
    Receivers for who knows the token, with an inlet that is empty.
    """
    running.inlet.forget()
    return running


@pytest.fixture(scope="module")
def spans() -> list[ReadableSpan]:
    """
    A call of a tool.
    """
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
    span = TracerProvider().get_tracer("tests").start_span("execute_tool book", attributes=call)
    span.end()
    assert isinstance(span, ReadableSpan)
    return [span]


def export(exporter: SpanExporter, spans: list[ReadableSpan]) -> bool:
    """
    Whether *spans* were taken.
    """
    try:
        return exporter.export(spans) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()


def tools(receivers: Receivers) -> list[str]:
    """
    Those whose calls were handed in.
    """
    return [span.call.tool for span in receivers.inlet.spans if span.call]


class TestExporters:
    @pytest.mark.parametrize("exporter", EXPORTERS.values(), ids=EXPORTERS)
    def test_deliver(self, receivers: Receivers, spans: list[ReadableSpan], exporter: Exporter) -> None:
        """With a token, compressed or not."""
        assert export(exporter(receivers), spans)
        assert ["book"] == tools(receivers)

    @pytest.mark.parametrize(
        ("exporter", "error"),
        [("http", OverloadedError), ("json", UnavailableError), ("grpc", OverloadedError), ("grpc", UnavailableError)],
    )
    def test_come_again(
        self, receivers: Receivers, spans: list[ReadableSpan], exporter: str, error: type[UnavailableError]
    ) -> None:
        """By themselves, as soon as they are told to: over HTTP after a second at least."""
        receivers.inlet.failures = [error("later", retry_after_s=0.05)]

        assert export(EXPORTERS[exporter](receivers), spans)
        assert ["book"] == tools(receivers)

    @pytest.mark.parametrize("error", [OverloadedError, UnavailableError])
    @pytest.mark.parametrize("exporter", ["http", "json", "grpc"])
    def test_read_when_to_come_again(
        self, receivers: Receivers, spans: list[ReadableSpan], exporter: str, error: type[UnavailableError]
    ) -> None:
        """Who has no such patience gives up; by themselves they would come after a second, and be taken."""
        receivers.inlet.failures = [error("much later", retry_after_s=3_600)]

        assert not export(EXPORTERS[exporter](receivers), spans)
        assert [] == tools(receivers)

    @pytest.mark.parametrize(
        "exporter",
        STRANGERS.values(),
        ids=STRANGERS,
    )
    def test_without_the_token_give_up(
        self, receivers: Receivers, spans: list[ReadableSpan], exporter: Exporter
    ) -> None:
        """It would not be another the next time."""
        assert not export(exporter(receivers), spans)
        assert [] == tools(receivers)


@pytest.fixture(scope="module")
def running_encrypted() -> Generator[Receivers]:
    with receiving(tls=Tls(_TLS / "localhost.pem", _TLS / "localhost.key", _TLS / "client.pem")) as receivers:
        yield receivers


@pytest.fixture
def encrypted(running_encrypted: Receivers, monkeypatch: pytest.MonkeyPatch) -> Receivers:
    """
    Receivers that ask senders for a certificate, with an inlet that is empty.
    """
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)  # which would win over the exporter's own
    running_encrypted.inlet.forget()
    return running_encrypted


class TestTls:
    def test_both_sides_show_a_certificate(self, encrypted: Receivers, spans: list[ReadableSpan]) -> None:
        """Over both protocols."""
        root, key, certificate = (_TLS / name for name in ("localhost.pem", "client.key", "client.pem"))
        over_http = HttpExporter(
            f"https://{encrypted.http.replace('127.0.0.1', 'localhost')}/v1/traces",
            certificate_file=str(root),
            client_key_file=str(key),
            client_certificate_file=str(certificate),
        )
        credentials = grpc.ssl_channel_credentials(root.read_bytes(), key.read_bytes(), certificate.read_bytes())
        over_grpc = GrpcExporter(encrypted.grpc, credentials=credentials)

        assert [True, True] == [export(over_http, spans), export(over_grpc, spans)]
        assert ["book", "book"] == tools(encrypted)

    def test_who_shows_none_is_not_let_in(self, encrypted: Receivers, spans: list[ReadableSpan]) -> None:
        """Nor who does not encrypt."""
        root = _TLS / "localhost.pem"
        url = f"https://{encrypted.http.replace('127.0.0.1', 'localhost')}/v1/traces"
        credentials = grpc.ssl_channel_credentials(root.read_bytes())
        exporters = [
            HttpExporter(url, certificate_file=str(root), timeout=0.5),
            HttpExporter(url.replace("https", "http"), timeout=0.5),
            GrpcExporter(encrypted.grpc, credentials=credentials, timeout=0.5),
            GrpcExporter(encrypted.grpc, insecure=True, timeout=0.5),
        ]

        assert [False] * 4 == [export(exporter, spans) for exporter in exporters]
        assert [] == tools(encrypted)


@contextmanager
def connected(receivers: Receivers) -> Generator[socket.socket]:
    """
    A connection to the receiver over HTTP.
    """
    host, port = receivers.http.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        yield connection


class TestConnections:
    """
    What HTTP alone can see: heads, and bytes that nobody asked for.
    """

    BODY = build.json_line([build.tool_span(2)])
    HEAD = (
        f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {_TOKEN}\r\nContent-Type: application/json\r\n"
    )

    def talk(self, receivers: Receivers, *parts: bytes) -> bytes:
        """
        What comes back for *parts*, until the connection is closed; who closes it early may cut off what it said.
        """
        said = b""
        with connected(receivers) as connection, suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
            while part := connection.recv(65_536):
                said += part
        return said

    @pytest.mark.parametrize(
        ("begin", "part"),
        [
            (HEAD, f"X: {'y' * 1_000}\r\n"),
            ("GET /", "x" * 1_000),
            (f"{HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n", f"X: {'y' * 1_000}\r\n"),
        ],
        ids=["headers", "request line", "trailers"],
    )
    def test_a_head_is_bounded(
        self, receivers: Receivers, monkeypatch: pytest.MonkeyPatch, begin: str, part: str
    ) -> None:
        """As are trailers, headers that come after the body: the connection is closed long before it takes too long."""
        monkeypatch.setattr(connections, "HEAD_S", 10 * PATIENCE_S)

        answer = self.talk(receivers, begin.encode(), *[part.encode()] * 100)

        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")

    def test_heads_of_many_requests_are_counted_alone(self, receivers: Receivers) -> None:
        """An exporter stays connected for days."""
        head = f"{self.HEAD}X: {'y' * 10_000}\r\nContent-Length: 2\r\n"

        answer = self.talk(
            receivers, *[f"{head}\r\n{{}}".encode()] * 5, f"{head}Connection: close\r\n\r\n{{}}".encode()
        )

        assert [b"200"] * 6 == re.findall(rb"HTTP/1.1 (\d+)", answer)

    @pytest.mark.parametrize("begun", ["", "POST /v1/tr", HEAD])
    def test_who_does_not_finish_a_head_is_disconnected(
        self, receivers: Receivers, monkeypatch: pytest.MonkeyPatch, begun: str
    ) -> None:
        """A hundred thousand such connections would be all there are."""
        monkeypatch.setattr(connections, "HEAD_S", 0.05)

        assert b"" == self.talk(receivers, begun.encode())

    def test_who_has_finished_a_head_may_take_longer(
        self, receivers: Receivers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """For the body, which has a time of its own, and for the commit, which is ours."""
        monkeypatch.setattr(connections, "HEAD_S", 0.05)
        receivers.inlet.holds = True
        head = f"{self.HEAD}Content-Length: {len(self.BODY)}\r\nConnection: close\r\n\r\n"
        with connected(receivers) as connection:
            for part in (head.encode() + self.BODY[:9], self.BODY[9:]):
                connection.sendall(part)
                connection.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    connection.recv(1)
            receivers.inlet.held.get(timeout=PATIENCE_S).set_result(Receipt())
            connection.settimeout(PATIENCE_S)
            answer = connection.recv(65_536)

        assert answer.startswith(b"HTTP/1.1 200")

    def test_who_goes_on_after_a_refusal_is_disconnected(
        self, receivers: Receivers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The answer came at once; the rest is skipped for a while."""
        monkeypatch.setattr(connections, "HEAD_S", 0.05)

        answer = self.talk(receivers, self.HEAD.replace("json", "jpeg").encode(), b"Content-Length: 10\r\n\r\n123")

        assert answer.startswith(b"HTTP/1.1 415")

    def test_after_a_refusal_the_next_request_is_taken(self, receivers: Receivers) -> None:
        """On the same connection, once the rest of the body has come."""
        length = f"Content-Length: {len(self.BODY)}\r\n"
        refused = f"{self.HEAD.replace('json', 'jpeg')}{length}\r\n".encode()
        last = f"{self.HEAD}{length}Connection: close\r\n\r\n".encode()

        answer = self.talk(receivers, refused, self.BODY[:9], self.BODY[9:], last, self.BODY)

        assert [b"415", b"200"] == re.findall(rb"HTTP/1.1 (\d+)", answer)
        assert ["book"] == tools(receivers)

    def test_too_much_is_refused_before_it_is_sent(self, receivers: Receivers) -> None:
        """To who asks first, as curl does."""
        head = f"{self.HEAD}Content-Length: 99999999\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"

        answer = self.talk(receivers, head.encode())

        assert answer.startswith(b"HTTP/1.1 413")

    def test_too_much_that_was_not_declared_is_refused(
        self, receivers: Receivers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And its sender, who goes on, reads so."""
        monkeypatch.setattr("toolspan.collector.bodies.MAX_BODY_BYTES", 200_000)
        head = f"{self.HEAD}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"

        answer = self.talk(receivers, head.encode(), *[chunk] * 4, b"0\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 413")

    def test_bombs_are_refused_while_others_are_served(
        self, receivers: Receivers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Several at once."""
        monkeypatch.setattr("toolspan.collector.bodies.MAX_BODY_BYTES", 8 * 2**20)
        url = f"http://{receivers.http}/v1/traces"
        kind = {"Content-Type": "application/json", **_HEADERS}
        bomb = gzip.compress(bytes(50 * 2**20), 9)

        answers = [ask(url, bomb, {**kind, "Content-Encoding": "gzip"}) for _ in range(3)]
        good = ask(url, self.BODY, kind)

        assert [413] * 3 == [answer.status for answer in answers]
        assert "send smaller batches" in json.loads(answers[0].body)["message"]
        assert 200 == good.status


def test_nothing_is_said_of_what_goes_well(
    receivers: Receivers, spans: list[ReadableSpan], caplog: pytest.LogCaptureFixture
) -> None:
    """A log of every request would be as large as the store."""
    with caplog.at_level(logging.INFO, "toolspan"):
        for exporter in EXPORTERS.values():
            assert export(exporter(receivers), spans)

    assert [] == [record for record in caplog.records if record.name.startswith("toolspan")]
