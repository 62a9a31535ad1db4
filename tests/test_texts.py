"""
The texts of failures are read as clients print them, and numbers in prose are not.

`error_texts.jsonl` holds texts of real clients. Those of source `run` were printed by the client itself (against a
local server, mostly), those of source `documented` are from its documentation, source or issues.
`silent_texts.jsonl` holds texts that look alike and say nothing.
"""

import json
from pathlib import Path

import pytest

from toolspan.evidence.exceptions import name_exception
from toolspan.evidence.phrases import words_of
from toolspan.evidence.statuses import Named
from toolspan.evidence.texts import read_form, read_text
from toolspan.taxonomy import TABLE, Rule

DATA = Path(__file__).parent / "data"


def load(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


PRINTED = load("error_texts.jsonl")
SILENT = [row["text"] for row in load("silent_texts.jsonl")]
EXCEPTIONS = TABLE["exception"]

TRACE = """Traceback (most recent call last):
  File "/app/rooms.py", line 404, in book
    raise HTTPException(503, "503 Service Unavailable")
    ^^^^^^^^^
"""
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


class TestForms:
    @pytest.mark.parametrize("row", PRINTED, ids=[row["client"] for row in PRINTED])
    def test_what_a_client_prints_names_its_class(self, row: dict[str, str]) -> None:
        """The form is known, whatever is around it."""
        assert Named(row["class"], row["code"], row["evidence"]) == read_text(row["text"])

    @pytest.mark.parametrize("text", SILENT)
    def test_what_looks_alike_says_nothing(self, text: str) -> None:
        """A number in prose, a word of a name, a type that is only mentioned."""
        assert read_text(text) is None

    @pytest.mark.parametrize(
        ("text", "evidence"),
        [
            pytest.param("502 Bad Gateway: upstream said 404 Not Found", "http:502", id="http"),
            pytest.param(
                'status = StatusCode.INTERNAL\n\tdetails = "404 Not Found"', "grpc:INTERNAL", id="grpc before http"
            ),
            pytest.param("HTTP 404 of rpc error: code = Internal desc = x", "http:404", id="http before grpc"),
            pytest.param("StatusCode.UNKNOWN: 404 Not Found", "http:404", id="behind what names nothing"),
            pytest.param("HTTP 200, then HTTP 503", "http:503", id="behind a success"),
            pytest.param("read ECONNRESET, write EPIPE", "errno:ECONNRESET", id="errno"),
        ],
    )
    def test_the_first_form_decides(self, text: str, evidence: str) -> None:
        """What follows quotes or explains."""
        named = read_text(text)

        assert evidence == (named and named.evidence)

    @pytest.mark.parametrize(
        ("text", "evidence"),
        [
            pytest.param("TimeoutError: 503 Service Unavailable", "http:503", id="code before type"),
            pytest.param("connection refused\nTimeoutError: x", "exception:TimeoutError", id="type before phrase"),
            pytest.param("KeyError: 'x': connect ECONNREFUSED", "errno:ECONNREFUSED", id="phrase before generic type"),
            pytest.param("KeyError: 'x'\nTimeoutError: x", "exception:TimeoutError", id="type before generic type"),
        ],
    )
    def test_codes_come_before_types_before_phrases_before_generic_types(self, text: str, evidence: str) -> None:
        """Stronger evidence wins wherever it stands."""
        named = read_text(text)

        assert evidence == (named and named.evidence)


class TestTypes:
    @pytest.mark.parametrize("rule", EXCEPTIONS, ids=[rule.value for rule in EXCEPTIONS])
    @pytest.mark.parametrize("form", ["{}: boom", "{}('boom')", "Error executing tool book: {}('boom')"])
    def test_each_listed_type_is_read_in_both_forms(self, rule: Rule, form: str) -> None:
        """`Type: message` and `Type('message')`, with the full name and with the last component."""
        named = read_text(form.format(rule.value))
        last = read_text(form.format(rule.value.rpartition(".")[2]))

        assert {(rule.error_class, rule.code)} == {
            (each and each.error_class, each and each.code) for each in (named, last)
        }

    @pytest.mark.parametrize("rule", [rule for rule in EXCEPTIONS if rule.is_generic], ids=lambda rule: str(rule.value))
    def test_a_generic_type_is_no_form_and_needs_a_message(self, rule: Rule) -> None:
        """It gives way to every form, and alone it says too little."""
        texts = (f"{rule.value}: boom", f"{rule.value}: ", rule.value, f"{rule.value}()")

        assert [(True, None), (False, None), (False, None), (False, None)] == [
            (read_text(text) is not None, read_form(text)) for text in texts
        ]

    def test_a_form_beside_a_generic_type_is_a_form(self) -> None:
        """ "409 Conflict" in a ValueError is a conflict."""
        assert read_text("409 Conflict") == read_form("ValueError: 409 Conflict")

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "such as TimeoutError: retry",
                "raise TimeoutError('x')",
                "class TimeoutError: a wait",
                "MyTimeoutError: x",
            ),
            *("see TimeoutError", "TimeoutError was handled", "x.TimeoutErrors: 3", "    TimeoutError: in a docstring"),
            *("Retries: 3\nTimeout: 30", "Timeout: 30 s", "Retries: 3\nConflict: none", "timeout: 30"),
        ],
    )
    def test_a_type_that_is_only_mentioned_names_nothing(self, text: str) -> None:
        """Nothing was thrown there."""
        assert read_text(text) is None


class TestTraces:
    @pytest.mark.parametrize(
        ("text", "evidence"),
        [
            pytest.param(f"{TRACE}httpx.ReadTimeout: late\n", "exception:httpx.ReadTimeout", id="last line"),
            pytest.param(f"{TRACE}RuntimeError: no\n", None, id="source lines are no evidence"),
            pytest.param(
                f"{TRACE}TimeoutError: late\n{CONTEXT}{TRACE}PermissionError: no\n",
                "exception:PermissionError",
                id="what was handled is no evidence",
            ),
            pytest.param(
                f"{TRACE}TimeoutError: late\n{CONTEXT}{TRACE}RuntimeError: no\n",
                None,
                id="nor where the last is unknown",
            ),
            pytest.param(
                f"{TRACE}TimeoutError: late\n{DIRECT}{TRACE}ToolError: no\n",
                "exception:TimeoutError",
                id="direct cause",
            ),
            pytest.param(
                f"Error: RuntimeError\n{TRACE}KeyError: 'x'\n{DIRECT}{TRACE}ConnectError: HTTP 503\n",
                "http:503",
                id="last exception before its cause",
            ),
        ],
    )
    def test_of_a_trace_the_last_exception_is_read(self, text: str, evidence: str | None) -> None:
        """Then its direct causes."""
        named = read_text(text)

        assert evidence == (named and named.evidence)

    def test_a_trace_inside_json_is_read_as_well(self) -> None:
        """Results hold traces with escaped line ends."""
        named = read_text(json.dumps({"error": f"{TRACE}httpx.ReadTimeout: late\n"}))

        assert name_exception("httpx.ReadTimeout") == (named, False)


class TestLongTexts:
    def test_a_form_at_the_beginning_is_found(self) -> None:
        """Most errors begin with what they are."""
        named = read_text("HTTP 503 " + "x" * 1_000_000)

        assert "http:503" == (named and named.evidence)

    def test_the_last_line_of_a_long_trace_is_found(self) -> None:
        """Traces end with what happened."""
        frame = '  File "/app/rooms.py", line 404, in book\n    raise HTTPException(503, "503 Service Unavailable")\n'
        named = read_text(f"Traceback (most recent call last):\n{frame * 10_000}httpx.ReadTimeout: late\n")

        assert "exception:httpx.ReadTimeout" == (named and named.evidence)

    @pytest.mark.parametrize("head_chars", range(6_130, 6_150))
    def test_a_cut_number_is_no_status(self, head_chars: int) -> None:
        """Where the middle is left out, nothing is put together."""
        text = "x " * (head_chars // 2) + "HTTP 50312 " + "y " * 5_000

        assert read_text(text) is None


class TestPhrases:
    @pytest.mark.parametrize(
        ("expression", "words"),
        [
            (r"missing \d+ required (positional|keyword-only) argument|got it", (" required ", "got it")),
            (r"\b[Cc]onnection refused\b(?! \w)", ("onnection refused",)),
            (r"\d+ validation errors? for ", (" validation error",)),
            (r"slots{2} taken+ away\?", (" taken",)),
            (r"keyword\-only\.", ("keyword-only.",)),
            (r"a(b|c)d", ()),
            (r".*", ()),
            (r"(?i)Slot Taken", ()),
            (r"[^]a]{3}", ()),
        ],
    )
    def test_words_that_every_match_contains_are_taken_from_the_expression(
        self, expression: str, words: tuple[str, ...]
    ) -> None:
        """Where it promises none, it is always searched."""
        assert words == words_of(expression)
