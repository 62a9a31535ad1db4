"""
What a fault at a tool's boundary is, and the plain ones: failures, timeouts, delays, answers of somebody else's.

A fault is data: what happens before, instead of and after the real attempt. What makes it happen is `injection.py`.
"""

import asyncio
import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolspan.errors import InputError
from toolspan.faults.raising import raise_http, raise_tool_error
from toolspan.taxonomy import CLASSES, TABLE, ErrorClass

#: The code that stands for a class where a fault names none: of the first HTTP status that is of the class.
_CODE_OF: Final = {rule.error_class: rule.code for rule in reversed(TABLE["http"])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """
    What becomes of one attempt of a tool.

    Args:
        name: what a report calls it.
        strike: makes the answer, or raises; None lets the real attempt answer.
        commits: the real attempt runs first and what it answers is lost, as when a reply does not arrive.
        delay_s: how long it takes before anything else.
        error_class: the class that the model should be told; None where it should be told of no failure, or of one
            whose class the fault leaves open.
        is_failure: whether the model should be told that the call failed.
    """

    name: str
    strike: Callable[[], object] | None = None
    commits: bool = False
    delay_s: float = 0.0
    error_class: ErrorClass | None = None
    is_failure: bool = True


def failing(
    error_class: ErrorClass | str,
    code: str | None = None,
    *,
    hint: str | None = None,
    field: str | None = None,
    retry_after_ms: int | None = None,
    message: str | None = None,
) -> Fault:
    """
    The tool fails with this class and code, by a `ToolError`; what its class requires and is not given is filled in.
    """
    if error_class not in _CODE_OF:
        raise InputError(f"A tool cannot fail with the class {error_class!r}; the classes are {', '.join(CLASSES)}.")
    error_class = ErrorClass(error_class)
    code = code or _CODE_OF[error_class]
    if hint is None and error_class is not ErrorClass.TRANSIENT:
        hint = f"Injected: {code}."
    if field is None and error_class is ErrorClass.VALIDATION:
        field = "injected"

    def strike() -> object:
        raise_tool_error(error_class, code, hint=hint, field=field, retry_after_ms=retry_after_ms, message=message)

    return Fault(name=f"{error_class} {code}", strike=strike, error_class=error_class)


def http_failure(
    status: int, *, headers: Mapping[str, str] | None = None, body: str = "", error_class: ErrorClass | None = None
) -> Fault:
    """
    The tool's HTTP client raises for the answer *status*, as `requests` does in `raise_for_status()`.
    """
    return Fault(
        name=f"HTTP {status}",
        strike=lambda: raise_http(status, headers or {}, body),
        error_class=error_class or class_of_http(status),
    )


def class_of_http(status: int) -> ErrorClass | None:
    """
    The class of an HTTP *status* by the table; None for one that is no failure.
    """
    by_value = {rule.value: rule.error_class for rule in TABLE["http"]}
    return by_value.get(str(status)) or by_value.get(f"{status // 100}xx")


def raising(
    make: Callable[[], BaseException], *, name: str | None = None, error_class: ErrorClass | None = None
) -> Fault:
    """
    The attempt raises what *make* makes: an exception's class, or a function, so that no two attempts share one.
    """

    def strike() -> object:
        raise make()

    return Fault(name=name or str(getattr(make, "__name__", "exception")), strike=strike, error_class=error_class)


def timeout() -> Fault:
    """
    The request is lost on its way: the tool times out and nothing has happened.
    """
    return raising(
        lambda: TimeoutError("the request timed out"), name="timeout before commit", error_class=ErrorClass.TRANSIENT
    )


def timeout_after_commit() -> Fault:
    """
    The reply is lost on its way: the real attempt has done its work and the tool times out all the same.

    No class is right of every tool: a write looks its outcome up, another tool tries again.
    """
    before = raising(lambda: TimeoutError("the reply timed out"), name="timeout after commit")
    return replace(before, commits=True, is_failure=False)


def disconnect() -> Fault:
    """
    The connection is refused.
    """
    refused = errno.ECONNREFUSED
    return raising(
        lambda: ConnectionRefusedError(refused, os.strerror(refused)),
        name="disconnect",
        error_class=ErrorClass.TRANSIENT,
    )


def cancellation() -> Fault:
    """
    The caller gives up while the attempt runs.
    """
    return raising(asyncio.CancelledError, name="cancellation")


def slow(delay_s: float) -> Fault:
    """
    The real attempt answers, *delay_s* later.
    """
    return Fault(name=f"slow by {delay_s:g} s", delay_s=delay_s, is_failure=False)


def answering(
    answer: object, *, name: str = "answer", error_class: ErrorClass | None = None, is_failure: bool = True
) -> Fault:
    """
    The tool returns *answer* in place of its own; what is wrong with an envelope is in `lies.py`.
    """
    return Fault(name=name, strike=lambda: answer, error_class=error_class, is_failure=is_failure)


def every_class() -> tuple[Fault, ...]:
    """
    One failure of each of the five classes, in their usual order.
    """
    return tuple(failing(error_class) for error_class in CLASSES)


def every_code() -> tuple[Fault, ...]:
    """
    One failure of each class and code that the table knows, in its order.
    """
    pairs = dict.fromkeys((rule.error_class, rule.code) for rules in TABLE.values() for rule in rules)
    return tuple(
        failing(error_class, code) for error_class, code in pairs if error_class is not ErrorClass.UNCLASSIFIED
    )
