"""
OTLP requests → facts of spans. One decoder for files, the collector and tests.

A span that is neither tool, run, escalation nor root, and whose attributes say nothing of a task, costs its ids, its
times and a dozen look-ups. What cannot be kept (an id of the wrong length, a time outside 1970…2262) is rejected
and counted; everything else of a span may be missing or of an odd type.

`ptars` (protobuf to Arrow, in Rust) was tried and is no faster here: parsed, seven attributes made columns and all of
it Python values, a span takes 3.0 to 3.4 µs, what is read here of protobuf's own messages 3.0, and the facts are not
made yet.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from google.protobuf.message import DecodeError

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.common_spans import CommonSpans
from toolspan.errors import InputError
from toolspan.otlp_json import UNREADABLE_PARENT, read_json_spans
from toolspan.otlp_values import EVENTS, MESSAGES, all_values, encoded, string_of, view_of, wanted_values
from toolspan.recognise import Recogniser, Source, source_of
from toolspan.records import SeenSpan, SpanFacts

TRACE_ID_BYTES: Final = 16
SPAN_ID_BYTES: Final = 8
_NO_TRACE: Final = bytes(TRACE_ID_BYTES)
_NO_SPAN: Final = bytes(SPAN_ID_BYTES)
#: The last nanosecond that a signed 64-bit integer, and so the store's columns, can hold: in the year 2262.
MAX_TIME_NS: Final = 2**63 - 1

#: Called with every span as it stands, before anything is left out: for `doctor` and `--explain`.
Observer = Callable[[SeenSpan], None]


class Decoded(NamedTuple):
    """
    What one request held: facts, and how many spans were rejected, by reason (`trace_id`, `span_id`, `time`, …).
    """

    spans: list[SpanFacts]
    rejected: Counter[str]


class Decoder:
    """
    Decodes OTLP requests with one recogniser.

    Args:
        recogniser: makes facts of the spans that matter.
        observer: sees every span that is kept; makes decoding twice as slow.
    """

    def __init__(self, recogniser: Recogniser, *, observer: Observer | None = None) -> None:
        self._recogniser = recogniser
        self._common = CommonSpans(recogniser)
        self._observer = observer
        self._parse: Callable[[bytes], Any] = MESSAGES.traces_data.FromString

    def decode(self, data: bytes, *, is_json: bool) -> Decoded:
        """
        The spans of one request.

        Raises:
            InputError: *data* is no OTLP request; the text says what it is instead where that can be told.
        """
        return self.decode_json(data) if is_json else self.decode_protobuf(data)

    def decode_protobuf(self, data: bytes) -> Decoded:
        """
        The spans of a TracesData or ExportTraceServiceRequest in protobuf.
        """
        try:
            request = self._parse(data)
        except DecodeError as error:
            raise InputError("not an OTLP trace message in protobuf (truncated, or something else)") from error
        decoded = Decoded([], Counter())
        for resource_spans in request.resource_spans:
            resource = all_values(resource_spans.resource.attributes)
            source = source_of(resource)
            for scope_spans in resource_spans.scope_spans:
                scope = string_of(scope_spans.scope.name)
                if self._observer is None:
                    self._read_spans(scope_spans.spans, scope, source, decoded)
                else:
                    self._observe_spans(scope_spans.spans, scope, source, resource, decoded)
        return decoded

    def decode_json(self, data: bytes) -> Decoded:
        """
        The spans of a TracesData or ExportTraceServiceRequest in OTLP/JSON.
        """
        decoded = Decoded([], Counter())
        source, resource = Source(), None
        for span in read_json_spans(data):
            if span.resource is not resource:
                resource = span.resource
                source = source_of(resource)
            self._keep(span, source, decoded)
        return decoded

    def _read_spans(self, spans: Any, scope: str, source: Source, decoded: Decoded) -> None:
        append, rejected, reduce = decoded.spans.append, decoded.rejected, self._recogniser.reduce
        read_call, read_run = self._common.read_call, self._common.read_run
        make = SpanFacts._make
        last_trace_id: Any = None
        last_parent_id: Any = None
        for span in spans:
            trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
            start, end = span.start_time_unix_nano, span.end_time_unix_nano
            is_sibling = trace_id == last_trace_id and parent_id == last_parent_id
            if is_sibling and len(span_id) == SPAN_ID_BYTES and span_id != _NO_SPAN and 0 < start <= end <= MAX_TIME_NS:
                # siblings come together: one object for the ids that they share, which were looked at already
                trace_id, parent_id = last_trace_id, last_parent_id
            else:
                reason, parent_id, start, end = _mend(trace_id, span_id, parent_id, start, end)
                if reason:
                    rejected[reason] += 1
                    continue
                trace_id = last_trace_id if trace_id == last_trace_id else trace_id
                last_trace_id, last_parent_id = trace_id, parent_id
            attributes = span.attributes
            operation = attributes.get(conv.OPERATION)
            if operation == _EXECUTE_TOOL:
                facts = read_call(span, attributes, scope, source, (trace_id, span_id, parent_id, start, end))
                if facts is not None:
                    append(facts)
                    continue
            elif operation in _RUNS:
                facts = read_run(span, attributes, source, (trace_id, span_id, parent_id, start, end))
                if facts is not None:
                    append(facts)
                    continue
            elif parent_id and operation not in _OPERATIONS and _says_nothing(attributes, span):
                append(make((trace_id, span_id, parent_id, start, end, 0, False, None, None, None, 0)))
                continue
            view = view_of(span, scope, wanted_values(attributes))
            append(reduce(view, trace_id, span_id, parent_id, start, end, source))

    def _observe_spans(
        self, spans: Any, scope: str, source: Source, resource: Mapping[str, object], decoded: Decoded
    ) -> None:
        for span in spans:
            view = view_of(span, scope, all_values(span.attributes), all_events=True)
            seen = SeenSpan(
                view,
                span.trace_id,
                span.span_id,
                span.parent_span_id,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
                resource,
            )
            self._keep(seen, source, decoded)

    def _keep(self, seen: SeenSpan, source: Source, decoded: Decoded) -> None:
        reason, parent_id, start, end = _mend(seen.trace_id, seen.span_id, seen.parent_id, seen.start_ns, seen.end_ns)
        if reason:
            decoded.rejected[reason] += 1
            return
        seen = seen._replace(parent_id=parent_id, start_ns=start, end_ns=end)
        if self._observer is not None:
            self._observer(seen)
        view = seen.view
        if view.events:
            # as protobuf is read: other events say nothing of a call
            view = view._replace(events=tuple(event for event in view.events if event.name in EVENTS))
        decoded.spans.append(self._recogniser.reduce(view, seen.trace_id, seen.span_id, parent_id, start, end, source))


def _mend(trace_id: bytes, span_id: bytes, parent_id: bytes, start: int, end: int) -> tuple[str, bytes, int, int]:
    """
    Why a span cannot be kept (empty: it can), and its parent and times put right.

    A parent of zeros is no parent; one that is no span id is some span that never comes.
    A missing end or start is the other one; an end before its start is 0 long.
    """
    if len(trace_id) != TRACE_ID_BYTES or trace_id == _NO_TRACE:
        return "trace_id", parent_id, start, end
    if len(span_id) != SPAN_ID_BYTES or span_id == _NO_SPAN:
        return "span_id", parent_id, start, end
    if parent_id:
        parent_id = (
            b"" if parent_id == _NO_SPAN else parent_id if len(parent_id) == SPAN_ID_BYTES else UNREADABLE_PARENT
        )
    start = start or end
    if not 0 < start <= MAX_TIME_NS or end > MAX_TIME_NS:
        return "time", parent_id, start, end
    return "", parent_id, start, max(start, end)


def _says_nothing(attributes: Any, span: Any) -> bool:
    """
    Whether *span*, whose operation is none of those that are looked for, stands for nothing.
    """
    try:
        is_silent = _TELLING.isdisjoint(attributes)
    except UnicodeDecodeError:
        # a key that is no UTF-8 cannot be listed, but the others can be asked for
        is_silent = False
    if is_silent:
        return True
    for key, values in _GATE:
        value = attributes.get(key)
        if value is not None and (not values or value in values):
            return False
    return span.kind != attr.KIND_CLIENT or not any(key in attributes for key in attr.HTTP_STATUS)


#: What makes a span worth a second look, with its values as they stand on the wire.
_GATE: Final = tuple((key, frozenset(map(encoded, values))) for key, values in conv.gate())
_OPERATIONS: Final = dict(_GATE)[conv.OPERATION]
_TELLING: Final = frozenset((*(key for key, _ in _GATE), *attr.HTTP_STATUS)) - {conv.OPERATION}
_EXECUTE_TOOL: Final = encoded("execute_tool")
_RUNS: Final = frozenset(
    encoded(value) for marker in conv.RUN_MARKERS if marker.attribute == conv.OPERATION for value in marker.values
)
