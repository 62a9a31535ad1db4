"""
Live exceptions of real clients → class, code, wait and field, with nothing of their text for a model.
"""

import errno
import json
import socket
import urllib.error
from email.message import Message

import grpc
import httpx
import pydantic
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from toolspan.classify import Classifier
from toolspan.envelopes.envelope import Failure
from toolspan.rules import RuleBook
from toolspan.tools.failures import HINTS, Explainer

NOW_S = 1_777_845_600.0
REQUEST = httpx.Request("GET", "https://api.internal.example/v1/x")


def explained(error: Exception) -> Failure:
    """
    What a tool answers that raised *error*.
    """
    found = Explainer(Classifier(RuleBook()), wall_clock=lambda: NOW_S).of_exception(error, "book")
    assert found.failure is not None
    return found.failure


def named(error: Exception) -> tuple[str, str]:
    """
    Class and code of *error*.
    """
    detail = explained(error).error
    return detail.error_class.value, detail.code


def responded(status: int, *, body: object = None, headers: dict[str, str] | None = None) -> httpx.HTTPStatusError:
    """
    A response with *status*, as httpx raises it.
    """
    response = httpx.Response(status, json=body, headers=headers, request=REQUEST)
    return httpx.HTTPStatusError("failed", request=REQUEST, response=response)


class Grpc(grpc.RpcError):
    """
    An error of a stub, which has its code as a method.
    """

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE


class Boto(Exception):  # noqa: N818 - botocore's is a ClientError
    """
    As botocore keeps a response.
    """

    def __init__(self, status: int) -> None:
        super().__init__("An error occurred (Throttling) when calling the Query operation: slow down")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {"retry-after": "3"}}}


class UnreachableError(ConnectionResetError):
    """
    Somebody's own, of which only the base is known.
    """


class Trip(pydantic.BaseModel):
    """
    Arguments.
    """

    legs: list[int]


def invalid() -> pydantic.ValidationError:
    """
    What pydantic raises.
    """
    with pytest.raises(pydantic.ValidationError) as raised:
        Trip.model_validate({"legs": [1, "password=hunter2 two"]})
    return raised.value


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (responded(503), ("transient", "UNAVAILABLE")),
        (responded(409), ("business_rule", "CONFLICT")),
        (responded(403), ("permission", "PERMISSION_DENIED")),
        (responded(422), ("validation", "INVALID_ARGUMENT")),
        (responded(405), ("fatal", "METHOD_NOT_ALLOWED")),
        (httpx.ReadTimeout(""), ("transient", "TIMEOUT")),
        (requests.ConnectionError("refused"), ("transient", "CONNECTION_FAILED")),
        (Grpc(), ("transient", "UNAVAILABLE")),
        (Boto(503), ("transient", "UNAVAILABLE")),
        (UnreachableError("peer"), ("transient", "CONNECTION_FAILED")),
        (TimeoutError(), ("transient", "TIMEOUT")),
        (socket.gaierror(-3, "Temporary failure in name resolution"), ("transient", "CONNECTION_FAILED")),
        (PermissionError(errno.EACCES, "Permission denied"), ("permission", "PERMISSION_DENIED")),
        (urllib.error.HTTPError("https://x.example", 429, "slow", Message(), None), ("transient", "RATE_LIMITED")),
        (RuntimeError("who knows"), ("fatal", "UNCLASSIFIED")),
        (TypeError(), ("fatal", "UNCLASSIFIED")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_clients(error: Exception, expected: tuple[str, str]) -> None:
    """The status, the type or one of its bases, and the responses that they carry."""
    assert expected == named(error)


def test_the_body_of_a_response_names_the_code() -> None:
    """A problem of RFC 9457, a status of AIP-193."""
    problem = {"type": "https://x.example/problems/slot-taken", "title": "Taken", "status": 409}
    status = {
        "error": {
            "code": 429,
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "QUOTA_EXCEEDED",
                    "domain": "x.example",
                },
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"},
            ],
        }
    }

    limited = explained(responded(429, body=status))

    assert ("business_rule", "SLOT_TAKEN") == named(responded(409, body=problem))
    assert ("transient", "QUOTA_EXCEEDED", 2500) == (
        limited.error.error_class,
        limited.error.code,
        limited.error.retry_after_ms,
    )


def test_the_headers_name_the_wait() -> None:
    """Of whichever client."""
    assert 7_000 == explained(responded(503, headers={"Retry-After": "7"})).error.retry_after_ms
    assert 3_000 == explained(Boto(503)).error.retry_after_ms


def test_what_something_was_raised_from_is_followed() -> None:
    """Where it was said (`from`); what merely happened meanwhile is no reason."""
    told, untold = RuntimeError("booking failed"), RuntimeError("booking failed")
    told.__cause__ = httpx.ReadTimeout("")
    untold.__context__ = httpx.ReadTimeout("")

    assert (("transient", "TIMEOUT"), ("fatal", "UNCLASSIFIED")) == (named(told), named(untold))


def test_a_circle_of_causes_ends() -> None:
    """Somebody's mistake is no endless loop."""
    one, other = RuntimeError("a"), RuntimeError("b")
    one.__cause__, other.__cause__ = other, one

    assert ("fatal", "UNCLASSIFIED") == named(one)


def test_pydantic_names_the_argument() -> None:
    """By its path; the value that was refused stays out of the hint."""
    error = explained(invalid()).error

    assert ("validation", "legs[1]") == (error.error_class, error.field)
    assert (error.hint or "").startswith("legs[1]: Input should be a valid integer")
    assert "hunter2" not in (error.hint or "")


@given(st.text(), st.sampled_from([ValueError, RuntimeError, KeyError, ConnectionError, httpx.ReadTimeout, OSError]))
def test_no_text_reaches_the_model(text: str, kind: type[Exception]) -> None:
    """Whatever it says: the hint is ours, and the message is left out of what a model sees."""
    secret = f"S3CRET{text}"

    document = json.dumps(explained(kind(secret)).to_model())

    assert "S3CRET" not in document


def test_every_class_has_a_hint() -> None:
    """A model is never left without a next step."""
    assert {"transient", "validation", "permission", "business_rule", "fatal"} == {str(each) for each in HINTS}
