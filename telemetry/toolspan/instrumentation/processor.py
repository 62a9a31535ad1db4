"""
The span processor: tags tool spans on their way to whatever follows, and tells the destinations of toolspan of all.

`ToolspanProcessor` wraps another processor, or the composite of a provider (see `instrumenting`): what that one gets is
the span itself, or of a tool span a copy with tags. Attributes of a span are final before any processor hears of its
end, so that there is no other way to add to them.

**Never in the host's way.** Everything of ours happens inside one `try`: whatever is wrong, the wrapped processor gets
the span, and the fault is counted. What the wrapped processor raises is its own and is let through, as without us.

**Cost.** Most spans are no tools. Such a span takes 1.1 to 1.7 µs here, most of it for looking that it is none
(`benchmarks/processor.py`), and one more where there are destinations, whose own threads make facts of it; within a
task it is marked, for 3 µs more of them. A tool span takes 17: it is recognised, classified, its arguments are hashed.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final, NamedTuple, Protocol, TypeAlias

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.instrumentation import forks
from toolspan.instrumentation.followups import FollowUps
from toolspan.instrumentation.losses import Faults, Losses
from toolspan.instrumentation.marking import mark_start
from toolspan.instrumentation.sdk_spans import (
    Bare,
    attributes_of,
    bare_of,
    identity_of,
    is_sampled,
    marks_of,
    view_of,
    with_tags,
)
from toolspan.instrumentation.tagging import is_tagged, tags_of
from toolspan.recognise import NO_SOURCE, Recogniser, Source, source_of
from toolspan.records import SpanFacts, SpanView

_MARKS: Final = frozenset((attr.TASK_ID, attr.STEP_ID, attr.TASK_OUTCOME))
_GATE: Final = tuple((name, values) for name, values in conv.gate() if name not in _MARKS)
_OPERATIONS: Final = dict(_GATE)[conv.OPERATION]
#: A span with none of these stands for nothing, unless its operation does.
_TELLING: Final = frozenset((*(name for name, _ in _GATE), *attr.HTTP_STATUS)) - {conv.OPERATION}
_TOOL_GATE: Final = tuple((marker.attribute, marker.values) for marker in conv.TOOL_MARKERS)
_TOOL_OPERATIONS: Final = dict(_TOOL_GATE)[conv.OPERATION]
_TOOL_NAMES: Final = frozenset(name for name, _ in _TOOL_GATE) - {conv.OPERATION}
#: How long the end of a process may take to hand on what waits: a store that does not answer by then will not.
SHUTDOWN_S: Final = 5.0


class Marked(NamedTuple):
    """
    A span that only says whose task it is part of; *view* has these marks and no other attributes.
    """

    place: Bare
    view: SpanView
    source: Source


#: What is left of a span that is nobody's call, in 0.4 or 2 µs, until a thread of ours makes facts of it.
Unread: TypeAlias = Bare | Marked


class Sink(Protocol):
    """
    Where ended spans are handed to, beside the wrapped processor.
    """

    def put(self, span: ReadableSpan, facts: SpanFacts | Unread, /) -> None:
        """
        Takes a tagged *span* and its *facts*; never waits.
        """
        ...

    def flush(self, timeout_s: float, /) -> bool:
        """
        Hands on what it has; whether that was done within *timeout_s*.
        """
        ...

    def close(self, timeout_s: float, /) -> bool:
        """
        As `flush`, and takes nothing more.
        """
        ...


class Tagger:
    """
    Reads spans with *recogniser*, and tags those of tools; for any thread.
    """

    def __init__(self, recogniser: Recogniser, *, losses: Losses) -> None:
        self._recogniser = recogniser
        self._losses = losses
        self._known: tuple[object, Source] = (None, NO_SOURCE)
        self._begin()
        forks.register(self)

    def _begin(self) -> None:
        self._follow_ups, self._lock = FollowUps(), Lock()

    def tag(self, span: ReadableSpan) -> ReadableSpan:
        """
        *span*, or a tagged copy where it is a tool's.
        """
        attributes = attributes_of(span)
        return self._read(span, attributes)[0] if _may_be_call(attributes) else span

    def see(self, span: ReadableSpan) -> tuple[ReadableSpan, SpanFacts | Unread | None]:
        """
        *span*, or a tagged copy where it is a tool's; and its facts, None where it cannot be kept.
        """
        attributes = attributes_of(span)
        if span.parent is None or _stands_for_something(span, attributes):
            return self._read(span, attributes)
        if _MARKS.isdisjoint(attributes):
            return span, bare_of(span)
        return span, Marked(bare_of(span), marks_of(span, attributes), self._source_of(span))

    def facts_of(self, unread: Unread) -> SpanFacts | None:
        """
        The facts of a span that was only looked at; None where it cannot be kept.
        """
        identity = identity_of(unread.place if isinstance(unread, Marked) else unread)
        if identity is None:
            self._losses.add("time")
            return None
        if isinstance(unread, Marked):
            return self._recogniser.reduce(unread.view, *identity, unread.source)
        return SpanFacts(*identity)

    def _read(
        self, span: ReadableSpan, attributes: Mapping[str, object]
    ) -> tuple[ReadableSpan, SpanFacts | Unread | None]:
        identity = identity_of(bare_of(span))
        if identity is None:
            self._losses.add("time")
            return span, None
        facts = self._recogniser.reduce(view_of(span, attributes), *identity, self._source_of(span))
        if facts.call is None or is_tagged(attributes):
            return span, facts
        with self._lock:
            answer = self._follow_ups.see(facts)
        return with_tags(span, attributes, tags_of(facts.call, attributes, answer)), facts

    def _source_of(self, span: ReadableSpan) -> Source:
        known, source = self._known
        if span.resource is not known:
            # nearly always there is one in a process
            source = source_of(span.resource.attributes)
            self._known = span.resource, source
        return source

    def before_fork(self) -> None:
        """
        As `Forked.before_fork`.
        """

    def after_fork(self, *, is_child: bool) -> None:
        """
        In a child, begins anew: another thread of the parent may have held the lock.
        """
        if is_child:
            self._begin()


class ToolspanProcessor(SpanProcessor):
    """
    Tags what *wrapped* is to see, and hands all to *sinks*.
    """

    def __init__(
        self,
        wrapped: SpanProcessor | None,
        *,
        tagger: Tagger,
        losses: Losses,
        faults: Faults,
        sinks: Sequence[Sink] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wrapped = wrapped
        self._tagger = tagger
        self._losses = losses
        self._faults = faults
        self._sinks = tuple(sinks)
        self._clock = clock
        self._is_off = False

    def switch_off(self) -> None:
        """
        Passes everything on as it comes, from now on.
        """
        self._is_off = True

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """
        Marks *span* with the task and step that it belongs to.
        """
        try:
            if not self._is_off:
                mark_start(span, parent_context)
        except Exception as error:  # noqa: BLE001 - the hook's edge
            self._faults.caught("the start of a span", error)
        if self._wrapped is not None:
            self._wrapped.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """
        Passes *span* on, tagged where it is a tool's.
        """
        passed = self.tagged(span)
        if self._wrapped is not None:
            self._wrapped.on_end(passed)

    def tagged(self, span: ReadableSpan) -> ReadableSpan:
        """
        *span*, or a tagged copy where it is a tool's, which the sinks have then, too.
        """
        if self._is_off:
            return span
        try:
            sinks = self._sinks
            if not (sinks and is_sampled(span)):
                return self._tagger.tag(span)
            passed, facts = self._tagger.see(span)
            if facts is not None:
                for sink in sinks:
                    sink.put(passed, facts)
        except Exception as error:  # noqa: BLE001 - the hook's edge
            self._losses.add("fault")
            self._faults.caught("the end of a span", error)
            return span
        return passed

    def _on_ending(self, span: Span) -> None:
        if self._wrapped is not None:
            self._wrapped._on_ending(span)  # pyright: ignore[reportPrivateUsage]  # experimental in the SDK, hence its name

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """
        Hands on all that waits; whether that was done in time. The wrapped processor comes first, as without us.
        """
        deadline_s = self._clock() + timeout_millis / 1000
        is_flushed = self._wrapped is None or self._wrapped.force_flush(timeout_millis) is not False
        return self.flush(deadline_s - self._clock()) and is_flushed

    def flush(self, timeout_s: float) -> bool:
        """
        Hands on what waits for the sinks; whether that was done within *timeout_s*.
        """
        deadline_s = self._clock() + timeout_s
        try:
            # all of them begin at once: one that hangs must not take the time of the others
            for sink in self._sinks:
                sink.flush(0)
            flushed = [sink.flush(deadline_s - self._clock()) for sink in self._sinks]
        except Exception as error:  # noqa: BLE001 - the hook's edge
            self._faults.caught("what hands on", error)
            return False
        return all(flushed)

    def shutdown(self) -> None:
        """
        Shuts the wrapped processor down, then hands on what waits.
        """
        try:
            if self._wrapped is not None:
                self._wrapped.shutdown()
        finally:
            self.close(SHUTDOWN_S)

    def close(self, timeout_s: float) -> None:
        """
        Hands on what waits within *timeout_s*, and nothing after that; says what was lost.
        """
        deadline_s = self._clock() + timeout_s
        try:
            for sink in self._sinks:
                sink.flush(0)  # as in `flush`
            for sink in self._sinks:
                sink.close(deadline_s - self._clock())
        except Exception as error:  # noqa: BLE001 - the hook's edge
            self._faults.caught("the end of the process", error)
        self._losses.tell_all()


def _may_be_call(attributes: Mapping[str, object]) -> bool:
    """
    Whether a span with *attributes* is marked as a tool's.
    """
    operation = attributes.get(conv.OPERATION)
    if operation is not None and isinstance(operation, str) and operation in _TOOL_OPERATIONS:
        return True
    return not _TOOL_NAMES.isdisjoint(attributes) and any(
        _is_among(attributes.get(name), values) for name, values in _TOOL_GATE
    )


def _stands_for_something(span: ReadableSpan, attributes: Mapping[str, object]) -> bool:
    """
    Whether *span* is a tool, a run, an escalation or a failed request.
    """
    operation = attributes.get(conv.OPERATION)
    if operation is not None and isinstance(operation, str) and operation in _OPERATIONS:
        return True
    if _TELLING.isdisjoint(attributes):
        return False
    if any(_is_among(attributes.get(name), values) for name, values in _GATE):
        return True
    return span.kind is SpanKind.CLIENT and any(name in attributes for name in attr.HTTP_STATUS)


def _is_among(value: object, values: frozenset[str]) -> bool:
    """
    Whether *value* is there and one of *values*; of none, any will do.
    """
    return value is not None and (not values or (isinstance(value, str) and value in values))
