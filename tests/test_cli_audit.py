"""
`toolspan audit`: what it prints, and how it ends.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_runner import Cli

TOOLS = '''
import os
import requests
import toolspan

def _get():
    answer = requests.get("https://rooms.test/", timeout=1)
    answer.raise_for_status()
    return answer.json()

@toolspan.tool(retry=toolspan.Retry(attempts=2, deadline=1.0))
def list_rooms(day: str) -> list:
    """
    Rooms on a day.
    """
    return _get()

@toolspan.tool(retry=toolspan.Retry(attempts=2, deadline=1.0))
def book_room(room: str) -> str:
    """
    A write that declares nothing.
    """
    raise SystemExit("the audit must not run me")

@toolspan.tool(retry=toolspan.Retry(attempts=2, deadline=1.0))
def rooms(day: str) -> list:
    """
    Whether it writes is not said.
    """
    if day == "example":
        raise SystemExit("these are arguments that somebody made up")
    return _get()

is_silent = os.environ.get("OTEL_SDK_DISABLED")
'''


@pytest.fixture(name="agent")
def _agent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """
    A folder with a module `agent_tools`, which is forgotten afterwards.
    """
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    (folder / "agent_tools.py").write_text(TOOLS, encoding="utf-8")
    (folder / "broken_tools.py").write_text("import nowhere_to_be_found\n", encoding="utf-8")
    (folder / "exiting_tools.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    (folder / "empty_tools.py").write_text("", encoding="utf-8")
    yield folder
    os.environ.pop("OTEL_SDK_DISABLED", None)
    for name in ("agent_tools", "broken_tools", "exiting_tools", "empty_tools"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("agent")
class TestPrinted:
    """
    The findings.
    """

    def test_a_tool_that_passes_ends_well(self, toolspan: Cli) -> None:
        """
        A line for each point, and the sum.
        """
        ran = toolspan("audit", "agent_tools:list_rooms")

        lines = ran.out.splitlines()
        assert (0, "") == (ran.status, ran.err)
        assert "list_rooms" == lines[0]
        assert "  ✓  1 envelope: answers every call with the typed envelope." == lines[1]
        assert "  -  9 writes: It changes nothing, by its name or by --read." == lines[9]
        assert "9 points passed; 1 point could not be judged." == lines[-1]
        assert 12 == len(lines)

    def test_a_point_that_fails_says_what_to_do(self, toolspan: Cli) -> None:
        """
        The reason, what it protects from, the fix; and exit 1.
        """
        ran = toolspan("audit", "agent_tools:book_room")

        at = ran.out.splitlines().index("  ✗  9 writes: looks a write up before it decides that the write failed.")
        reason, protects, fix = ran.out.splitlines()[at + 1 : at + 4]
        assert 1 == ran.status
        assert reason.strip().startswith("By its name it writes")
        assert protects.strip().startswith("Protects from: the second payment")
        assert fix.strip().startswith("Fix: Give it a parameter idempotency_key")
        assert "1 of 10 points failed." == ran.out.splitlines()[-1]

    def test_a_module_is_audited_tool_by_tool(self, toolspan: Cli) -> None:
        """
        Without an object, all of its tools.
        """
        ran = toolspan("audit", "agent_tools")

        assert ["list_rooms", "book_room", "rooms"] == [line for line in ran.out.splitlines() if line.isidentifier()]

    def test_json_has_all(self, toolspan: Cli) -> None:
        """
        For each tool ten points, with verdict and reasons; a fix where one is needed.
        """
        ran = toolspan("audit", "agent_tools:book_room", "--format", "json")

        document = json.loads(ran.out)
        points = {each["name"]: each for each in document["tools"]["book_room"]}
        assert (1, 1, 10) == (ran.status, document["failed"], len(points))
        assert ("passed", [], None) == tuple(points["envelope"][key] for key in ("verdict", "reasons", "fix"))
        assert "failed" == points["writes"]["verdict"]
        assert points["writes"]["reasons"][0]["said"]
        assert "read_back" in points["writes"]["fix"]

    def test_nothing_is_exported_of_failures_on_purpose(self, toolspan: Cli) -> None:
        """
        The SDK is off before the tools' module is imported.
        """
        toolspan("audit", "agent_tools:list_rooms")

        assert "true" == sys.modules["agent_tools"].is_silent


@pytest.mark.usefixtures("agent")
class TestAsked:
    """
    The options.
    """

    def test_a_tool_that_ends_the_program_does_not_end_the_audit(self, toolspan: Cli) -> None:
        """
        Its exit code would be taken for the audit's.
        """
        ran = toolspan("audit", "agent_tools:rooms", "--read", "rooms")

        assert 1 == ran.status
        assert "SystemExit leaves the tool" in ran.out

    def test_unjudged_points_fail_on_demand(self, toolspan: Cli) -> None:
        """
        `--strict` is for whoever wants all ten.
        """
        assert 1 == toolspan("audit", "agent_tools:list_rooms", "--strict").status

    def test_a_tool_that_reads_is_run_with_the_arguments_given(self, toolspan: Cli, agent: Path) -> None:
        """
        `--read` and `--arguments`: the tool ends the program if it is given what was made up.
        """
        file = agent / "arguments.json"
        file.write_text('{"rooms": {"day": "2026-05-04"}}', encoding="utf-8")

        ran = toolspan("audit", "agent_tools:rooms", "--read", "rooms", "--arguments", file)

        assert "SystemExit" not in ran.out
        assert "It changes nothing, by its name or by --read." in ran.out

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("{", "Cannot read arguments.json: Expecting property name"),
            ("[]", "it is no object of objects"),
            ('{"rooms": 7}', "it is no object of objects"),
            ('{"romms": {}}', "arguments of 'romms', which is none of the tools: rooms"),
        ],
    )
    def test_arguments_that_cannot_be_used_are_refused(
        self, toolspan: Cli, agent: Path, content: str, said: str
    ) -> None:
        """
        In one line, before anything is tried.
        """
        (agent / "arguments.json").write_text(content, encoding="utf-8")

        ran = toolspan("audit", "agent_tools:rooms", "--arguments", "arguments.json")

        assert (2, "", 1) == (ran.status, ran.out, len(ran.err.splitlines()))
        assert said in ran.err


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere_tools", "Cannot import 'nowhere_tools': ModuleNotFoundError"),
        ("broken_tools", "No module named 'nowhere_to_be_found'"),
        ("exiting_tools", "Cannot import 'exiting_tools': SystemExit"),
        ("agent_tools:lost_rooms", "'agent_tools' has no 'lost_rooms'"),
        ("empty_tools", "No tool in empty_tools; name a function, or decorate one with @toolspan.tool"),
        ("agent_tools:is_silent", "No tool in agent_tools:is_silent"),
        ("", "MODULE:OBJECT"),
        (":list_rooms", "MODULE:OBJECT"),
        ("agent_tools.py", "MODULE:OBJECT"),
        ("./agent_tools", "MODULE:OBJECT"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_one_line(toolspan: Cli, target: str, said: str) -> None:
    """
    With what was wrong, and exit 2.
    """
    ran = toolspan("audit", target)

    assert (2, "", 1) == (ran.status, ran.out, len(ran.err.splitlines()))
    assert said in ran.err
