"""
All cases and the whole corpus, cut into small requests, shuffled over many senders and protocols at once and in part
sent again: the collector, Prometheus and the files say the same.
"""

import json
import os
import random
import shutil
import socket
import subprocess
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

import grpc
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.integration.collectors import RunningCollector, ask, running
from tests.integration.test_ingest_everything import SOURCES, cut, toolspan

#: Long enough for everything to arrive: only of spans that came before their call was counted the totals are the same.
_GRACE_S = 30
#: Many, for they share commits: all has to arrive within the grace period, also on a machine that does other things.
_SENDERS = 24
_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningCollector]:
    """
    A collector that was sent everything, each part over HTTP or gRPC by one of many senders, a tenth of it twice, and
    in which all tasks have settled.
    """
    folder = tmp_path_factory.mktemp("collector")
    config = folder / "toolspan.toml"
    config.write_text(f"[settle]\ngrace = {_GRACE_S}\nopen_timeout = {_GRACE_S}\n", encoding="utf-8")
    with running(folder / "x.duckdb", "--config", str(config)) as collector:
        deliver(collector, random.Random(5))
        wait_for_all(collector)
        yield collector


def deliver(collector: RunningCollector, chance: random.Random) -> None:
    """
    Sends everything; each answer is a success.
    """
    lines = [line for source in SOURCES for line in cut(source, chance)]
    lines += chance.sample(lines, len(lines) // 10)
    chance.shuffle(lines)
    channel: Any = grpc.insecure_channel(collector.otlp_grpc)
    export: Any = channel.unary_unary(_EXPORT)

    def send(part: Iterable[tuple[int, str]]) -> set[int]:
        statuses: set[int] = set()
        for number, line in part:
            request = to_protobuf(line) if number % 3 else None
            if request is None:
                statuses.add(collector.post(line.encode()).status)
            elif number % 3 == 1:
                export(request)  # raises what is no success
            else:
                statuses.add(collector.post(request, content_type="application/x-protobuf").status)
        return statuses

    numbered = list(enumerate(lines))
    with ThreadPoolExecutor(_SENDERS) as senders:
        found = set[int]().union(*senders.map(send, [numbered[first::_SENDERS] for first in range(_SENDERS)]))
    channel.close()
    assert {200} == found


_IDS = ("traceId", "spanId", "parentSpanId")


def to_protobuf(line: str) -> bytes | None:
    """
    The request *line* in protobuf; None where it says what protobuf cannot.
    """
    document = json.loads(line)
    spans = [
        span for resource in document["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]
    ]
    # OTLP's JSON has ids in hex, protobuf's own in base64
    ids = [[span.pop(name, "") for name in _IDS] for span in spans]
    for span in spans:
        span.pop("links", None)
    try:
        request = json_format.ParseDict(document, ExportTraceServiceRequest(), ignore_unknown_fields=True)
        read = [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
        for span, (trace_id, span_id, parent_id) in zip(read, ids, strict=True):
            span.trace_id, span.span_id = bytes.fromhex(trace_id), bytes.fromhex(span_id)
            span.parent_span_id = bytes.fromhex(parent_id)
    except (json_format.ParseError, ValueError):
        return None
    return request.SerializeToString()


def wait_for_all(collector: RunningCollector) -> None:
    """
    Returns once nothing is open any more.
    """
    end = time.monotonic() + 4 * _GRACE_S
    while json.loads(collector.get("/api/v1/report").body)["tasks"]["open"]:
        assert time.monotonic() < end, "tasks stay open"
        time.sleep(0.5)


@pytest.mark.parametrize("command", ["report", "quality"])
def test_a_collector_says_what_the_files_say(collector: RunningCollector, command: str) -> None:
    """By its URL, whatever order, protocols and repeats the spans came through."""
    expected = toolspan(command, *SOURCES, "--format", "json")

    assert json.loads(expected.stdout) == json.loads(
        toolspan(command, "--store", collector.url, "--format", "json").stdout
    )


def test_a_collector_lists_the_calls_that_the_files_have(collector: RunningCollector) -> None:
    """Every record, field by field."""
    expected = toolspan("calls", *SOURCES).stdout.splitlines()

    assert sorted(expected) == sorted(toolspan("calls", "--store", collector.url).stdout.splitlines())


@pytest.fixture(scope="module")
def prometheus(collector: RunningCollector, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """
    The address of a Prometheus that scrapes the collector.
    """
    program = shutil.which("prometheus")
    if program is None:
        assert not os.environ.get("CI"), "prometheus is missing"
        pytest.skip("needs Prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    target = collector.url.removeprefix("http://")
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: toolspan, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield f"http://{address}"
    process.terminate()
    process.wait(30)


def totals(prometheus: str, query: str, *labels: str) -> dict[tuple[str, ...], float]:
    """
    What Prometheus answers to *query*, by *labels*; what is 0 is left out.
    """
    answer = ask(f"{prometheus}/api/v1/query?{urlencode({'query': query})}", None, {})
    results = json.loads(answer.body)["data"]["result"]
    found = {tuple(each["metric"].get(label, "") for label in labels): float(each["value"][1]) for each in results}
    return {key: value for key, value in found.items() if value}


def test_prometheus_has_the_totals_of_report(collector: RunningCollector, prometheus: str) -> None:
    """Calls, errors, attempts, retries, recoveries, escalations, wasted time, tasks."""
    document = json.loads(collector.get("/api/v1/report").body)
    expected: defaultdict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for tool, numbers in document["tools"].items():
        expected["calls"][tool,] = numbers["calls"]
        expected["attempts"][tool,] = numbers["attempts"]["total"]
        expected["failures"][tool,] = numbers["validation_recovery"]["failures"]
        expected["recoveries"][tool,] = numbers["validation_recovery"]["recovered"]
        expected["retries"][tool,] = numbers["retries"]["total"]
        expected["escalated"][tool,] = numbers["escalations"]["escalated"]
        expected["resolved"][tool,] = numbers["retries_per_resolved_task"]["resolved_tasks"]
        expected["wasted"][tool,] = numbers["retries"]["wasted_ms"] / 1000
        expected["errors"].update({(tool, name): count for name, count in numbers["errors"].items()})
    expected["tasks"] = {
        (name,): document["tasks"][name] for name in ("resolved", "unresolved", "escalated", "unknown")
    }
    queries = {
        "calls": ("sum by (tool) (toolspan_calls_total)", "tool"),
        "attempts": ("sum by (tool) (toolspan_attempts_total)", "tool"),
        "failures": ("toolspan_validation_failures_total", "tool"),
        "recoveries": ("toolspan_validation_recoveries_total", "tool"),
        "retries": ("sum by (tool) (toolspan_retries_total)", "tool"),
        "escalated": ("sum by (tool) (toolspan_escalations_total)", "tool"),
        "resolved": ("toolspan_retries_per_resolved_task_count", "tool"),
        "wasted": ("sum by (tool) (toolspan_wasted_seconds_total)", "tool"),
        "errors": ("sum by (tool, class) (toolspan_errors_total)", "tool", "class"),
        "tasks": ("toolspan_tasks_total", "outcome"),
    }
    wanted = rounded({name: {key: value for key, value in each.items() if value} for name, each in expected.items()})
    end = time.monotonic() + 60
    found: dict[str, dict[tuple[str, ...], float]] = {}
    while found != wanted and time.monotonic() < end:  # the first scrape shows zeros, and takes a second to come
        time.sleep(0.5)
        found = rounded({name: totals(prometheus, *query) for name, query in queries.items()})

    assert wanted == found


def rounded(tables: dict[str, dict[tuple[str, ...], float]]) -> dict[str, dict[tuple[str, ...], float]]:
    """
    *tables* to milliseconds.
    """
    return {name: {key: round(value, 3) for key, value in table.items()} for name, table in tables.items()}


def test_what_came_is_what_was_sent(collector: RunningCollector, prometheus: str) -> None:
    """Every span is counted as received, and none as dropped but for what no reader takes."""
    store = json.loads(collector.get("/api/v1/store").body)["intake"]

    received = totals(prometheus, "toolspan_spans_received_total")
    dropped = totals(prometheus, "sum(toolspan_spans_dropped_total)")

    assert store["received"] + store.get("rejected", 0) == sum(received.values())
    assert store.get("rejected", 0) + store.get("conflict", 0) == sum(dropped.values())
    assert store["duplicate"] > 0
