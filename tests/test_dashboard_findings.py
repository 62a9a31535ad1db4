"""
The findings of the overview: which tool is hurting, why, and what to change, can be told from them alone.
"""

import os
from pathlib import Path

import pytest

from tests.cli_runner import Cli
from tests.dashboard_scenes import TASKS, all_well, permission_unheard, rule_as_transient, store_of, vague_field
from tests.stored import EXAMPLE
from toolspan.config import Settings
from toolspan.scope import EVERYTHING
from toolspan_dashboard import data
from toolspan_dashboard.findings import Finding, find, headline
from toolspan_dashboard.sources import open_source


def overview_of(store: Path) -> data.OverviewData:
    """
    What the overview is made of.
    """
    source = open_source(str(store), settings=Settings(), environ=os.environ)
    with source.looking() as look:
        return data.look_at_overview(look, EVERYTHING, Settings())


def findings_of(store: Path) -> list[Finding]:
    """
    The findings of everything in *store*.
    """
    found = overview_of(store)
    return find(found.report, quality=found.quality, examples=found.examples, targets=Settings().targets)


class TestScenarios:
    def test_a_vague_field_is_named_with_what_to_say_of_it(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Which tool, which field, how many, and that the description is to be changed.
        """
        [finding] = findings_of(store_of(toolspan, tmp_path, vague_field(), all_well()))

        assert ("search_flights", "lost", 3 * TASKS, True) == finding[:4]
        assert "0 % of 75 validation failures recover; `date` is the field" == finding.title
        assert "75 of them on the field `date`" in finding.recurs
        assert f"{TASKS} tasks with a call that stayed wrong." == finding.costs
        assert finding.change.startswith("Say in the description of `date` which form is accepted, with an example")
        assert 3 == len(finding.examples)

    def test_a_rule_sold_as_transient_is_told_from_an_outage(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The same call never succeeds later, so retrying is not what is to be mended.
        """
        [finding] = findings_of(store_of(toolspan, tmp_path, rule_as_transient(), all_well()))

        assert ("book_room", "retried") == finding[:2]
        assert "Of 50 identical retries 0 succeeded, though it says transient." in finding.recurs
        assert finding.change.startswith("Stop calling it transient")
        assert "business_rule" in finding.change

    def test_a_permission_that_nobody_escalates_is_found(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Though it costs nothing that is counted.
        """
        [finding] = findings_of(store_of(toolspan, tmp_path, permission_unheard(), all_well()))

        assert ("refund", "unheard", 0, False) == finding[:4]
        assert "25 of 25 permission failures never reached a human" == finding.title
        assert finding.change.startswith("Give the agent a way to ask a human")

    def test_come_the_most_damage_first(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        All three at once.
        """
        store = store_of(toolspan, tmp_path, vague_field(), rule_as_transient(), permission_unheard(), all_well())

        findings = findings_of(store)

        assert [("search_flights", 75), ("book_room", 25), ("refund", 0)] == [
            (each.tool, each.damage) for each in findings
        ]


class TestHeadline:
    def test_says_which_tool_hurts_most(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        In one sentence.
        """
        store = tmp_path / "s.duckdb"
        assert 0 == toolspan("ingest", EXAMPLE, "--store", store).status
        found = overview_of(store)
        findings = find(found.report, quality=found.quality, examples=found.examples, targets=Settings().targets)

        assert (
            r"3 of 4 tools miss a target. search\_flights hurts most: 24 % of 93 validation failures recover;"
            " `date` is the field."
        ) == headline(findings, found.report)

    def test_says_that_all_is_well(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        With how much that rests on.
        """
        found = overview_of(store_of(toolspan, tmp_path, all_well()))

        assert "No tool does damage: 1 tool in 25 tasks." == headline([], found.report)


class TestDamage:
    def test_of_the_findings_is_that_of_the_report(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Nothing that a tool's damage counts is left without a finding.
        """
        store = tmp_path / "s.duckdb"
        assert 0 == toolspan("ingest", EXAMPLE, "--store", store).status
        found = overview_of(store)

        damage = {name: tool["damage"] for name, tool in found.report["tools"].items() if tool["damage"]}

        assert damage == {name: sum(each.damage for each in findings_of(store) if each.tool == name) for name in damage}


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whatever the environment of who runs the tests says.
    """
    monkeypatch.delenv("TOOLSPAN_CONFIG", raising=False)
