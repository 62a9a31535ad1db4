"""
Envelopes as problem details of HTTP (RFC 9457), and the other way round.

Class and status go together by the table, the code is the end of the *type*, the hint the *detail*, which the RFC
wants to help a client to correct the problem. `field` and `retry_after_ms` are extensions. The message is left out
unless one asks for it: a problem goes to a client, and the RFC warns of what a message gives away. With it all of a
failure survives there and back.

Back and there again loses *title* and *instance*, the base of the *type*, other extensions, the difference between
statuses of one class, and what a cleaned hint must not say. A success is no problem.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from toolspan.envelopes.envelope import Failure
from toolspan.envelopes.field_paths import format_path
from toolspan.envelopes.foreign_failures import foreign_failure, statuses_by_code
from toolspan.errors import EnvelopeError
from toolspan.evidence.error_documents import name_document, to_retry_after
from toolspan.evidence.payloads import is_array, is_object
from toolspan.evidence.statuses import Named, name_http
from toolspan.taxonomy import ErrorClass

Document = dict[str, object]

MEDIA_TYPE: Final = "application/problem+json"
#: What a code is put behind.
DEFAULT_BASE: Final = "urn:toolspan:error:"
_MEMBERS: Final = ("type", "title", "status", "detail", "instance")

#: Where the code is none of the table's.
_OF_CLASS: Final[Mapping[ErrorClass, int]] = {
    ErrorClass.TRANSIENT: 503,
    ErrorClass.VALIDATION: 422,
    ErrorClass.PERMISSION: 403,
    ErrorClass.BUSINESS_RULE: 409,
    # 500 means transient to the table
    ErrorClass.FATAL: 501,
}
_OF_CODE: Final = {key: int(value) for key, value in statuses_by_code("http").items() if value.isdecimal()}


def to_problem(failed: Failure, *, base: str = DEFAULT_BASE, with_message: bool = False) -> Document:
    """
    *failed* as a problem whose type is its code behind *base*; *with_message* where it goes to nobody outside.
    """
    error = failed.error
    problem: Document = {
        "type": f"{base}{error.code}",
        "title": _title(error.code),
        "status": _OF_CODE.get((error.error_class, error.code)) or _OF_CLASS[error.error_class],
    }
    extensions = {
        "detail": error.hint,
        "field": error.field,
        "retry_after_ms": error.retry_after_ms,
        "message": error.message if with_message else None,
    }
    return problem | {name: value for name, value in extensions.items() if value is not None}


def from_problem(document: object, *, retry_after_ms: int | None = None) -> Failure:
    """
    The failure that *document*, a problem, tells of; *retry_after_ms* is that of the answer's `Retry-After`.

    Raises:
        EnvelopeError: it is no problem, or has the status of a success.
    """
    if not is_object(document) or not any(member in document for member in _MEMBERS):
        raise EnvelopeError("A problem is an object with type, title, status or detail (RFC 9457); this is none")
    status = document.get("status")
    number = status if isinstance(status, int) and not isinstance(status, bool) else None
    if number is not None and number < 400:
        raise EnvelopeError(f"status is {number}: nothing failed, and a success is no problem")
    # only what the RFC defines: an extension must not make it a document of another format
    named = name_document({member: document[member] for member in _MEMBERS if member in document})
    if named is None and number is not None:
        named = name_http(number)
    wait = to_retry_after(document.get("retry_after_ms"))
    return foreign_failure(
        named,
        hint=document.get("detail"),
        field=_field(document),
        retry_after_ms=to_retry_after(retry_after_ms) if wait is None else wait,
        message=document.get("message") or _foreign_title(document, named),
    )


def _title(code: str) -> str:
    return code.replace("_", " ").capitalize()


def _foreign_title(document: Mapping[str, object], named: Named | None) -> object:
    """
    The title, where it says more than the code.
    """
    title = document.get("title")
    return None if named is not None and title == _title(named.code) else title


def _field(document: Mapping[str, object]) -> object:
    """
    The extension `field`, else what the first of the RFC's own example, `errors`, points to.
    """
    field, errors = document.get("field"), document.get("errors")
    if field is not None or not is_array(errors) or not errors or not is_object(errors[0]):
        return field
    pointer = errors[0].get("pointer")
    if not isinstance(pointer, str) or "/" not in pointer:
        return None
    parts = unquote(pointer).partition("/")[2].split("/")
    # a pointer does not tell an index from a name in digits
    return format_path(tuple(int(part) if part.isdecimal() and part.isascii() else _unescaped(part) for part in parts))


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
