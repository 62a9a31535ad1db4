"""
`toolspan snapshot`: a store as another file.
"""

from pathlib import Path

import pytest

from tests.cli_runner import Cli, scene
from toolspan.store.lock import locked


class TestCopy:
    def test_is_a_store_that_says_the_same(self, toolspan: Cli, folder: Path) -> None:
        """
        And goes on by itself: what comes later is in one of them.
        """
        toolspan("ingest", scene(folder))

        result = toolspan("snapshot", "copy.duckdb")

        toolspan("prune", "--before", "1ms")
        assert (0, "toolspan.duckdb copied to copy.duckdb.\n", "") == result
        assert "1 task: 1 resolved" == toolspan("report", "--store", "copy.duckdb").out.splitlines()[0]
        assert toolspan("report").out.startswith("No tool calls found")

    def test_is_made_while_others_read(self, toolspan: Cli, folder: Path) -> None:
        """
        It writes nothing to the store.
        """
        toolspan("ingest", scene(folder))

        with locked(folder / "toolspan.duckdb", exclusive=False, purpose="a report", timeout_s=0):
            result = toolspan("snapshot", "copy.duckdb")

        assert (0, "") == (result.status, result.err)

    def test_leaves_nothing_else_behind(self, toolspan: Cli, folder: Path) -> None:
        """
        Neither a part of it nor a log.
        """
        toolspan("ingest", scene(folder))
        before = {path.name for path in folder.iterdir()}

        toolspan("snapshot", "copy.duckdb")

        assert {"copy.duckdb"} == {path.name for path in folder.iterdir()} - before


class TestErrors:
    @pytest.mark.parametrize("target", ["there.duckdb", "toolspan.duckdb", "."])
    def test_what_is_there_is_not_replaced(self, toolspan: Cli, folder: Path, target: str) -> None:
        """
        One line, and it stays as it is; the store itself, too.
        """
        toolspan("ingest", scene(folder))
        (folder / "there.duckdb").write_text("mine")

        result = toolspan("snapshot", target)

        said = f"toolspan: {target} is there already; name another file, or remove it first.\n"
        assert (2, "", said) == result
        assert ("mine", 0) == ((folder / "there.duckdb").read_text(), toolspan("report").status)

    def test_a_folder_that_is_missing_is_named(self, toolspan: Cli, folder: Path) -> None:
        """
        With what to do.
        """
        toolspan("ingest", scene(folder))

        result = toolspan("snapshot", "backups/copy.duckdb")

        said = "there is no folder backups; create it (mkdir -p), or name another."
        assert (2, "", f"toolspan: Cannot write backups/copy.duckdb: {said}\n") == result

    @pytest.mark.usefixtures("folder")
    def test_standard_output_is_no_file(self, toolspan: Cli) -> None:
        """
        Nor is a file of that name made.
        """
        said = "toolspan: A store is no stream: give the path of a file to copy it to.\n"
        assert (2, "", said) == toolspan("snapshot", "-")

    @pytest.mark.usefixtures("folder")
    def test_a_store_that_is_missing_is_named(self, toolspan: Cli) -> None:
        """
        Nothing is copied from nothing.
        """
        result = toolspan("snapshot", "copy.duckdb", "--store", "s.duckdb")

        assert (2, "", "toolspan: s.duckdb does not exist; toolspan ingest FILE --store s.duckdb makes it.\n") == result
