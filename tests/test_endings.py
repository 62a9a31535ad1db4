"""
Endings: how a call ended, from all of its spans.
"""

import pytest

from tests.deriving import calls, only, said
from tests.span_facts import failed, other, run, tool
from toolspan.records import Judgement

SAYS_OK = Judgement(says_ok=True)
DEFERRED = Judgement("deferred", evidence="deferral")
CANCELLED = Judgement("cancelled", evidence="cancellation")


class TestEnding:
    """
    One ending of several spans.
    """

    def test_a_failed_inner_span_fails_the_call(self) -> None:
        """
        An outer `ok` does not hide what failed inside; the class is the first named from the outside in.
        """
        spans = (
            tool("a"),
            tool("b", "a", ending=failed(evidence="status")),
            tool("c", "b", ending=failed("fatal", "X")),
        )

        assert said(only(*spans)) == ("error", "fatal", "X", "text")

    def test_of_spans_side_by_side_the_one_that_started_first_goes_first(self) -> None:
        """
        Whichever ended first.
        """
        early = tool("c", "a", (1, 90), failed("fatal", "EARLY"))
        late = tool("b", "a", (2, 9), failed("fatal", "LATE"))

        assert only(tool("a"), late, early).code == "EARLY"

    def test_a_result_that_says_ok_hides_what_is_further_in(self) -> None:
        """
        The tool coped with what failed inside.
        """
        assert said(only(tool("a", ending=SAYS_OK), tool("b", "a", ending=failed("fatal")))) == ("ok", None, None, "")

    def test_a_span_that_failed_although_it_says_ok_has_failed(self) -> None:
        """
        On the very span that says `ok`, a failure still counts; what is further in does not.
        """
        outer = tool("a", ending=Judgement("error", evidence="flag", says_ok=True))

        assert said(only(outer, tool("b", "a", ending=failed("fatal")))) == (
            "error",
            "unclassified",
            "UNCLASSIFIED",
            "flag",
        )

    def test_what_an_ok_span_would_name_names_the_class_of_a_failure(self) -> None:
        """
        The outer span's text tells why the inner one failed.
        """
        outer = tool("a", ending=Judgement("ok", "validation", "BAD_DATE", "text"))

        assert said(only(outer, tool("b", "a", ending=failed()))) == ("error", "validation", "BAD_DATE", "text")
        assert said(only(outer)) == ("ok", None, None, "")

    def test_nothing_that_names_a_class_is_unclassified(self) -> None:
        """
        The evidence is what first said that the call failed.
        """
        spans = (tool("a", ending=failed(evidence="outer")), tool("b", "a", ending=failed(evidence="inner")))

        assert said(only(*spans)) == ("error", "unclassified", "UNCLASSIFIED", "outer")

    def test_a_model_retry_is_validation_unless_an_inner_span_names_a_class(self) -> None:
        """
        A model-retry exception says only that the model shall try again.
        """
        outer = tool("a", ending=Judgement("error", evidence="exception:ModelRetry", model_retry=True))
        inner = tool("b", "a", ending=failed("transient", "TIMEOUT"))

        assert said(only(outer)) == ("error", "validation", "MODEL_RETRY", "exception:ModelRetry")
        assert said(only(outer, inner)) == ("error", "transient", "TIMEOUT", "text")

    @pytest.mark.parametrize("ending", [DEFERRED, CANCELLED])
    def test_an_error_without_class_gives_way_to_a_pause_inside(self, ending: Judgement) -> None:
        """
        Frameworks paint a pause as an error on the spans around it.
        """
        assert said(only(tool("a", ending=failed()), tool("b", "a", ending=ending))) == (
            ending.outcome,
            None,
            None,
            ending.evidence,
        )
        assert only(tool("a", ending=failed("fatal")), tool("b", "a", ending=ending)).outcome == "error"

    def test_a_cancelled_call_has_a_code_only_where_a_human_refused(self) -> None:
        """
        Codes are of errors, but a refusal is told from other cancellations.
        """
        refused = Judgement("cancelled", code="REJECTED", evidence="rejection")
        found = calls(tool("a", ending=refused), tool("b", ending=Judgement("cancelled", "fatal", "X", "tag")))

        assert [said(call) for call in found] == [
            ("cancelled", None, "REJECTED", "rejection"),
            ("cancelled", None, None, "tag"),
        ]

    def test_field_and_backoff_are_of_the_span_that_names_the_class(self) -> None:
        """
        Where that span has none, the first that has one tells.
        """
        naming = Judgement("error", "validation", "X", "text", lint=1)
        inner = Judgement("error", "validation", "Y", "text", field="date", retry_after_ms=5, lint=4)
        call = only(tool("a", ending=naming), tool("b", "a", ending=inner))

        assert (call.code, call.field, call.retry_after_ms, call.lint) == ("X", "date", None, 5)

    def test_backoff_belongs_to_transient_failures(self) -> None:
        """
        Of two failures that name a backoff, the outer one's counts.
        """
        outer = Judgement("error", "transient", "X", "text", retry_after_ms=7)
        inner = Judgement("error", "transient", "Y", "text", field="date", retry_after_ms=5)
        call = only(tool("a", ending=outer), tool("b", "a", ending=inner))

        assert (call.field, call.retry_after_ms) == (None, 7)


class TestFailedRequest:
    """
    The HTTP request that a failed tool made.
    """

    def test_the_last_failed_request_names_the_class(self) -> None:
        """
        Where nothing else does; last by its end, then by its start.
        """
        at_once = (other("y", "b", (1, 9), http_status=409), other("x", "b", (2, 9), http_status=503))
        spans = (
            tool("a", ending=failed()),
            other("x", "a", at=(1, 9), http_status=409),
            other("y", "a", at=(2, 8), http_status=503),
        )

        assert said(only(*spans)) == ("error", "business_rule", "CONFLICT", "child http:409")
        assert only(tool("b", ending=failed()), *at_once).error_class == "transient"

    def test_a_request_never_makes_a_call_fail(self) -> None:
        """
        A tool that saw a 404 and coped is fine.
        """
        assert only(tool("a"), other("x", "a", http_status=404)).outcome == "ok"

    def test_other_evidence_comes_first(self) -> None:
        """
        A class that the span names itself, and a model retry, stand before the request.
        """
        retry = Judgement("error", evidence="exception", model_retry=True)

        assert only(tool("a", ending=failed("fatal")), other("x", "a", http_status=503)).error_class == "fatal"
        assert only(tool("a", ending=retry), other("x", "a", http_status=503)).error_class == "validation"

    def test_a_request_belongs_to_the_nearest_tool(self) -> None:
        """
        What another tool or an agent below the tool requested says nothing of this call.
        """
        outer = tool("a", ending=failed())
        of_tool = (tool("b", "a", tool="other"), other("x", "b", http_status=503))
        of_run = (run("r", "a"), other("y", "r", http_status=503))

        assert calls(outer, *of_tool, *of_run)[0].error_class == "unclassified"

    def test_a_request_of_an_inner_span_counts(self) -> None:
        """
        Whichever span of the call it lies below, with other spans in between or not.
        """
        spans = (tool("a", ending=failed()), tool("b", "a"), other("x", "b"), other("y", "x", http_status=503))

        assert only(*spans).error_class == "transient"

    def test_the_last_request_of_all_spans_counts(self) -> None:
        """
        Whichever span of the call made it.
        """
        spans = (
            tool("a", ending=failed()),
            other("x", "a", (1, 9), http_status=409),
            tool("b", "a"),
            other("y", "b", (2, 8), http_status=503),
        )

        assert only(*spans).code == "CONFLICT"

    def test_an_unknown_status_names_nothing(self) -> None:
        """
        A number outside of HTTP is no evidence.
        """
        assert only(tool("a", ending=failed()), other("x", "a", http_status=999)).error_class == "unclassified"
