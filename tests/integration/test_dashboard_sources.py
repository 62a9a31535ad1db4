"""
Where the numbers of the pages come from: a file and a collector say the same of the same store.
"""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli_runner import Cli
from tests.integration.collectors import running
from tests.stored import EXAMPLE
from toolspan.config import Settings
from toolspan.scope import EVERYTHING, Scope
from toolspan_dashboard.sources import Looking, open_source
from toolspan_queries import page_rows, quality_rows

SETTINGS = Settings()
#: Of the example: an hour in the middle of it.
HOUR = Scope(since_ns=1_796_000_000_000_000_000 + 600 * 10**9, until_ns=1_796_000_000_000_000_000 + 4200 * 10**9)
ROWS = (
    page_rows.DamageOverTime,
    page_rows.RetriesOverTime,
    page_rows.NextActions,
    page_rows.CodesSeen,
    page_rows.WorstTasks,
    page_rows.ExampleTasks,
    quality_rows.ClassAudit,
    quality_rows.LocalAttempts,
    quality_rows.UnhandledTasks,
)


@pytest.fixture
def store(toolspan: Cli, tmp_path: Path) -> Path:
    """
    A store of the example.
    """
    path = tmp_path / "example.duckdb"
    assert 0 == toolspan("ingest", EXAMPLE, "--store", path).status
    return path


@pytest.fixture
def both(store: Path) -> Generator[tuple[list[object], list[object]]]:
    """
    What the file says, and then the collector that holds it.
    """
    with open_source(str(store), settings=SETTINGS, environ={}).looking() as look:
        of_file = asked(look)
    with (
        running(store) as collector,
        open_source(collector.url, settings=SETTINGS, environ={}).looking() as look,
    ):
        yield of_file, asked(look)


def asked(look: Looking) -> list[object]:
    """
    Everything that a page asks.
    """
    task_id = look.rows(page_rows.WorstTasks, EVERYTHING)[0].task_id
    facts, waiting = look.facts(EVERYTHING)
    numbers = [look.numbers(scope, SETTINGS) for scope in (EVERYTHING, HOUR)]
    for document in numbers:
        for tool in document["tools"].values():
            tool["duration_ms"] = {"p50": 0, "p95": 0}  # which these may leave out
    return [
        numbers,
        look.report(HOUR._replace(tool="book_room"), SETTINGS),
        look.quality(EVERYTHING),
        [look.rows(row, scope) for row in ROWS for scope in (EVERYTHING, HOUR)],
        look.names(),
        look.task(task_id),
        look.task("nobody"),
        (waiting, facts._replace(commits=0)),
    ]


def test_a_file_and_a_collector_say_the_same(both: tuple[list[object], list[object]]) -> None:
    """
    Every document, every row, every task.
    """
    of_file, of_collector = both

    assert of_file == of_collector


def test_numbers_without_durations_are_those_of_the_report(store: Path) -> None:
    """
    What is left out changes nothing else.
    """
    with open_source(str(store), settings=SETTINGS, environ={}).looking() as look:
        report, numbers = look.report(EVERYTHING, SETTINGS), look.numbers(EVERYTHING, SETTINGS)
        by_agent = look.numbers_by("agent", EVERYTHING, SETTINGS)
    for tool in report["tools"].values():
        tool["duration_ms"] = {"p50": 0.0, "p95": 0.0}

    assert report == numbers
    assert numbers["tools"] == by_agent["groups"]["travel_agent"]["tools"]
