"""
Error objects state or name a class; envelopes are linted as they are read.
"""

import pytest

from toolspan.evidence.error_documents import (
    name_document,
    name_jsonrpc_document,
    read_envelope,
    retry_after_of,
    to_code,
)
from toolspan.lint import LintFlag


def envelope(**error: object) -> dict[str, object]:
    whole = {
        "code": "SLOT_TAKEN",
        "class": "business_rule",
        "retryable": False,
        "retry_after_ms": None,
        "field": None,
        "hint": "Free slots: 11:30, 15:15.",
        "message": "taken",
    }
    return {"ok": False, "error": {**whole, **error}}


class TestCode:
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("SLOT_TAKEN", "SLOT_TAKEN"),
            ("slot_taken", "SLOT_TAKEN"),
            ("slotTaken", "SLOT_TAKEN"),
            ("out-of-credit", "OUT_OF_CREDIT"),
            ("404 not found", "NOT_FOUND"),
            ("x" * 80, "X" * 63),
            ("A" * 62 + "_B", "A" * 62),
            ("", None),
            ("!", None),
            ("X", None),
            ("123", None),
            (404, None),
            (None, None),
        ],
    )
    def test_is_made_of_foreign_ones(self, text: object, code: str | None) -> None:
        """A foreign code is upper-snaked and cut; nothing valid left is None."""
        assert code == to_code(text)


class TestEnvelope:
    def test_states_class_and_code(self) -> None:
        """A clean envelope is believed and breaks no rule."""
        reading = read_envelope(envelope())

        assert reading.named is not None
        assert ("business_rule", "SLOT_TAKEN", 0) == (*reading.named[:2], reading.lint)

    def test_code_unclassified_takes_the_class_back(self) -> None:
        """What a tool could not classify it answers as fatal; every reader counts it as unclassified."""
        named = read_envelope(envelope(code="UNCLASSIFIED", **{"class": "fatal"})).named

        assert named is not None
        assert named[:2] == ("unclassified", "UNCLASSIFIED")

    @pytest.mark.parametrize(
        ("error", "flag"),
        [
            ({"retryable": True}, LintFlag.RETRYABLE_CONTRADICTS_CLASS),
            ({"class": "transient", "retryable": False}, LintFlag.RETRYABLE_CONTRADICTS_CLASS),
            ({"class": "validation"}, LintFlag.FIELD_MISSING),
            ({"hint": "x" * 301}, LintFlag.HINT_TOO_LONG),
            ({"class": "permission", "hint": " "}, LintFlag.HINT_MISSING),
            ({"code": "slot taken"}, LintFlag.CODE_INVALID),
            ({"code": None}, LintFlag.CODE_INVALID),
            ({"class": "conflict"}, LintFlag.CLASS_UNKNOWN),
            ({"class": "Business-Rule"}, LintFlag.CLASS_UNKNOWN),
            ({"retry_after_ms": 100}, LintFlag.RETRY_AFTER_NOT_TRANSIENT),
            ({"class": "transient", "retryable": True, "retry_after_ms": -1}, LintFlag.RETRY_AFTER_INVALID),
            ({"class": "transient", "retryable": True, "retry_after_ms": "soon"}, LintFlag.RETRY_AFTER_INVALID),
            ({"field": "date"}, LintFlag.FIELD_NOT_VALIDATION),
            ({"hint": 'Traceback (most recent call last):\n  File "x.py"'}, LintFlag.STACK_TRACE_IN_HINT),
        ],
    )
    def test_is_linted(self, error: dict[str, object], flag: LintFlag) -> None:
        """Each broken rule is one flag."""
        assert int(flag) == read_envelope(envelope(**error)).lint

    def test_absent_retryable_is_no_contradiction(self) -> None:
        """An absent value is derived."""
        bare = {"ok": False, "error": {"code": "BUSY_NOW", "class": "transient", "hint": ""}}

        assert read_envelope(bare).lint == 0

    @pytest.mark.parametrize("error", [None, "text", [], 5, True])
    def test_without_an_error_object_names_nothing(self, error: object) -> None:
        """`{"ok": false}` alone is a failure of no class."""
        reading = read_envelope({"ok": False, "error": error})

        assert (None, int(LintFlag.ERROR_MISSING)) == (reading.named, reading.lint)


class TestErrorDocuments:
    @pytest.mark.parametrize(
        ("document", "error_class", "code"),
        [
            pytest.param({"code": 403, "status": "PERMISSION_DENIED"}, "permission", "PERMISSION_DENIED", id="status"),
            pytest.param(
                {
                    "code": 429,
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "QUOTA_GONE"}],
                },
                "transient",
                "QUOTA_GONE",
                id="reason",
            ),
            pytest.param({"type": "about:blank", "title": "Gone", "status": 410}, "business_rule", "GONE", id="blank"),
            pytest.param(
                {"type": "urn:problem:out-of-credit", "status": 409}, "business_rule", "OUT_OF_CREDIT", id="urn"
            ),
            pytest.param(
                {"type": "https://e.test/p#too-late/", "status": 422}, "validation", "TOO_LATE", id="fragment"
            ),
            pytest.param(
                {"type": "https://e.test/out-of%20credit?x=1", "status": 409},
                "business_rule",
                "OUT_OF_CREDIT",
                id="query",
            ),
            pytest.param({"title": "Not Found", "status": 404}, "validation", "NOT_FOUND", id="reason as title"),
            pytest.param({"error": "invalid_grant"}, "permission", "REAUTHORIZATION_REQUIRED", id="oauth"),
        ],
    )
    def test_name_a_class(self, document: dict[str, object], error_class: str, code: str) -> None:
        """Status names the class, the document's own reason or type the code."""
        named = name_document(document)

        assert named is not None
        assert (error_class, code) == named[:2]

    @pytest.mark.parametrize(
        "document",
        [
            {"status": 409, "message": "no problem document"},
            {"status": "409", "title": "a member of the wrong type is ignored"},
            {"status": True, "title": "x"},
            {"status": 200, "title": "fine"},
            {"status": 500, "title": "Dune"},
            {"status": 409, "type": "order"},
            {"status": "PERMISSION_DENIED"},
            {"status": "Unavailable", "code": 503},
            {"status": "UNKNOWN", "code": 500},
            {"error": "not found"},
            {"error": {"code": "rate_limit_exceeded"}},
            {},
        ],
    )
    def test_anything_else_names_none(self, document: dict[str, object]) -> None:
        """What is no error document of a known form is data."""
        assert name_document(document) is None

    def test_a_json_rpc_error_names_its_class(self) -> None:
        """Only the codes that JSON-RPC itself defines have a meaning."""
        known, vendor = name_jsonrpc_document({"code": -32602}), name_jsonrpc_document({"code": -32011})

        assert known is not None
        assert (("validation", "INVALID_ARGUMENT"), None) == (known[:2], vendor)

    @pytest.mark.parametrize(
        ("delay", "wait"),
        [("2.5s", 2500), ("1.001s", 1001), ("0s", 0), ("soon", None), ("-1s", None), ("9999999s", None)],
    )
    def test_retry_info_asks_for_a_wait(self, delay: str, wait: int | None) -> None:
        """A readable, sane delay is a wait; anything else is none."""
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]

        assert wait == retry_after_of({"details": details})
