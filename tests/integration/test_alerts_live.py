"""
A tail that grows and shrinks, through everything: spans, collector, Prometheus with windows of seconds, Alertmanager.
"""

import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli
from tests.compose import PATIENCE_S, Machine, machine
from tests.integration.collectors import ask
from tests.integration.test_compose import answer, await_answer, program, running

#: Windows of seconds: as long as it takes to see an alert come and go.
CONFIG = """
[targets]
min_cases = 5

[alerts]
window = 12
recent = 4
silence = 60
pending = 0
interval = 1
dashboard = "http://127.0.0.1:8501"
runbooks = "https://runbooks.test"
burn = [{long = 12, short = 4, factor = 1, page = true}]
"""


@pytest.fixture
def on(tmp_path: Path, toolspan: Cli) -> Generator[Machine]:
    """
    The machine of docker-compose.yml, with other rules and a collector that waits for nothing.
    """
    prometheus, alertmanager = program("prometheus"), program("alertmanager", "prometheus-alertmanager")
    folder = tmp_path / "machine"
    folder.mkdir()
    made = machine(folder)
    settings = tmp_path / "toolspan.toml"
    settings.write_text(CONFIG)
    rules = toolspan("alerts", "--config", settings).out
    (made.folder / "etc" / "prometheus" / "rules.yml").write_text(rules)
    with (
        running("collector", made),
        running("alertmanager", made, program=(alertmanager,)),
        running("prometheus", made, program=(prometheus,)),
    ):
        yield made


def tasks_of(numbers: Iterator[int], *, failures: int) -> bytes:
    """
    Five resolved tasks that call the tool until it answers, after so many *failures* each.
    """
    spans: list[dict[str, object]] = []
    for number in (next(numbers) for _ in range(5)):
        trace_id = f"{number:032x}"
        spans.append(build.run_span(1, end_ms=1000, trace_id=trace_id))
        for place in range(failures + 1):
            values: dict[str, object] = {"gen_ai.tool.call.arguments": "{}"}
            if place < failures:
                values["http.response.status_code"] = 503
            times = {"start_ms": 100 * place, "end_ms": 100 * place + 50, "trace_id": trace_id}
            spans.append(build.tool_span(place + 2, "book", values, parent=1, **times))
    return build.json_line(spans)


def test_a_growing_tail_alerts_until_it_shrinks(on: Machine) -> None:
    """
    Injected failures bring the alert to Alertmanager, with its links, and it ends when they do.
    """
    numbers = count(1)
    failures = 3

    def tails() -> list[tuple[str, str, str]]:
        """
        What Alertmanager has of it, after a second in which more tasks came.
        """
        body = tasks_of(numbers, failures=failures)
        sent = ask(f"http://127.0.0.1:{on.ports['4318']}/v1/traces", body, {"Content-Type": "application/json"})
        assert 200 == sent.status
        found = answer(f"{on.url('alertmanager')}/api/v2/alerts", filter='alertname="ToolspanRetryTail"')
        return [
            (each["labels"]["tool"], each["labels"]["severity"], each["annotations"]["runbook_url"]) for each in found
        ]

    assert [] == tails()
    await_answer(tails, [("book", "page", "https://runbooks.test/ToolspanRetryTail.md")])
    failures = 0
    await_answer(tails, [])

    [group] = answer(f"{on.url('prometheus')}/api/v1/rules")["data"]["groups"]
    assert {"ok"} == {rule["health"] for rule in group["rules"]}


@contextmanager
def demo(on: Machine, agent: str) -> Generator[None]:
    """
    The demo's *agent*, as docker-compose.yml starts it, but faster.
    """
    command = [sys.executable, "-m", "toolspan.demo", f"--endpoint=http://127.0.0.1:{on.ports['4318']}"]
    with subprocess.Popen([*command, f"--agent={agent}", "--per-second=5"], stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            assert 0 == process.wait(PATIENCE_S)


def test_the_demo_alerts_before_its_failures_have_classes_and_not_after(on: Machine) -> None:
    """
    A real agent over the real SDK: its retries page somebody, and what DuckDB has of them is why.
    """

    def paged() -> set[str]:
        found = answer(f"{on.url('alertmanager')}/api/v2/alerts", filter='alertname="ToolspanRetryTail"')
        return {each["labels"]["tool"] for each in found}

    with demo(on, "before"):
        await_answer(lambda: "search_flights" in paged(), expected=True)
    with demo(on, "after"):
        await_answer(paged, set[str]())
    groups = answer(f"http://127.0.0.1:{on.ports['9464']}/api/v1/report", by="agent")["groups"]
    tails = {agent: group["tools"]["search_flights"]["detail"]["tail"] for agent, group in groups.items()}

    assert tails["travel-agent (before)"] > 0.2
    assert 0.0 == tails["travel-agent (after)"]
