"""
Spans that are kept beside the current context.

LangChain tells instrumentations of a tool's begin and end by callbacks, and OpenInference does not dare to make a span
current that no callback may ever end. Within such a tool the current span is one from around the whole run, if any; a
span that is made below that one looks like another call, beside the one that the framework traced.
"""

import sys
from typing import TYPE_CHECKING, Final, cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

if TYPE_CHECKING:
    from collections.abc import Callable

#: Is asked only where the host has imported it.
_LANGCHAIN: Final = "openinference.instrumentation.langchain"
_ASK: Final = "get_current_span"


def current_context() -> Context:
    """
    The current context; within a run of LangChain, that of the run's span, if that is the inner one.
    """
    context = otel_context.get_current()
    module = sys.modules.get(_LANGCHAIN)
    if module is None:
        return context
    span = _asked(getattr(module, _ASK, None))
    if span is None or not _is_within(span, trace.get_current_span(context)):
        return context
    return trace.set_span_in_context(span, context)


def _asked(ask: object) -> Span | None:
    try:
        span = cast("Callable[[], object]", ask)()
    except Exception:  # noqa: BLE001 - in the agent's thread; without that span the call is one beside it
        return None
    return span if isinstance(span, Span) else None


def _is_within(span: Span, current: Span) -> bool:
    """
    Whether *span* is the inner one of two that the caller is within; what began later is.
    """
    began, current_began = _start_of(span), _start_of(current)
    return began is None or current_began is None or current_began < began


def _start_of(span: Span) -> int | None:
    """
    When *span* began; None for one that is not recorded, or of another process.
    """
    start = getattr(span, "start_time", None)
    return start if isinstance(start, int) else None
