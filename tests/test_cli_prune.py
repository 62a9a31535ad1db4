"""
`toolspan prune`: old tasks out of a store, and nothing else.
"""

import json
from pathlib import Path

import pytest

from tests.cli_runner import Cli, scene
from tests.stored import EXAMPLE

#: The first half of the example's tasks ended before it.
NOON = "2026-11-30T01:30:00Z"


def tasks(toolspan: Cli) -> int:
    """
    How many tasks the store has.
    """
    document = json.loads(toolspan("report", "--format", "json").out)
    total: int = document["tasks"]["total"]
    return total


class TestDeletes:
    @pytest.mark.usefixtures("folder")
    def test_what_ended_before(self, toolspan: Cli) -> None:
        """
        With its calls; later tasks stay, with their numbers.
        """
        toolspan("ingest", EXAMPLE)
        later = toolspan("report", "--since", NOON, "--format", "csv").out

        result = toolspan("prune", "--before", NOON)

        said = f"37 tasks with 207 calls deleted from toolspan.duckdb: those that ended before {NOON}.\n"
        assert (0, said, "") == result
        assert (43, later) == (tasks(toolspan), toolspan("report", "--format", "csv").out)

    def test_nothing_where_nothing_is_old(self, toolspan: Cli, folder: Path) -> None:
        """
        As one line of JSON for programs.
        """
        toolspan("ingest", scene(folder))

        assert (0, '{"tasks": 0, "calls": 0}\n', "") == toolspan("prune", "--before", "2001-01-01", "--format", "json")
        assert 1 == tasks(toolspan)


@pytest.mark.usefixtures("folder")
class TestErrors:
    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ((), "Missing option '--before'."),
            (("--before", "yesterday"), "Cannot read the time 'yesterday'"),
            (("--before", "2250-01-01"), "'2250-01-01' is still to come, so nothing would be left"),
            (("--before", "90d"), "toolspan.duckdb does not exist; toolspan ingest FILE --store toolspan.duckdb"),
            (("--before", "90d", "--store", "clickhouse://localhost/x"), "No store clickhouse://localhost/x"),
        ],
    )
    def test_are_one_line_and_make_no_store(
        self, toolspan: Cli, tmp_path: Path, options: tuple[str, ...], says: str
    ) -> None:
        """
        Exit 2; what only deletes leaves no empty file behind.
        """
        result = toolspan("prune", *options)

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))
        assert result.err.startswith(f"toolspan: {says}")
        assert [] == list(tmp_path.iterdir())
