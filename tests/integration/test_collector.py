"""
The collector as a process: real exporters deliver into it, it is killed, starved and lied to, and loses nothing.
"""

import gzip
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
import requests
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from tests import otlp_builder as build
from tests.cli_runner import Cli
from tests.integration.collectors import RunningCollector, ask, running, start
from tests.integration.processes import otlp_trace_of

_TLS = Path(__file__).parents[1] / "data" / "tls"
#: Of the whole process under the attack of `TestHostile`, which fits several times into what a service has.
_MEMORY_MB = 700


def traced(exporter: SpanExporter) -> None:
    """
    A run with one call, exported.
    """
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("tests")
    run = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    with tracer.start_as_current_span("invoke_agent planner", attributes=run):
        call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
        tracer.start_span("execute_tool book", attributes=call).end()
    provider.shutdown()


EXPORTERS: dict[str, Callable[[RunningCollector], SpanExporter]] = {
    "http": lambda at: HttpExporter(f"{at.otlp_http}/v1/traces"),
    "http gzip": lambda at: HttpExporter(f"{at.otlp_http}/v1/traces", compression=Compression.Gzip),
    "json": lambda at: JsonExporter(endpoint=f"{at.otlp_http}/v1/traces"),
    "grpc": lambda at: GrpcExporter(at.otlp_grpc, insecure=True),
    "grpc gzip": lambda at: GrpcExporter(at.otlp_grpc, insecure=True, compression=grpc.Compression.Gzip),
}


class TestExporters:
    @pytest.mark.parametrize("exporter", EXPORTERS.values(), ids=EXPORTERS)
    def test_deliver(self, tmp_path: Path, exporter: Callable[[RunningCollector], SpanExporter]) -> None:
        """What is sent can be queried once it is acknowledged."""
        with running(tmp_path / "x.duckdb") as collector:
            traced(exporter(collector))

            [call] = json.loads(collector.get("/api/v1/calls").body)["calls"]
            assert ("book", "planner", "shop", "ok") == tuple(
                call[name] for name in ("tool", "agent", "service", "outcome")
            )

    def test_deliver_with_tls_and_a_token(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Over both protocols; without the token nothing is taken."""
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)  # which would win over the exporter's own
        options = ("--tls-cert", str(_TLS / "localhost.pem"), "--tls-key", str(_TLS / "localhost.key"))
        header = {"authorization": "Bearer s3cret"}
        root = str(_TLS / "localhost.pem")
        with running(tmp_path / "x.duckdb", *options, environ={"TOOLSPAN_TOKEN": "s3cret"}) as collector:
            http, rpc = (collector.head.split(f"{name}  ")[1].split()[0] for name in ("OTLP/HTTP", "OTLP/gRPC"))
            traced(HttpExporter(http.replace("127.0.0.1", "localhost"), certificate_file=root, headers=header))
            credentials = grpc.ssl_channel_credentials(Path(root).read_bytes())
            target = rpc.replace("127.0.0.1", "localhost")
            traced(GrpcExporter(target, credentials=credentials, headers=header))
            traced(GrpcExporter(target, credentials=credentials, timeout=2))
            assert 0 == collector.end()

        assert 2 == len(calls_in(tmp_path / "x.duckdb"))

    def test_only_who_shows_a_certificate_delivers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where one is asked for; whoever only asks needs none."""
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)  # which would win over the exporter's own
        root, client = str(_TLS / "localhost.pem"), str(_TLS / "client.pem")
        options = ("--tls-cert", root, "--tls-key", str(_TLS / "localhost.key"), "--tls-client-ca", client)
        with running(tmp_path / "x.duckdb", *options) as collector:
            http = collector.head.split("OTLP/HTTP  ")[1].split()[0].replace("127.0.0.1", "localhost")
            key = str(_TLS / "client.key")
            traced(HttpExporter(http, certificate_file=root, timeout=1))
            traced(HttpExporter(http, certificate_file=root, client_certificate_file=client, client_key_file=key))
            url = collector.url.replace("http://127.0.0.1", "https://localhost")
            answer = requests.get(f"{url}/api/v1/calls", verify=root, timeout=60)

        assert 200 == answer.status_code
        assert 1 == len(answer.json()["calls"])


def calls_in(store: Path) -> list[str]:
    """
    The calls in the file *store*, as lines.
    """
    command = [sys.executable, "-m", "toolspan", "calls", "--store", str(store)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


class TestKilling:
    def test_at_any_moment_loses_nothing_that_was_acknowledged(self, toolspan: Cli, tmp_path: Path) -> None:
        """Ten times under load; after the last start everything sent again changes nothing but what was lost."""
        store = tmp_path / "x.duckdb"
        chance = random.Random(11)
        numbers = iter(range(1, 10_000))
        acknowledged: set[int] = set()
        sent: set[int] = set()
        for _ in range(10):
            collector = start(store)
            stop = threading.Event()

            def send(collector: RunningCollector = collector, stop: threading.Event = stop) -> None:
                while not stop.is_set():
                    number = next(numbers)
                    sent.add(number)
                    try:
                        answer = collector.post(build.json_line(otlp_trace_of(number)))
                    except OSError:
                        return
                    if answer.status == 200:
                        acknowledged.add(number)

            with ThreadPoolExecutor(4) as pool:
                for _ in range(4):
                    pool.submit(send)
                wait_for_more(acknowledged, 3)  # however slow the machine is
                time.sleep(chance.random() * 0.3)
                collector.kill()
                stop.set()
            assert [] == [line for line in collector.said().splitlines() if "lost" in line or "damaged" in line]
        with running(store, environ={"TOOLSPAN_GRACE": "0.2"}) as collector:
            kept = {int(call["trace_id"], 16) for call in pages(collector)}
            for number in sent:
                assert 200 == collector.post(build.json_line(otlp_trace_of(number))).status
            wait_until(lambda: all_settled(collector))
            report = collector.get("/api/v1/report").body

        assert len(acknowledged) >= 30
        assert acknowledged <= kept <= sent
        files = tmp_path / "all.otlp.jsonl"
        files.write_bytes(b"".join(build.json_line(otlp_trace_of(number)) for number in sent))
        assert json.loads(toolspan("report", files, "--format", "json").out) == json.loads(report)

    def test_ends_its_processes_with_it(self, tmp_path: Path) -> None:
        """Those that decode live no longer than the collector, however that ends."""
        large = build.json_line([span for number in range(1, 200) for span in otlp_trace_of(number)])
        collector = start(tmp_path / "x.duckdb")
        assert 200 == collector.post(large).status
        started = family(collector.process.pid)
        collector.kill()

        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))
        assert started or os.cpu_count() == 1

    def test_sigterm_drains_and_ends_with_0(self, tmp_path: Path) -> None:
        """Whatever was handed in before is committed and acknowledged."""
        collector = start(tmp_path / "x.duckdb")
        bodies = [build.json_line(otlp_trace_of(number)) for number in range(1, 41)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(collector.post, bodies[:20]))
            later = [pool.submit(collector.post, body) for body in bodies[20:]]
            status = collector.end()
            taken = [future for future in later if not future.exception() and future.result().status == 200]

        assert 0 == status
        assert {200} == {answer.status for answer in answers}
        assert 3 * (20 + len(taken)) <= len(calls_in(tmp_path / "x.duckdb"))

    def test_a_file_that_is_taken_away_comes_back(self, tmp_path: Path) -> None:
        """Before anything else is acknowledged, with all that was."""
        store = tmp_path / "x.duckdb"
        with running(store) as collector:
            collector.post(build.json_line(otlp_trace_of(1)))
            store.unlink()
            answer = collector.post(build.json_line(otlp_trace_of(2)))
            assert 0 == collector.end()

            assert 200 == answer.status
            assert "was taken away while it was in use" in collector.said()
        assert 6 == len(calls_in(store))


def family(pid: int) -> list[int]:
    """
    The processes that *pid* started.
    """
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def all_settled(collector: RunningCollector) -> bool:
    """
    Whether no task is open.
    """
    return not json.loads(collector.get("/api/v1/report").body)["tasks"]["open"]


def pages(collector: RunningCollector) -> Iterator[dict[str, str]]:
    """
    All calls.
    """
    after = ""
    while True:
        page = json.loads(collector.get(f"/api/v1/calls?limit=1000{after}").body)
        yield from page["calls"]
        if page["next"] is None:
            return
        after = f"&after={page['next']}"


def wait_for_more(numbers: set[int], count: int) -> None:
    """
    Returns once there are *count* more *numbers* than now.
    """
    before = len(numbers)
    wait_until(lambda: len(numbers) >= before + count)


def wait_until(holds: Callable[[], bool], *, patience_s: float = 60) -> None:
    """
    Returns once *holds* does.
    """
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


def test_a_full_disk_is_503_until_there_is_space(tmp_path: Path) -> None:
    """What was acknowledged is there, and the sender's next try is taken."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("may not mount a file system of its own")
    many = build.json_line([span for number in range(100, 9_000) for span in otlp_trace_of(number)])
    try:
        with running(disk / "x.duckdb") as collector:
            first = collector.post(build.json_line(otlp_trace_of(1)))
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(shutil.disk_usage(disk).free - 400_000))
            full = collector.post(many)
            unready = collector.get("/readyz")
            ballast.unlink()
            wait_until(lambda: collector.get("/readyz").status == 200)  # by itself: nobody sends to who is not ready
            again = collector.post(build.json_line(otlp_trace_of(2)))
            calls = collector.calls()
            assert 0 == collector.end()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)

    assert [200, 503, 503, 200, 6] == [first.status, full.status, unready.status, again.status, calls]
    assert "free some space" in json.loads(unready.body)["reason"]
    assert "free some space" in json.loads(full.body)["message"]
    assert 1 <= int(full.headers["retry-after"])


class TestHostile:
    def test_senders_do_no_harm(self, tmp_path: Path) -> None:
        """Bombs, garbage, 10 000 tool names, wrong ids, clocks off by years: answered, bounded, counted."""
        bomb = gzip.compress(bytes(200 * 2**20), 9)
        year_ms = 365 * 86_400_000
        names = [build.tool_span(number, f"tool_{number}\ud800{'x' * 500}", parent=1) for number in range(2, 10_002)]
        off = [build.tool_span(n, start_ms=sign * year_ms, end_ms=sign * year_ms + 5) for n, sign in ((7, 1), (8, -1))]
        with running(tmp_path / "x.duckdb", environ={"TOOLSPAN_GRACE": "0.2"}) as collector:
            protobuf = "application/x-protobuf"
            statuses = [
                bombed(collector, bomb),
                collector.post(b"\xff" * 1000, content_type=protobuf).status,
                collector.post(b"[" * 1_000_000).status,
                collector.post(b'{"resourceSpans": 7}').status,
                collector.post(build.json_line([build.run_span(1), *names])).status,
                collector.post(build.json_line([build.tool_span(3, trace_id="00"), build.tool_span(0)])).status,
                collector.post(build.json_line(off)).status,
            ]
            wait_until(lambda: b'toolspan_calls_total{outcome="ok",tool="_other"} 0' not in metrics(collector))
            text = metrics(collector).decode()
            good = collector.post(build.json_line(otlp_trace_of(77)))
            peak_mb = peak_of(collector.process.pid)

        assert [413, 400, 400, 400, 200, 200, 200, 200] == [*statuses, good.status]
        assert len({line for line in text.splitlines() if line.startswith("toolspan_calls_total")}) <= 4 * 201
        assert "toolspan_spans_dropped_total" in text
        assert max(map(len, text.splitlines())) < 1_000
        assert peak_mb < _MEMORY_MB

    def test_a_connection_that_says_nothing_holds_up_nobody(self, tmp_path: Path) -> None:
        """A hundred of them."""
        with running(tmp_path / "x.duckdb") as collector:
            host, port = collector.otlp_http.removeprefix("http://").split(":")
            idle = [socket.create_connection((host, int(port))) for _ in range(100)]
            for each in idle:
                each.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n")
            answer = collector.post(build.json_line(otlp_trace_of(1)))
            for each in idle:
                each.close()

        assert 200 == answer.status


def bombed(collector: RunningCollector, bomb: bytes) -> int:
    """
    The status for *bomb*.
    """
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    return ask(f"{collector.otlp_http}/v1/traces", bomb, headers).status


def metrics(collector: RunningCollector) -> bytes:
    """
    A scrape.
    """
    return collector.get("/metrics").body


def peak_of(pid: int) -> float:
    """
    The most memory that the process *pid* ever had, in MB.
    """
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


class TestCommand:
    @pytest.mark.parametrize(
        ("options", "line"),
        [
            (["--otlp-http", "0.0.0.0:0"], "set TOOLSPAN_TOKEN to a secret that senders know, or say --insecure"),
            (["--http", "nowhere"], "write --http HOST:PORT, for example 127.0.0.1:4318, or off"),
            (["--otlp-grpc", "127.0.0.1:99999"], "Cannot listen on '127.0.0.1:99999'"),
            (["--http", "203.0.113.1:0", "--insecure"], "this machine has no such address"),
            (["--tls-cert", "nothing.pem"], "TLS takes both --tls-cert and --tls-key"),
            (["--tls-cert", "nothing.pem", "--tls-key", "nothing.key"], "Cannot read nothing.pem"),
            (["--retention", "30"], "Cannot read the age '30': give a number with its unit"),
            (["--store", "/"], "is a directory; name a file in it"),
        ],
    )
    def test_refuses_in_one_line(self, toolspan: Cli, tmp_path: Path, options: list[str], line: str) -> None:
        """With the remedy; the store is not made."""
        store = tmp_path / "x.duckdb"

        ran = toolspan("collect", "--store", store, *_FREE, *options)

        assert 2 == ran.status
        assert line in ran.err
        assert 1 == ran.err.count("\n")
        assert not store.exists()

    @pytest.mark.parametrize("option", ["--otlp-http", "--otlp-grpc", "--http"])
    def test_a_port_that_is_taken_is_one_line(self, toolspan: Cli, tmp_path: Path, option: str) -> None:
        """Before the store is opened, or with it closed again."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            place = f"127.0.0.1:{taken.getsockname()[1]}"
            ran = toolspan("collect", "--store", tmp_path / "x.duckdb", *_FREE, option, place)

        assert 2 == ran.status
        assert f"Cannot listen on {place}" in ran.err
        assert 1 == ran.err.count("\n")

    def test_deletes_what_is_older_than_the_retention(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """While it goes on."""
        monkeypatch.setenv("TOOLSPAN_GRACE", "0.1")
        with running(tmp_path / "x.duckdb", "--retention", "5s") as collector:
            collector.post(build.json_line(otlp_trace_of(1)))  # of May

            wait_until(lambda: not collector.calls())


_FREE = ("--otlp-http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
