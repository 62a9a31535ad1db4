"""
Failures as AIP-193, RFC 9457 and MCP write them, and what is read of those that others wrote.
"""

import json
from datetime import date

import pytest
from mcp.types import CallToolResult

from toolspan.envelopes.envelope import Failure, Success, failure, success
from toolspan.envelopes.google_rpc import from_google_rpc, to_google_rpc
from toolspan.envelopes.mcp_results import from_mcp, to_mcp
from toolspan.envelopes.problem_details import from_problem, to_problem
from toolspan.errors import EnvelopeError
from toolspan.evidence.error_documents import name_document
from toolspan.evidence.payloads import is_object
from toolspan.taxonomy import CLASSES, ErrorClass
from toolspan.tools.failures import HINTS

LIMITED = failure("transient", "RATE_LIMITED", hint="Wait.", retry_after_ms=1500, message="quota of project 7")
BAD_DATE = failure("validation", "DATE_FORMAT", hint="ISO 8601, like 2026-05-04.", field="trip.date")


def test_a_failure_as_google_writes_it() -> None:
    """An AIP-193 error has the status that stands for the code, ErrorInfo, RetryInfo and BadRequest."""
    types = "type.googleapis.com/google.rpc."

    assert {
        "error": {
            "code": 429,
            "status": "RESOURCE_EXHAUSTED",
            "message": "quota of project 7",
            "details": [
                {
                    "@type": f"{types}ErrorInfo",
                    "reason": "RATE_LIMITED",
                    "domain": "acme.com",
                    "metadata": {"hint": "Wait."},
                },
                {"@type": f"{types}RetryInfo", "retryDelay": "1.500s"},
            ],
        }
    } == to_google_rpc(LIMITED, domain="acme.com")
    assert {
        "code": 3,
        "message": "",
        "details": [
            {
                "@type": f"{types}ErrorInfo",
                "reason": "DATE_FORMAT",
                "domain": "toolspan",
                "metadata": {"hint": "ISO 8601, like 2026-05-04."},
            },
            {"@type": f"{types}BadRequest", "fieldViolations": [{"field": "trip.date"}]},
        ],
    } == to_google_rpc(BAD_DATE, form="grpc")


def test_a_failure_as_a_problem() -> None:
    """A problem has the code in its type, the hint as detail, and no message unless one asks."""
    assert {
        "type": "https://acme.com/errors/RATE_LIMITED",
        "title": "Rate limited",
        "status": 429,
        "detail": "Wait.",
        "retry_after_ms": 1500,
    } == to_problem(LIMITED, base="https://acme.com/errors/")
    assert "quota of project 7" == to_problem(LIMITED, with_message=True)["message"]
    assert (422, "trip.date") == tuple(to_problem(BAD_DATE)[key] for key in ("status", "field"))


@pytest.mark.parametrize("error_class", CLASSES)
def test_who_reads_only_the_status_finds_the_class(error_class: ErrorClass) -> None:
    """The documents mean to any reader of spans what the envelope meant."""
    failed = failure(error_class, "SOME_CODE", hint="Ask the owner.")
    google = to_google_rpc(failed)["error"]
    assert is_object(google)

    named = [name_document(google), name_document(to_problem(failed))]

    assert [(str(error_class), "SOME_CODE")] * 2 == [each[:2] for each in named if each]


def test_what_google_wrote_is_read() -> None:
    """A foreign Status gives class, code, wait and field; its hint is cleaned, and one that is needed is ours."""
    stock = {
        "code": 9,
        "message": "no stock at 10.0.0.7",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "stockout", "domain": "acme.com"},
            {
                "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
                "violations": [{"description": "Only 3 are left; see http://shop.internal/7"}],
            },
        ],
    }
    denied = {"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no"}}
    expected = (
        failure(
            "business_rule",
            "STOCKOUT",
            hint="Only 3 are left; see [address]",
            message="no stock at 10.0.0.7",
        ),
        failure("permission", "PERMISSION_DENIED", hint=HINTS[ErrorClass.PERMISSION], message="no"),
    )

    assert expected == (from_google_rpc(stock), from_google_rpc(denied))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"error": {"code": 503, "message": "x"}}, failure("transient", "UNAVAILABLE", message="x")),
        ({"code": 2, "message": "x"}, failure("fatal", "UNCLASSIFIED", message="x")),
        (
            {"status": "UNKNOWN", "details": [{"@type": "google.rpc.ErrorInfo", "reason": "BOOM"}]},
            failure("fatal", "UNCLASSIFIED", message="BOOM"),
        ),
        (
            {"status": "UNAVAILABLE", "details": [{"@type": "google.rpc.ErrorInfo", "reason": "UNCLASSIFIED"}]},
            failure("transient", "TRANSIENT"),
        ),
    ],
)
def test_a_status_that_says_little(document: object, expected: Failure) -> None:
    """A number of HTTP's names the class, too; of no class is what says none, whatever its reason."""
    assert expected == from_google_rpc(document)


@pytest.mark.parametrize(("delay", "wait_ms"), [("1.001s", 1001), ("0.0015s", 1), ("3s", 3000), ("0s", 0)])
def test_a_delay_is_read_to_the_millisecond(delay: str, wait_ms: int) -> None:
    """A wait is what it says, in decimals."""
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]

    read = from_google_rpc({"status": "UNAVAILABLE", "details": details})

    assert failure("transient", "UNAVAILABLE", retry_after_ms=wait_ms) == read


def test_what_belongs_to_another_class_is_left_out() -> None:
    """A field and a wait of a failure that can have neither do not make it another, and do not fail."""
    details = [
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "date"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"},
    ]

    read = from_google_rpc({"status": "UNIMPLEMENTED", "details": details})

    assert failure("fatal", "UNIMPLEMENTED") == read


@pytest.mark.parametrize(
    "delay", ["-1s", "soon", "1", "1e999999s", "NaNs", "Infinitys", 3, "99999999s", "9" * 5000 + "s"]
)
def test_an_absurd_delay_is_none(delay: object) -> None:
    """A RetryInfo that cannot be leaves the failure without a wait."""
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]

    assert failure("transient", "UNAVAILABLE") == from_google_rpc({"status": "UNAVAILABLE", "details": details})


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"type": "https://acme.com/out-of-stock", "title": "No stock", "status": 409, "detail": "3 are left."},
            failure("business_rule", "OUT_OF_STOCK", hint="3 are left.", message="No stock"),
        ),
        (
            {"type": "about:blank", "status": 400, "errors": [{"pointer": "#/items/2/a~1b%20c/sku"}]},
            failure("validation", "INVALID_ARGUMENT", field='items[2]["a/b c"].sku'),
        ),
        ({"status": 503, "retry_after_ms": "soon"}, failure("transient", "UNAVAILABLE", retry_after_ms=2000)),
        ({"title": "Odd"}, failure("fatal", "UNCLASSIFIED", message="Odd")),
        ({"status": 400, "errors": [{"pointer": 3}]}, failure("validation", "INVALID_ARGUMENT")),
        ({"status": 418, "error": "access_denied"}, failure("validation", "INVALID_ARGUMENT")),
    ],
)
def test_what_others_call_a_problem_is_read(document: object, expected: Failure) -> None:
    """A foreign problem gives class, code and field; the header's wait counts where it has none of its own."""
    assert expected == from_problem(document, retry_after_ms=2000)


def test_an_envelope_as_an_mcp_result() -> None:
    """An MCP result holds what a model may see twice, and the SDK reads it."""
    shown = LIMITED.to_model()
    result = to_mcp(LIMITED)

    assert {
        "content": [{"type": "text", "text": json.dumps(shown)}],
        "structuredContent": shown,
        "isError": True,
    } == result
    assert LIMITED.error.code == read_back(CallToolResult.model_validate(result))
    assert False is to_mcp(success(1))["isError"]


def read_back(result: CallToolResult) -> str:
    """
    The code of what the SDK holds, by its own names of the keys.
    """
    envelope = from_mcp(result.model_dump(by_alias=False))
    assert isinstance(envelope, Failure)
    return envelope.error.code


TEXT = {"type": "text", "text": "It is 20 °C."}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"content": [TEXT]}, success("It is 20 °C.")),
        ({"content": [TEXT, TEXT]}, success(["It is 20 °C.", "It is 20 °C."])),
        ({"content": [TEXT, IMAGE]}, success([TEXT, IMAGE])),
        ({"content": [TEXT], "structuredContent": {"celsius": 20}}, success({"celsius": 20})),
        ({"structuredContent": {"result": {"ok": True, "data": 3}}}, success(3)),
        ({"content": [TEXT], "isError": True}, failure("fatal", "UNCLASSIFIED", message="It is 20 °C.")),
        ({"structuredContent": {"ok": True, "items": [], "data": 1}}, success(1)),
        (
            {"structuredContent": {"ok": True, "data": 1}, "isError": True},
            failure("fatal", "UNCLASSIFIED", message="isError beside ok: true"),
        ),
        (
            {"structuredContent": {"ok": False, "error": {"class": "transient", "code": "late", "retryable": False}}},
            failure("transient", "LATE"),
        ),
        ({"structuredContent": {"ok": False}}, failure("fatal", "UNCLASSIFIED")),
        (
            {"content": [{"type": "text", "text": '{"status": 503, "type": "a:b/late"}'}], "isError": True},
            failure("transient", "LATE", message='{"status": 503, "type": "a:b/late"}'),
        ),
    ],
)
def test_what_an_mcp_server_answered_is_read(document: object, expected: Failure | Success) -> None:
    """A result without an envelope, or with one that breaks a rule, is read for what it says."""
    assert expected == from_mcp(document)


@pytest.mark.parametrize("read", [from_google_rpc, from_problem, from_mcp])
@pytest.mark.parametrize("document", [None, 3, "text", [], {}, {"a": 1}])
def test_another_document_is_refused(document: object, read: type) -> None:
    """What is none of the format is refused, since nothing of it could be relied on."""
    with pytest.raises(EnvelopeError, match=r"this is none$"):
        read(document)


def test_a_success_is_no_error_document() -> None:
    """Statuses that say that all went well are refused, not made failures."""
    with pytest.raises(EnvelopeError, match="The status is OK"):
        from_google_rpc({"code": 0, "message": ""})
    with pytest.raises(EnvelopeError, match="status is 200"):
        from_problem({"status": 200, "type": "about:blank"})


def test_what_json_has_not_is_told() -> None:
    """Data that MCP cannot carry is refused in one line; what has a form in JSON is written in it."""
    with pytest.raises(EnvelopeError, match=r"^data cannot be written as JSON: "):
        to_mcp(success(object()))

    assert {"ok": True, "data": {"day": "2026-05-04", "rate": None}} == to_mcp(
        success({"day": date(2026, 5, 4), "rate": float("nan")})
    )["structuredContent"]
