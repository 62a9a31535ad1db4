"""
Spans of the OpenTelemetry SDK that have ended: read as recognition sees spans, and copied with more attributes.

**What is private.** A span's attributes lie in a `BoundedAttributes` around a dictionary. Through the public property
each look-up takes 0.6 µs, and there are a dozen for every span of a service; in the dictionary 0.03. A copy through
the public constructor loses how many attributes, events and links were dropped, and where there are 128 attributes its
tags push out the oldest. So a copy is made of the instance's dictionary (0.5 µs) with attributes that know no limit.
Should an SDK lay its spans out otherwise, reading goes the public way, and a copy that cannot be made is a fault that
is counted by who asked for it.

A span of somebody else is never changed.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event as SdkEvent
from opentelemetry.sdk.trace import ReadableSpan, Span
from opentelemetry.trace import SpanContext

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.evidence.payloads import is_array, is_object
from toolspan.instrumentation.tagging import Tags
from toolspan.records import Event, SpanView
from toolspan.wanted import EVENT_WANTED, WANTED

#: The last nanosecond that the store's columns can hold: in the year 2262.
_MAX_TIME_NS: Final = 2**63 - 1
#: Events that classification reads.
_EVENTS: Final = frozenset(
    (attr.EXCEPTION_EVENT, *(content.event for content in (*conv.ARGUMENT_EVENTS, *conv.RESULT_EVENTS)))
)
#: What a span that stands for nothing may say of its task.
_MARKS: Final = (attr.TASK_ID, attr.STEP_ID, attr.TASK_OUTCOME, *conv.AGENT)
#: OTLP counts kinds of spans from 1, the SDK from 0.
_FIRST_KIND: Final = 1
#: More attributes than a span without limit has.
_MANY: Final = 2**31


def attributes_of(span: ReadableSpan) -> Mapping[str, object]:
    """
    The attributes of *span*, to be looked at and not to be kept.
    """
    held = getattr(span, "_attributes", None)
    # exactly: what somebody made of it may lay its values out otherwise
    if type(held) is BoundedAttributes:
        return held._dict  # pyright: ignore[reportPrivateUsage]  # see above
    return dict(span.attributes or {})


def view_of(span: ReadableSpan, attributes: Mapping[str, object]) -> SpanView:
    """
    *span* as recognition and classification see it; *attributes* are all it has.
    """
    status = span.status
    scope = span.instrumentation_scope
    return SpanView(
        span.name,
        span.kind.value + _FIRST_KIND,
        "" if scope is None else scope.name,
        status.status_code.value,
        status.description or "",
        {name: _plain(value) for name, value in attributes.items() if name in WANTED},
        _events(span.events),
    )


def marks_of(span: ReadableSpan, attributes: Mapping[str, object]) -> SpanView:
    """
    As `view_of`, of a span of which only the marks are of interest: without payloads, events and texts.
    """
    return SpanView(
        span.name,
        span.kind.value + _FIRST_KIND,
        "",
        span.status.status_code.value,
        "",
        {name: attributes[name] for name in _MARKS if name in attributes},
    )


class Bare(NamedTuple):
    """
    What there is to know of a span that stands for nothing: its place.
    """

    context: SpanContext | None
    parent: SpanContext | None
    start_ns: int | None
    end_ns: int | None


def bare_of(span: ReadableSpan) -> Bare:
    """
    The place of *span*.
    """
    return Bare(span.context, span.parent, span.start_time, span.end_time)


def identity_of(bare: Bare) -> tuple[bytes, bytes, bytes, int, int] | None:
    """
    Trace id, span id, parent's id (empty for none), start and end of a span; None where it cannot be kept.

    A missing end or start is the other one; an end before its start is 0 long.
    """
    context, parent, start, end = bare
    if context is None or not context.trace_id or not context.span_id:
        return None
    end = end or 0
    start = start or end
    if not 0 < start <= _MAX_TIME_NS or end > _MAX_TIME_NS:
        return None
    return (
        context.trace_id.to_bytes(16, "big"),
        context.span_id.to_bytes(8, "big"),
        parent.span_id.to_bytes(8, "big") if parent is not None and parent.span_id else b"",
        start,
        max(start, end),
    )


def mark_started(span: Span, marks: Mapping[str, str]) -> None:
    """
    Sets the attributes *marks* on *span*, which has just started, but for those that it has.

    As `set_attribute` does, which takes 0.8 µs for each: nobody else has the span yet, and values are plain texts.
    """
    held = getattr(span, "_attributes", None)
    if type(held) is not BoundedAttributes or (held.maxlen or _MANY) < len(held._dict) + len(marks):  # pyright: ignore[reportPrivateUsage]  # see above
        for name, value in marks.items():
            if name not in (getattr(span, "attributes", None) or {}):
                span.set_attribute(name, value)
        return
    attributes = held._dict  # pyright: ignore[reportPrivateUsage]  # see above
    for name, value in marks.items():
        if name not in attributes:
            attributes[name] = value


def is_sampled(span: ReadableSpan) -> bool:
    """
    Whether *span* is to be exported; others are recorded for this process alone.
    """
    context = span.context
    # a bit of an int: the property of the same name takes twice as long
    return context is not None and bool(context.trace_flags & 1)


def with_tags(span: ReadableSpan, attributes: Mapping[str, object], tags: Tags) -> ReadableSpan:
    """
    A copy of *span*, which has *attributes*, with *tags* beside them.
    """
    held = BoundedAttributes(None)
    held._dict = {**attributes, **tags}  # type: ignore[dict-item]  # values are those of a span
    held.dropped = span.dropped_attributes
    copy = object.__new__(span.__class__)
    copy.__dict__.update(span.__dict__)
    copy._attributes = held  # pyright: ignore[reportPrivateUsage]  # see above
    return copy


def _events(events: Sequence[SdkEvent]) -> tuple[Event, ...]:
    return tuple(
        Event(
            event.name,
            {name: _plain(value) for name, value in (event.attributes or {}).items() if name in EVENT_WANTED},
        )
        for event in events
        if event.name in _EVENTS
    )


def _plain(value: object) -> object:
    """
    *value* as it would come over a wire.
    """
    if is_array(value):
        return [_plain(item) for item in value]
    if is_object(value):
        return {name: _plain(item) for name, item in value.items()}
    return value
