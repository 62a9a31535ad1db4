"""
What happens in one call of a tool, without doing any of it: a generator that asks for one act after the other.

Attempts, pauses, look-ups and refreshes are the same for functions and coroutine functions, but for how they are done;
so they are decided here once, and done by who drives the generator (`tools`).
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from toolspan.envelopes.envelope import Failure, Receipt, Success, failure
from toolspan.evidence.payloads import is_object
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass
from toolspan.tools.failures import HINTS, Explainer
from toolspan.tools.plain_data import to_plain
from toolspan.tools.retry import Retry
from toolspan.tools.writes import ABSENT, Committed, Write, is_undone, may_be_done, outcome_unknown, receipt_of

if TYPE_CHECKING:
    from toolspan.tools.spans import CallSpan

_MS: Final = 1000
#: What says that an access token is over; a revoked grant has another code, and no token that could be had.
_EXPIRED_CODES: Final = frozenset(("UNAUTHENTICATED", "TOKEN_EXPIRED", "INVALID_TOKEN"))
_DEFAULT_RETRY: Final = Retry()
_ENVELOPE_KEYS: Final = frozenset(("ok", "data", "receipt"))
#: The table's code for what a developer has to mend.
_BUG_CODE: Final = "TOOL_BUG"


class Act(Enum):
    """
    What is asked for: an attempt (with its number), a pause (in seconds), a look-up (with the key), a new token.
    """

    ATTEMPT = auto()
    PAUSE = auto()
    READ_BACK = auto()
    REFRESH = auto()


Asked: TypeAlias = tuple[Act, object]


class Plan(NamedTuple):
    """
    How a tool is called: all that is the same in each of its calls.
    """

    tool: str
    retry: Retry | None
    write: Write | None
    can_refresh: bool
    explainer: Explainer
    clock: Callable[[], float]
    #: Of the tool, as a model sees them; None where it takes any.
    parameters: Sequence[str] | None = None


class Answer(NamedTuple):
    """
    How a call ended: *failure*, or *data* (and, as JSON has it, *plain*) with its *receipt*. *outcome* is `ok`,
    `error`, `stopped` by the guard, else `cancelled` or `deferred`; an exception *raised* then is the framework's.
    """

    outcome: str
    data: object = None
    plain: object = None
    receipt: Receipt | None = None
    failure: Failure | None = None
    raised: Exception | None = None
    attempts: int = 1
    waited_s: float = 0.0
    is_exhausted: bool = False


class Progress:
    """
    How far a call is, for whoever finds it cancelled.
    """

    __slots__ = ("attempts", "waited_s")

    def __init__(self) -> None:
        self.attempts = 1
        self.waited_s = 0.0


def calling(plan: Plan, progress: Progress, span: "CallSpan", key: str) -> Generator[Asked, object, Answer]:
    """
    The acts of one call; what it returns is how the call ended.

    Args:
        key: the idempotency key of a write, else empty.
    """
    started_s = plan.clock()
    may_refresh = plan.can_refresh
    while True:
        attempt = progress.attempts
        failed = yield from _attempt(plan, progress, key)
        if isinstance(failed, Answer):
            return failed
        if may_refresh and failed.error.code in _EXPIRED_CODES:
            may_refresh = False
            refused = yield from _refresh(plan, failed)
            if refused is not None:
                return _given_up(plan, refused, progress)
            limit, pause_s = attempt + 1, 0.0
        else:
            pause = _pause(plan, failed, attempt, started_s)
            if pause is None:
                return _given_up(plan, failed, progress, is_exhausted=plan.retry is not None)
            limit, pause_s = plan.retry.attempts if plan.retry else attempt, pause
        span.note_attempt(attempt, limit, failed, pause_s)
        if pause_s:
            yield Act.PAUSE, pause_s
            progress.waited_s += pause_s
        progress.attempts += 1


def _attempt(plan: Plan, progress: Progress, key: str) -> Generator[Asked, object, Answer | Failure]:
    """
    One attempt: how the call ended, or the failure of which to decide what becomes of it.
    """
    names: tuple[str, ...] = ()
    is_refusal = True  # as an envelope that the tool returned is
    try:
        value = yield Act.ATTEMPT, progress.attempts
    except Exception as error:  # noqa: BLE001 - whatever a tool raises becomes an envelope
        failed, outcome, names, is_refusal = plan.explainer.of_exception(error, plan.tool, plan.parameters)
        if failed is None or outcome != "error":
            raised = error if failed is None else None
            return Answer(
                outcome, failure=failed, raised=raised, attempts=progress.attempts, waited_s=progress.waited_s
            )
    else:
        failed = plan.explainer.of_result(value)
        if failed is None:
            return _well(value, key, progress)
    if plan.write is None:
        return failed
    is_unclear = may_be_done(failed, names)
    # a reply that cannot be read, say, is no transient failure, and came after the write was done
    is_asked = is_unclear or failed.error.code == UNCLASSIFIED_CODE
    if is_asked or not (is_refusal or is_undone(failed, names)):
        found = yield from _look_up(plan.write, key)
        if isinstance(found, Committed):
            return _done(found.data, receipt_of(found, key, progress.attempts), progress)
        if is_unclear and found is not ABSENT:
            return _failed(outcome_unknown(key, failed.error.message), progress)
    return failed


def _refresh(plan: Plan, failed: Failure) -> Generator[Asked, object, Failure | None]:
    """
    Gets a new access token after the call *failed*; why there is none, else None.
    """
    try:
        yield Act.REFRESH, None
    except Exception as error:  # noqa: BLE001 - a grant that was revoked, say
        refused = plan.explainer.of_exception(error, plan.tool).failure
        # that the token is over tells more than a refresh that fails and cannot say why
        return failed if refused is None or refused.error.code == UNCLASSIFIED_CODE else refused
    return None


def _look_up(write: Write, key: str) -> Generator[Asked, object, object]:
    """
    What the read-back says; None where there is none, or it cannot tell.
    """
    if write.read_back is None:
        return None
    try:
        return (yield Act.READ_BACK, key)
    except Exception:  # noqa: BLE001 - a look-up that fails says nothing of the write
        return None


def _pause(plan: Plan, failed: Failure, attempt: int, started_s: float) -> float | None:
    """
    How long to wait before the next attempt; None where this one was the last.
    """
    if plan.retry is None or failed.error.error_class is not ErrorClass.TRANSIENT:
        return None
    asked_ms = failed.error.retry_after_ms
    asked_s = None if asked_ms is None else asked_ms / _MS
    return plan.retry.pause_s(attempt, elapsed_s=plan.clock() - started_s, asked_s=asked_s)


def _given_up(plan: Plan, failed: Failure, progress: Progress, *, is_exhausted: bool = False) -> Answer:
    """
    How a call ended that is not tried again here; of a transient failure the agent is told when to.
    """
    error = failed.error
    is_transient = error.error_class is ErrorClass.TRANSIENT
    if is_transient and error.retry_after_ms is None:
        wait_ms = (plan.retry or _DEFAULT_RETRY).next_wait_ms(progress.attempts)
        failed = Failure(error=error.model_copy(update={"retry_after_ms": wait_ms}))
    return _failed(failed, progress, is_exhausted=is_exhausted and is_transient)


def _failed(failed: Failure, progress: Progress, *, is_exhausted: bool = False) -> Answer:
    return Answer(
        "error",
        failure=failed,
        attempts=progress.attempts,
        waited_s=progress.waited_s,
        is_exhausted=is_exhausted,
    )


def _well(value: object, key: str, progress: Progress) -> Answer:
    """
    How a call ended that returned *value*: data, or an envelope around it.
    """
    data, receipt = value, None
    if isinstance(value, Success):
        data, receipt = value.data, value.receipt
    elif is_object(value) and value.get("ok") is True and "data" in value and value.keys() <= _ENVELOPE_KEYS:
        data, receipt = value["data"], _receipt(value.get("receipt"))
    if receipt is None and key:
        receipt = Receipt(idempotency_key=key, attempts=progress.attempts)
    return _done(data, receipt, progress)


def _done(data: object, receipt: Receipt | None, progress: Progress) -> Answer:
    try:
        plain = to_plain(data)
    except Exception as error:  # noqa: BLE001 - of a generator, say: whatever it raises, there is no result
        message = f"The result cannot be written as JSON: {error}"
        return _failed(failure(ErrorClass.FATAL, _BUG_CODE, hint=HINTS[ErrorClass.FATAL], message=message), progress)
    return Answer("ok", data, plain, receipt, attempts=progress.attempts, waited_s=progress.waited_s)


def _receipt(value: object) -> Receipt | None:
    if not is_object(value):
        return None
    known: Mapping[str, object] = {name: value[name] for name in Receipt.model_fields if name in value}
    try:
        return Receipt.model_validate(known)
    except ValueError:  # pydantic's ValidationError: a receipt of another kind proves nothing here
        return None
