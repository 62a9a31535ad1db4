"""
`toolspan dashboard` and `toolspan up` as processes: started, asked, ended.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.request import ProxyHandler, build_opener

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, scene
from tests.integration.collectors import ask

PATIENCE_S = 90
FREE_PORTS = ("--otlp-http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port", "0")


class Running:
    """
    A command that runs, and what it printed until it was ready.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stdout is not None
        self.head = _head(process.stdout)

    def address(self, name: str) -> str:
        """
        What it printed beside *name*.
        """
        found = re.search(rf"^  {name} +(\S+)$", self.head, re.MULTILINE)
        assert found is not None, self.head
        return found[1]

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """
        Sends the signal; its exit code and what it said on standard error.
        """
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


def _head(stream: IO[str]) -> str:
    head = ""
    for line in stream:
        head += line
        if line.startswith("Ctrl-C"):
            break
    return head


@contextmanager
def running(*args: str | Path) -> Generator[Running]:
    """
    `toolspan` with *args*, which ends with the block.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "toolspan", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)


def answers(url: str) -> bool:
    """
    Whether somebody answers there.
    """
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


class TestDashboard:
    def test_shows_a_store_until_it_is_told_to_end(self, tmp_path: Path, toolspan: Cli) -> None:
        """
        Below the path that a proxy passes on; its exit code is that of a command that did what it should.
        """
        store = tmp_path / "s.duckdb"
        assert 0 == toolspan("ingest", scene(tmp_path), "--store", store).status
        with running("dashboard", "--store", store, "--port", "0", "--path", "/tools/") as command:
            url = command.address("dashboard")
            is_there = answers(f"{url}/_stcore/health")
            ended = command.end(signal.SIGINT)

        assert url.endswith("/tools")
        assert is_there
        assert (0, "") == ended
        assert not answers(f"{url}/_stcore/health")

    def test_refuses_a_port_that_is_taken(self, tmp_path: Path, toolspan: Cli) -> None:
        """
        One line, before anything is started.
        """
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

            result = toolspan("dashboard", "--store", tmp_path / "s.duckdb", "--port", str(port))

        expected = f"toolspan: The dashboard cannot listen on 127.0.0.1:{port}: Address already in use; give another"
        assert (2, f"{expected} --port.\n") == (result.status, result.err)

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            (["--host", "0.0.0.0"], "Whoever reaches 0.0.0.0 could see the pages"),  # noqa: S104 - refused
            (["--host", "example"], "'example' is no address to listen on"),
            (["--path", "a b"], "'a b' is no path"),
            (["--store", "clickhouse://x"], "No store clickhouse://x"),
            (["--config", "missing.toml"], "missing.toml"),
        ],
    )
    def test_refuses_what_it_cannot_do(self, folder: Path, toolspan: Cli, args: list[str], expected: str) -> None:
        """
        One line, exit 2.
        """
        del folder
        result = toolspan("dashboard", *args)

        assert 2 == result.status
        assert expected in result.err
        assert 1 == result.err.count("\n")


class TestUp:
    def test_receives_and_shows_until_it_is_told_to_end(self, tmp_path: Path) -> None:
        """
        What was acknowledged is in the file; both are gone.
        """
        store = tmp_path / "up.duckdb"
        body = build.json_line([build.run_span(1), build.tool_span(2, parent=1)])
        with running("up", "--store", store, *FREE_PORTS) as command:
            url, metrics = command.address("dashboard"), command.address("metrics")
            sent = ask(command.address("OTLP/HTTP"), body, {"Content-Type": "application/json"}).status
            are_there = (answers(f"{url}/_stcore/health"), answers(metrics))
            ended = command.end(signal.SIGINT)

        assert (200, (True, True), (0, "")) == (sent, are_there, ended)
        assert not answers(f"{url}/_stcore/health")
        assert not answers(metrics)
        assert store.exists()

    def test_shows_made_up_trips(self, tmp_path: Path) -> None:
        """
        Of both agents, as what they are; they end with the rest.
        """
        with running("up", "--demo", "--store", tmp_path / "up.duckdb", *FREE_PORTS) as command:
            api = command.address("metrics").removesuffix("/metrics")
            until_s = time.monotonic() + PATIENCE_S
            groups: dict[str, object] = {}
            while len(groups) < 2 and time.monotonic() < until_s:
                groups = json.loads(ask(f"{api}/api/v1/report?by=agent", None, {}).body)["groups"]
                time.sleep(0.2)
            environments = json.loads(ask(f"{api}/api/v1/report?by=environment", None, {}).body)["groups"]
            ended = command.end(signal.SIGINT)

        assert {"travel-agent (before)", "travel-agent (after)"} == set(groups)
        assert ["demo"] == list(environments)
        assert "made-up trips: service toolspan-demo, environment demo" in command.head
        assert (0, "") == ended

    def test_ends_when_the_dashboard_does(self, tmp_path: Path) -> None:
        """
        Half of what was asked for is not taken for all of it.
        """
        with running("up", "--store", tmp_path / "up.duckdb", *FREE_PORTS) as command:
            [child] = children(command.process.pid)
            os.kill(child, signal.SIGKILL)
            _, said = command.process.communicate(timeout=PATIENCE_S)

        assert (2, "toolspan: The dashboard ended by itself, with exit code -9.\n") == (
            command.process.returncode,
            said,
        )

    def test_needs_the_api_of_its_collector(self, tmp_path: Path, toolspan: Cli) -> None:
        """
        Which the dashboard asks.
        """
        result = toolspan("up", "--store", tmp_path / "up.duckdb", "--http", "off")

        assert 2 == result.status
        assert "cannot be off" in result.err


def children(pid: int) -> list[int]:
    """
    The processes that *pid* started and that run Streamlit; it has others, which decode.
    """
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
        for task in Path(f"/proc/{pid}/task").iterdir():
            listed += f" {(task / 'children').read_text(encoding='utf-8')}"
        found = {int(child) for child in listed.split() if b"streamlit" in Path(f"/proc/{child}/cmdline").read_bytes()}
        if found:
            return sorted(found)
    raise AssertionError("no dashboard was started")
