"""
Exceptions as the libraries raise them, made where they are raised: the libraries are imported by then, or not needed.
"""

from collections.abc import Mapping
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Final, NoReturn

from toolspan.taxonomy import ErrorClass

if TYPE_CHECKING:
    import requests

#: A reserved name: nothing resolves it.
_UPSTREAM: Final = "https://upstream.example/injected"


def raise_tool_error(
    error_class: ErrorClass,
    code: str,
    *,
    hint: str | None,
    field: str | None,
    retry_after_ms: int | None,
    message: str | None,
) -> NoReturn:
    """
    Raises what a tool itself raises for a failure that it knows.
    """
    from toolspan.envelopes.envelope import ToolError

    raise ToolError(error_class, code, hint=hint, field=field, retry_after_ms=retry_after_ms, message=message)


def raise_http(status: int, headers: Mapping[str, str], body: str) -> NoReturn:
    """
    Raises what `requests` raises for an answer with *status*.
    """
    import requests

    response = make_response(status, headers, body.encode(), url=_UPSTREAM)
    kind = "Client" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "Server"
    text = f"{status} {kind} Error: {response.reason} for url: {response.url}"
    raise requests.HTTPError(text, response=response)


def make_response(status: int, headers: Mapping[str, str], body: bytes, *, url: str) -> "requests.Response":
    """
    An answer of `requests` without a connection behind it.
    """
    import requests

    response = requests.Response()
    response.status_code = status
    response.reason = reason_of(status)
    response.url = url
    response.headers.update(headers)
    response.raw = BytesIO(body)
    return response


def reason_of(status: int) -> str:
    """
    The reason phrase of *status*; empty where there is none.
    """
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
