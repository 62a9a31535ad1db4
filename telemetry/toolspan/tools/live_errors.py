"""
A live exception → what a span of it would carry, so that the classifier judges it as it judges spans.

A span has one name of an exception; whoever holds the exception can walk its bases, ask the response that it carries,
and follow what it was explicitly raised from. Nothing is classified here.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

from toolspan import attributes as attr
from toolspan.evidence.exceptions import is_cancellation, is_deferral, is_wrapper, name_exception
from toolspan.evidence.payloads import is_object
from toolspan.records import Event, SpanView

#: How far bases and causes are followed.
_MAX_BASES: Final = 16
_MAX_CAUSES: Final = 8
_MAX_MESSAGE_CHARS: Final = 4096
_MAX_BODY_CHARS: Final = 65_536
#: Where clients keep the status of a response: the exception's own, or that of its response.
_STATUS_NAMES: Final = ("status_code", "status", "http_status")
_SQLSTATE_NAMES: Final = ("sqlstate", "pgcode")


class LiveError(NamedTuple):
    """
    One exception as a *view* of a span that ended with it, the *result* that its response had, the *headers* of that,
    and the *names* of its type and of its bases.
    """

    view: SpanView
    result: object
    headers: Mapping[str, object]
    names: tuple[str, ...]


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """
    *error*, then what it was raised from, what that was raised from, and so on.

    Only what was raised from something (`raise … from …`) counts, and what a wrapper of a framework was raised within:
    what merely happened meanwhile is no reason.
    """
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen and len(seen) < _MAX_CAUSES:
        seen.add(id(current))
        yield current
        inner = current.__cause__ or _get(current, "orig")
        if inner is None and is_wrapper(_name(type(current))):
            inner = current.__context__
        members = members_of(current)
        if len(members) == 1:
            inner = members[0]
        current = inner if isinstance(inner, BaseException) else None


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """
    What *error* is a group of; empty where it is none.
    """
    if not isinstance(error, BaseExceptionGroup):
        return ()
    group = cast("BaseExceptionGroup[BaseException]", error)
    return group.exceptions


def read_error(error: BaseException, tool: str) -> LiveError:
    """
    *error*, which a call of *tool* ended with.
    """
    names = tuple(_name(kind) for kind in type(error).__mro__[:_MAX_BASES] if issubclass(kind, BaseException))
    # the nearest of its types that says something; without one its own
    told = next((name for name in names[:-2] if _is_telling(name)), names[0])
    message = _text(error)
    response = _get(error, "response")
    attributes: dict[str, object] = {}
    status = _http_status(error, response)
    if status is not None:
        attributes[attr.HTTP_STATUS[0]] = status
    grpc = _grpc_status(error)
    if grpc is not None:
        attributes[attr.GRPC_STATUS[0]] = grpc
    sqlstate = next((code for name in _SQLSTATE_NAMES if isinstance(code := _get(error, name), str)), None)
    if sqlstate is not None:
        attributes[attr.SQLSTATE[0]] = sqlstate
    thrown = Event(attr.EXCEPTION_EVENT, {attr.EXCEPTION_TYPE: told, attr.EXCEPTION_MESSAGE: message})
    view = SpanView(f"execute_tool {tool}", 1, "toolspan", attr.STATUS_ERROR, "", attributes, (thrown,))
    return LiveError(view, _body(response), _headers(error, response), names)


def _get(holder: object, name: str) -> object:
    """
    The attribute *name* of somebody's object; None where it has none, or has it computed and that fails.
    """
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - the rest of the evidence still counts
        return None


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _is_telling(name: str) -> bool:
    return name_exception(name) is not None or is_framework_s(name)


def is_framework_s(name: str) -> bool:
    """
    Whether the type *name* is for the framework around the tool: the caller gave up, or the call waits for a human.
    """
    return is_cancellation(name) or is_deferral(name)


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_MESSAGE_CHARS]
    except Exception:  # noqa: BLE001 - an exception's own text may raise anything
        return ""


def _http_status(error: BaseException, response: object) -> int | None:
    if is_object(response):  # botocore
        metadata = response.get("ResponseMetadata")
        found = metadata.get("HTTPStatusCode") if is_object(metadata) else None
        return found if isinstance(found, int) else None
    for holder in (response, error):
        for name in _STATUS_NAMES:
            value = _get(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
                return value
    code = _get(error, "code")  # urllib
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599 else None


def _grpc_status(error: BaseException) -> str | None:
    code = _get(error, "code")
    if not callable(code):
        return None
    try:
        name = getattr(code(), "name", None)
    except Exception:  # noqa: BLE001 - a method of somebody's that happens to have the name
        return None
    return name if isinstance(name, str) else None


def _headers(error: BaseException, response: object) -> Mapping[str, object]:
    # aiohttp's and urllib's exceptions have the headers themselves
    headers: object = _get(response, "headers") or _get(error, "headers")
    if is_object(response):
        metadata = response.get("ResponseMetadata")
        headers = metadata.get("HTTPHeaders") if is_object(metadata) else None
    return cast("Mapping[str, object]", headers) if isinstance(headers, Mapping) else {}


def _body(response: object) -> object:
    """
    The text of a *response* that was read already: nobody waits for the rest of one here.
    """
    is_read = _get(response, "_content")
    if not isinstance(is_read, bytes):
        return None
    return is_read[:_MAX_BODY_CHARS].decode("utf-8", "replace")
