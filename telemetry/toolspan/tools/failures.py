"""
What a tool raised or returned → the envelope that it answers with, by the classifier that judges spans.

Nothing of an upstream's text gets into what a model sees: the hint of an envelope made here is ours, of one sentence
for each class. What the tool's author wrote (a `ToolError`, an envelope) is taken as it is, but for what must not be
shown. The class is the code's alone to decide: whatever an envelope says of `retryable`, it follows from the class.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from toolspan import attributes as attr
from toolspan.classify import Classifier
from toolspan.envelopes.envelope import Failure, ToolError, clean_hint, failure
from toolspan.envelopes.hints import clean_field
from toolspan.evidence.error_documents import read_envelope
from toolspan.evidence.exceptions import is_model_retry, is_wrapper
from toolspan.evidence.payloads import is_array, is_object
from toolspan.records import Judgement
from toolspan.taxonomy import CLASSES, MODEL_RETRY_CODE, UNCLASSIFIED_CODE, ErrorClass
from toolspan.tools.live_errors import causes_of, is_framework_s, members_of, read_error
from toolspan.tools.retry_after import retry_after_ms
from toolspan.tools.tool_faults import FAULTS

#: What a model is told where the tool itself said nothing.
HINTS: Final[Mapping[ErrorClass, str]] = {
    ErrorClass.TRANSIENT: "The service did not answer, or is overloaded. The same call may succeed later.",
    ErrorClass.VALIDATION: "An argument was not accepted. Change it, then call once more.",
    ErrorClass.PERMISSION: "A credential or an approval is missing. Stop calling this tool and ask a human for it.",
    ErrorClass.BUSINESS_RULE: "A rule of the service forbids this now. Do not repeat it: explain, and offer what else"
    " is possible.",
    ErrorClass.FATAL: "The tool or what it needs is broken. Do not call it again: report what succeeded so far.",
}
_UNCLASSIFIED: Final = "The tool failed and cannot say why. Do not repeat the call: report what succeeded so far."
_MAX_FIELD_PARTS: Final = 16
_HEAD: Final = re.compile(r"[^.\[]+")
#: Members of a group of exceptions that are looked at.
_MAX_MEMBERS: Final = 16


#: Statuses with which a service says that it did nothing; after a timeout or a conflict with itself it may have.
_REFUSED: Final = range(400, 500)
_MAY_BE_DONE: Final = frozenset((408, 409))


class Explained(NamedTuple):
    """
    What an exception means: a *failure*, or None where it is the framework's, to go on to it, as its *outcome*
    (`cancelled`, `deferred`) says. *names* are those of its types and of what it was raised from. *is_refusal* where
    the tool's author or the service said that nothing was done.
    """

    failure: Failure | None
    outcome: str = "error"
    names: tuple[str, ...] = ()
    is_refusal: bool = False


class Explainer:
    """
    Explains failures of tools.

    Args:
        classifier: with the user's rules.
        wall_clock: Unix time, for waits that are given as dates.
    """

    def __init__(self, classifier: Classifier, *, wall_clock: Callable[[], float]) -> None:
        self._classifier = classifier
        self._wall_clock = wall_clock

    def of_exception(self, error: BaseException, tool: str, parameters: Sequence[str] | None = None) -> Explained:
        """
        What *error*, raised by *tool*, means. Never raises.

        Args:
            parameters: what arguments the tool has; None where it takes any.
        """
        try:
            return self._explain(error, tool, parameters)
        except Exception as fault:  # noqa: BLE001 - the tool failed, whatever is wrong with its exception or with a rule
            FAULTS.caught("classifying a failure of a tool", fault)
            return Explained(unclassified(type(error).__name__))

    def _explain(self, error: BaseException, tool: str, parameters: Sequence[str] | None) -> Explained:
        message = ""
        names: tuple[str, ...] = ()
        is_own = True
        for cause in causes_of(error):
            if isinstance(cause, ToolError):
                return Explained(_shown(cause.failure), names=names, is_refusal=True)
            members = members_of(cause)
            if len(members) > 1:
                return self._of_members(members, tool, parameters)
            live = read_error(cause, tool)
            names += live.names
            judgement = self._classifier.judge(live.view, tool, live.result)
            message = message or f"{live.names[0]}: {live.view.events[0].attributes[attr.EXCEPTION_MESSAGE]}"
            if judgement.outcome != "error":
                # what an exception was raised from may be over; what was raised is what happened
                if is_own and any(map(is_framework_s, live.names)):
                    return Explained(None, judgement.outcome, names)
                if is_own:
                    return Explained(unclassified(message), judgement.outcome, names)
                continue
            is_own = is_own and (is_wrapper(live.names[0]) or bool(members))
            if judgement.error_class is not None:
                wait_ms = retry_after_ms(live.headers, now_s=self._wall_clock())
                failed = _judged(judgement, cause, message=message, wait_ms=wait_ms, parameters=parameters)
                status = live.view.attributes.get(attr.HTTP_STATUS[0])
                is_refusal = isinstance(status, int) and status in _REFUSED and status not in _MAY_BE_DONE
                return Explained(failed, names=names, is_refusal=is_refusal)
            if is_model_retry(live.names[0]) and cause.__cause__ is None:
                return Explained(_model_retry(cause, message), names=names)
        return Explained(unclassified(message), names=names)

    def _of_members(self, members: Sequence[BaseException], tool: str, parameters: Sequence[str] | None) -> Explained:
        """
        What several failures at once mean: their class, where they agree on one.
        """
        found = [self._explain(each, tool, parameters) for each in members[:_MAX_MEMBERS]]
        names = tuple(name for each in found for name in each.names)
        classes = {None if each.failure is None else each.failure.error.error_class for each in found}
        first = found[0].failure
        if len(classes) == 1 and first is not None and len(members) <= _MAX_MEMBERS:
            return Explained(first, names=names)
        return Explained(unclassified(f"{len(members)} exceptions at once"), names=names)

    def of_result(self, value: object) -> Failure | None:
        """
        The failure that *value*, which a tool returned, is; None where it is none.
        """
        if isinstance(value, Failure):
            return _shown(value)
        if not is_object(value) or not isinstance(value.get("ok"), bool):
            return None
        error = value.get("error")
        if value["ok"]:
            # what contradicts itself may have been done and may have failed: nobody goes on by himself
            return unclassified("ok beside an error") if is_object(error) and error else None
        reading = read_envelope(value)
        if reading.named is None or reading.named.error_class not in CLASSES or not is_object(error):
            return unclassified("")
        hint, message = error.get("hint"), error.get("message")
        error_class = ErrorClass(reading.named.error_class)
        return _made(
            error_class,
            reading.named.code,
            hint=clean_hint(hint) if isinstance(hint, str) else "",
            field=reading.field,
            wait_ms=reading.retry_after_ms,
            message=message if isinstance(message, str) else "",
        )


def unclassified(message: str) -> Failure:
    """
    A failure of which nobody knows who or what must change: the safe answer is to stop and report.
    """
    return failure(ErrorClass.FATAL, UNCLASSIFIED_CODE, hint=_UNCLASSIFIED, message=message or None)


def _judged(
    judgement: Judgement,
    error: BaseException,
    *,
    message: str,
    wait_ms: int | None,
    parameters: Sequence[str] | None,
) -> Failure:
    named = judgement.error_class
    if named is None or named not in CLASSES:
        return unclassified(message)
    error_class = ErrorClass(named)
    field, hint = judgement.field, ""
    if error_class is ErrorClass.VALIDATION:
        field, hint = _of_model(error, parameters) or (field, "")
        if field and (clean_field(field) is None or not _is_of(field, parameters)):
            # what was not accepted is something that the tool made or got by itself
            field, hint = None, ""
        if field and not hint:
            hint = f"The argument '{field}' was not accepted. Change it, then call once more."
    wait_ms = judgement.retry_after_ms if wait_ms is None else wait_ms
    code = judgement.code or named.upper()
    return _made(error_class, code, hint=hint, field=field, wait_ms=wait_ms, message=message)


def _model_retry(error: BaseException, message: str) -> Failure:
    """
    What a tool's author tells the model by an exception that is made for that.
    """
    hint = clean_hint(str(error))
    return _made(ErrorClass.VALIDATION, MODEL_RETRY_CODE, hint=hint, field=None, wait_ms=None, message=message)


def _is_of(field: str, parameters: Sequence[str] | None) -> bool:
    head = _HEAD.match(field)
    return parameters is None or (head is not None and head[0] in parameters)


def _of_model(error: BaseException, parameters: Sequence[str] | None) -> tuple[str, str] | None:
    """
    Field and hint of a pydantic ValidationError, whose words are the author's of the model.
    """
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return None
    try:
        problems: object = errors()
    except Exception:  # noqa: BLE001 - a method of somebody's that happens to have the name
        return None
    first = problems[0] if is_array(problems) and problems else None
    if not is_object(first) or not is_array(first.get("loc")):
        return None
    field = _path(first["loc"], parameters)
    words = first.get("msg")
    return (field, clean_hint(f"{field}: {words}")) if field and isinstance(words, str) else None


def _path(loc: object, parameters: Sequence[str] | None) -> str:
    parts = list(loc[:_MAX_FIELD_PARTS]) if is_array(loc) else []
    if parts and isinstance(parts[0], int) and parameters is not None and parts[0] < len(parameters):
        # `validate_call` counts positional arguments
        parts[0] = parameters[parts[0]]
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _shown(failed: Failure) -> Failure:
    """
    *failed*, with a hint that a model may see.
    """
    error = failed.error
    hint = clean_hint(error.hint) if error.hint is not None else ""
    if hint == error.hint:
        return failed
    return _made(
        error.error_class,
        error.code,
        hint=hint,
        field=error.field,
        wait_ms=error.retry_after_ms,
        message=error.message or "",
    )


def _made(
    error_class: ErrorClass, code: str, *, hint: str, field: str | None, wait_ms: int | None, message: str
) -> Failure:
    """
    A failure of which every rule holds: what does not belong to its class is left out.
    """
    if code == UNCLASSIFIED_CODE:
        return unclassified(message)
    return failure(
        error_class,
        code,
        hint=hint or HINTS[error_class],
        field=field if error_class is ErrorClass.VALIDATION else None,
        retry_after_ms=wait_ms if error_class is ErrorClass.TRANSIENT else None,
        message=message or None,
    )
