"""
Laws of envelopes: what is built keeps the rules, and what goes there comes back.
"""

import jsonschema_rs
from google.protobuf import json_format
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envelopes import TEXTS, failures, json_values, successes
from toolspan.envelopes.envelope import Failure, Success, parse_envelope
from toolspan.envelopes.envelope_schema import envelope_schema
from toolspan.envelopes.field_paths import field_problem, format_path, parse_path
from toolspan.envelopes.google_rpc import from_google_rpc, to_google_rpc
from toolspan.envelopes.hints import clean_field, clean_hint
from toolspan.envelopes.linting import lint_envelope
from toolspan.envelopes.mcp_results import from_mcp, to_mcp
from toolspan.envelopes.problem_details import from_problem, to_problem
from toolspan.errors import EnvelopeError
from toolspan.evidence.error_documents import read_envelope
from toolspan.lint import LintFlag

laws = settings(max_examples=200, deadline=None)
SCHEMA = jsonschema_rs.validator_for(envelope_schema())
#: `ParseDict` finds the type of a detail once its module is imported.
DETAILS = (ErrorInfo, RetryInfo, BadRequest)


@laws
@given(failures() | successes())
def test_what_is_built_is_what_is_read(envelope: Failure | Success) -> None:
    """An envelope written out in full and read again is the same, and the schema lets it in."""
    document = envelope.to_dict()

    assert envelope == parse_envelope(document)
    assert SCHEMA.is_valid(document)


@laws
@given(failures())
def test_what_is_built_breaks_no_rule(failed: Failure) -> None:
    """Of a built failure, also as a model sees it, the linter finds nothing but a field that nobody knew."""
    found = [each for form in (failed.to_dict(), failed.to_model()) for each in lint_envelope(form)]

    assert [] == [each for each in found if each.rule != "field_missing"]
    assert 0 == read_envelope(failed.to_model()).lint & ~LintFlag.FIELD_MISSING


@laws
@given(failures())
def test_google_rpc_keeps_a_failure(failed: Failure) -> None:
    """A failure comes back whole from a google.rpc.Status, and that is one to protobuf."""
    status = to_google_rpc(failed, form="grpc")
    message = json_format.ParseDict(status, Status())

    assert failed == from_google_rpc(to_google_rpc(failed))
    assert failed == from_google_rpc(status)
    assert failed == from_google_rpc(json_format.MessageToDict(message))


@laws
@given(failures())
def test_a_problem_keeps_a_failure(failed: Failure) -> None:
    """A failure comes back whole from a problem with its message, and without it but for that."""
    unsaid = failed.model_copy(update={"error": failed.error.model_copy(update={"message": None})})

    assert failed == from_problem(to_problem(failed, with_message=True))
    assert unsaid == from_problem(to_problem(failed))


@laws
@given(failures(messages=False) | successes())
def test_mcp_keeps_an_envelope(envelope: Failure | Success) -> None:
    """An envelope comes back whole from an MCP result, from its text alone, too, but for what a model may not see."""
    result = to_mcp(envelope)
    texts = {"content": result["content"], "isError": result["isError"]}
    shown = envelope
    if isinstance(envelope, Failure):
        error = envelope.error.model_copy(update={"field": clean_field(envelope.error.field)})
        shown = envelope.model_copy(update={"error": error})

    assert shown == from_mcp(result)
    assert shown == from_mcp(texts)


@laws
@given(json_values())
def test_any_document_is_read_or_refused(document: object) -> None:
    """Whatever arrives, a reader answers an envelope or says in one line why there is none."""
    wrapped = {"error": document, "status": 409, "code": 9, "detail": document, "details": [document], "ok": False}
    for value in (document, wrapped, {"content": [document], "structuredContent": document, "isError": True}):
        for read in (parse_envelope, from_google_rpc, from_problem, from_mcp):
            try:
                envelope = read(value)
            except EnvelopeError as error:
                said = str(error)
            else:
                said = "read"
                assert envelope == parse_envelope(envelope.to_dict())

            assert 1 == len(said.splitlines())


@laws
@given(
    st.fixed_dictionaries(
        {
            "code": st.sampled_from(("DATE_FORMAT", "date", "X", "UNCLASSIFIED", None, 3)),
            "class": st.sampled_from(("transient", "validation", "permission", "fatal", "unclassified", "Fatal", None)),
        },
        optional={
            "retryable": st.sampled_from((True, False, None, "yes")),
            "retry_after_ms": st.sampled_from((None, 0, 300)),
            "field": st.sampled_from((None, "", "date", 3)),
            "hint": st.sampled_from((None, "", " ", "Ask the owner.", "x" * 301, 3)),
            "message": st.sampled_from((None, "", "text", 3)),
            "other": st.just(1),
        },
    )
)
def test_the_schema_says_what_is_read(error: dict[str, object]) -> None:
    """A document is an envelope to the schema exactly where it is one to Python."""
    document = {"ok": False, "error": error}
    try:
        parse_envelope(document)
        is_read = True
    except EnvelopeError:
        is_read = False

    assert is_read == SCHEMA.is_valid(document)


#: Beginnings and ends of what is cleaned, which make others of each other when one is taken out.
PIECES = (
    *(
        "token=",
        "Bearer ",
        "sk-",
        "http",
        "://",
        "db-1.",
        "prod",
        ".com",
        ":8080",
        "@",
        "/",
        "/etc/",
        "<b",
        ">",
        "[secret]",
    ),
    *(
        "```",
        "10.0.0.1",
        "::",
        "ab",
        " ",
        "\n  at x(",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "a1" * 25,
        ".",
        "\u202e",
        "…",
    ),
)


@laws
@given(st.text(max_size=400) | st.lists(st.sampled_from(PIECES), max_size=80).map("".join) | TEXTS)
def test_a_clean_hint_is_clean(text: str) -> None:
    """Cleaning makes one printable line of bounded length, and doing it again changes nothing."""
    cleaned = clean_hint(text)

    assert cleaned == clean_hint(cleaned)
    assert len(cleaned) <= 300
    assert cleaned.isprintable()


@laws
@given(
    st.lists(
        st.integers(0, 99) | st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1, max_size=6), min_size=1
    )
)
def test_a_path_is_what_it_is_made_of(parts: list[str | int]) -> None:
    """A path is read as the parts that it was written of, and an open schema has it."""
    path = format_path(tuple(parts))

    assert tuple(parts) == parse_path(path)
    assert None is field_problem(path, {})
