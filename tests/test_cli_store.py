"""
The commands that read, on a store: the same answers as on files, and what is different about a store.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, call_of, scene, write
from tests.facts import run, tool_span
from tests.stored import EXAMPLE, facts_of, leave_open
from tests.stores import SECOND_NS, Clock, open_store
from toolspan.cli import _stores
from toolspan.cli._output import PatientOutput
from toolspan.store.lock import locked


@pytest.mark.usefixtures("folder")
class TestSameAsFiles:
    @pytest.mark.parametrize(
        "command",
        [
            ("report",),
            ("report", "--format", "json", "--by", "agent"),
            ("report", "--format", "csv", "--tool", "refund"),
            ("report", "--since", "2026-11-30T01:30:00Z", "--format", "json"),
            ("report", "--tool", "refnd"),
            ("report", "--agent", "nobody"),
            ("quality",),
            ("quality", "--format", "json", "--by", "service"),
            ("quality", "--format", "csv", "--tool", "book_room"),
            ("quality", "--until", "2001-01-01"),
            ("calls",),
            ("calls", "--format", "csv", "--tool", "refund"),
            ("calls", "--format", "table"),
            ("calls", "--format", "table", "--tool", "refnd"),
            ("calls", "--since", "2026-11-30T01:30:00Z", "--agent", "travel_agent"),
            ("calls", "--until", "2026-11-30T01:30:00Z", "--service", "travel-desk"),
            ("calls", "--task", "343981680b3a69ee9178c874928f9eb5-de87698398269b9d"),
            ("calls", "--task", "nothing"),
            ("calls", "--task", "\udcff"),  # as a shell passes on a byte that is no UTF-8
            ("calls", "--tool", "\udcff"),
            ("calls", "--agent", "\udcff"),
            ("report", "--service", "\udcff"),
            ("calls", "--explain", "0000"),
            ("check", "--format", "json"),
        ],
    )
    def test_is_what_each_command_says(self, toolspan: Cli, command: tuple[str, ...]) -> None:
        """
        To the letter, in every format, with exit code and errors.
        """
        toolspan("ingest", EXAMPLE)

        assert toolspan(*command, EXAMPLE) == toolspan(*command)

    def test_reads_the_store_that_is_named(
        self, toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        By the option, else by the environment; files win over the environment.
        """
        toolspan("ingest", scene(tmp_path), "--store", "named.duckdb")
        monkeypatch.setenv("TOOLSPAN_STORE", "named.duckdb")
        expected = toolspan("report", scene(tmp_path))

        by_variable = toolspan("report")
        files = toolspan("report", EXAMPLE)
        monkeypatch.setenv("TOOLSPAN_STORE", "other.duckdb")
        by_option = toolspan("report", "--store", "named.duckdb")

        assert [expected, expected] == [by_variable, by_option]
        assert files.out.startswith("80 tasks")


@pytest.mark.usefixtures("folder")
class TestNames:
    def test_of_a_store_that_is_missing_are_said(self, toolspan: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Whether an option or the environment named it.
        """
        monkeypatch.setenv("TOOLSPAN_STORE", "nothing.duckdb")

        by_variable, by_option = toolspan("report"), toolspan("report", "--store", "nothing.duckdb")

        said = "toolspan: nothing.duckdb does not exist; toolspan ingest FILE --store nothing.duckdb makes it.\n"
        assert [(2, "", said)] * 2 == [by_variable, by_option]

    @pytest.mark.parametrize("command", ["report", "quality", "calls", "doctor", "check"])
    def test_files_beside_a_store_are_refused(self, toolspan: Cli, tmp_path: Path, command: str) -> None:
        """
        Which of the two is meant cannot be guessed.
        """
        result = toolspan(command, scene(tmp_path), "--store", "s.duckdb")

        said = "Give either files or --store; toolspan ingest FILE --store S adds files to a store.\n"
        assert (2, "", f"toolspan: {said}") == result

    @pytest.mark.parametrize(
        "name", ["clickhouse://x/db", "CHDB:///x", "chdb:/x", "s3://b/x.duckdb", "file:///x.duckdb"]
    )
    @pytest.mark.parametrize("command", [("report",), ("ingest", str(EXAMPLE)), ("prune", "--before", "1d")])
    def test_addresses_are_answered_in_one_line(self, toolspan: Cli, command: tuple[str, ...], name: str) -> None:
        """
        There are stores in files and behind collectors, so far.
        """
        result = toolspan(*command, "--store", name)

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))
        assert result.err.startswith(
            f"toolspan: No store {name}: this build has stores in DuckDB files and behind collectors"
        )

    @pytest.mark.parametrize("name", ["", "-"])
    def test_no_name_is_no_file(self, toolspan: Cli, name: str) -> None:
        """
        An empty variable in a script must not make a store in some default place.
        """
        result = toolspan("report", "--store", name)

        said = "toolspan: A store is a file: give its path, for example --store toolspan.duckdb.\n"
        assert (2, "", said) == result

    @pytest.mark.parametrize("name", [":memory:", "~x", "sqlite:y.db", "it's.duckdb", "spans.jsonl"])
    def test_are_those_of_files_whatever_they_mean_to_the_database(
        self, toolspan: Cli, folder: Path, name: str
    ) -> None:
        """
        What one command puts there, the next one finds, and a snapshot has it.
        """
        toolspan("ingest", EXAMPLE, "--store", name)
        toolspan("snapshot", "copy.duckdb", "--store", name)

        assert (folder / name).stat().st_size > 0
        assert [True, True] == [
            toolspan("report", "--store", store).out.startswith("80 tasks") for store in (name, "copy.duckdb")
        ]

    @pytest.mark.parametrize("content", [b"hello\n", b'{"resourceSpans": []}\n', b"\x1f\x8b\x08\x00"])
    @pytest.mark.parametrize("name", ["traces.jsonl", "traces.csv", "traces.otlp.jsonl.gz", "x"])
    def test_of_what_is_no_store_are_refused_and_it_is_left_alone(
        self, toolspan: Cli, folder: Path, name: str, content: bytes
    ) -> None:
        """
        A file of traces given as the store by mistake is still there afterwards.
        """
        (folder / name).write_bytes(content)

        results = [toolspan("report", "--store", name), toolspan("ingest", EXAMPLE, "--store", name)]

        said = f"{name} is no store; give OTLP files without --store.\n"
        assert [(2, "", said)] * 2 == [(status, out, err[-len(said) :]) for status, out, err in results]
        assert [content] == [file.read_bytes() for file in folder.iterdir()]


class TestWaiting:
    @pytest.mark.parametrize("command", ["report", "quality", "calls", "check"])
    def test_is_said_in_one_line(self, toolspan: Cli, folder: Path, command: str) -> None:
        """
        On standard error, so that programs read what they always read.
        """
        leave_open(folder / "toolspan.duckdb", tasks=3)

        result = toolspan(command, "--format", "jsonl" if command == "calls" else "json")

        said = "toolspan: 3 tasks wait to be settled; who writes to the store next settles them.\n"
        assert (0, said) == (result.status, result.err)
        assert all(json.loads(line) for line in ([result.out] if command != "calls" else result.out.splitlines()))

    def test_is_of_tasks_that_are_over(self, toolspan: Cli, folder: Path) -> None:
        """
        A minute after the last span, one whose own span has come; more of the other may.
        """
        a_minute_ago = open_store(folder / "toolspan.duckdb", clock=Clock(time.time_ns() - 60 * SECOND_NS))
        a_minute_ago.append([run(1), tool_span(1, 2, start=0), tool_span(2, 2, start=0)])

        assert (
            "toolspan: 1 task waits to be settled; who writes to the store next settles it.\n" == toolspan("report").err
        )

    def test_ends_with_the_next_ingest(self, toolspan: Cli, folder: Path) -> None:
        """
        Whatever that adds.
        """
        leave_open(folder / "toolspan.duckdb", tasks=1)
        before = toolspan("report").err
        toolspan("ingest", scene(folder))

        after = toolspan("report").err

        assert ("toolspan: 1 task waits to be settled; who writes to the store next settles it.\n", "") == (
            before,
            after,
        )


class TestExplain:
    def test_shows_what_the_store_knows(self, toolspan: Cli, folder: Path) -> None:
        """
        Identity, ending, links, and what each span said as far as it was kept; then where more is to be had.
        """
        toolspan("ingest", scene(folder))

        result = toolspan("calls", "--explain", "0000000000000002")

        [call, task, time, arguments, *rest] = result.out.splitlines()
        assert (0, "") == (result.status, result.err)
        assert ["call       search_flights, span 0000000000000002", "task", "time", "arguments"] == [
            call.partition(" in trace")[0],
            *(line.split()[0] for line in (task, time, arguments)),
        ]
        assert [
            "outcome    error, validation DATE_FORMAT",
            "evidence   envelope",
            "answered   0000000000000003 (ok): rewrite",
            "next       rewrite",
            "",
            "because    it failed, and the first span that names a class counts, from the outermost inwards",
            "span       0000000000000002, outermost: error, envelope: validation DATE_FORMAT",
            (
                "A store keeps what decided, not the spans: with the file they came in, toolspan calls FILE --explain"
                " shows more."
            ),
        ] == rest

    def test_names_the_spans_and_requests_of_a_call(self, toolspan: Cli, folder: Path) -> None:
        """
        Several spans may trace one call, and what failed below it may tell why.
        """
        request = build.span(4, {"http.response.status_code": 503}, parent=3, kind=3, end_ms=9)
        spans = [
            build.run_span(1, end_ms=1000),
            {**call_of(2, "book", "{}", '{"ok": false}'), "status": {"code": 2}},
            {**build.tool_span(3, "book", parent=2), "status": {"code": 2}},
            request,
        ]
        toolspan("ingest", write(folder / "s.jsonl", spans))

        out = toolspan("calls", "--explain", "0000000000000002").out

        assert (
            "because    it failed, no span of it names a class, and the last request below it that failed counts" in out
        )
        assert [line for line in out.splitlines() if line.startswith("span ")] == [
            "span       0000000000000002, outermost: error, envelope: names no class",
            "span       0000000000000003, inner 1: error, status: names no class",
            "span       0000000000000004, a request below: HTTP 503",
        ]

    def test_of_pruned_spans_shows_the_row(self, toolspan: Cli, folder: Path) -> None:
        """
        Nothing is made up.
        """
        (folder / "now.toml").write_text("[settle]\nlate = 0\n")
        toolspan("ingest", scene(folder))
        toolspan(
            "ingest", write(folder / "more.jsonl", [build.run_span(9, trace_id="0a" * 16)]), "--config", "now.toml"
        )
        assert 0 == facts_of(folder / "toolspan.duckdb").spans

        out = toolspan("calls", "--explain", "0000000000000004").out

        assert "outcome    error, business_rule SOLD_OUT" in out
        assert not [line for line in out.splitlines() if line.startswith(("span ", "because "))]

    def test_an_ambiguous_id_is_asked_back(self, toolspan: Cli, folder: Path) -> None:
        """
        With a trace in front, it is one.
        """
        other = [build.run_span(1, trace_id="0a" * 16), build.tool_span(2, "pay", parent=1, trace_id="0a" * 16)]
        toolspan("ingest", scene(folder), write(folder / "other.jsonl", other))

        several = toolspan("calls", "--explain", "00000000")
        both = toolspan("calls", "--explain", "0000000000000002")
        one = toolspan("calls", "--explain", "0a0a/0000000000000002")

        assert "5 calls have a span id that begins with 00000000; give more digits." in several.err
        assert "2 calls have the span id 0000000000000002; say whose:" in both.err
        assert one.out.startswith("call       pay, span 0000000000000002")


class TestBusy:
    def test_is_one_line_that_says_who(self, toolspan: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        After the time that a command waits.
        """
        monkeypatch.setattr(_stores, "TIMEOUT_S", 0.0)
        toolspan("ingest", scene(folder))

        with locked(folder / "toolspan.duckdb", exclusive=True, purpose="a backup", timeout_s=0):
            result = toolspan("report")

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))
        assert f"toolspan: toolspan.duckdb is in use by a backup (pid {os.getpid()})" in result.err


class TestInterrupt:
    @pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
    def test_ends_with_130_and_no_traceback(
        self, toolspan: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException
    ) -> None:
        """
        Ctrl-C while the database counts, which makes an error of its own of it.
        """
        toolspan("ingest", scene(folder))

        def interrupted(*_: object, **__: object) -> None:
            raise raised

        monkeypatch.setattr("toolspan.report_answers.ask_report", interrupted)

        assert (130, "", "") == toolspan("report")


class TestPatientOutput:
    def test_goes_on_while_nobody_reads(self) -> None:
        """
        More than a pipe holds is taken without a reader, and passed on in order once there is one.
        """
        reader, writer = os.pipe()
        lines = [f"line {number:06}, é\n" for number in range(40_000)]
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            output = PatientOutput(stream, patience_s=0)

            for line in lines:
                output.write(line)

            with subprocess.Popen(
                [sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())"],
                stdin=reader,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            ) as process:
                os.close(reader)
                output.finish()
                stream.close()
                came, _ = process.communicate(timeout=60)
        assert "".join(lines) == came

    def test_of_a_file_writes_at_once(self, tmp_path: Path) -> None:
        """
        A disk keeps nobody waiting for a person.
        """
        with (tmp_path / "out").open("w+") as stream:
            PatientOutput(stream, patience_s=0).write("x\n")

            assert 2 == stream.tell()

    def test_that_nobody_reads_any_more_says_so(self) -> None:
        """
        As any pipe does: `toolspan calls | head` ends quietly.
        """
        reader, writer = os.pipe()
        with os.fdopen(writer, "w") as stream:
            output = PatientOutput(stream)
            os.close(reader)

            with pytest.raises(BrokenPipeError):
                output.write("x" * 100_000)
