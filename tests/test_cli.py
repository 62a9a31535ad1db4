"""
The command line as a whole: help, errors, exit codes, completion.
"""

import os
import signal
import subprocess
import sys
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click
import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, scene, write
from toolspan import __version__
from toolspan.cli import COMMANDS, cli


def run_process(code: str, *args: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """
    *code* in a Python of its own, with *args*.
    """
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environ},
    )


def run_closed(descriptor: int, *args: str) -> subprocess.CompletedProcess[bytes]:
    """
    The command line with the standard stream *descriptor* closed.
    """
    start = f"import os, sys; os.close({descriptor}); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    code = "import toolspan.cli as c, sys; c.main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", start, "-c", code, *args], capture_output=True, check=False, timeout=60
    )


#: What needs none, or asks for it in a command below.
_WITHOUT_STORE = {"alerts", "audit", "codes", "completion", "lint", "prompt", "schema"}


class TestHelp:
    def test_lists_every_command_with_what_it_does(self, toolspan: Cli) -> None:
        """
        In the order of the table, each with the first words of its own help.
        """
        result = toolspan("--help")

        places = [result.out.index(f"  {name} ") for name in COMMANDS]
        assert (0, "", sorted(places)) == (result.status, result.err, places)
        assert "toolspan completion bash" in " ".join(result.out.split())

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_command_says_of_itself_what_the_list_says(self, name: str) -> None:
        """
        The list is written by hand, so that showing it imports no command.
        """
        command: click.Command = getattr(import_module(f"toolspan.cli.{name}"), name)

        assert COMMANDS[name] == command.get_short_help_str(limit=200)

    def test_listing_the_commands_imports_none_of_them(self) -> None:
        """
        Neither rich nor protobuf nor a command's module: that is what keeps help fast.
        """
        code = (
            "import sys, toolspan.cli as c\n"
            "try: c.main(['--help'])\n"
            "except SystemExit: pass\n"
            "heavy = {'rich', 'google.protobuf', 'toolspan.cli.report'}\n"
            "print(heavy & set(sys.modules), file=sys.stderr)"
        )

        assert run_process(code).stderr == "set()\n"

    @pytest.mark.parametrize("name", [name for name in COMMANDS if name not in _WITHOUT_STORE])
    def test_says_which_store_is_meant(self, toolspan: Cli, name: str) -> None:
        """
        The option, the variable, and the file where neither is given.
        """
        said = " ".join(toolspan(name, "--help").out.split())

        assert ["--store S", "TOOLSPAN_STORE", "./toolspan.duckdb"] == [
            part for part in ("--store S", "TOOLSPAN_STORE", "./toolspan.duckdb") if part in said
        ]

    def test_nothing_asked_is_answered_with_help_and_exit_2(self, toolspan: Cli) -> None:
        """
        On standard error: a script whose command is an empty variable must not go on.
        """
        result = toolspan()

        assert (2, "") == (result.status, result.out)
        assert result.err.startswith("Usage: toolspan")

    def test_the_version_is_the_packages(self, toolspan: Cli) -> None:
        """
        One line.
        """
        assert (0, f"toolspan {__version__}\n", "") == toolspan("--version")


class TestErrors:
    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            (["reprot"], "toolspan: No such command 'reprot'. Did you mean 'report'? (See toolspan --help.)\n"),
            (["zzz"], "toolspan: No such command 'zzz'. (See toolspan --help.)\n"),
            (
                ["report"],
                (
                    "toolspan: No toolspan.duckdb is here: give OTLP files (JSON lines, .pb, .gz), or - for standard"
                    " input, or a store by --store.\n"
                ),
            ),
            (
                ["ingest"],
                "toolspan: Nothing to read: give OTLP files (JSON lines, .pb, .gz), or - for standard input.\n",
            ),
            (["snapshot"], "toolspan: Missing argument 'FILE'. (See toolspan snapshot --help.)\n"),
            (["report", "no.pb"], "toolspan: File 'no.pb' does not exist.\n"),
        ],
    )
    def test_are_one_line_that_says_what_to_do(
        self, toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], expected: str
    ) -> None:
        """
        On standard error, exit 2.
        """
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("TOOLSPAN_STORE", raising=False)

        assert (2, "", expected) == toolspan(*args)

    @pytest.mark.parametrize(
        ("option", "named"),
        [
            ("--sinze=24h", "--since"),
            ("--since=yesterday", "yesterday"),
            ("--format=jsno", "json"),
            ("--by=x", "agent"),
        ],
    )
    def test_of_an_option_name_what_can_be_given(self, toolspan: Cli, tmp_path: Path, option: str, named: str) -> None:
        """
        The option that is meant, or the values there are.
        """
        result = toolspan("report", scene(tmp_path), option)

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))
        assert named in result.err

    def test_what_was_typed_cannot_act_on_the_terminal(self, toolspan: Cli) -> None:
        """
        A name with an escape sequence is written as text.
        """
        result = toolspan("x\x1b[31m\n\u202e")

        assert "\x1b" not in result.err
        assert "\u202e" not in result.err
        assert result.err.count("\n") == 1

    def test_an_unreadable_file_is_named(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Whatever the system says of it.
        """
        config = tmp_path / "missing.toml"

        result = toolspan("report", scene(tmp_path), "--config", config)

        assert (2, 1) == (result.status, result.err.count("\n"))
        assert "missing.toml" in result.err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="only some systems have a device that is always full")
    @pytest.mark.parametrize("output", ["jsonl", "table"])
    def test_a_full_disk_is_named(self, tmp_path: Path, output: str) -> None:
        """
        Once, with where: the interpreter does not complain again at its exit.
        """
        code = "import toolspan.cli as c, sys; c.main(sys.argv[1:])"

        with Path("/dev/full").open("w") as full:
            result = subprocess.run(
                [sys.executable, "-c", code, "calls", str(scene(tmp_path)), "--format", output],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                timeout=60,
            )

        said = b"toolspan: standard output: No space left on device; free some, or write elsewhere.\n"
        assert (2, said) == (result.returncode, result.stderr)

    def test_a_file_that_may_not_be_read_is_one_line_with_a_remedy(
        self, toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Before anything is read: other files may take minutes.
        """
        file = scene(tmp_path)

        def refuse(_path: object, _mode: int) -> bool:
            return False

        monkeypatch.setattr(os, "access", refuse)

        result = toolspan("report", file)

        said = f"toolspan: Cannot read {file}: permission denied; check its owner and mode (ls -l).\n"
        assert (2, "", said) == result

    def test_all_end_with_a_full_stop(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Wherever they come from.
        """
        errors = [
            toolspan("report", "--config", tmp_path / "no.toml", scene(tmp_path)).err,
            toolspan("report", tmp_path).err,
            toolspan("report", scene(tmp_path), "--since=2026-99-01").err,
            toolspan("report", scene(tmp_path), "--by=x").err,
        ]

        assert [".\n", ".\n", ".\n", ".)"] == [error[-2:] for error in errors[:3]] + [errors[3][-3:-1]]

    def test_debug_shows_where_an_error_comes_from(self, tmp_path: Path) -> None:
        """
        Before or after the command's name.
        """
        code = "import toolspan.cli as c; import sys; c.main(sys.argv[1:])"
        file = scene(tmp_path)

        before = run_process(code, "--debug", "report", file, "--since=x").stderr
        after = run_process(code, "report", file, "--since=x", "--debug").stderr
        without = run_process(code, "report", file, "--since=x").stderr

        assert [True, True, False] == ["Traceback" in text for text in (before, after, without)]

    def test_a_fault_of_our_own_is_one_line_and_exit_70(self, tmp_path: Path) -> None:
        """
        Not 1, which means that a check failed; the traceback is one option away.
        """
        code = "import toolspan.cli as c, toolspan.cli.report as r, sys; r.reading = None; c.main(sys.argv[1:])"
        file = scene(tmp_path)

        result, debugged = run_process(code, "report", file), run_process(code, "report", file, "--debug")

        assert (70, "", 1) == (result.returncode, result.stdout, result.stderr.count("\n"))
        assert "fault of toolspan" in result.stderr
        assert "Traceback" in debugged.stderr


class TestEndings:
    def test_an_interrupt_ends_with_130_and_no_traceback(self, toolspan: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Ctrl-C while standard input is read.
        """

        class Interrupted(BytesIO):
            def read(self, _size: int | None = -1, /) -> bytes:
                raise KeyboardInterrupt

            read1 = readinto = readline = read  # type: ignore[assignment]  # whichever the reader uses

        monkeypatch.setattr(sys, "stdin", TextIOWrapper(Interrupted()))

        result = toolspan("calls", "-")

        assert (130, "", "") == (result.status, result.out, result.err.strip())

    @pytest.mark.parametrize("args", [["calls"], ["calls", "--format=table"], ["report"], ["quality"], ["doctor"]])
    def test_a_reader_that_goes_away_is_no_error(self, tmp_path: Path, args: list[str]) -> None:
        """
        `toolspan calls … | head` ends quietly, as any program that a broken pipe stops.
        """
        file = scene(tmp_path)
        code = "import toolspan.cli as c, sys; c.main(sys.argv[1:])"
        reader, writer = os.pipe()
        os.close(reader)

        result = subprocess.run(
            [sys.executable, "-c", code, *args, str(file)],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
        os.close(writer)

        assert (128 + signal.SIGPIPE, b"") == (result.returncode, result.stderr)

    @pytest.mark.parametrize("command", ["report", "quality", "calls", "doctor"])
    def test_a_closed_standard_input_matters_only_to_a_dash(self, tmp_path: Path, command: str) -> None:
        """
        As under cron or a service manager.
        """
        file = scene(tmp_path)

        named, dash = run_closed(0, command, str(file)), run_closed(0, command, "-")

        assert (0, b"") == (named.returncode, named.stderr)
        said = b"toolspan: Cannot read stdin: it is closed; name a file instead.\n"
        assert (2, b"", said) == (dash.returncode, dash.stdout, dash.stderr)

    @pytest.mark.parametrize("args", [["report"], ["calls"], ["doctor"], ["--help"]])
    def test_a_closed_standard_output_is_one_line(self, tmp_path: Path, args: list[str]) -> None:
        """
        Nobody would see what was asked for.
        """
        result = run_closed(1, *args, str(scene(tmp_path)))

        said = b"toolspan: Standard output is closed; send it to a file, or to /dev/null.\n"
        assert (2, said) == (result.returncode, result.stderr)

    def test_a_closed_standard_error_changes_nothing(self, tmp_path: Path) -> None:
        """
        What would be said there is not said elsewhere.
        """
        file = scene(tmp_path)

        assert (0, b"") == (run_closed(2, "calls", str(file)).returncode, run_closed(2, "calls", "no.pb").stdout)

    def test_an_encoding_without_a_character_loses_no_row(self, tmp_path: Path) -> None:
        """
        On an ASCII terminal it is written as its escape.
        """
        code = "import toolspan.cli as c, sys; c.main(sys.argv[1:])"
        file = write(tmp_path / "s.jsonl", [build.tool_span(2, "búsqueda")])

        result = run_process(code, "calls", file, "--format", "csv", PYTHONIOENCODING="ascii")

        assert (0, "") == (result.returncode, result.stderr)
        assert "b\\xfasqueda" in result.stdout


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_prints_the_script_of_a_shell(self, toolspan: Cli, shell: str) -> None:
        """
        The script calls toolspan with the variable that asks for completions.
        """
        result = toolspan("completion", shell)

        assert (0, "") == (result.status, result.err)
        assert "_TOOLSPAN_COMPLETE" in result.out

    @pytest.mark.parametrize(
        ("words", "expected"), [("toolspan qua", "quality"), ("toolspan report --environ", "--environment")]
    )
    def test_completes_commands_and_options(
        self, toolspan: Cli, monkeypatch: pytest.MonkeyPatch, words: str, expected: str
    ) -> None:
        """
        As the shell asks for it.
        """
        monkeypatch.setenv("_TOOLSPAN_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))

        assert f"plain,{expected}\n" == toolspan().out

    def test_knows_all_commands(self) -> None:
        """
        What can be run can be completed.
        """
        context = click.Context(cli)

        assert list(COMMANDS) == [item.value for item in cli.shell_complete(context, "")]
