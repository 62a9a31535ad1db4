"""
Linting: what an envelope breaks, alone and beside its tool's schema and codes.
"""

import json

import pytest

from toolspan.envelopes.codes import parse_registry
from toolspan.envelopes.envelope_rules import broken_rule
from toolspan.envelopes.linting import LintFinding, lint_envelope
from toolspan.lint import LintFlag

SCHEMA = {"type": "object", "properties": {"date": {"type": "string"}}}
REGISTRY = parse_registry("tool,code,class,meaning\nbook,SOLD_OUT,business_rule,\nfind,LATE,transient,\n", name="x")


def envelope(**error: object) -> dict[str, object]:
    """
    A failure of class fatal that keeps every rule, but for what *error* says.
    """
    return {"ok": False, "error": {"code": "BROKEN", "class": "fatal", **error}}


#: What breaks exactly one rule.
BROKEN: dict[str, object] = {
    "retryable_contradicts_class": envelope(retryable=True),
    "field_missing": envelope(**{"class": "validation"}),
    "hint_too_long": envelope(hint="word " * 100),
    "hint_missing": envelope(**{"class": "permission"}),
    "code_invalid": envelope(code="no code"),
    "class_unknown": envelope(**{"class": "deadly"}),
    "error_beside_ok": {"ok": True, "error": {"code": "BROKEN", "class": "fatal"}},
    "error_missing": {"ok": False},
    "retry_after_not_transient": envelope(retry_after_ms=0),
    "retry_after_invalid": envelope(retry_after_ms=-1, **{"class": "transient"}),
    "field_not_validation": envelope(field="date"),
    "stack_trace_in_hint": envelope(hint="Traceback (most recent call last): x"),
    "hint_unsafe": envelope(hint="Ask http://db.internal/x."),
    "field_no_path": envelope(field="the date", **{"class": "validation"}),
    "field_unknown": envelope(field="day", **{"class": "validation"}),
    "form": envelope(retryable="no"),
    "no_envelope": {"a": 1},
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_found_alone(rule: str) -> None:
    """What breaks one rule is told of that one."""
    assert [rule] == [each.rule for each in lint_envelope(BROKEN[rule], schema=SCHEMA)]


def test_every_rule_has_a_case() -> None:
    """A rule that is added gets a case, and words."""
    names = {str(flag.name).lower() for flag in LintFlag}

    assert names <= BROKEN.keys()
    assert all(broken_rule(flag, {}) for flag in LintFlag)


@pytest.mark.parametrize(
    "document",
    [
        {"ok": True},
        {"ok": True, "data": {"error": "a log", "ok": False}, "error": None},
        {"ok": True, "data": 1, "receipt": {"operation_id": "op-1", "idempotency_key": "k", "attempts": 2}},
        envelope(retry_after_ms=None, field=None, hint=None, message="Traceback (most recent call last): x"),
        envelope(**{"class": "validation", "field": "date"}),
        envelope(code="UNCLASSIFIED"),
    ],
)
def test_a_good_envelope_breaks_nothing(document: dict[str, object]) -> None:
    """Absent values, empty ones and anything in a message are fine."""
    assert [] == lint_envelope(document, schema=SCHEMA)


@pytest.mark.parametrize(
    "wrapped",
    [
        {"content": [{"type": "text", "text": json.dumps(envelope(code="no code"))}], "isError": True},
        {"content": [], "structuredContent": envelope(code="no code"), "isError": True},
        json.dumps(envelope(code="no code")),
    ],
)
def test_a_wrapped_envelope_is_found(wrapped: object) -> None:
    """What MCP and frameworks make of an envelope is opened."""
    assert [LintFinding("code_invalid", "code", "is 'no code'; did you mean 'NO_CODE'?")] == lint_envelope(wrapped)


def test_a_wrapped_success_is_fine() -> None:
    """A success in an MCP result is an envelope."""
    assert [] == lint_envelope({"content": [{"type": "text", "text": '{"ok": true, "data": 1}'}]})


@pytest.mark.parametrize(
    ("tool", "code", "error_class", "finding"),
    [
        ("book", "SOLD_OUT", "business_rule", None),
        (None, "LATE", "transient", None),
        ("book", "UNCLASSIFIED", "fatal", None),
        ("book", "LATE", "transient", ("code_unregistered", "is 'LATE', which is not registered for book; add it")),
        (None, "OTHER", "fatal", ("code_unregistered", "is 'OTHER', which is not registered; add it")),
        (
            None,
            "LATE",
            "fatal",
            (
                "code_other_class",
                "is 'fatal' for code 'LATE', which is registered as transient; give that, or a new code",
            ),
        ),
    ],
)
def test_codes_are_held_against_the_registry(
    tool: str | None, code: str, error_class: str, finding: tuple[str, str] | None
) -> None:
    """A code that is not registered for the tool, or for another class, is found."""
    document = envelope(code=code, hint="Ask the owner.", **{"class": error_class})

    found = lint_envelope(document, registry=REGISTRY, tool=tool)

    assert ([] if finding is None else [finding]) == [(each.rule, each.text) for each in found]
