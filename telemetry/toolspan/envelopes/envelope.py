"""
The typed result of a tool: what an agent can act on, and nothing else.

A failure says who or what must change before the call can succeed (its class), which is all that an agent needs to
choose what to do, and a hint for it. What people need, the message, is left out of the form that a model sees, and of
the hint what leaks or pretends (`hints`).

Whoever builds an envelope is told of a broken rule at once. What only the moment can spoil raises nothing, since a
tool builds its envelope when something has already gone wrong: an absurd wait is none, a long message is cut. A
validation failure may lack its field: what refused the arguments does not always say which.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from toolspan.envelopes.envelope_rules import broken_rule
from toolspan.envelopes.hints import clean_field
from toolspan.envelopes.hints import clean_hint as clean_hint  # noqa: PLC0414 - who builds a hint finds it here
from toolspan.errors import EnvelopeError, ToolspanError
from toolspan.evidence.error_documents import MAX_FIELD_CHARS, read_envelope, to_retry_after
from toolspan.evidence.payloads import is_object
from toolspan.lint import LintFlag
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass

#: Longest message that is kept for logs.
MAX_MESSAGE_CHARS: Final = 4096
#: Longest id of an operation, or key of one.
MAX_ID_CHARS: Final = 200


def _text(value: object) -> object:
    """
    *value* as UTF-8 has it; half a surrogate pair, which JSON can hold, breaks whoever prints it.
    """
    return value.encode("utf-8", "replace").decode() or None if isinstance(value, str) else value


def _message(value: object) -> object:
    text = _text(value)
    if isinstance(text, str) and len(text) > MAX_MESSAGE_CHARS:
        return f"{text[: MAX_MESSAGE_CHARS - 1]}…"
    return text


def _field(value: object) -> object:
    text = _text(value)
    return _printable(text[:MAX_FIELD_CHARS]) if isinstance(text, str) else text


def _identity(value: object) -> object:
    """
    Any id as one printable word of text: an operation that was done must not fail over how its id is written.
    """
    return None if value is None else _printable(str(value)[:MAX_ID_CHARS]) or None


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


class _Part(BaseModel):
    """
    No unknown keys, no conversions, nothing changes once it is built.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Receipt(_Part):
    """
    What proves that an operation was done: its id at the upstream, the key that makes it happen once, how often it was
    tried.
    """

    operation_id: Annotated[str | None, BeforeValidator(_identity)] = None
    idempotency_key: Annotated[str | None, BeforeValidator(_identity)] = None
    attempts: Annotated[int, Field(ge=1)] | None = None


class ErrorDetail(_Part):
    """
    Why a call failed. *message* is for people who read logs, and is never shown to a model.
    """

    code: str
    error_class: Annotated[ErrorClass, Field(alias="class", strict=False)]
    retryable: bool
    retry_after_ms: Annotated[int | None, BeforeValidator(to_retry_after)] = None
    field: Annotated[str | None, BeforeValidator(_field)] = None
    hint: Annotated[str | None, BeforeValidator(_text)] = None
    message: Annotated[str | None, BeforeValidator(_message)] = None

    @model_validator(mode="before")
    @classmethod
    def _derive(cls, given: object) -> object:
        """
        An absent `retryable` follows from the class.
        """
        if not is_object(given):
            return given
        _check(given)
        retryable = given.get("retryable")
        if retryable is None:
            retryable = given.get("class") == ErrorClass.TRANSIENT
        return {**given, "retryable": retryable}


def _check(error: Mapping[str, object]) -> None:
    """
    Raises for the first rule that *error* breaks.
    """
    # an absurd wait becomes none, and a field may be unknown
    raised = ~(LintFlag.RETRY_AFTER_INVALID | LintFlag.FIELD_MISSING)
    for flag in LintFlag(read_envelope({"ok": False, "error": error}).lint) & raised:
        key, text = broken_rule(flag, error)
        raise _problem(f"{key} {text}")
    if error.get("code") == UNCLASSIFIED_CODE and error.get("class") != ErrorClass.FATAL:
        raise _problem(f"code {UNCLASSIFIED_CODE!r} says that no class is known; give another, or class 'fatal'")


def _problem(text: str) -> PydanticCustomError:
    # as a parameter: a template's braces would be read
    return PydanticCustomError("toolspan", "{text}", {"text": text})


class Success(_Part):
    """
    The call did what it was asked for.
    """

    ok: Literal[True] = True
    data: object = None
    receipt: Receipt | None = None

    def to_model(self) -> dict[str, object]:
        """
        The form that a model sees.
        """
        return self.to_dict()

    def to_dict(self) -> dict[str, object]:
        """
        All of it; *data* as the tool gave it.
        """
        document: dict[str, object] = {"ok": True, "data": self.data}
        if self.receipt is not None:
            document["receipt"] = self.receipt.model_dump(exclude_none=True)
        return document


class Failure(_Part):
    """
    The call failed.
    """

    ok: Literal[False] = False
    error: ErrorDetail

    def to_model(self) -> dict[str, object]:
        """
        The form that a model sees: without the message, and with the hint as `clean_hint` leaves it.
        """
        error = self.error.model_dump(mode="json", by_alias=True, exclude={"message"})
        if self.error.hint is not None:
            error["hint"] = clean_hint(self.error.hint) or None
        error["field"] = clean_field(self.error.field)
        return {"ok": False, "error": error}

    def to_dict(self) -> dict[str, object]:
        """
        All of it, for logs.
        """
        return {"ok": False, "error": self.error.model_dump(mode="json", by_alias=True)}


Envelope: TypeAlias = Success | Failure
_Built = TypeVar("_Built", Success, Failure)
#: What others write although there is nothing to say.
_EMPTY: Final = {True: "error", False: "data"}


class ToolError(ToolspanError):
    """
    Raised inside a tool: the call failed, and this is why. Arguments as for `failure`.

    Raises:
        EnvelopeError: a rule of the envelope is broken.
    """

    def __init__(
        self,
        error_class: ErrorClass | str,
        code: str,
        *,
        hint: str | None = None,
        field: str | None = None,
        retry_after_ms: int | None = None,
        message: str | None = None,
    ) -> None:
        self.failure: Final = failure(
            error_class, code, hint=hint, field=field, retry_after_ms=retry_after_ms, message=message
        )
        super().__init__(message or hint or code)

    def __reduce__(self) -> tuple[object, ...]:
        """
        All of it, for another process: an exception that cannot be read back there breaks a whole pool.
        """
        return _raised, (type(self), self.failure)


def _raised(kind: type[ToolError], failed: Failure) -> ToolError:
    error = failed.error
    return kind(
        error.error_class,
        error.code,
        hint=error.hint,
        field=error.field,
        retry_after_ms=error.retry_after_ms,
        message=error.message,
    )


def success(data: object = None, *, receipt: Receipt | None = None) -> Success:
    """
    What a tool answers that did what it was asked for.
    """
    return Success(data=data, receipt=receipt)


def failure(
    error_class: ErrorClass | str,
    code: str,
    *,
    hint: str | None = None,
    field: str | None = None,
    retry_after_ms: int | None = None,
    message: str | None = None,
) -> Failure:
    """
    What a tool answers that failed.

    Args:
        error_class: one of the five.
        code: in capitals, digits and underscores; stable, since people and programs will rely on it.
        hint: for the model's next decision, one or two sentences; permission and business_rule need one.
        field: the path of the argument at fault, for validation (`date`, `items[2].sku`).
        retry_after_ms: how long to wait, for transient; an absurd wait is none.
        message: for people who read logs.

    Raises:
        EnvelopeError: a rule of the envelope is broken.
    """
    error = {
        "class": error_class,
        "code": code,
        "hint": hint,
        "field": field,
        "retry_after_ms": retry_after_ms,
        "message": message,
    }
    return _validated(Failure, {"ok": False, "error": error})


def parse_envelope(document: object) -> Envelope:
    """
    The envelope that *document*, data as of JSON, is.

    Raises:
        EnvelopeError: it is none, or breaks a rule.
    """
    ok = document.get("ok") if is_object(document) else None
    if not is_object(document) or not isinstance(ok, bool):
        raise EnvelopeError("An envelope is an object with ok: true and data, or ok: false and error; this is none")
    given = {key: value for key, value in document.items() if value is not None or key != _EMPTY[ok]}
    if ok:
        if "error" in given:
            raise EnvelopeError(" ".join(broken_rule(LintFlag.ERROR_BESIDE_OK, {})))
        return _validated(Success, given)
    if given.get("error") is None:
        raise EnvelopeError(" ".join(broken_rule(LintFlag.ERROR_MISSING, {})))
    return _validated(Failure, given)


def _validated(model: type[_Built], document: Mapping[str, object]) -> _Built:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise EnvelopeError(_line(error.errors(include_url=False, include_context=False)[0])) from None


def _line(problem: ErrorDetails) -> str:
    """
    *problem* in one line: pydantic's own name neither the key nor a remedy.
    """
    if problem["type"] == "toolspan":
        return problem["msg"]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{key} is no key of an envelope; put what a tool answers under data"
    return f"{key}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
