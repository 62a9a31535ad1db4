"""
`calls --explain`: why one call counts as it does.

A row keeps what decided, not what was overruled, so files are read again: once to find the spans that are the call
(several spans may trace one execution, and several executions may be one call), once for what those spans carry.
A store has the first for as long as the spans of the call may be followed by others, and the second never.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from toolspan.arguments import ArgumentHasher
from toolspan.cli._options import Source
from toolspan.cli._text import inert
from toolspan.config import Settings, load_settings
from toolspan.derivation.ancestry import ToolSpan, Trace, read_traces
from toolspan.derivation.attempts import merge_same_calls
from toolspan.derivation.calls import CALL_ENDS, Execution, find_executions
from toolspan.derivation.order import by_end
from toolspan.derivation.units import find_units
from toolspan.evidence.statuses import name_http
from toolspan.pipeline import make_decoder, read_files
from toolspan.recognise import Recogniser
from toolspan.records import Call, Judgement, SeenSpan, SpanFacts, SpanView
from toolspan.store.memory import MemoryStore
from toolspan.taxonomy import MODEL_RETRY_CODE, ErrorClass
from toolspan.windows import format_time, milliseconds

SpanKey = tuple[bytes, bytes]

#: The order of evidence, in words.
_ITEMS: Final = (
    "rule of yours",
    "toolspan.error tag",
    "what it returned",
    "failure flag",
    "status attribute",
    "exception",
    "text",
    "HTTP request below",
    "span status",
)
_HTTP_ITEM: Final = 7
_READ_ONCE: Final = "What its spans say is not shown: the input cannot be read again; give a file instead of a pipe."
_NOT_KEPT: Final = (
    "A store keeps what decided, not the spans: with the file they came in, toolspan calls FILE --explain shows more."
)
_LONGEST_EVIDENCE: Final = 300


class Run(NamedTuple):
    """
    One execution of a call: the spans that traced it, outermost first, and the failed HTTP requests below them.
    """

    execution: Execution
    unit: Sequence[ToolSpan]
    requests: Sequence[SpanFacts]


def explain(call: Call, of_task: Sequence[Call], source: Source) -> str:
    """
    What is known of *call*, what each of its spans in the files of *source* says of how it ended, and which of the
    calls *of_task* it is linked to.
    """
    return "\n".join([*_known(call, of_task), "", *_evidence(call, source)])


def explain_stored(call: Call, of_task: Sequence[Call], kept: Sequence[SpanFacts]) -> str:
    """
    What a store knows of *call*, of those of its spans that are *kept*, and which of the calls *of_task* it is linked
    to.
    """
    return "\n".join([*_known(call, of_task), "", *_kept_evidence(call, kept), _NOT_KEPT])


def _known(call: Call, of_task: Sequence[Call]) -> Iterator[str]:
    linked = {other.span_id: other for other in of_task}
    yield from _identity(call)
    yield from _ending(call)
    if call.follows is not None and call.follows in linked:
        yield f"answers    {_reference(linked[call.follows])}: {_link(call)}"
    for other in linked.values():
        if other.follows == call.span_id:
            yield f"answered   {_reference(other)}: {_link(other)}"
    if call.next_action is not None:
        yield f"next       {call.next_action}"


def _identity(call: Call) -> Iterator[str]:
    yield f"call       {inert(call.tool)}, span {call.span_id.hex()} in trace {call.trace_id.hex()}"
    yield f"task       {inert(call.task_id)}, step {inert(call.step_id or call.step)}"
    yield f"time       {format_time(call.started_ns)}, {milliseconds(call.ended_ns - call.started_ns)} ms"
    yield f"arguments  {inert(call.args_hash) if call.args_hash else 'unknown: links of this call are presumed'}"


def _ending(call: Call) -> Iterator[str]:
    named = " ".join(inert(part) for part in (call.error_class, call.code) if part)
    yield f"outcome    {call.outcome}{f', {named}' if named else ''}"
    if call.evidence:
        yield f"evidence   {inert(call.evidence, longest=_LONGEST_EVIDENCE)}"


def _link(call: Call) -> str:
    verdict = f", {call.verdict}" if call.verdict else ""
    return f"{call.follow_up}{verdict}{', presumed' if call.presumed else ''}"


def _reference(call: Call) -> str:
    named = f" {inert(call.code)}" if call.code else ""
    return f"{call.span_id.hex()} ({call.outcome}{named})"


def _evidence(call: Call, source: Source) -> Iterator[str]:
    """
    The chain of evidence, span by span; `>` stands before what decided.
    """
    # a named pipe that is opened again waits for a writer that has gone
    if not all(path != "-" and Path(path).is_file() for path in source.files):
        yield _READ_ONCE
        return
    settings = load_settings(environ=os.environ, config_path=source.config)
    runs = _read_runs(call, source, settings)
    if not runs:
        yield _READ_ONCE
        return
    views = _views(_keys(runs), source, settings)
    recogniser = Recogniser(settings.rules, ArgumentHasher(settings.hash_key))
    last = max(runs, key=lambda run: CALL_ENDS(run.execution))
    yield f"because    {_reason(call, last, is_marked=True)}"
    for place, run in enumerate(runs, 1):
        if len(runs) > 1:
            yield ""
            yield _numbered(place, len(runs), is_last=run is last)
        yield from _run_lines(run, views, recogniser, call if run is last else None)


def _read_runs(call: Call, source: Source, settings: Settings) -> list[Run]:
    """
    The executions that are *call*, in order of start; none where the files of *source* cannot be read again.
    """
    store = MemoryStore()
    read_files(source.files, decoder=make_decoder(settings), store=store)
    return find_runs(call, (span for group in store.load_groups([call.trace_id]) for span in group))


def find_runs(call: Call, spans: Iterable[SpanFacts]) -> list[Run]:
    """
    The executions that are *call*, in order of start; none where its spans are not among *spans*.
    """
    runs = {_key(run.execution): run for trace in read_traces(spans).values() for run in _runs_in(trace, call.task_id)}
    # merging joins what its executions say of deferred spans: with its own key there, each says where it went
    marked = [replace(run.execution, deferred=(key,)) for key, run in runs.items()]
    own = (call.trace_id, call.span_id)
    return [runs[key] for merged in merge_same_calls(marked) if _key(merged) == own for key in merged.deferred]


def _runs_in(trace: Trace, task_id: str) -> Iterator[Run]:
    requests: dict[bytes, list[SpanFacts]] = {}
    for request in sorted(trace.failed_http, key=by_end):
        tool = trace.above(request).tool
        if tool is not None:
            requests.setdefault(tool[0].span_id, []).append(request)
    # by its outermost span, which an execution is named by: the two need not come in the same order
    units = {unit[0][0].span_id: unit for unit in find_units(trace)}
    for execution in find_executions(trace):
        unit = units[execution.span_id]
        if execution.task_id == task_id:
            below = [request for span, _ in unit for request in requests.get(span.span_id, ())]
            yield Run(execution, unit, sorted(below, key=by_end))


def _key(execution: Execution) -> SpanKey:
    return execution.trace_id, execution.span_id


def _keys(runs: Sequence[Run]) -> set[SpanKey]:
    spans = [span for run in runs for span in (*(span for span, _ in run.unit), *run.requests)]
    return {(span.trace_id, span.span_id) for span in spans}


def _kept_evidence(call: Call, kept: Sequence[SpanFacts]) -> Iterator[str]:
    """
    What each span of *call* that is kept said, as far as it was kept; nothing where none is.
    """
    runs = find_runs(call, kept)
    last = max(runs, key=lambda run: CALL_ENDS(run.execution), default=None)
    if last is not None:
        yield f"because    {_reason(call, last, is_marked=False)}"
    for place, run in enumerate(runs, 1):
        if len(runs) > 1:
            yield ""
            yield _numbered(place, len(runs), is_last=run is last)
        for depth, (span, said) in enumerate(run.unit):
            judgement = said.judgement
            named = " ".join(inert(part) for part in (judgement.error_class, judgement.code) if part)
            evidence = f", {inert(judgement.evidence, longest=_LONGEST_EVIDENCE)}" if judgement.evidence else ""
            failed = f"{evidence}: {named or 'names no class'}" if judgement.outcome == "error" else ""
            yield f"span       {span.span_id.hex()}, {_depth(depth)}: {_says(judgement)}{failed}"
        for request in run.requests:
            yield f"span       {request.span_id.hex()}, a request below: HTTP {request.http_status}"


def _numbered(place: int, count: int, *, is_last: bool) -> str:
    return f"execution {place} of {count}{', the last to end, which counts' if is_last else ''}"


def _depth(depth: int) -> str:
    return f"inner {depth}" if depth else "outermost"


def _views(keys: set[SpanKey], source: Source, settings: Settings) -> dict[SpanKey, SpanView]:
    """
    The spans with *keys* as their first delivery had them: that one counts.
    """
    views: dict[SpanKey, SpanView] = {}

    def see(seen: SeenSpan) -> None:
        key = (seen.trace_id, seen.span_id)
        if key in keys:
            views.setdefault(key, seen.view)

    read_files(source.files, decoder=make_decoder(settings, observer=see), store=MemoryStore())
    return views


def _heard(run: Run) -> list[tuple[SpanFacts, Judgement]]:
    """
    The spans of *run* that count, with their judgements: those up to the first whose result says `ok: true`.
    """
    heard: list[tuple[SpanFacts, Judgement]] = []
    for span, said in run.unit:
        heard.append((span, said.judgement))
        if said.judgement.says_ok:
            break
    return heard


def _reason(call: Call, run: Run, *, is_marked: bool) -> str:
    """
    Why *call* ended as it did by *run*, whose spans follow; *is_marked* where `>` stands before what decided.
    """
    judgements = [judgement for _, judgement in _heard(run)]
    if call.outcome == "ok":
        return "its result says ok: true" if judgements[-1].says_ok else "nothing says that it failed"
    if call.outcome != "error":
        return f"a span of it ended {call.outcome}"
    if any(judgement.error_class for judgement in judgements):
        if is_marked:
            return "it failed, and > is the first that names a class, from the outermost span inwards"
        return "it failed, and the first span that names a class counts, from the outermost inwards"
    if call.code == MODEL_RETRY_CODE:
        return "a model-retry exception, of which nothing names another cause, is validation"
    if call.error_class == ErrorClass.UNCLASSIFIED:
        return "it failed, and nothing names a class"
    decided = (
        "> was the last request below it that failed" if is_marked else "the last request below it that failed counts"
    )
    return f"it failed, no span of it names a class, and {decided}"


def _run_lines(run: Run, views: Mapping[SpanKey, SpanView], recogniser: Recogniser, call: Call | None) -> Iterator[str]:
    """
    What each span of *run* says; *call* is set where it is the run that counts.
    """
    heard = _heard(run)
    failed = call is not None and call.outcome == "error"
    deciding = next((span for span, judgement in heard if failed and judgement.error_class is not None), None)
    for depth, (span, said) in enumerate(run.unit):
        view, judgement = views[span.trace_id, span.span_id], said.judgement
        ignored = "" if depth < len(heard) else "; not asked, as a span further out says ok: true"
        yield ""
        yield f"{_title(span, view)}, {_depth(depth)}: {_says(judgement)}{ignored}"
        sought = (judgement.evidence, judgement.error_class) if span is deciding else None
        for item, evidence, error_class, code in recogniser.explain(view):
            is_it = sought == (evidence, error_class)
            sought = None if is_it else sought
            yield _finding(item, evidence, error_class, code, is_deciding=is_it)
    for request in run.requests:
        evidence, named = f"http:{request.http_status}", name_http(request.http_status)
        error_class, code = (named.error_class, named.code) if named is not None else ("", "")
        yield ""
        yield f"{_title(request, views[request.trace_id, request.span_id])}, below: asked where no span names a class"
        is_it = call is not None and call.evidence == f"child {evidence}" and request is run.requests[-1]
        yield _finding(_HTTP_ITEM, evidence, error_class, code, is_deciding=is_it)


def _title(span: SpanFacts, view: SpanView) -> str:
    scope = f" of {inert(view.scope)}" if view.scope else ""
    return f'span {span.span_id.hex()} "{inert(view.name)}"{scope}'


def _says(judgement: Judgement) -> str:
    """
    How a span says that the call ended: "error", "ok, its result says ok: true".
    """
    return f"{judgement.outcome}{', its result says ok: true' if judgement.says_ok else ''}"


def _finding(item: int, evidence: str, error_class: str, code: str, *, is_deciding: bool) -> str:
    named = f"{error_class} {inert(code)}" if error_class else "names no class"
    mark = ">" if is_deciding else " "
    return f"  {mark} {item} {_ITEMS[item]:<21}  {inert(evidence, longest=_LONGEST_EVIDENCE)}: {named}"
