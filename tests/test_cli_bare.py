"""
The command line where no extra is installed: files are read, collectors are asked, a store says what it takes.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stored import EXAMPLE

#: The commands that read a store, or keep it in order.
ASKING = (
    ("report",),
    ("quality",),
    ("calls",),
    ("check",),
    ("doctor",),
    ("prune", "--before", "1d"),
    ("snapshot", "x"),
)

#: Runs the command line without what only a store needs.
BARE = """
import sys
for name in ("duckdb", "msgspec", "numpy", "pandas", "pyarrow"):
    sys.modules[name] = None
import toolspan.cli
toolspan.cli.main(sys.argv[1:])
"""


def run_bare(*args: str | Path) -> subprocess.CompletedProcess[str]:
    """
    The command line as the bare package has it.
    """
    return subprocess.run(
        [sys.executable, "-c", BARE, *map(str, args)], capture_output=True, text=True, check=False, timeout=60
    )


class TestBareInstall:
    @pytest.mark.parametrize("command", ["report", "quality", "calls", "doctor", "check"])
    def test_reads_files(self, command: str) -> None:
        """
        A store is an extra.
        """
        result = run_bare(command, EXAMPLE)

        assert (1 if command == "check" else 0, "") == (result.returncode, result.stderr)
        assert result.stdout

    @pytest.mark.parametrize("exists", [True, False])
    @pytest.mark.parametrize(
        "command",
        [*ASKING, ("ingest", str(EXAMPLE))],
    )
    def test_says_what_to_install_for_a_store(self, tmp_path: Path, command: tuple[str, ...], exists: bool) -> None:
        """
        One line, exit 2, the same of every command, whether there is a store or not; into which Python, too.
        """
        store = tmp_path / "s.duckdb"
        if exists:
            store.write_bytes(b"")

        result = run_bare(*command, "--store", store)

        install = f"{shlex.quote(sys.executable)} -m pip install 'toolspan[duckdb]'"
        said = f"toolspan: A store file needs DuckDB, which is not installed; {install} installs it.\n"
        assert (2, "", said) == (result.returncode, result.stdout, result.stderr)

    def test_says_what_to_install_for_a_collector(self, tmp_path: Path) -> None:
        """
        More than a store takes.
        """
        result = run_bare("collect", "--store", tmp_path / "s.duckdb")

        install = f"{shlex.quote(sys.executable)} -m pip install 'toolspan[collector]'"
        said = f"toolspan: The collector needs packages that are not installed; {install} installs them.\n"
        assert (2, "", said) == (result.returncode, result.stdout, result.stderr)

    @pytest.mark.parametrize("command", ASKING)
    def test_asks_a_collector(self, command: tuple[str, ...]) -> None:
        """
        Who only asks needs neither.
        """
        result = run_bare(*command, "--store", "http://127.0.0.1:1")

        assert (2, "") == (result.returncode, result.stdout)
        assert "Nothing answers at http://127.0.0.1:1" in result.stderr
