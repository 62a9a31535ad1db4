"""
What docker-compose.yml starts, as processes: the commands, environment and health checks as they stand there.

Prometheus and Alertmanager are those of this machine, with the files that are mounted. Grafana is not here; its files
are tested by themselves.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.compose import PATIENCE_S, ROOT, Machine, await_health, machine, start
from tests.integration.collectors import ask
from tests.integration.processes import otlp_trace_of
from tests.otlp_builder import json_line
from toolspan.alerts import DEFAULT_THRESHOLDS, alerts_of
from toolspan.numbers import DEFAULT_TARGETS


def program(*names: str) -> str:
    """
    The first of *names* that this machine has; without any the test is skipped, and fails in CI.
    """
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        assert not os.environ.get("CI"), f"{names[0]} is missing"
        pytest.skip(f"needs {names[0]}")
    return found


@contextmanager
def running(service: str, on: Machine, *, program: tuple[str, ...] = ()) -> Generator["subprocess.Popen[bytes]"]:
    """
    *service*, once it is well; it is told to end as Docker does.
    """
    process = start(service, on, program=program)
    try:
        await_health(service, on, process)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    """
    The machine on which the collector, Prometheus and Alertmanager run.
    """
    prometheus, alertmanager = program("prometheus"), program("alertmanager", "prometheus-alertmanager")
    made = machine(tmp_path_factory.mktemp("compose"))
    with (
        running("collector", made),
        running("alertmanager", made, program=(alertmanager,)),
        running("prometheus", made, program=(prometheus,)),
    ):
        yield made


def answer(url: str, **query: str) -> Any:
    """
    The document at *url*.
    """
    found = ask(f"{url}?{urlencode(query)}" if query else url, None, {})
    assert found.status == 200, found.body
    return json.loads(found.body)


def await_answer(get: Callable[[], object], expected: object) -> None:
    """
    Returns once *get* gives what is *expected*.
    """
    end = time.monotonic() + PATIENCE_S
    while (found := get()) != expected:
        assert time.monotonic() < end, found
        time.sleep(0.5)


def test_prometheus_scrapes_the_collector(on: Machine) -> None:
    """
    By the file that is mounted.
    """
    url = f"{on.url('prometheus')}/api/v1/targets"

    await_answer(
        lambda: [(each["labels"]["job"], each["health"]) for each in answer(url)["data"]["activeTargets"]],
        [("toolspan", "up")],
    )


def test_prometheus_evaluates_every_rule(on: Machine) -> None:
    """
    None is wrong, and every alert is known.
    """
    url = f"{on.url('prometheus')}/api/v1/rules"

    def evaluated() -> set[str]:
        [group] = answer(url)["data"]["groups"]
        return {rule["health"] for rule in group["rules"]}

    await_answer(evaluated, {"ok"})
    [group] = answer(url)["data"]["groups"]
    named = [rule["name"] for rule in group["rules"] if rule["type"] == "alerting"]
    assert [alert.name for alert in alerts_of(DEFAULT_THRESHOLDS, DEFAULT_TARGETS)] == named


def test_prometheus_tells_alertmanager(on: Machine) -> None:
    """
    Which routes a page to those who are paged.
    """
    url = f"{on.url('prometheus')}/api/v1/alertmanagers"
    told = f"{on.url('alertmanager')}/api/v2/alerts"

    await_answer(lambda: [each["url"] for each in answer(url)["data"]["activeAlertmanagers"]], [told])
    assert {"pages", "tickets"} == {each["name"] for each in answer(f"{on.url('alertmanager')}/api/v2/receivers")}


def test_the_collector_takes_spans_and_prometheus_sees_them(on: Machine) -> None:
    """
    Through the port of OTLP, into the metrics.
    """
    otlp = f"http://127.0.0.1:{on.ports['4318']}/v1/traces"
    assert ask(otlp, json_line(otlp_trace_of(1)), {"Content-Type": "application/json"}).status == 200

    def received() -> list[str]:
        found = answer(f"{on.url('prometheus')}/api/v1/query", query="toolspan_spans_received_total")
        return [each["value"][1] for each in found["data"]["result"]]

    await_answer(received, ["4"])


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [("severity=page", "pages"), ("severity=ticket", "tickets"), ("alertname=Other", "tickets")],
)
def test_a_page_goes_to_those_who_are_paged(labels: str, receiver: str) -> None:
    """
    And whatever says nothing of its severity to the others.
    """
    config = ROOT / "deploy" / "alertmanager.yml"
    command = [program("amtool"), "config", "routes", "test", f"--config.file={config}", labels]

    assert receiver == subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_dashboard_shows_the_collector(on: Machine) -> None:
    """
    With the command as it stands, asked as the health check does.
    """
    if find_spec("streamlit") is None and not os.environ.get("CI"):
        pytest.skip("needs Streamlit")
    with running("dashboard", on):
        page = ask(on.url("dashboard"), None, {})

    assert 200 == page.status
    assert b"<html" in page.body


def test_the_store_is_on_the_volume(on: Machine) -> None:
    """
    Where nothing else of the container stays.
    """
    assert Path(on.folder, "data", "toolspan.duckdb").exists()


def test_the_demo_sends_as_it_stands_there(on: Machine) -> None:
    """
    Its command and its health check.
    """
    with running("demo", on):
        await_answer(
            lambda: "demo" in answer(f"http://127.0.0.1:{on.ports['9464']}/api/v1/report", by="environment")["groups"],
            True,
        )
