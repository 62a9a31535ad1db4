"""
The span of one call of a `@tool`: opened before the guard is asked, closed with what became of the call.

Of arguments the span has their hash; they themselves, and the result, only where the tool's author or
`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` wants them recorded.

Processors of the host run while a span starts and ends, and the SDK lets through what they raise. A tool's answer must
not depend on them, so that ends here.
"""

import json
from collections.abc import Mapping
from random import getrandbits
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry.trace import INVALID_SPAN, Span, Status, StatusCode, Tracer
from opentelemetry.trace.propagation import set_span_in_context

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.agents.callback_spans import current_context
from toolspan.agents.propagation import mark
from toolspan.envelopes.envelope import Failure
from toolspan.tools.tool_faults import FAULTS

#: What a tag can hold.
Value = str | int | bool

_EXECUTE: Final = "execute_tool"
_NAME: Final = conv.TOOL_NAME[0]
_ARGUMENTS: Final = conv.ARGUMENTS[0]
_RESULT: Final = conv.RESULT[0]
_MAX_CONTENT_CHARS: Final = 65_536
_OK: Final[Mapping[str, Value]] = {attr.CALL_OUTCOME: "ok", attr.CALL_ATTEMPTS: 1}
_MS: Final = 1000


class CallSpan:
    """
    The span of a call of *tool*, the current one until `leave`.
    """

    __slots__ = ("_span", "_token", "is_recording")

    def __init__(self, tracer: Tracer, name: str, start: Mapping[str, Value], args_hash: str | None) -> None:
        context = current_context()
        given = start if args_hash is None else {**start, attr.CALL_ARGS_HASH: args_hash}
        try:
            span = tracer.start_span(name, context, attributes=given)
            mark(span, context)
        except Exception as fault:  # noqa: BLE001 - see above
            FAULTS.caught("starting the span of a call", fault)
            span = INVALID_SPAN
        self._span: Final[Span] = span
        self.is_recording: Final = span.is_recording()
        # the span before stays the current one where this one is none
        self._token = otel_context.attach(context if span is INVALID_SPAN else set_span_in_context(span, context))

    @property
    def span_id(self) -> str:
        """
        In hex. Where nothing is traced it is made up: by it the guard tells one call from the other.
        """
        # what is not recorded may have no id, or that of the span around it
        is_own = self.is_recording
        return f"{self._span.get_span_context().span_id if is_own else getrandbits(64):016x}"

    def leave(self) -> None:
        """
        Makes the span before this one the current one.
        """
        otel_context.detach(self._token)

    def link(self, follows: str, follow_up: str) -> None:
        """
        Notes which failure this call answers.
        """
        self.note({attr.CALL_FOLLOWS: follows, attr.CALL_FOLLOW_UP: follow_up})

    def note(self, tags: Mapping[str, Value]) -> None:
        """
        Puts *tags* on the span.
        """
        try:
            self._span.set_attributes(tags)
        except Exception as fault:  # noqa: BLE001 - see above
            FAULTS.caught("tagging the span of a call", fault)

    def note_attempt(self, attempt: int, limit: int, failed: Failure, pause_s: float) -> None:
        """
        Notes an attempt that failed and is repeated after a pause.
        """
        tags: dict[str, Value] = {
            attr.ATTEMPT_NUMBER: attempt,
            attr.ATTEMPT_LIMIT: limit,
            attr.ATTEMPT_PAUSE_MS: round(pause_s * _MS),
            attr.ERROR_CLASS: failed.error.error_class.value,
            attr.ERROR_CODE: failed.error.code,
        }
        try:
            self._span.add_event(attr.ATTEMPT_EVENT, tags)
        except Exception as fault:  # noqa: BLE001 - see above
            FAULTS.caught("noting an attempt of a call", fault)

    def succeed(self, attempts: int, waited_s: float) -> None:
        """
        Closes the span of a call that did what it was asked for, however often it was tried.
        """
        if attempts == 1:
            self._end(_OK)
        else:
            self._end(
                {attr.CALL_OUTCOME: "ok", attr.CALL_ATTEMPTS: attempts, attr.CALL_WAITED_MS: round(waited_s * _MS)}
            )

    def fail(self, failed: Failure, attempts: int, waited_s: float, *, is_exhausted: bool) -> None:
        """
        Closes the span of a call that failed.
        """
        error = failed.error
        tags: dict[str, Value] = {
            attr.CALL_OUTCOME: "error",
            attr.CALL_ATTEMPTS: attempts,
            attr.ERROR_CLASS: error.error_class.value,
            attr.ERROR_CODE: error.code,
            attr.ERROR_TYPE: error.code,
        }
        if error.field is not None:
            tags[attr.ERROR_FIELD] = error.field
        if error.retry_after_ms is not None:
            tags[attr.ERROR_RETRY_AFTER_MS] = error.retry_after_ms
        if waited_s:
            tags[attr.CALL_WAITED_MS] = round(waited_s * _MS)
        if is_exhausted:
            tags[attr.CALL_BUDGET_EXHAUSTED] = True
        self._end(tags, Status(StatusCode.ERROR, error.code))

    def stop(self, tags: Mapping[str, Value]) -> None:
        """
        Closes the span of a call that the guard stopped, with its *tags*.
        """
        self._end(tags)

    def give_up(self, outcome: str, attempts: int, waited_s: float) -> None:
        """
        Closes the span of a call that was `cancelled` by its caller, or `deferred` by the framework.
        """
        tags: dict[str, Value] = {attr.CALL_OUTCOME: outcome, attr.CALL_ATTEMPTS: attempts}
        if waited_s:
            tags[attr.CALL_WAITED_MS] = round(waited_s * _MS)
        self._end(tags)

    def _end(self, tags: Mapping[str, Value], status: Status | None = None) -> None:
        try:
            self._span.set_attributes(tags)
            if status is not None:
                self._span.set_status(status)
            self._span.end()
        except Exception as fault:  # noqa: BLE001 - see above
            FAULTS.caught("ending the span of a call", fault)


def start_attributes(tool: str) -> dict[str, Value]:
    """
    What the span of every call of *tool* starts with: what a sampler may look at.
    """
    return {conv.OPERATION: _EXECUTE, _NAME: tool}


def span_name(tool: str) -> str:
    """
    OpenTelemetry's name of the span of a call of *tool*.
    """
    return f"{_EXECUTE} {tool}"


def arguments_tag(arguments: Mapping[str, object]) -> dict[str, Value]:
    """
    The *arguments* as they are recorded.
    """
    return {_ARGUMENTS: _json(arguments)}


def result_tag(document: object) -> dict[str, Value]:
    """
    What the call answered, as it is recorded.
    """
    return {_RESULT: _json(document)}


def _json(value: object) -> str:
    """
    *value* as JSON; what JSON has no form for by its type: the repr of somebody's object may raise anything.
    """
    try:
        return json.dumps(value, default=_typed)[:_MAX_CONTENT_CHARS]
    except (TypeError, ValueError, RecursionError):
        return _typed(value)


def _typed(value: object) -> str:
    return f"<{type(value).__qualname__}>"
