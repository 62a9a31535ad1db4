"""
`toolspan calls --explain`: the chain of evidence of one call, span by span.
"""

import json
import os
import sys
import threading
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import BAD_DATE, Cli, call_of, scene, write

CASES = sorted((Path(__file__).parent / "data" / "cases").glob("*.otlp.jsonl"))
UNAVAILABLE = "Server error '503 Service Unavailable' for url 'https://api.example.test/x'"


@pytest.fixture
def toolspan(capsys: pytest.CaptureFixture[str]) -> Cli:
    """
    The command line.
    """
    return Cli(capsys)


def explained(toolspan: Cli, path: Path, span: int) -> list[str]:
    """
    The lines about the call with that span id.
    """
    result = toolspan("calls", path, "--explain", f"{span:016x}")

    assert (0, "") == (result.status, result.err)
    return result.out.splitlines()


def decided(lines: list[str]) -> list[str]:
    """
    The evidence that is marked as having decided.
    """
    return [" ".join(line[4:].split()) for line in lines if line.startswith("  > ")]


class TestChain:
    def test_is_whole_and_marks_what_decided(self, toolspan: Cli, tmp_path: Path) -> None:
        """The envelope names the class; the exception and the status that say less are shown as well."""
        span = call_of(2, "book", '{"date": "May"}', BAD_DATE)
        events = [build.event(exception_type="RuntimeError", exception_message=UNAVAILABLE)]
        path = write(tmp_path / "spans.jsonl", [build.run_span(1), {**span, "status": {"code": 2}, "events": events}])

        lines = explained(toolspan, path, 2)

        start = lines.index('span 0000000000000002 "execute_tool book" of tests, outermost: error')
        assert [
            "  > 2 what it returned       envelope: validation DATE_FORMAT",
            "    5 exception              exception:RuntimeError: names no class",
            "    6 text                   http:503: transient UNAVAILABLE",
            "    8 span status            status: names no class",
        ] == lines[start + 1 :]
        assert "because    it failed, and > is the first that names a class, from the outermost span inwards" in lines

    def test_goes_inwards_where_the_outermost_span_knows_less(self, toolspan: Cli, tmp_path: Path) -> None:
        """A call traced twice has a class if any of its spans names one."""
        path = write(
            tmp_path / "spans.jsonl",
            [
                build.run_span(1),
                build.tool_span(2, "book", {"error.type": "tool_error"}, parent=1, status=2),
                build.tool_span(3, "book", parent=2, status=2, message=UNAVAILABLE),
            ],
        )

        lines = explained(toolspan, path, 2)

        assert ["6 text http:503: transient UNAVAILABLE"] == decided(lines)
        assert 'span 0000000000000003 "execute_tool book" of tests, inner 1: error' in lines

    def test_stops_at_a_span_whose_result_says_ok(self, toolspan: Cli, tmp_path: Path) -> None:
        """What failed further in was an attempt."""
        path = write(
            tmp_path / "spans.jsonl",
            [
                build.run_span(1),
                call_of(2, "book", "{}", '{"ok": true}'),
                build.tool_span(3, "book", parent=2, status=2, message=UNAVAILABLE),
            ],
        )

        lines = explained(toolspan, path, 2)

        assert "because    its result says ok: true" in lines
        assert any(line.endswith("inner 1: error; not asked, as a span further out says ok: true") for line in lines)
        assert [] == decided(lines)

    def test_ends_with_the_last_failed_request_below(self, toolspan: Cli, tmp_path: Path) -> None:
        """It is asked last, and where it decides it is marked."""
        requests = [
            build.span(
                span_id,
                {"http.response.status_code": status},
                parent=2,
                kind=3,
                name="POST",
                start_ms=start,
                end_ms=start + 1,
            )
            for span_id, status, start in ((4, 409, 5), (3, 429, 1))
        ]
        tool = build.tool_span(2, "book", parent=1, status=2)
        path = write(tmp_path / "spans.jsonl", [build.run_span(1), tool, *requests])

        lines = explained(toolspan, path, 2)

        assert ["7 HTTP request below http:409: business_rule CONFLICT"] == decided(lines)
        assert any("http:429" in line for line in lines)
        assert any(line.startswith("because") and "last request below it" in line for line in lines)

    def test_shows_each_execution_of_a_call(self, toolspan: Cli, tmp_path: Path) -> None:
        """A framework's own retry is one call; its last execution counts."""
        values = {"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"a": 1}'}
        path = write(
            tmp_path / "spans.jsonl",
            [
                build.run_span(1),
                build.tool_span(2, "book", values, parent=1, status=2, message=UNAVAILABLE),
                build.tool_span(3, "book", values, parent=1, start_ms=20, end_ms=30, status=2, message="409 Conflict"),
            ],
        )

        lines = explained(toolspan, path, 2)

        assert ["execution 1 of 2", "execution 2 of 2, the last to end, which counts"] == [
            line for line in lines if line.startswith("execution")
        ]
        assert ["6 text http:409: business_rule CONFLICT"] == decided(lines)

    @pytest.mark.parametrize(
        ("values", "status", "events", "reason"),
        [
            ({}, 0, [], "nothing says that it failed"),
            ({}, 2, [], "it failed, and nothing names a class"),
            ({"error.type": "CancelledError"}, 2, [], "a span of it ended cancelled"),
            ({"pydantic_ai.tool.deferral.name": "CallDeferred"}, 0, [], "a span of it ended deferred"),
            (
                {},
                2,
                [build.event(exception_type="ToolRetryError", exception_stacktrace="ToolRetryError: try x")],
                "a model-retry exception, of which nothing names another cause, is validation",
            ),
        ],
    )
    def test_says_why_where_nothing_names_a_class(
        self,
        toolspan: Cli,
        tmp_path: Path,
        values: dict[str, object],
        status: int,
        events: list[dict[str, object]],
        reason: str,
    ) -> None:
        """Every outcome has its reason, and no evidence is marked."""
        span = build.tool_span(2, "book", values, parent=1, status=status, events=events)
        path = write(tmp_path / "spans.jsonl", [build.run_span(1), span])

        lines = explained(toolspan, path, 2)

        assert f"because    {reason}" in lines
        assert [] == decided(lines)

    def test_shows_a_rule_of_the_user_first(self, toolspan: Cli, tmp_path: Path) -> None:
        """With the line of the file it stands in."""
        config = tmp_path / "toolspan.toml"
        config.write_text('[[rule]]\nhttp = 503\nclass = "fatal"\ncode = "DECOMMISSIONED"\n')
        tool = build.tool_span(2, "book", {"http.response.status_code": 503}, parent=1, status=2)
        path = write(tmp_path / "spans.jsonl", [build.run_span(1), tool])

        result = toolspan("calls", path, "--explain", f"{2:016x}", "--config", config)

        assert ["0 rule of yours rule:1: fatal DECOMMISSIONED"] == decided(result.out.splitlines())


def test_the_first_delivery_of_a_span_is_the_one_that_is_shown(toolspan: Cli, tmp_path: Path) -> None:
    """It is the one that counts."""
    tool = build.tool_span(2, "book", parent=1, status=2, message=UNAVAILABLE)
    again = build.tool_span(2, "book", parent=1, status=2, message="409 Conflict")
    path = write(tmp_path / "spans.jsonl", [build.run_span(1), tool, again])

    result = toolspan("calls", path, "--explain", f"{2:016x}")

    assert ["6 text http:503: transient UNAVAILABLE"] == decided(result.out.splitlines())


def test_a_pipe_cannot_be_read_again(toolspan: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rows say is shown, and how to get the rest."""
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(scene(tmp_path).read_bytes())))

    result = toolspan("calls", "-", "--explain", f"{2:016x}")

    assert (0, "") == (result.status, result.err)
    assert "outcome    error, validation DATE_FORMAT" in result.out
    assert result.out.rstrip().endswith("give a file instead of a pipe.")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only some systems have named pipes")
def test_a_named_pipe_is_read_once(toolspan: Cli, tmp_path: Path) -> None:
    """Opening it again would wait for a writer that has gone."""
    content = scene(tmp_path).read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()

    result = toolspan("calls", pipe, "--explain", f"{2:016x}")

    assert (0, "") == (result.status, result.err)
    assert result.out.rstrip().endswith("give a file instead of a pipe.")


def test_an_unknown_span_is_one_line(toolspan: Cli, tmp_path: Path) -> None:
    """Exit 2, and where to find the ids."""
    result = toolspan("calls", scene(tmp_path), "--explain", "00000000000000ff")

    assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))


@pytest.mark.parametrize("path", CASES, ids=[path.name.removesuffix(".otlp.jsonl") for path in CASES])
def test_what_is_marked_is_what_the_record_says(toolspan: Cli, path: Path) -> None:
    """The chain is read anew, span by span; it must come to the class that the rows came to."""
    records = [json.loads(line) for line in toolspan("calls", path).out.splitlines()]
    for record in records[:6]:
        lines = toolspan("calls", path, "--explain", record["span_id"]).out.splitlines()

        is_named = record["outcome"] == "error" and record["class"] != "unclassified"
        expected = [f"{record['class']} {record['code']}"] if is_named and record["code"] != "MODEL_RETRY" else []
        assert expected == [line.rpartition(": ")[2] for line in decided(lines)]
