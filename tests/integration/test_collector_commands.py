"""
A collector's address in the place of a file: every command that reads a store answers the same.
"""

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli_runner import Cli, Ran
from tests.integration.collectors import RunningCollector, running
from tests.integration.test_ingest_everything import SOURCES
from tests.test_cli_bare import run_bare
from toolspan.cli import main

_TOKEN = "a-secret"  # noqa: S105 - of a test


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    A store of all cases and the corpus.
    """
    path = tmp_path_factory.mktemp("commands") / "x.duckdb"
    with pytest.raises(SystemExit) as ended:
        main(["ingest", *map(str, SOURCES), "--store", str(path), "--format", "json"])
    assert 0 == ended.value.code
    return path


@pytest.fixture(scope="module")
def collector(store: Path) -> Generator[RunningCollector]:
    """
    A collector that holds a copy of the store.
    """
    held = store.with_name("held.duckdb")
    shutil.copy(store, held)
    with running(held, environ={"TOOLSPAN_TOKEN": _TOKEN}) as collector:
        yield collector


@pytest.fixture
def asked(toolspan: Cli, collector: RunningCollector, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """
    The command line, which knows the token.
    """
    del collector
    monkeypatch.setenv("TOOLSPAN_TOKEN", _TOKEN)
    return toolspan


@pytest.mark.parametrize(
    "command",
    [
        "report",
        "report --format json",
        "report --format csv --by agent",
        "report --by service --format json --since 2026-01-01",
        "report --tool search_flights --until 2027-01-01",
        "report --tool no_such_tool",
        "report --agent nobody --format json",
        "quality",
        "quality --format json",
        "quality --format csv --by environment",
        "calls",
        "calls --format csv --tool book",
        "calls --format table",
        "calls --task no-such-task",
        "check",
        "check --format json --max-unclassified 0",
        "check --min-cases 1 --max-retries-p95 0",
        "doctor",
        "doctor --format json",
        "doctor --tool nothing",
    ],
)
def test_answers_as_the_file_does(asked: Cli, store: Path, collector: RunningCollector, command: str) -> None:
    """Byte for byte, with the same exit code."""
    name, *options = command.split()

    of_file = asked(name, *options, "--store", store)
    of_collector = asked(name, *options, "--store", collector.url)

    assert of_file == named(of_collector, collector, store)
    assert of_file.out or of_file.err


def named(ran: Ran, collector: RunningCollector, store: Path) -> Ran:
    """
    *ran*, with the file's name in the place of the collector's, which holds a copy.
    """
    return Ran(ran.status, ran.out.replace(collector.url, str(store)), ran.err.replace(collector.url, str(store)))


def test_explains_a_call_as_the_file_does(asked: Cli, store: Path, collector: RunningCollector) -> None:
    """With what is kept of its spans."""
    [line, *_] = asked("calls", "--store", store, "--format", "csv").out.splitlines()[1:]
    trace, span, *_ = line.split(",")

    of_file = asked("calls", "--store", store, "--explain", f"{trace}/{span}")
    of_collector = asked("calls", "--store", collector.url, "--explain", f"{trace}/{span}")

    assert of_file == of_collector
    assert 0 == of_file.status


def test_copies_and_prunes(asked: Cli, store: Path, tmp_path: Path) -> None:
    """A copy is a store; what was pruned is gone from the collector and not from the copy."""
    held = tmp_path / "held.duckdb"
    shutil.copy(store, held)
    copy = tmp_path / "copy.duckdb"
    with running(held, environ={"TOOLSPAN_TOKEN": _TOKEN}) as collector:
        copied = asked("snapshot", copy, "--store", collector.url)
        again = asked("snapshot", copy, "--store", collector.url)
        pruned = asked("prune", "--before", "0s", "--store", collector.url, "--format", "json")
        left = asked("calls", "--store", collector.url)

    assert (0, 2, 0) == (copied.status, again.status, pruned.status)
    assert "is there already" in again.err
    assert asked("report", "--store", store).out == asked("report", "--store", copy).out
    assert ("", 0) == (left.out, left.status)
    assert [held, copy] == sorted(tmp_path.glob("*.duckdb"), reverse=True)


def test_asking_takes_no_database(collector: RunningCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare package asks as well; what it cannot do without more names that."""
    monkeypatch.setenv("TOOLSPAN_TOKEN", _TOKEN)
    commands = (["report"], ["calls", "--format", "csv"], ["prune", "--before", "2001-01-01"])

    asked = [run_bare(*command, "--store", collector.url) for command in commands]
    copied = run_bare("snapshot", tmp_path / "copy.duckdb", "--store", collector.url)
    doctor = run_bare("doctor", "--store", collector.url)

    assert [0, 0, 0, 0, 2] == [each.returncode for each in (*asked, copied, doctor)]
    assert "pip install 'toolspan[duckdb]'" in doctor.stderr
    assert 1 == doctor.stderr.count("\n")


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("http://127.0.0.1:1", "Nothing answers at http://127.0.0.1:1; is toolspan collect running"),
        ("http://", "is no address of a collector"),
        ("http://user@127.0.0.1:1", "holds no user or password; put the token into TOOLSPAN_TOKEN"),
        ("http://127.0.0.1:1/metrics", "is no address of a collector"),
        ("http://127.0.0.1:999999", "is no address of a collector"),
        ("https://127.0.0.1:1", "Nothing answers at https://127.0.0.1:1"),
    ],
)
def test_an_address_of_none_is_one_line(toolspan: Cli, address: str, line: str) -> None:
    """That says what to do."""
    ran = toolspan("report", "--store", address)

    assert 2 == ran.status
    assert line in ran.err
    assert 1 == ran.err.count("\n")


def test_without_the_token_it_says_so(
    toolspan: Cli, collector: RunningCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with another one, too."""
    monkeypatch.delenv("TOOLSPAN_TOKEN", raising=False)
    without = toolspan("report", "--store", collector.url)
    monkeypatch.setenv("TOOLSPAN_TOKEN", "another")
    other = toolspan("calls", "--store", collector.url)

    assert [2, 2] == [without.status, other.status]
    assert without.err == other.err
    assert "wants a token: set TOOLSPAN_TOKEN" in without.err


def test_the_otlp_port_is_no_store(asked: Cli, collector: RunningCollector) -> None:
    """Of all wrong ports the likeliest."""
    ran = asked("report", "--store", collector.otlp_http)

    assert 2 == ran.status
    assert "is no toolspan collector, or not its --http address" in ran.err


@pytest.mark.parametrize("command", ["ingest", "collect"])
def test_what_writes_to_a_file_refuses_a_collector(toolspan: Cli, command: str) -> None:
    """And says where spans go."""
    files = [SOURCES[0]] if command == "ingest" else []

    ran = toolspan(command, *files, "--store", "http://127.0.0.1:9464")

    assert 2 == ran.status
    assert "send them to its OTLP address" in ran.err


def test_the_file_that_it_holds_says_whom_to_ask(
    asked: Cli, collector: RunningCollector, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address, which works."""
    monkeypatch.setattr("toolspan.cli._stores.TIMEOUT_S", 0.1)

    ran = asked("report", "--store", store.with_name("held.duckdb"))

    assert 2 == ran.status
    assert collector.url in ran.err
