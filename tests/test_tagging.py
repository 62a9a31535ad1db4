"""
The tags on what leaves the process: of every tool span, and in no one's way who counts.
"""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from tests.test_cases import DATA
from tests.tracing import BOOK, decoded, recogniser, sdk_span, tagger
from toolspan.derive import derive
from toolspan.framing import Rejection, read_payloads
from toolspan.instrumentation.followups import Answer
from toolspan.instrumentation.tagging import tags_of
from toolspan.otlp_json import read_json_spans
from toolspan.records import CallFacts, Judgement, SpanFacts, SpanView

RECORDED = sorted((DATA / "corpus").glob("*.otlp.jsonl.gz"))
FAILED = Judgement("error", "transient", "UNAVAILABLE", "http:503", retry_after_ms=1500)


def recorded_spans(path: Path) -> list[ReadableSpan]:
    """
    The spans of a recording, as the SDK would have them.
    """
    payloads = (payload for payload in read_payloads(str(path)) if not isinstance(payload, Rejection))
    return [sdk_span(seen) for payload in payloads for seen in read_json_spans(payload.data)]


class TestTags:
    """
    What is written.
    """

    def test_a_failure_is_tagged_with_all_that_is_known_of_it(self) -> None:
        """Class, code, how long to wait, the arguments' hash, and OpenTelemetry's own word for an error."""
        tags = tags_of(CallFacts("book", FAILED, args_hash="0f"), BOOK)

        assert {
            "toolspan.tagged": "processor",
            "toolspan.call.outcome": "error",
            "toolspan.call.attempts": 1,
            "toolspan.call.args_hash": "0f",
            "toolspan.error.class": "transient",
            "toolspan.error.code": "UNAVAILABLE",
            "toolspan.error.retry_after_ms": 1500,
            "error.type": "UNAVAILABLE",
        } == tags

    def test_a_success_has_no_error_type(self) -> None:
        """Nor has one that local attempts led to, or that failed within: those tell of themselves."""
        latent = Judgement("ok", "transient", "UNAVAILABLE", "http:503")

        tags = tags_of(CallFacts("book", latent, attempts=3), BOOK)

        assert {
            "toolspan.tagged": "processor",
            "toolspan.call.outcome": "ok",
            "toolspan.call.attempts": 3,
        } == tags

    def test_what_names_no_class_is_unclassified(self) -> None:
        """Nothing is guessed, and the span says so."""
        tags = tags_of(CallFacts("book", Judgement("error", evidence="status")), BOOK)

        assert ("unclassified", "UNCLASSIFIED") == (tags["toolspan.error.class"], tags["toolspan.error.code"])

    def test_a_model_retry_is_validation(self) -> None:
        """The exception by which a tool asks the model for other arguments."""
        tags = tags_of(CallFacts("book", Judgement("error", evidence="exception", model_retry=True)), BOOK)

        assert ("validation", "MODEL_RETRY") == (tags["toolspan.error.class"], tags["toolspan.error.code"])

    @pytest.mark.parametrize(
        ("outcome", "code", "expected"),
        [("cancelled", "REJECTED", "REJECTED"), ("cancelled", None, None), ("deferred", None, None)],
    )
    def test_only_a_rejection_has_a_code_without_an_error(
        self, outcome: str, code: str | None, expected: str | None
    ) -> None:
        """What was cancelled or waits is no failure."""
        tags = tags_of(CallFacts("book", Judgement(outcome, code=code)), BOOK)

        assert (outcome, expected, None) == (
            tags["toolspan.call.outcome"],
            tags.get("toolspan.error.code"),
            tags.get("error.type"),
        )

    def test_an_error_type_that_is_there_stays(self) -> None:
        """It is the instrumentation's."""
        tags = tags_of(CallFacts("book", FAILED), {**BOOK, "error.type": "503"})

        assert "error.type" not in tags

    def test_the_tool_is_named_where_the_convention_has_another_attribute_for_it(self) -> None:
        """Whoever groups by tool needs to know one name only."""
        tags = tags_of(CallFacts("book", Judgement()), {"openinference.span.kind": "TOOL", "tool.name": "book"})

        assert "book" == tags["gen_ai.tool.name"]

    def test_what_a_tool_states_itself_is_not_touched(self) -> None:
        """Nor marked as derived: it is evidence. What it left out is added."""
        stated = {**BOOK, "toolspan.call.outcome": "error", "toolspan.error.code": "UNAVAILABLE"}

        tags = tags_of(CallFacts("book", FAILED, args_hash="0f"), stated)

        assert {"error.type": "UNAVAILABLE"} == tags

    def test_an_answer_names_the_failure_it_answers(self) -> None:
        """As the span id that a trace viewer shows."""
        tags = tags_of(CallFacts("book", Judgement()), BOOK, Answer(bytes(7) + b"\x02", "retry"))

        assert ("0000000000000002", "retry") == (tags["toolspan.call.follows"], tags["toolspan.call.follow_up"])


class TestRecordings:
    """
    Real spans of real frameworks.
    """

    @pytest.mark.parametrize("path", RECORDED, ids=[path.name.removesuffix(".otlp.jsonl.gz") for path in RECORDED])
    def test_a_live_span_is_read_as_a_collector_reads_it(self, path: Path) -> None:
        """The facts that a process finds in its own spans are those found in what it exports."""
        spans = recorded_spans(path)
        reader = tagger()

        found: list[SpanFacts] = []
        for span in spans:
            _, facts = reader.see(span)
            assert facts is not None
            read = facts if isinstance(facts, SpanFacts) else reader.facts_of(facts)
            assert read is not None
            found.append(read)

        assert sorted(decoded(spans)) == sorted(found)

    @pytest.mark.parametrize("path", RECORDED, ids=[path.name.removesuffix(".otlp.jsonl.gz") for path in RECORDED])
    def test_tags_change_nothing_of_what_a_collector_finds(self, path: Path) -> None:
        """Agent and collector cannot disagree: calls, classes, evidence and links are those without tags."""
        spans = recorded_spans(path)
        reader = tagger()
        tagged = [reader.tag(span) for span in spans]

        assert derive(decoded(spans)) == derive(decoded(tagged))


def test_a_derived_attempt_hides_no_count_of_the_tool() -> None:
    """A framework's span around the tool's own does not count; the tool does."""
    plain = SpanView("execute_tool book", 1, "", 0, "", {**BOOK, "toolspan.call.attempts": 1})
    derived = plain._replace(attributes={**plain.attributes, "toolspan.tagged": "processor"})
    found = [recogniser().reduce(view, b"t" * 16, b"s" * 8, b"", 1, 2).call for view in (plain, derived)]

    assert [1, None] == [call and call.attempts for call in found]
