"""
What goes wrong around a tool: failures as exceptions at its boundary, and as answers below its HTTP client.
"""

from typing import Final, NamedTuple

from toolspan.faults import (
    Fault,
    HttpFault,
    cancellation,
    disconnect,
    every_code,
    every_lie,
    every_malformation,
    http_failure,
    http_garbage,
    http_refusal,
    http_reset,
    http_status,
    http_timeout,
    raising,
    slow,
    timeout,
    timeout_after_commit,
)
from toolspan.taxonomy import ErrorClass

#: Longer than any tool should wait by itself, so that it has to be passed on.
LONG_WAIT_S: Final = 3600


class Leak(NamedTuple):
    """
    Something that a model must not see: what it *is*, and the *mark* by which it is found again.
    """

    what: str
    mark: str


#: Made up for this; nothing of it opens or resolves anything.
LEAKS: Final = (
    Leak("a password", "hunter2-toolspan"),
    Leak("a token", "sk-toolspan-4f9a1c7e2b8d4f9a1c7e2b8d"),
    Leak("a host name", "db-7.internal.toolspan.example"),
    Leak("a stack trace", "Traceback (most recent call last)"),
)
LEAKING_TEXT: Final = (
    f"postgresql://svc:{LEAKS[0].mark}@{LEAKS[2].mark}:5432/pay refused; Authorization: Bearer {LEAKS[1].mark}\n"
    f'{LEAKS[3].mark}:\n  File "/srv/agent/pay.py", line 12, in pay\nValueError: refused'
)


class Cause(NamedTuple):
    """
    A failure of this class: as an exception *at* the tool's boundary, and as an answer *below* its HTTP client.

    A service may say no to a request that a tool made well (a duplicate, a closed account); then the tool has
    succeeded, and that *may_succeed*.
    """

    error_class: ErrorClass
    at: Fault
    below: HttpFault
    may_succeed: bool = False


#: A service that was never reached: nothing was done, so that a write need not look anything up.
UNREACHED: Final = Cause(ErrorClass.TRANSIENT, disconnect(), http_refusal())
RATE_LIMITED: Final = Cause(
    ErrorClass.TRANSIENT,
    http_failure(429, headers={"Retry-After": str(LONG_WAIT_S)}),
    http_status(429, retry_after=str(LONG_WAIT_S)),
)
#: What no repetition helps against, as an upstream says it, not as a tool would.
PERMANENT: Final = (
    Cause(ErrorClass.VALIDATION, http_failure(422), http_status(422, {"detail": LEAKING_TEXT}), may_succeed=True),
    Cause(ErrorClass.PERMISSION, http_failure(403), http_status(403, {"error": LEAKING_TEXT})),
    Cause(ErrorClass.BUSINESS_RULE, http_failure(409), http_status(409, LEAKING_TEXT), may_succeed=True),
    Cause(ErrorClass.FATAL, raising(NotImplementedError), http_status(501, LEAKING_TEXT)),
)
#: Failures that say what must be changed before the call can succeed, and nothing else.
REFUSALS: Final = tuple(
    cause for cause in PERMANENT if cause.error_class in (ErrorClass.PERMISSION, ErrorClass.BUSINESS_RULE)
)
#: Below the client: nothing came of the request, whatever the tool makes of it.
BROKEN: Final = (
    http_refusal(),
    http_timeout(),
    http_reset(),
    http_status(500, LEAKING_TEXT),
    http_status(503, LEAKING_TEXT),
)
#: An answer that begins well and is cut off; to a tool that passes texts on it is one like any other.
GARBAGE: Final = http_garbage()

#: The names of the faults below the client after which no tool has done what it was asked for.
MUST_FAIL: Final = frozenset(
    fault.name for fault in (*BROKEN, *(cause.below for cause in PERMANENT if not cause.may_succeed))
)

#: What a tool's own code may raise with a text that nobody should see.
LEAKING: Final = (
    raising(lambda: RuntimeError(LEAKING_TEXT), name="RuntimeError with secrets"),
    raising(lambda: ValueError(LEAKING_TEXT), name="ValueError with secrets"),
    raising(lambda: ConnectionError(LEAKING_TEXT), name="ConnectionError with secrets"),
    raising(lambda: PermissionError(LEAKING_TEXT), name="PermissionError with secrets"),
    http_failure(409, body=LEAKING_TEXT),
    http_failure(422, body=LEAKING_TEXT),
)

#: The tenth point: every code, every lie, every malformation, each break, at the tool's boundary.
CATALOGUE: Final[tuple[Fault, ...]] = (
    *every_code(),
    *(cause.at for cause in PERMANENT),
    RATE_LIMITED.at,
    *every_lie(),
    *every_malformation(),
    timeout(),
    timeout_after_commit(),
    disconnect(),
    raising(ZeroDivisionError, error_class=ErrorClass.FATAL),
    raising(lambda: RuntimeError("?"), name="RuntimeError"),
    slow(1.0),
)
CANCELLATION: Final = cancellation()
