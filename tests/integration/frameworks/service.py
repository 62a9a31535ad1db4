"""
A service of one framework, as a process: `python -m tests.integration.frameworks.service FRAMEWORK FOLDER ENDPOINT`.

It plans trips of three kinds: with plain tools, with `@toolspan.tool`, and with those under a guard. Each kind has a
store `FOLDER/KIND.duckdb` and a port for metrics of its own; all go to the collector at ENDPOINT, too. What was scraped
of each, what its tools truly did and what its models were told is printed as JSON.
"""

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, Protocol, cast
from urllib.request import urlopen

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

import toolspan
from tests.integration.frameworks.trip_desk import DISCIPLINED, STUBBORN, DeskTool, Told, TripDesk, Turn
from toolspan.agents.guard import Policy

KINDS: Final = ("plain", "decorated", "guarded")
#: Frameworks without runs of their own, in which the caller says what a task is.
_RUNLESS: Final = ("mcp",)
#: For what takes a fraction of a second on a machine that does nothing else.
_PATIENCE_S: Final = 60


class Framework(Protocol):
    """
    What a module of a framework has.
    """

    def instrument(self) -> None:
        """
        Switch the framework's spans on.
        """
        ...

    def run(self, tools: Sequence[DeskTool], turns: Sequence[Turn]) -> list[Told]:
        """
        One task of an agent with *tools*, whose model asks for *turns*: what it was told of each call.
        """
        ...


class Served(NamedTuple):
    """
    What a service did.
    """

    executed: list[tuple[str, str]]
    told: list[Told]
    scraped: str


def main(name: str, folder: Path, endpoint: str) -> None:
    """
    All kinds, one after the other.
    """
    trace.set_tracer_provider(TracerProvider(resource=Resource({"service.name": name})))
    framework = cast("Framework", import_module(f"tests.integration.frameworks.{name}_agent"))
    framework.instrument()
    served = {kind: serve(name, framework, kind, folder / f"{kind}.duckdb", endpoint) for kind in KINDS}
    sys.stdout.write(json.dumps(served))


def serve(name: str, framework: Framework, kind: str, store: Path, endpoint: str) -> Served:
    """
    The tasks of one kind.
    """
    watched = toolspan.instrument(store=store, prometheus="0", exporter=endpoint)
    executed: list[tuple[str, str]] = []
    told: list[Told] = []
    for turns in (STUBBORN,) if kind == "guarded" else (DISCIPLINED, STUBBORN):
        desk = TripDesk()
        tools = desk.plain_tools() if kind == "plain" else desk.decorated_tools()
        with _task(name, kind):
            told += framework.run(tools, turns)
        executed += desk.executed
    assert watched.force_flush(_PATIENCE_S), watched.dropped
    # a series begins with 0, and shows what it counted from the second time on
    urlopen(f"http://127.0.0.1:{watched.port}/metrics").read()
    scraped = urlopen(f"http://127.0.0.1:{watched.port}/metrics").read().decode()
    toolspan.uninstrument()
    return Served(executed, told, scraped)


@contextmanager
def _task(name: str, kind: str) -> Generator[None]:
    if kind == "guarded":
        with toolspan.task("plan a trip", policy=Policy()):
            yield
    elif name in _RUNLESS:
        with toolspan.task("plan a trip", policy=None):
            yield
    else:
        yield


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
