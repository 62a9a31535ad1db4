"""
What the README shows is what happens.
"""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.integration.collectors import running
from toolspan import cli
from toolspan.audit import POINTS
from toolspan.config import load_settings
from toolspan.evidence.error_documents import read_envelope

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)
SCRIPTS = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def run(command: str, *, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """
    Run a command of the README in *folder* with the installed program, at 80 columns as a pipe has them.
    """
    installed = command.replace(".venv/bin/", f"{shlex.quote(str(SCRIPTS))}/")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSPAN_")}
    return subprocess.run(
        ["bash", "-c", installed], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    The store that the README makes.
    """
    path = tmp_path_factory.mktemp("readme") / "toolspan.duckdb"
    made = run(f".venv/bin/toolspan ingest docs/travel-agent.otlp.jsonl.gz --store {shlex.quote(str(path))}")
    assert (0, "") == (made.returncode, made.stderr)
    return path


COMMANDS = [
    line
    for block in blocks("sh")
    for line in block.splitlines()
    if "toolspan " in line and not line.startswith("python3")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shown_command_runs(command: str, tmp_path: Path, store: Path) -> None:
    """Every command that the README shows succeeds and says something, beside a store as one of them makes it."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    shutil.copy(store, tmp_path)

    result = run(command, folder=tmp_path)

    assert (0, "") == (result.returncode, result.stderr)
    assert result.stdout


def test_there_are_commands() -> None:
    """An empty list would prove nothing."""
    assert len(COMMANDS) >= 14


def test_every_command_is_named() -> None:
    """What can be run is in the README."""
    assert [] == [name for name in cli.COMMANDS if not re.search(f"`toolspan {name}[ `]", README)]


def test_the_line_for_cron_names_what_there_is() -> None:
    """It is not run, since it is for another folder and another day; its commands and options exist."""
    [line] = re.findall(r"^\s*\*/10 \* \* \* \* (.+)$", README, flags=re.MULTILINE)
    shown = re.findall(r"toolspan (\w+)((?: [\w./-]+)*)", line)

    unknown = [
        (command, option)
        for command, arguments in shown
        for option in re.findall(r"--[\w-]+", arguments)
        if option not in run(f".venv/bin/toolspan {command} --help").stdout
    ]

    assert (["ingest", "check"], []) == ([command for command, _ in shown], unknown)


def test_the_first_screen_is_what_the_command_prints() -> None:
    """The report at the top of the README is the real one."""
    console, _ = blocks("console")
    command, _, shown = console.partition("\n")

    result = run(command.rpartition("&&")[2])

    assert shown == result.stdout


def test_the_first_example_does_what_it_says(tmp_path: Path) -> None:
    """The answers that stand beside the calls, and a report of both calls."""
    script, *_ = blocks("python")
    shown = re.findall(r"print\(.+\)  # (.+)", script)
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    report = run(f"cd {shlex.quote(str(tmp_path))} && .venv/bin/toolspan report --store trip.duckdb --format json")
    tool = json.loads(report.stdout)["tools"]["search_flights"]

    assert 2 == len(shown)
    assert all(line.startswith(part.rstrip(" …")) for line, part in zip(ran.stdout.splitlines(), shown, strict=True))
    assert (2, {"DATE_FORMAT": 1}, 1.0) == (tool["calls"], tool["codes"], tool["validation_recovery"]["rate"])


def test_the_second_example_is_stopped_once(tmp_path: Path) -> None:
    """A call that was denied, one that was stopped, and one after a human was asked."""
    _, script, _ = blocks("python")
    watched = f"import toolspan\ntoolspan.instrument(store='x.duckdb')\n{script}"
    subprocess.run([sys.executable, "-c", watched], cwd=tmp_path, check=True, timeout=60)

    result = run(f"cd {shlex.quote(str(tmp_path))} && .venv/bin/toolspan calls --store x.duckdb")

    outcomes = [(call["outcome"], call["code"]) for call in map(json.loads, result.stdout.splitlines())]
    assert [("error", "APPROVAL_MISSING"), ("cancelled", None), ("error", "APPROVAL_MISSING")] == outcomes


def test_the_points_of_the_audit_are_those_there_are() -> None:
    """Each with what it protects from."""
    assert [] == [point for point in POINTS if f"| {point.asks} | {point.protects_from} |" not in README]


def test_the_shown_script_writes_a_file_that_is_read(tmp_path: Path) -> None:
    """The Python of the README exports a file, and the report finds its call."""
    *_, script = blocks("python")
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60)

    result = run(f"cd {shlex.quote(str(tmp_path))} && .venv/bin/toolspan calls mine.pb")

    call = json.loads(result.stdout)
    assert ("refund", "permission", "NOT_ALLOWED") == (call["tool"], call["class"], call["code"])


def test_the_shown_envelope_breaks_no_rule() -> None:
    """What the README shows as an envelope is one."""
    (envelope,) = blocks("json")

    reading = read_envelope(json.loads(envelope))

    assert 0 == reading.lint
    assert reading.named is not None


def test_the_shown_configuration_is_accepted(tmp_path: Path) -> None:
    """The TOML file of the README loads, and holds the rules it shows."""
    (config,) = blocks("toml")
    path = tmp_path / "toolspan.toml"
    path.write_text(config)

    settings = load_settings(environ={}, config_path=str(path))

    assert len(tomllib.loads(config)["rule"]) == 2
    assert settings.escalation_tools == {"ask_manager"}
    assert not settings.rules.is_empty


def test_the_example_is_what_its_script_writes(tmp_path: Path) -> None:
    """The spans that come with the README can be made again."""
    script = (ROOT / "docs" / "make_example.py").read_text()
    copy = tmp_path / "make_example.py"
    copy.write_text(script)

    subprocess.run([sys.executable, str(copy)], check=True, timeout=60)

    made = tmp_path / "travel-agent.otlp.jsonl.gz"
    # compared unpacked: zlib's output differs between builds
    assert gzip.decompress((ROOT / "docs" / made.name).read_bytes()) == gzip.decompress(made.read_bytes())


def test_the_collector_says_what_is_shown(tmp_path: Path) -> None:
    """The command as it stands, but for its ports, which may be taken here."""
    _, console = blocks("console")
    command, *shown = console.splitlines()

    with running(tmp_path / "toolspan.duckdb", *shlex.split(command)[5:]) as collector:
        said = collector.head
        assert 0 == collector.end()

    assert "$ toolspan collect --store toolspan.duckdb" in command
    assert [told(line) for line in shown] == [told(line) for line in said.splitlines()]


def told(line: str) -> str:
    """
    *line* without what differs from one run to the next.
    """
    return re.sub(r"into \S+ \(process \d+\)|:\d+", "", line)
