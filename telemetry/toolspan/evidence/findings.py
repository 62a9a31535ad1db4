"""
The evidence that a tool span carries about a failure, in the order in which it is believed.

The order (1 is believed first) and what each kind may say:

1. tags set by `@tool`                       2. an envelope or error document in the result
3. MCP, JSON-RPC and frameworks' flags       4. status attributes
5. the exception event                       6. texts: exception message, status description, result
8. span status ERROR

(7, the failed HTTP client below the call, needs other spans: `derivation/endings.py`.)

A *generic* exception type (ValueError, KeyError, …) names its class only where the failure has a text and no text has
a well-known form: "409 Conflict" in a ValueError is a conflict.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from toolspan import attributes as attr
from toolspan.conventions import DEFERRALS, FAILURE_FLAGS
from toolspan.evidence.error_documents import name_document, name_jsonrpc_document, read_envelope, state, to_class
from toolspan.evidence.exceptions import (
    cause_of,
    is_cancellation,
    is_deferral,
    is_model_retry,
    is_wrapper,
    name_exception,
)
from toolspan.evidence.results import ResultReading
from toolspan.evidence.statuses import Named, name_grpc, name_http, name_http_reason, name_jsonrpc, name_sqlstate
from toolspan.evidence.texts import read_form, read_text
from toolspan.records import Event, SpanView

_DIRECT_CAUSE: Final = "The above exception was the direct cause of the following exception:"
_MAX_CAUSES: Final = 8
#: A type is evidence and is kept as such; what is longer is no type's name.
_MAX_TYPE_CHARS: Final = 200
_CANCELLED_WORDS: Final = frozenset(("cancelled", "canceled"))
_GRPC_CANCELLED: Final = ("1", "CANCELLED")


class Finding(NamedTuple):
    """
    One piece of evidence.

    *item* is its place in the order of belief. *if_failed* marks evidence that counts only of a call that failed
    for another reason: it never makes a call fail.
    """

    item: int
    evidence: str
    named: Named | None = None
    if_failed: bool = False


class Evidence(NamedTuple):
    """
    What one span carries, read once.

    *http*, *jsonrpc*: numbers; *grpc*: number or name; None where absent. *exception_type* and *exception_message*
    are of the last exception event, or of the direct cause where that is a mere wrapper. *texts* are the exception
    message, the status description, then the texts of the result.
    """

    span: SpanView
    result: ResultReading
    error_type: str
    http: int | None
    grpc: str | None
    jsonrpc: int | None
    sqlstate: str
    exception_type: str
    texts: tuple[str, ...]
    has_message: bool
    is_model_retry: bool
    is_cancelled: bool
    is_deferred: bool


def gather(span: SpanView, result: ResultReading) -> Evidence:
    """
    The evidence of *span*, whose call returned what *result* read.
    """
    attributes = span.attributes
    error_type = _text(attributes.get(attr.ERROR_TYPE))[:_MAX_TYPE_CHARS]
    thrown, message, stacktrace = _last_exception(span)
    exception_type, cause_message = _unwrapped(thrown, stacktrace)
    rpc = _first(attributes, attr.RPC_STATUS)
    rpc_number = _number(rpc)
    grpc = _first(attributes, attr.GRPC_STATUS)
    if grpc is None and rpc is not None and (rpc_number is None or rpc_number >= 0):
        grpc = rpc
    type_number = _number(error_type)
    jsonrpc = next((number for number in (rpc_number, type_number) if number is not None and number < 0), None)
    description = span.status_message
    own_texts = [text for text in (cause_message, message, description) if text and text not in (error_type, thrown)]
    if result.exception is not None:
        error_name, error_text = result.exception
        exception_type = exception_type or error_name
        own_texts.append(error_text)
    is_handled = span.status_code == attr.STATUS_OK
    return Evidence(
        span,
        result,
        error_type,
        _number(_first(attributes, attr.HTTP_STATUS)),
        None if grpc is None else _text(grpc),
        jsonrpc,
        _text(_first(attributes, attr.SQLSTATE)),
        exception_type,
        (*own_texts, *result.texts),
        bool(own_texts),
        bool(stacktrace) and is_model_retry(thrown) and is_wrapper(exception_type),
        is_cancellation(error_type)
        or error_type.lower() in _CANCELLED_WORDS
        or (grpc is not None and _text(grpc) in _GRPC_CANCELLED)
        or (not is_handled and is_cancellation(exception_type)),
        result.is_deferred
        or is_deferral(exception_type)
        or is_deferral(thrown)
        or is_deferral(error_type)
        or any(attributes.get(name) for name in DEFERRALS),
    )


def findings(evidence: Evidence) -> Iterator[Finding]:
    """
    What *evidence* says, most believed first; lazily, so that a judge can stop when it knows enough.
    """
    yield from _stated(evidence)
    yield from _returned(evidence)
    yield from _flagged(evidence)
    yield from _attributed(evidence)
    yield from _thrown(evidence)
    for text in evidence.texts:
        named = read_text(text)
        if named is not None:
            yield Finding(6, named.evidence, named, if_failed=True)
    if evidence.span.status_code == attr.STATUS_ERROR:
        yield Finding(8, "status")


def _stated(evidence: Evidence) -> Iterator[Finding]:
    attributes = evidence.span.attributes
    error_class, code = attributes.get(attr.ERROR_CLASS), attributes.get(attr.ERROR_CODE)
    if error_class is not None or code is not None:
        yield Finding(1, "tag", state(to_class(error_class), code, "tag"))


def _returned(evidence: Evidence) -> Iterator[Finding]:
    result = evidence.result
    if result.envelope is not None:
        yield Finding(2, "envelope", read_envelope(result.envelope).named, if_failed=result.says_ok)
    for document in result.documents:
        named = name_document(document)
        if named is not None:
            yield Finding(2, named.evidence, named, if_failed=True)


def _flagged(evidence: Evidence) -> Iterator[Finding]:
    for mark in evidence.result.flags:
        yield Finding(3, mark)
    for document in evidence.result.documents:
        named = name_jsonrpc_document(document)
        if named is not None:
            yield Finding(3, named.evidence, named, if_failed=True)
    if evidence.jsonrpc is not None:
        yield Finding(3, f"jsonrpc:{evidence.jsonrpc}", name_jsonrpc(evidence.jsonrpc))
    attributes = evidence.span.attributes
    for flag in FAILURE_FLAGS:
        value = attributes.get(flag.attribute)
        if value is not None and str(value).lower() == flag.value:
            yield Finding(3, flag.attribute)


def _attributed(evidence: Evidence) -> Iterator[Finding]:
    if evidence.http is not None and evidence.http >= 400:
        yield Finding(4, f"http:{evidence.http}", name_http(evidence.http))
    if evidence.grpc is not None and evidence.grpc not in ("", "0", "OK"):
        yield Finding(4, f"grpc:{evidence.grpc}", name_grpc(evidence.grpc))
    if len(evidence.sqlstate) == 5:
        named = name_sqlstate(evidence.sqlstate)
        # SQLSTATE classes 00 to 02 are success, warning and "no data"
        if named is not None or evidence.sqlstate[:2] not in ("00", "01", "02"):
            yield Finding(4, f"sqlstate:{evidence.sqlstate}", named)
    if evidence.error_type:
        yield Finding(4, f"error.type:{evidence.error_type}", _name_error_type(evidence))


def _name_error_type(evidence: Evidence) -> Named | None:
    error_type = evidence.error_type
    number = _number(error_type)
    if number is not None:
        return name_http(number)
    if is_wrapper(error_type):
        return None
    return _name_type(evidence, error_type) or name_grpc(error_type) or name_http_reason(error_type)


def _name_type(evidence: Evidence, type_name: str) -> Named | None:
    found = name_exception(type_name)
    if found is None:
        return None
    named, is_generic = found
    if is_generic and (not evidence.has_message or any(read_form(text) is not None for text in evidence.texts)):
        return None
    return named


def _thrown(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.exception_type:
        return
    # status OK says that the exception was handled; without any status it was not. What a framework wrote into the
    # result is no event: there the framework's own mark says that the call failed.
    is_handled = evidence.span.status_code == attr.STATUS_OK or evidence.result.says_ok
    named = None if is_wrapper(evidence.exception_type) else _name_type(evidence, evidence.exception_type)
    yield Finding(5, f"exception:{evidence.exception_type}", named, if_failed=is_handled)


def exception_of(event: Event) -> tuple[str, str, str]:
    """
    Type, message and stack trace of an exception event; empty where it does not say.
    """
    get = event.attributes.get
    return (
        _text(get(attr.EXCEPTION_TYPE))[:_MAX_TYPE_CHARS],
        _text(get(attr.EXCEPTION_MESSAGE)),
        _text(get(attr.EXCEPTION_STACKTRACE)),
    )


def _last_exception(span: SpanView) -> tuple[str, str, str]:
    for event in reversed(span.events):
        if event.name == attr.EXCEPTION_EVENT:
            kind, message, stacktrace = exception_of(event)
            return kind or "Exception", message, stacktrace
    return "", "", ""


def _unwrapped(thrown: str, stacktrace: str) -> tuple[str, str]:
    """
    Type and message of the direct cause where *thrown* is a wrapper, through wrappers of wrappers.
    """
    type_name, message = thrown, ""
    for _ in range(_MAX_CAUSES):
        if not stacktrace or not is_wrapper(type_name):
            break
        cause = cause_of(stacktrace)
        if cause is None:
            break
        type_name, message = cause
        stacktrace = stacktrace.rpartition(_DIRECT_CAUSE)[0]
    return type_name, message


def _first(attributes: Mapping[str, object], names: tuple[str, ...]) -> object:
    for name in names:
        value = attributes.get(name)
        if value is not None:
            return value
    return None


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and len(value) <= 6 and value.lstrip("-").isdecimal() and value.isascii():
        try:
            return int(value)
        except ValueError:
            return None
    return None
