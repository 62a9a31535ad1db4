"""
`toolspan doctor`: read as somebody does who installed toolspan and sees nothing.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, call_of, scene, write
from tests.test_otlp import protobuf

EMPTY = Path(__file__).parent / "data" / "corpus" / "empty"


@pytest.fixture
def toolspan(capsys: pytest.CaptureFixture[str]) -> Cli:
    """
    The command line.
    """
    return Cli(capsys)


def document(toolspan: Cli, *args: str | Path) -> Any:
    """
    What `doctor --format json` says.
    """
    result = toolspan("doctor", *args, "--format", "json")

    assert (0, "") == (result.status, result.err)
    return json.loads(result.out)


def keys(found: Mapping[str, Any]) -> list[str]:
    return [finding["key"] for finding in found["findings"]]


class TestRealFrameworksWithoutToolSpans:
    @pytest.mark.parametrize(
        ("pair", "scope", "seen", "remedy"),
        [
            (
                "crewai__traceloop",
                "opentelemetry.instrumentation.crewai.instrumentation",
                "57 agent runs",
                "openinference-instrumentation-crewai",
            ),
            (
                "haystack__openinference",
                "openinference.instrumentation.haystack",
                "55 model calls, 23 other. Models asked for tools in 35 answers",
                "opentelemetry-haystack",
            ),
        ],
    )
    def test_are_told_which_spans_there_are_and_what_to_use_instead(
        self, toolspan: Cli, pair: str, scope: str, seen: str, remedy: str
    ) -> None:
        """The report is empty; doctor says why in its first line."""
        result = toolspan("doctor", EMPTY / f"{pair}.otlp.jsonl.gz")

        text = " ".join(result.out.split())
        assert (0, "") == (result.status, result.err)
        assert text.startswith(f"No tool calls found. {scope} traces no tools.")
        assert seen in text
        assert remedy in text


class TestNothingToRead:
    @pytest.mark.parametrize(
        ("content", "key", "says"),
        [
            (b"", "empty", "The input holds no spans"),
            (b'{"resourceSpans": []}\n', "empty", "1 request, and no span in any"),
            (b'{"resourceLogs": []}\n', "rejected", "holds OTLP logs, not spans"),
            (b"hello\n", "rejected", "is text, but no OTLP"),
        ],
    )
    def test_is_explained(self, toolspan: Cli, tmp_path: Path, content: bytes, key: str, says: str) -> None:
        """An empty file, a request without spans, another signal, no OTLP at all."""
        path = tmp_path / "spans.jsonl"
        path.write_bytes(content)

        found = document(toolspan, path)

        assert ([key], "blocks") == (keys(found), found["findings"][0]["severity"])
        assert says in json.dumps(found["findings"][0])

    def test_a_span_that_is_rejected_is_explained(self, toolspan: Cli, tmp_path: Path) -> None:
        """With the first of what was wrong, and where; what else could be read counts."""
        broken = {**build.tool_span(9), "traceId": "abcd"}
        path = write(tmp_path / "spans.jsonl", [broken, build.run_span(1), call_of(2, "book", '{"a": 1}')])

        [finding] = document(toolspan, path)["findings"]

        assert ("rejected", "weakens") == (finding["key"], finding["severity"])
        assert "spans.jsonl line 1: 1 span rejected: trace id is not 16 bytes, or zero." in finding["seen"]
        assert " 32 " not in finding["seen"]
        assert "16 bytes" in finding["change"][0]

    def test_a_file_that_cannot_be_opened_is_an_error(self, toolspan: Cli, tmp_path: Path) -> None:
        """One line, exit 2."""
        result = toolspan("doctor", tmp_path / "nothing.jsonl")

        assert (2, "", 1) == (result.status, result.out, result.err.count("\n"))


class TestFilters:
    @pytest.mark.parametrize(
        ("arguments", "title", "seen"),
        [
            (["--tool", "boook"], "--tool boook leaves none", "There are: 'book', 'search_flights'."),
            (["--agent", "nobody"], "--agent nobody leaves none", "There are: 'trip_desk'."),
            (["--service", "x"], "--service x leaves none", "There are: 'travel-agent'."),
            (["--since", "2030-01-01"], "The window leaves none", "Tasks ended from 2026-05-04T13:06:41Z to"),
        ],
    )
    def test_that_leave_nothing_are_named(
        self, toolspan: Cli, tmp_path: Path, arguments: list[str], title: str, seen: str
    ) -> None:
        """With what there is instead."""
        found = document(toolspan, scene(tmp_path), *arguments)

        assert "filtered" == keys(found)[0]
        assert found["verdict"] == f"None of the 4 calls is shown. {title}."
        assert found["findings"][0]["seen"].startswith(seen)

    def test_that_leave_something_are_no_finding(self, toolspan: Cli, tmp_path: Path) -> None:
        """Then they are not why anything is missing."""
        assert [] == keys(document(toolspan, scene(tmp_path), "--tool", "book", "--agent", "trip_desk"))

    def test_that_leave_nothing_only_together_are_named_together(self, toolspan: Cli, tmp_path: Path) -> None:
        """Each of them has calls."""
        one = [build.run_span(1), call_of(2, "a", "{}")]
        other = [
            build.run_span(3, {"gen_ai.agent.name": "desk"}, trace_id="11" * 16),
            build.tool_span(4, "b", parent=3, trace_id="11" * 16),
        ]
        path = write(tmp_path / "spans.jsonl", [*one, *other])

        found = document(toolspan, path, "--tool", "a", "--agent", "desk")

        assert "The combination of filters leaves none" == found["findings"][0]["title"]


@pytest.mark.parametrize("is_protobuf", [False, True], ids=["json", "protobuf"])
def test_what_stands_beside_the_spans_is_read_in_both_encodings(
    toolspan: Cli, tmp_path: Path, is_protobuf: bool
) -> None:
    """Sampling thresholds, lost attributes and ends before starts are no part of what is decoded."""
    spans = [
        {**build.run_span(1, end_ms=100), "traceState": "a=b,ot=rv:1;th:c", "droppedAttributesCount": 2},
        {**call_of(2, "book", '{"a": 1}'), "traceState": "ot=th:0", "endTimeUnixNano": str(build.START_NS - 5)},
    ]
    line = build.json_line(spans)
    path = tmp_path / "spans"
    path.write_bytes(protobuf(line) if is_protobuf else line)

    found = document(toolspan, path)

    assert ["sampling", "dropped_attributes", "clock"] == keys(found)
    assert found["findings"][0]["seen"] == "tracestate ot=th:c, 25 % of traces kept (1)."
    assert "that end before they start: 1." in found["findings"][2]["seen"]


def test_a_policy_that_tail_sampling_recorded_is_read(toolspan: Cli, tmp_path: Path) -> None:
    """The Collector writes it on the scope."""
    request = build.request([build.run_span(1), call_of(2, "book", '{"a": 1}')])
    request["resourceSpans"][0]["scopeSpans"][0]["scope"]["attributes"] = build.attributes(  # type: ignore[index]  # JSON
        {"tailsampling.policy": "errors"}
    )
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps(request))

    assert ["sampling"] == keys(document(toolspan, path))


def test_text_that_is_no_utf8_costs_a_margin_and_no_span(toolspan: Cli, tmp_path: Path) -> None:
    """The decoder bears it; the stock parser, which reads the margins, does not."""
    line = build.json_line([build.run_span(1, {"x": "abcdef"}), call_of(2, "book", '{"a": 1}')])
    path = tmp_path / "spans.pb"
    path.write_bytes(protobuf(line).replace(b"abcdef", b"abc\xff\xfe\xfd"))

    found = document(toolspan, path)

    assert ("1 call of 1 tool in 1 task; nothing weakens the numbers.", 2) == (found["verdict"], found["spans"])


def test_repeats_and_conflicts_are_told_apart(toolspan: Cli, tmp_path: Path) -> None:
    """A repeat changes nothing, other content is lost."""
    run, call = build.run_span(1), call_of(2, "book", '{"a": 1}')
    path = write(tmp_path / "spans.jsonl", [run, call, run, {**call, "name": "execute_tool other", "kind": 3}])
    other = write(tmp_path / "more.jsonl", [call_of(2, "book", '{"a": 2}')])

    again, conflict = document(toolspan, path), document(toolspan, path, other)

    assert [("repeats", "note")] == [(finding["key"], finding["severity"]) for finding in again["findings"]]
    assert "2 came again the same, 1 with other content." == conflict["findings"][0]["seen"]
    assert "weakens" == conflict["findings"][0]["severity"]


def test_times_in_seconds_are_noticed(toolspan: Cli, tmp_path: Path) -> None:
    """They are valid nanoseconds, in the first seconds of 1970."""
    spans = [
        {**span, "startTimeUnixNano": "1777900000", "endTimeUnixNano": "1777900001"}
        for span in (build.run_span(1), call_of(2, "book", '{"a": 1}'))
    ]
    path = write(tmp_path / "spans.jsonl", spans)

    [finding] = document(toolspan, path)["findings"]

    assert ("units", "The first span starts at 1970-01-01") == (finding["key"], finding["seen"][:35])


class TestTable:
    def test_says_the_answer_first_then_the_remedies_then_the_census(self, toolspan: Cli, tmp_path: Path) -> None:
        """In a pipe it is wrapped at 80 columns all the same, but for names."""
        path = write(tmp_path / "spans.jsonl", [build.tool_span(1, "book"), build.tool_span(2, "book", status=2)])

        result = toolspan("doctor", path)

        order = ["2 calls of 1 tool", "! Tool spans have nothing above them", "change", "checked", "counted as"]
        places = [result.out.index(text) for text in order]
        assert places == sorted(places)
        assert max(map(len, result.out.splitlines())) <= 80
        assert "\x1b" not in result.out

    def test_shows_what_was_checked_where_nothing_is_wrong(self, toolspan: Cli, tmp_path: Path) -> None:
        """No finding is no proof that somebody looked."""
        result = toolspan("doctor", scene(tmp_path))

        assert (
            "checked arguments known in 4 of 4 calls, a result recorded on 1 of 1 tool span that ended ok,"
            " the span found of 1 of 1 task, no sign of sampling, clocks agree." in " ".join(result.out.split())
        )

    @pytest.mark.parametrize("scope", ["tests", "semantic_kernel.functions", "x" * 200])
    def test_no_line_of_a_pipe_is_longer_than_eighty(self, toolspan: Cli, tmp_path: Path, scope: str) -> None:
        """Neither the census nor a setting's name, which stays whole as long as it can."""
        spans = [build.tool_span(1, "t" * 90), build.span(2, {"tool.name": "y" * 300}, name="running tool")]
        path = tmp_path / "spans.jsonl"
        path.write_bytes(build.json_line(spans, scope=scope))

        lines = toolspan("doctor", path).out.splitlines()

        assert max(map(len, lines)) <= 80
        if scope.startswith("semantic"):
            assert any("SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true" in it for it in lines)

    @pytest.mark.parametrize(("silent", "said"), [(0, False), (1, True), (2, False)])
    def test_says_of_a_share_that_is_no_finding_from_when_it_is_one(
        self, toolspan: Cli, tmp_path: Path, silent: int, said: bool
    ) -> None:
        """One failure of ten without a class is below the threshold, two are a finding."""
        spans = [build.run_span(1, end_ms=1000)]
        for place in range(10):
            message = "" if place < silent else "503 Service Unavailable"
            spans.append(build.tool_span(10 + place, "search", parent=1, status=2, message=message))

        out = " ".join(toolspan("doctor", write(tmp_path / "spans.jsonl", spans)).out.split())

        told = (
            "10 % of all failures are unclassified, most of them search's, below the 20 % that doctor calls a finding."
        )
        assert said == (told in out)
        assert (silent == 2) == ("Failures name no class" in out)

    def test_a_name_cannot_act_on_the_terminal(self, toolspan: Cli, tmp_path: Path) -> None:
        """Names of spans and scopes come from anywhere."""
        path = tmp_path / "spans.jsonl"
        path.write_bytes(build.json_line([build.span(1, name="running tool \x1b[2J\u202e")], scope="a\x1b]0;x\x07"))

        result = toolspan("doctor", path)

        assert not set("\x1b\x07\u202e") & set(result.out)


def test_json_has_the_same_and_the_numbers(toolspan: Cli, tmp_path: Path) -> None:
    """For programs: findings by key, the census by scope, convention and kind."""
    found = document(toolspan, scene(tmp_path))

    assert ["verdict", "spans", "traces", "tools", "checked", "findings", "census"] == list(found)
    assert (5, 1, ["book", "search_flights"]) == (found["spans"], found["traces"], found["tools"])
    assert {
        "scope": "tests",
        "convention": "GenAI",
        "kind": "tool call",
        "spans": 4,
        "example": "execute_tool search_flights",
    } in found["census"]
