"""
Envelopes as `google.rpc.Status` (AIP-193), and the other way round.

Class and status go together by the table. ErrorInfo carries the code as *reason* and the hint in its metadata,
RetryInfo the wait, BadRequest the field. All of a failure survives there and back.

Back and there again keeps what an envelope has a place for: not the domain, details of other types, a second field,
the difference between statuses that mean the same class and are not the code's own, nor, once cleaned, what a hint said
that no model may see. A success has no Status.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal

from toolspan.envelopes.envelope import Failure
from toolspan.envelopes.foreign_failures import foreign_failure, statuses_by_code
from toolspan.errors import EnvelopeError
from toolspan.evidence.error_documents import to_retry_after
from toolspan.evidence.payloads import is_array, is_object
from toolspan.evidence.statuses import name_grpc, name_http
from toolspan.rules import GRPC_CODES, grpc_name
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass

Document = dict[str, object]

#: Of an ErrorInfo: who vouches for its reason.
DEFAULT_DOMAIN: Final = "toolspan"
_TYPES: Final = "type.googleapis.com/google.rpc."
_HINT: Final = "hint"
_MAX_DETAILS: Final = 16
#: As protobuf writes one; of years no Decimal is made.
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_UNKNOWN: Final = "UNKNOWN"
_HTTP_FAILURES: Final = range(400, 600)

#: Where the code is none of the table's.
_OF_CLASS: Final[Mapping[ErrorClass, str]] = {
    ErrorClass.TRANSIENT: "UNAVAILABLE",
    ErrorClass.VALIDATION: "INVALID_ARGUMENT",
    ErrorClass.PERMISSION: "PERMISSION_DENIED",
    ErrorClass.BUSINESS_RULE: "FAILED_PRECONDITION",
    # INTERNAL means transient to the table
    ErrorClass.FATAL: "UNIMPLEMENTED",
}
_OF_CODE: Final = {key: value.partition(" ")[2] for key, value in statuses_by_code("grpc").items()}
#: The HTTP status of each gRPC status, of google/rpc/code.proto.
_HTTP: Final[Mapping[str, int]] = {
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
    "UNAUTHENTICATED": 401,
}


def to_google_rpc(failed: Failure, *, domain: str = DEFAULT_DOMAIN, form: Literal["http", "grpc"] = "http") -> Document:
    """
    *failed* as an error of AIP-193: the body of an HTTP answer, or as *form* "grpc" the JSON of a `google.rpc.Status`.
    """
    error = failed.error
    if error.code == UNCLASSIFIED_CODE:
        status = _UNKNOWN
    else:
        status = _OF_CODE.get((error.error_class, error.code)) or _OF_CLASS[error.error_class]
    info: Document = {"reason": error.code, "domain": domain}
    if error.hint is not None:
        info["metadata"] = {_HINT: error.hint}
    details = [_detail("ErrorInfo", info)]
    if error.retry_after_ms is not None:
        details.append(_detail("RetryInfo", {"retryDelay": _seconds(error.retry_after_ms)}))
    if error.field is not None:
        details.append(_detail("BadRequest", {"fieldViolations": [{"field": error.field}]}))
    said: Document = {"message": error.message or "", "details": details}
    if form == "grpc":
        return {"code": GRPC_CODES.index(status), **said}
    return {"error": {"code": _HTTP[status], "status": status, **said}}


def from_google_rpc(document: object) -> Failure:
    """
    The failure that *document*, an error of AIP-193 or a `google.rpc.Status` as JSON, tells of.

    Raises:
        EnvelopeError: it is neither, or its status is OK.
    """
    error = document.get("error", document) if is_object(document) else None
    status = _status(error) if is_object(error) else None
    if not is_object(error) or status is None:
        raise EnvelopeError("A google.rpc.Status is an object with status or code, message and details; this is none")
    if status == "OK":
        raise EnvelopeError("The status is OK: nothing failed, and a success has no google.rpc.Status")
    details = error.get("details")
    found = [each for each in details[:_MAX_DETAILS] if is_object(each)] if is_array(details) else []
    info = _find(found, "ErrorInfo")
    violation = _violation(found)
    metadata = info.get("metadata")
    hint = metadata.get(_HINT) if is_object(metadata) else None
    return foreign_failure(
        name_http(status) if isinstance(status, int) else name_grpc(status),
        code=info.get("reason"),
        hint=hint or violation.get("description") or _find(found, "LocalizedMessage").get("message"),
        field=violation.get("field"),
        retry_after_ms=_delay_ms(_find(found, "RetryInfo")),
        message=error.get("message"),
    )


def _status(error: Mapping[str, object]) -> str | int | None:
    """
    The name of the gRPC status of *error*, else its HTTP status; None where it has neither.
    """
    status, number = error.get("status"), error.get("code")
    name = grpc_name(status) if isinstance(status, str) else None
    if name is not None or isinstance(number, bool) or not isinstance(number, int):
        return name
    return grpc_name(str(number)) or (number if number in _HTTP_FAILURES else None)


def _detail(kind: str, values: Mapping[str, object]) -> Document:
    return {"@type": f"{_TYPES}{kind}", **values}


def _find(details: Sequence[Mapping[str, object]], kind: str) -> Mapping[str, object]:
    nothing: Mapping[str, object] = {}
    return next((each for each in details if str(each.get("@type", "")).endswith(f"google.rpc.{kind}")), nothing)


def _violation(details: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    """
    The first of the fields, else of the preconditions, that *details* say were violated.
    """
    for kind, keys in (
        ("BadRequest", ("fieldViolations", "field_violations")),
        ("PreconditionFailure", ("violations",)),
    ):
        listed = next((value for key in keys if is_array(value := _find(details, kind).get(key))), ())
        for each in listed[:1]:
            if is_object(each):
                return each
    return {}


def _seconds(milliseconds: int) -> str:
    """
    *milliseconds* as protobuf writes a duration.
    """
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}s" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def _delay_ms(info: Mapping[str, object]) -> int | None:
    delay = _DURATION.fullmatch(str(info.get("retryDelay", info.get("retry_delay"))))
    # in decimals, since 0.029 s as a float is 28 ms
    return to_retry_after(int(Decimal(delay[1]) * 1000)) if delay else None
