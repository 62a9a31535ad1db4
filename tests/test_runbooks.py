"""
Each alert has its page, and what a page shows is there.
"""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.cli_runner import Cli
from tests.stored import EXAMPLE
from toolspan.alerts import DEFAULT_LINKS, DEFAULT_THRESHOLDS, alerts_of
from toolspan.cli._judging import STORE_TARGETS, TARGETS
from toolspan.config import load_settings
from toolspan.config_tables import AlertsTable, SettleTable, TargetsTable
from toolspan.metrics import FAMILIES
from toolspan.numbers import DEFAULT_TARGETS

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "runbooks"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("Toolspan*.md")}
ALERTS = {alert.name for alert in alerts_of(DEFAULT_THRESHOLDS, DEFAULT_TARGETS)}
COMMANDS = [
    line.strip()
    for page in PAGES.values()
    for block in re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    for line in block.strip().splitlines()
]


def test_each_alert_has_its_page_and_each_page_its_alert() -> None:
    """
    A page about an alert that is gone misleads, and an alert without one calls somebody who does not know why.
    """
    assert set(PAGES) == ALERTS


def test_the_list_has_every_page() -> None:
    """
    With links that lead somewhere.
    """
    links = re.findall(r"\]\((\w+\.md)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))

    assert sorted(f"{name}.md" for name in PAGES) == sorted(links)


@pytest.mark.parametrize("name", PAGES)
class TestPage:
    def test_says_what_it_means_what_to_look_at_and_what_to_change(self, name: str) -> None:
        """
        In this order, below the name of the alert.
        """
        headings = re.findall(r"^(#+ .+)$", PAGES[name], flags=re.MULTILINE)

        change = "## What to change in the tool" if "## What to change in the tool" in headings else "## What to change"
        assert [f"# {name}", "## What it means", "## What to look at", change, "## When it ends"] == headings

    def test_leads_to_pages_that_are_there(self, name: str) -> None:
        """
        Of this folder.
        """
        links = re.findall(r"\]\(([^)#]+)\)", PAGES[name])

        assert [] == [link for link in links if not (FOLDER / link).exists()]

    def test_names_settings_and_targets_that_there_are(self, name: str) -> None:
        """
        The key of the configuration that moves the alert, and what `check` calls it.
        """
        tables: dict[str, type[BaseModel]] = {"alerts": AlertsTable, "targets": TargetsTable, "settle": SettleTable}
        keys = re.findall(r"`\[(\w+)\]`\s+`(\w+)`", PAGES[name])
        targets = re.findall(r"judges (?:it|the same)\s+as\s+`(\w+)`", PAGES[name])

        assert keys
        assert [] == [(table, key) for table, key in keys if key not in tables[table].model_fields]
        assert {*TARGETS, *STORE_TARGETS}.issuperset(targets)

    def test_names_metrics_that_there_are(self, name: str) -> None:
        """
        As a scrape has them.
        """
        assert {family.name for family in FAMILIES}.issuperset(re.findall(r"toolspan_\w+", PAGES[name]))


def test_the_shown_settings_are_the_defaults(tmp_path: Path) -> None:
    """
    All of them, so that whoever copies the table changes nothing yet.
    """
    [shown] = re.findall(r"```toml\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    config = tmp_path / "toolspan.toml"
    config.write_text(shown)

    settings = load_settings(environ={}, config_path=str(config))

    assert (DEFAULT_THRESHOLDS, DEFAULT_LINKS, DEFAULT_TARGETS) == (
        settings.thresholds,
        settings.links,
        settings.targets,
    )
    assert {"burn", *tomllib.loads(shown)["alerts"]} == set(AlertsTable.model_fields)


def test_there_are_commands() -> None:
    """
    An empty list would prove nothing.
    """
    assert len(COMMANDS) >= 10


@pytest.mark.usefixtures("folder")
def test_the_commands_of_the_pages_run(toolspan: Cli) -> None:
    """
    On a store as they name none, with a tool that it has; the year is that of the example.
    """
    toolspan("ingest", EXAMPLE)

    for command in dict.fromkeys(COMMANDS):
        program, *arguments = shlex.split(command.replace('"$TOOL"', "search_flights").replace("--since 6h ", ""))
        result = toolspan(*arguments)

        assert ("toolspan", 0, "") == (program, result.status, result.err)
        assert result.out
