"""
The spans of tasks, steps and escalations: started with the ids that they carry, current while the work is done.
"""

import os
from collections.abc import Mapping
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracer, Span, Status, StatusCode, Tracer

from toolspan import attributes as attr
from toolspan._version import __version__
from toolspan.agents.propagation import mark
from toolspan.instrumentation.destinations import is_disabled

#: A reason is for whoever reads traces; readers cut it here, too.
_MAX_REASON_CHARS: Final = 256


def tracer_of_toolspan() -> Tracer:
    """
    The tracer of the provider that is set now; one that is set later is asked later. None records where toolspan is
    switched off.
    """
    if is_disabled(os.environ):
        return NoOpTracer()
    return trace.get_tracer("toolspan", __version__)


class WorkSpan:
    """
    A span that has started in *context* and is the current one until it ends.
    """

    def __init__(self, tracer: Tracer, name: str, context: Context, values: Mapping[str, str]) -> None:
        self.span: Span = start_span(tracer, name, context, values)
        self._token = otel_context.attach(trace.set_span_in_context(self.span, context))

    def end(self, error: BaseException | None) -> None:
        """
        End the span; *error* is what left its work.

        Its type is noted and not its text, which may hold what the work was about.
        """
        otel_context.detach(self._token)
        if error is not None:
            self.span.set_attribute(attr.ERROR_TYPE, _type_name(error))
            self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()


def start_span(tracer: Tracer, name: str, context: Context, values: Mapping[str, str]) -> Span:
    """
    A span below that of *context*, with the ids of task and step from there.
    """
    span = tracer.start_span(name, context=context, attributes=values)
    mark(span, context)
    return span


def write_escalation(tracer: Tracer, context: Context, tool: str | None, reason: str | None) -> None:
    """
    A span that says that a human was asked now.
    """
    values = {attr.KIND: attr.KIND_ESCALATION}
    if tool:
        values[attr.ESCALATION_TOOL] = tool
    if reason:
        values[attr.ESCALATION_REASON] = reason[:_MAX_REASON_CHARS]
    start_span(tracer, f"escalate {tool}" if tool else "escalate", context, values).end()


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
