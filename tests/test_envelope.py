"""
The envelope: what is built keeps the rules, and a model sees only what it may.
"""

import pickle
from typing import Any

import jsonschema_rs
import pytest

from toolspan.envelopes.envelope import Failure, Receipt, Success, ToolError, failure, parse_envelope, success
from toolspan.envelopes.envelope_schema import envelope_schema
from toolspan.errors import EnvelopeError
from toolspan.evidence.error_documents import MAX_RETRY_AFTER_MS
from toolspan.taxonomy import CLASSES, ErrorClass

#: How it is built, and what is said of it.
BROKEN: tuple[tuple[dict[str, Any], str], ...] = (
    ({"code": "date-format"}, "code is 'date-format'; did you mean 'DATE_FORMAT'?"),
    ({"code": "X"}, "code is 'X'; write it like 'SLOT_TAKEN', 2 to 63 characters"),
    (
        {"error_class": "valid"},
        "class is 'valid'; give one of transient, validation, permission, business_rule, fatal",
    ),
    (
        {"error_class": "unclassified"},
        "class is 'unclassified'; give one of transient, validation, permission, business_rule, fatal",
    ),
    (
        {"error_class": "permission"},
        "hint is missing for class 'permission'; say what is missing, and whom to ask",
    ),
    (
        {"error_class": "business_rule", "hint": " "},
        "hint is missing for class 'business_rule'; say the rule, and what is possible instead",
    ),
    ({"field": "date"}, "field is for class 'validation' only, and this is 'fatal'; leave it out"),
    ({"retry_after_ms": 5}, "retry_after_ms is for class 'transient' only, and this is 'fatal'; leave it out"),
    ({"hint": "x" * 301}, "hint has 301 characters; keep it to 300, one or two sentences"),
    (
        {"hint": "Traceback (most recent call last):"},
        "hint holds a stack trace; that is for message, which no model sees",
    ),
    (
        {"error_class": "transient", "code": "UNCLASSIFIED"},
        "code 'UNCLASSIFIED' says that no class is known; give another, or class 'fatal'",
    ),
)


@pytest.mark.parametrize(("values", "line"), BROKEN)
def test_a_broken_rule_is_refused_with_its_remedy(values: dict[str, Any], line: str) -> None:
    """Who builds an envelope that breaks a rule is told which, and what to do."""
    given: dict[str, Any] = {"error_class": "fatal", "code": "LATE", **values}

    with pytest.raises(EnvelopeError) as refused:
        failure(**given)

    assert line == str(refused.value)


@pytest.mark.parametrize("error_class", CLASSES)
def test_retryable_follows_from_the_class(error_class: ErrorClass) -> None:
    """Only a transient failure says that the call may be repeated, whoever builds it."""
    failed = failure(error_class, "SOME_CODE", hint="Ask the owner.")

    assert (error_class == "transient") == failed.error.retryable


@pytest.mark.parametrize("error_class", CLASSES)
def test_a_contradicting_retryable_is_refused(error_class: ErrorClass) -> None:
    """No document makes a permanent failure retryable, or a transient one permanent."""
    error = {"code": "AB", "class": str(error_class), "hint": "Ask.", "retryable": error_class != "transient"}

    with pytest.raises(EnvelopeError, match=r"^retryable is (true|false) for class"):
        parse_envelope({"ok": False, "error": error})


@pytest.mark.parametrize("wait", [-1, MAX_RETRY_AFTER_MS + 1, float("nan"), float("inf"), True, "3 s"])
def test_an_absurd_wait_is_none(wait: object) -> None:
    """A wait that cannot be is left out, and the failure stays."""
    read = parse_envelope({"ok": False, "error": {"code": "AB", "class": "transient", "retry_after_ms": wait}})

    assert failure("transient", "AB") == read


def test_a_model_sees_no_message_and_no_address() -> None:
    """The model-facing form leaves out the message and what leaks; the full form has both."""
    failed = failure("permission", "DENIED", hint="Ask ops@acme.com; db-1.acme.internal said no.", message="pg: denied")

    error = {"code": "DENIED", "class": "permission", "retryable": False, "retry_after_ms": None, "field": None}

    assert {"ok": False, "error": {**error, "hint": "Ask ops@acme.com; [host] said no."}} == failed.to_model()
    assert {
        "ok": False,
        "error": {**error, "hint": "Ask ops@acme.com; db-1.acme.internal said no.", "message": "pg: denied"},
    } == failed.to_dict()


def test_a_success_has_data_and_a_receipt() -> None:
    """A success carries what the tool answers; of a receipt only what is known."""
    done = success({"id": "rsv_1"}, receipt=Receipt(operation_id="op-7", attempts=2))

    assert {"ok": True, "data": {"id": "rsv_1"}, "receipt": {"operation_id": "op-7", "attempts": 2}} == done.to_model()
    assert {"ok": True, "data": None} == success().to_model()


@pytest.mark.parametrize(("given", "kept"), [(7, "7"), ("a\nb", "a?b"), ("x" * 300, "x" * 200), ("", None)])
def test_a_receipt_takes_any_id(given: object, kept: str | None) -> None:
    """An operation that was done does not fail over how its id is written."""
    read = parse_envelope({"ok": True, "data": 1, "receipt": {"operation_id": given}})

    assert isinstance(read, Success)
    assert Receipt(operation_id=kept) == read.receipt


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ([], "An envelope is an object with ok: true and data, or ok: false and error; this is none"),
        ({"ok": 1, "data": 2}, "An envelope is an object with ok: true and data, or ok: false and error; this is none"),
        ({"ok": True, "error": "x"}, "ok is true beside an error; one of them is wrong"),
        ({"ok": False}, "error is missing; say why it failed by code, class and hint"),
        ({"ok": True, "items": []}, "items is no key of an envelope; put what a tool answers under data"),
        (
            {"ok": False, "error": {"code": "AB", "class": "fatal", "retry_after": 3}},
            "error.retry_after is no key of an envelope; put what a tool answers under data",
        ),
        (
            {"ok": False, "error": {"code": "AB", "class": "fatal", "message": 3}},
            "error.message: input should be a valid string",
        ),
    ],
)
def test_what_is_no_envelope_is_refused(document: object, line: str) -> None:
    """A document that is no envelope is refused in one line that names the key."""
    with pytest.raises(EnvelopeError) as refused:
        parse_envelope(document)

    assert line == str(refused.value)


def test_empty_counterparts_say_nothing() -> None:
    """`error: null` beside a success and `data: null` beside a failure are how others write absence."""
    done = parse_envelope({"ok": True, "data": 1, "error": None})
    failed = parse_envelope({"ok": False, "data": None, "error": {"code": "AB", "class": "fatal"}})

    assert (success(1), failure("fatal", "AB")) == (done, failed)


def test_a_tool_error_carries_its_failure() -> None:
    """What a tool raises is an envelope already, also behind a process pool."""
    error = ToolError("validation", "DATE_FORMAT", field="date", hint="ISO 8601.", message="'May 4'")

    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

    assert failure("validation", "DATE_FORMAT", field="date", hint="ISO 8601.", message="'May 4'") == error.failure
    assert (error.failure, str(error)) == (copied.failure, str(copied))
    assert "'May 4'" == str(error)


def test_a_long_message_is_cut() -> None:
    """A message of any length is kept for logs up to a bound, and says that it was cut."""
    message = failure("fatal", "AB", message="m" * 10_000).error.message

    assert message is not None
    assert (4096, "…") == (len(message), message[-1])


def test_half_a_surrogate_is_replaced() -> None:
    """What JSON can hold and no encoding can write breaks nobody who prints it."""
    failed = failure("validation", "AB", hint="a\ud800", message="\udfff", field="b\ud800")

    assert ("a?", "?", "b?") == (failed.error.hint, failed.error.message, failed.error.field)


def test_an_envelope_stays_as_it_was_built() -> None:
    """Nothing that holds an envelope can change its class."""
    failed = failure("fatal", "AB")

    with pytest.raises(ValueError, match="frozen"):
        failed.error.retryable = True  # pyright: ignore[reportAttributeAccessIssue] - refused

    assert isinstance(failed, Failure)


def test_the_schema_is_a_schema() -> None:
    """The JSON Schema is one to its own metaschema."""
    schema = envelope_schema()

    assert jsonschema_rs.meta.is_valid(schema)


def test_a_blank_hint_is_none_to_the_schema() -> None:
    """Where a class needs a hint, the schema takes no blank one either."""
    error = {"code": "DENIED", "class": "permission", "hint": " "}

    assert not jsonschema_rs.is_valid(envelope_schema(), {"ok": False, "error": error})
