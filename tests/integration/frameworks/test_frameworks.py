"""
Services of real frameworks, whose models follow a script: the numbers are the ones that truly happened, in their own
stores, on their own ports and in the collector that all of them send to.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli_runner import Cli
from tests.integration import collectors
from tests.integration.frameworks.expected import EXPECTED, UNSEEN, Numbers, numbers_of_report, numbers_of_scrape
from tests.integration.frameworks.installed import PACKAGES, ROOT, bare_environ, framework_or_skip, missing
from tests.integration.frameworks.service import KINDS, Served
from tests.stores import HOUR_NS, open_store
from toolspan.config import Settings

#: Whose spans show no results, so that an envelope that a plain tool returns is no failure there.
BLIND: Final = ("mcp",)
_PATIENCE_S: Final = 120
#: What a model sees of an error.
_SHOWN: Final = ("code", "class", "retryable", "retry_after_ms", "field", "hint")
#: The tools whose call is an escalation, since plain ones do not say so.
_ESCALATING: Final = ("ask_human",)


class Service(NamedTuple):
    """
    What a service left: its folder with stores, and what it said of each kind.
    """

    folder: Path
    served: Mapping[str, Served]


class Started(NamedTuple):
    """
    A service at work.
    """

    name: str
    folder: Path
    process: "subprocess.Popen[str]"

    def said(self) -> Service:
        """
        What it said, once it has ended.
        """
        out, err = self.process.communicate(timeout=_PATIENCE_S)
        assert self.process.returncode == 0, err
        return Service(self.folder, {kind: Served(*served) for kind, served in json.loads(out).items()})


class Services(NamedTuple):
    """
    The services of all frameworks that are installed, and the store of the collector.
    """

    by_framework: Mapping[str, Service]
    collected: Path


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    """
    All services, run at once.
    """
    root = tmp_path_factory.mktemp("frameworks")
    config = root / "toolspan.toml"
    config.write_text(f"escalation_tools = {json.dumps(_ESCALATING)}\n", encoding="utf-8")
    environ = {**bare_environ(), "TOOLSPAN_CONFIG": str(config)}
    collected = root / "collected.duckdb"
    with collectors.running(collected, environ=environ) as collector:
        started = [_start(name, root, collector.otlp_http, environ) for name in PACKAGES if not missing(name)]
        by_framework = {service.name: service.said() for service in started}
        assert collector.end() == 0
    # it ended sooner after the last span than it would have waited for more
    settings = Settings(escalation_tools=frozenset(_ESCALATING))
    open_store(collected, settings=settings, clock=lambda: time.time_ns() + HOUR_NS).settle_overdue()
    return Services(by_framework, collected)


@pytest.fixture(params=PACKAGES)
def framework(request: pytest.FixtureRequest) -> str:
    """
    A framework.
    """
    return framework_or_skip(str(request.param))


@pytest.mark.parametrize("kind", KINDS)
def test_the_tools_did_what_is_expected(services: Services, framework: str, kind: str) -> None:
    """What is expected of a kind is what its tools truly did, call by call."""
    executed = Counter((tool, what) for tool, what in services.by_framework[framework].served[kind].executed)

    words = {"ok", "transient", "validation", "permission", "business_rule", "fatal"}
    assert Counter({key: count for key, count in EXPECTED[kind].items() if key[1] in words}) == executed


@pytest.mark.parametrize("kind", KINDS)
def test_the_store_has_the_numbers(toolspan: Cli, services: Services, framework: str, kind: str) -> None:
    """The store in the service's own process comes to the numbers that truly happened."""
    store = services.by_framework[framework].folder / f"{kind}.duckdb"

    report = json.loads(toolspan("report", "--store", store, "--format", "json").out)

    assert _visible(framework, kind) == numbers_of_report(report)


@pytest.mark.parametrize("kind", KINDS)
def test_the_port_shows_the_numbers(services: Services, framework: str, kind: str) -> None:
    """A scrape of the service comes to the same numbers."""
    scraped = services.by_framework[framework].served[kind].scraped

    assert _visible(framework, kind) == numbers_of_scrape(text_string_to_metric_families(scraped))


def test_the_collector_has_the_numbers(toolspan: Cli, services: Services, framework: str) -> None:
    """What a collector was sent comes to the sum of them."""
    expected = sum((_visible(framework, kind) for kind in KINDS), Counter[tuple[str, str]]())

    report = toolspan("report", "--store", services.collected, "--service", framework, "--format", "json").out

    assert expected == numbers_of_report(json.loads(report))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_told_what_to_do(services: Services, framework: str, kind: str) -> None:
    """Every model reads envelopes, with class and hint, and never the message."""
    told = services.by_framework[framework].served[kind].told

    errors = [answer.get("error") for answer in told]
    assert [answer["ok"] for answer in told] == [error is None for error in errors]
    assert {_SHOWN} == {tuple(error) for error in errors if error is not None}


def _visible(framework: str, kind: str) -> Numbers:
    """
    What of the expected numbers the spans of *framework* show.
    """
    return UNSEEN if framework in BLIND and kind == "plain" else EXPECTED[kind]


def _start(name: str, root: Path, endpoint: str, environ: Mapping[str, str]) -> Started:
    folder = root / name
    folder.mkdir()
    command = [sys.executable, "-m", "tests.integration.frameworks.service", name, str(folder), endpoint]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return Started(name, folder, process)
