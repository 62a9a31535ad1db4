"""
`doctor FILE`: what files hold, span by span.

It reads files as `report` does, by the same rules, and looks at more: at every span whole, and at what a request says
beside what is decoded of it (sampling, lost attributes, ends before starts). It takes twice as long as `report`, 30 µs
a span.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from toolspan.arguments import ArgumentHasher
from toolspan.cli._doctor_scope import filter_findings, unit_findings
from toolspan.cli._loading import collections_paused
from toolspan.cli._names import names_of
from toolspan.cli._options import Source
from toolspan.cli._problems import Problems
from toolspan.cli._progress import read_progress
from toolspan.cli._text import counted
from toolspan.config import Settings
from toolspan.diagnosis import Diagnosis, Examined, Finding, Severity, diagnose
from toolspan.evidence.payloads import is_array, is_object
from toolspan.otlp import Decoded, Decoder
from toolspan.pipeline import Intake, read_files
from toolspan.recognise import Recogniser
from toolspan.scope import Scope, rows_in
from toolspan.store.memory import MemoryStore
from toolspan.survey import Margins, Survey, measure, samplers

if TYPE_CHECKING:
    from toolspan.records import SeenSpan

#: OpenTelemetry's rejection threshold: up to 14 hex digits, of which trailing zeros are left out.
_THRESHOLD: Final = re.compile(r"(?:^|,)\s*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})")

_TRACES_FILE: Final = "Give the file that the traces pipeline writes: calls that are only logged cannot be counted."
_IDS: Final = "Ids are 16 bytes for traces, 8 for spans, in OTLP/JSON as hex: look for a converter that rewrites them."
_WHOLE_FILE: Final = "Copy the file once its writer has closed it, all of it and in binary mode."
_WRITE_OTLP: Final = (
    "Give OTLP traces: send them with OTLPSpanExporter to a Collector, and let its file exporter write them."
)
_REJECTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("logs", "metrics", "profiles"), _TRACES_FILE),
    **dict.fromkeys(("trace_id", "span_id"), _IDS),
    "time": "Times are nanoseconds since 1970: look for an exporter that leaves them out or writes another unit.",
    **dict.fromkeys(("truncated", "damaged", "gzip"), _WHOLE_FILE),
    "too_large": "Export smaller batches: OTEL_BSP_MAX_EXPORT_BATCH_SIZE, in the Collector its batch processor.",
    "compressed": "Decompress it first; of compressions, toolspan reads gzip.",
    "encoding": "Save it as UTF-8.",
}


def examine_files(source: Source, settings: Settings, *, scope: Scope) -> tuple[Examined, Diagnosis]:
    """
    What is in the files of *source*, and what is wrong with it for someone who asked for the rows in *scope*.
    """
    store, survey = MemoryStore(escalation_tools=settings.escalation_tools), Survey()
    problems = Problems(source.files)
    with collections_paused():
        with read_progress(source.files) as progress:
            intake = read_files(
                source.files,
                decoder=SurveyingDecoder(settings, survey),
                store=store,
                on_bytes=progress,
                on_problem=problems,
            )
        store.settle()
        examined = Examined(survey, measure(store.load_groups(survey.traces)), store.rows())
    rows = examined.rows
    also = [
        *_intake_findings(intake, problems.lines()),
        *filter_findings(
            scope,
            names_of(rows, no_calls=""),
            ends_ns=(
                min((task.ended_ns for task in rows.tasks), default=0),
                max((task.ended_ns for task in rows.tasks), default=0),
            ),
            has_calls=lambda part: any(part.tool in (None, call.tool) for call in rows_in(rows, part).calls),
        ),
        *unit_findings(examined.shape.first_ns),
    ]
    return examined, diagnose(examined, also=also)


class SurveyingDecoder(Decoder):
    """
    A decoder that counts into *survey* what it decodes.
    """

    def __init__(self, settings: Settings, survey: Survey) -> None:
        self._survey = survey
        self._seen: list[SeenSpan] = []
        hasher = ArgumentHasher(settings.hash_key, ignored=settings.ignored_arguments)
        super().__init__(Recogniser(settings.rules, hasher), observer=self._seen.append)

    def decode(self, data: bytes, *, is_json: bool) -> Decoded:
        """
        The spans of one request.
        """
        self._seen.clear()
        decoded = super().decode(data, is_json=is_json)
        # the observer sees the spans that are kept, in the order in which they are kept
        for seen, facts in zip(self._seen, decoded.spans, strict=True):
            self._survey.add(seen.view, facts)
        self._survey.add_margins(read_margins(data, is_json=is_json))
        return decoded


def read_margins(data: bytes, *, is_json: bool) -> Margins:
    """
    What the request in *data* says beside what is decoded of it; nothing where it is no request.
    """
    backwards = dropped = 0
    sampling: Counter[str] = Counter()
    for margin in _margins_json(data) if is_json else _margins_protobuf(data):
        backwards += 0 < margin.end_ns < margin.start_ns
        dropped += margin.dropped > 0
        sampling.update(samplers(margin.scope))
        threshold = _THRESHOLD.search(margin.trace_state)
        # a threshold of zeros rejects nothing
        if threshold is not None and threshold[1].strip("0"):
            kept = 1 - int(threshold[1].ljust(14, "0"), 16) / 16**14
            sampling[f"tracestate ot=th:{threshold[1]}, {kept * 100:.3g} % of traces kept"] += 1
    return Margins(backwards, dropped, sampling)


class _Margin(NamedTuple):
    trace_state: str
    dropped: int
    start_ns: int
    end_ns: int
    scope: Mapping[str, object]


def _margins_protobuf(data: bytes) -> Iterator[_Margin]:
    try:
        request = TracesData.FromString(data)
    except DecodeError:
        # the decoder bears texts that are no UTF-8, this parser does not: a margin is lost, no span
        return
    for resource_spans in request.resource_spans:
        for scoped in resource_spans.scope_spans:
            scope = {item.key: item.value.string_value for item in scoped.scope.attributes}
            for span in scoped.spans:
                lost = span.dropped_attributes_count
                yield _Margin(span.trace_state, lost, span.start_time_unix_nano, span.end_time_unix_nano, scope)


def _margins_json(data: bytes) -> Iterator[_Margin]:
    try:
        request: object = json.loads(data)
    except (ValueError, RecursionError):
        return
    for resource_spans in _objects(request, "resourceSpans"):
        for scoped in _objects(resource_spans, "scopeSpans"):
            items = _objects(scoped.get("scope"), "attributes")
            scope = {str(item.get("key")): value for item in items for value in _values(item.get("value"))}
            for span in _objects(scoped, "spans"):
                lost, start_ns, end_ns = (
                    _number(span.get(key)) for key in ("droppedAttributesCount", "startTimeUnixNano", "endTimeUnixNano")
                )
                yield _Margin(str(span.get("traceState") or ""), lost, start_ns, end_ns, scope)


def _objects(holder: object, key: str) -> Iterator[Mapping[str, object]]:
    values = holder.get(key) if is_object(holder) else None
    return (value for value in values if is_object(value)) if is_array(values) else iter(())


def _values(value: object) -> list[object]:
    return list(value.values()) if is_object(value) else []


def _number(value: object) -> int:
    text = str(value) if isinstance(value, int | str) else ""
    return int(text) if text.isdecimal() and len(text) < 21 else 0


def _intake_findings(intake: Intake, problems: list[str]) -> Iterator[Finding]:
    if intake.rejected:
        yield Finding(
            "rejected",
            Severity.WEAKENS if intake.new else Severity.BLOCKS,
            "Part of the input could not be read" if intake.new else "Nothing of the input could be read",
            " ".join(problems),
            "What is not read counts nowhere.",
            tuple(dict.fromkeys(_REJECTED.get(reason, _WRITE_OTLP) for reason in intake.rejected)),
        )
    elif not intake.spans:
        yield Finding(
            "empty",
            Severity.BLOCKS,
            "The input holds no spans",
            f"{counted(intake.payloads, 'request')}, and no span in any.",
            "Nobody has exported a span yet, or not to this place.",
            (
                "Call provider.shutdown() before the program ends: spans wait in its processor for up to 5 s.",
                "In the Collector, name the file exporter under service.pipelines.traces.exporters.",
                "Check that OTEL_SDK_DISABLED is unset and OTEL_TRACES_EXPORTER is not none.",
            ),
        )
    if intake.conflicts or intake.duplicates:
        yield Finding(
            "repeats",
            Severity.WEAKENS if intake.conflicts else Severity.NOTE,
            "Spans came more than once",
            f"{intake.duplicates:,} came again the same, {intake.conflicts:,} with other content.",
            "The first of each counts: a repeat changes nothing, other content under the same ids is lost.",
            ("Look for two exporters to one place, or for processes that share a random seed after a fork.",),
        )
