"""
What the distribution is as a whole: its facade, its version, its changelog, its commands.
"""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import toolspan

ROOT = Path(__file__).parent.parent
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = ["Security", "Removed", "Deprecated", "Added", "Changed", "Fixed"]


class TestFacade:
    """
    `import toolspan`.
    """

    def test_every_public_name_is_exported_and_no_other(self) -> None:
        """
        `__all__` is complete: nothing becomes public by accident.
        """
        code = "import toolspan, types\n"
        code += "[getattr(toolspan, name) for name in toolspan.__all__]\n"
        code += "print(*(n for n, v in vars(toolspan).items() if n[0] != '_' and not isinstance(v, types.ModuleType)))"
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

        assert {*shown, "__version__"} - {"import_module", "TYPE_CHECKING"} == set(toolspan.__all__)
        assert {*toolspan.__all__} <= {*dir(toolspan)}

    def test_a_name_that_is_not_there_is_said(self) -> None:
        """
        As Python says it of any module.
        """
        with pytest.raises(AttributeError, match="module 'toolspan' has no attribute 'tol'"):
            toolspan.tol  # noqa: B018 - misspelt on purpose

    def test_import_is_light(self) -> None:
        """
        Importing the package into an agent brings in none of what only commands need.
        """
        code = "import sys, toolspan; print(*sorted(sys.modules))"
        loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

        heavy = ("click", "duckdb", "opentelemetry", "pydantic", "rich", "streamlit")

        assert [] == [name for name in heavy if name in loaded]

    def test_version_is_that_of_the_distribution(self) -> None:
        """
        The code and its metadata agree.
        """
        assert version("toolspan") == toolspan.__version__


class TestChangelog:
    """
    Keep a Changelog.
    """

    def test_newest_release_is_this_version_or_coming(self) -> None:
        """
        The first heading is what is unreleased, or this very version.
        """
        first = re.findall(r"^## \[(.+?)\]", CHANGELOG, flags=re.MULTILINE)[0]

        assert first in ("Unreleased", toolspan.__version__)

    def test_sections_are_in_order(self) -> None:
        """
        Each release has the known sections, in the order of what a reader must not miss.
        """
        releases = [re.findall(r"^### (\w+)$", text, flags=re.MULTILINE) for text in CHANGELOG.split("\n## ")[1:]]

        assert [[name for name in SECTIONS if name in found] for found in releases] == releases


class TestCommands:
    """
    What contributors and CI run.
    """

    def test_ci_runs_the_command_that_the_readme_shows(self) -> None:
        """
        The README has one line that sets up and tests, and CI finds it.
        """
        script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
        found = re.search(r"grep -m1 -E '(.+)' README\.md", script)
        assert found is not None
        readme = (ROOT / "README.md").read_text(encoding="utf-8")

        assert ["python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest"] == re.findall(
            found[1], readme, flags=re.MULTILINE
        )

    @pytest.mark.parametrize("tool", ["ruff check", "ruff format --check", "mypy", "pyright", "lint-imports"])
    def test_ci_runs_what_contributors_run(self, tool: str) -> None:
        """
        A check that is asked of contributors is one that CI does.
        """
        script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
        guide = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")

        assert f".venv/bin/{tool}" in script
        assert f".venv/bin/{tool}" in guide
