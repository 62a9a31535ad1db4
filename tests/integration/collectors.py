"""
A collector in a process of its own, for tests: started on free ports, asked, ended or killed.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

#: How long anything here may take on a machine that does other things.
_PATIENCE_S = 60


class Answer(NamedTuple):
    """
    What a server answered; the names of headers are in lower case.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]


class RunningCollector:
    """
    A collector that runs: its process, and the ports that it printed.
    """

    def __init__(self, process: "subprocess.Popen[str]", head: str, log: Path) -> None:
        self.process = process
        self.head = head
        self._log = log
        found = re.search(r"OTLP/HTTP +https?://([^/\s]+)/v1/traces", head)
        self.otlp_http = f"http://{found[1]}" if found else ""
        found = re.search(r"OTLP/gRPC +(\S+)", head)
        self.otlp_grpc = found[1] if found else ""
        found = re.search(r"https?://([^/\s]+)/metrics", head)
        self.url = f"http://{found[1]}" if found else ""

    def post(self, body: bytes, *, content_type: str = "application/json") -> Answer:
        """
        Sends one OTLP request.
        """
        return ask(f"{self.otlp_http}/v1/traces", body, {"Content-Type": content_type})

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """
        Asks the API.
        """
        return ask(f"{self.url}{path}", None, headers or {})

    def calls(self) -> int:
        """
        How many calls can be queried.
        """
        return sum(int(row["calls"]) for row in json.loads(self.get("/api/v1/query/calls").body)["rows"])

    def said(self) -> str:
        """
        What it wrote on standard error so far.
        """
        return self._log.read_text(encoding="utf-8")

    def end(self) -> int:
        """
        Asks it to end, as `kill` does; its exit code.
        """
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE_S)

    def kill(self) -> None:
        """
        Kills it, as the kernel does when memory runs out.
        """
        self.process.kill()
        self.process.wait(_PATIENCE_S)


def ask(url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
    """
    One request, whatever its status.
    """
    try:
        with urlopen(Request(url, body, dict(headers)), timeout=_PATIENCE_S) as response:  # noqa: S310 - of our own
            return Answer(response.status, response.read(), _lower(response.headers.items()))
    except HTTPError as error:
        with error:
            return Answer(error.code, error.read(), _lower(error.headers.items()))


def _lower(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def start(
    store: Path, *options: str, environ: Mapping[str, str] | None = None, ports: Sequence[str] = ()
) -> RunningCollector:
    """
    Starts `toolspan collect` on *store*, on free ports unless *ports* says which options it gets for them.
    """
    free = ("--otlp-http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
    log = store.parent / f"{store.name}.stderr"
    with log.open("a", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "toolspan", "collect", "--store", str(store), *(ports or free), *options],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, **(environ or {})},
        )
    assert process.stdout
    head = ""
    for line in process.stdout:
        head += line
        if line.startswith("Ctrl-C"):
            break
    else:
        raise AssertionError(f"it ended with {process.wait(_PATIENCE_S)}: {log.read_text(encoding='utf-8')}")
    return RunningCollector(process, head, log)


@contextmanager
def running(store: Path, *options: str, environ: Mapping[str, str] | None = None) -> Generator[RunningCollector]:
    """
    A collector on *store* that ends with the block, if it has not ended by then.
    """
    collector = start(store, *options, environ=environ)
    try:
        yield collector
    finally:
        if collector.process.poll() is None:
            collector.kill()
