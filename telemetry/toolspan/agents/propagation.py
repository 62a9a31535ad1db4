"""
Which task and step the current work belongs to, carried in OpenTelemetry's context to every span below.

They are baggage: part of the context within a process, a header between processes where the propagator for baggage is
set up (OpenTelemetry's default). A header may come from anybody, so what it says is taken for an id only if it looks
like one.
"""

import hashlib
from typing import TYPE_CHECKING, Final

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.trace import Span

from toolspan import attributes as attr

if TYPE_CHECKING:
    from collections.abc import Container

#: Of an id; readers cut what they are given at 256, and two ids that are cut could be one.
MAX_ID_CHARS: Final = 128
#: A longer one is cut, and told apart by this much of its digest.
_DIGEST_BYTES: Final = 8


def task_id_of(context: Context | None = None) -> str | None:
    """
    The id of the task that *context*, or the current one, belongs to; None where nobody said.
    """
    return _id(baggage.get_baggage(attr.TASK_ID, context))


def step_id_of(context: Context | None = None) -> str | None:
    """
    The id of the step that *context*, or the current one, belongs to; None where nobody said.
    """
    return _id(baggage.get_baggage(attr.STEP_ID, context))


def mark(span: Span, context: Context | None = None) -> None:
    """
    Set the ids of task and step on *span*, which starts in *context*; what it says itself stays.
    """
    carried = baggage.get_all(context)
    if not carried:
        return
    # what is no SDK's span, or not recorded, says nothing
    said: Container[str] = getattr(span, "attributes", None) or ()
    for name in (attr.TASK_ID, attr.STEP_ID):
        value = _id(carried.get(name))
        if value is not None and name not in said:
            span.set_attribute(name, value)


def with_task(task_id: str, context: Context | None = None) -> Context:
    """
    *context* with *task_id*, and without the step of another task.
    """
    return baggage.set_baggage(attr.TASK_ID, task_id, baggage.remove_baggage(attr.STEP_ID, context))


def with_step(step_id: str, context: Context | None = None) -> Context:
    """
    *context* with *step_id*.
    """
    return baggage.set_baggage(attr.STEP_ID, step_id, context)


def clean_id(text: str) -> str:
    """
    *text* as an id that arrives unchanged wherever it is carried: printable, of at most 128 characters.

    An id may be made of what a user typed, and an agent must not fail for that: it is mended, not refused. What is
    mended keeps a digest of all of it, so that different texts stay different ids.
    """
    cleaned = "".join(char if char.isprintable() else " " for char in text).strip()
    if cleaned == text and len(text) <= MAX_ID_CHARS:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    kept = cleaned[: MAX_ID_CHARS - len(digest) - 1]
    return f"{kept}-{digest}" if kept else digest


def _id(value: object) -> str | None:
    """
    *value*, which may come from outside, if `clean_id` would leave it as it is.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_CHARS:
        return None
    return value if value.isprintable() and value == value.strip() else None
