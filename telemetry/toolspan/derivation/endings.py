"""
How a unit ended: one judgement from those of its spans.

The outermost span often knows only *that* the call failed, and a span further in knows *why*, so outcome and class
are looked for apart, both from the outermost span inwards. A span whose result says `ok: true` ends the search: what
failed further in was an attempt, and the tool coped. Where no span names a class, the last failed HTTP request made
by the tool does; it never makes a call fail.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolspan.derivation.ancestry import ToolSpan
from toolspan.derivation.order import by_end
from toolspan.evidence.statuses import name_http
from toolspan.records import Judgement, SpanFacts
from toolspan.taxonomy import MODEL_RETRY_CODE, REJECTED_CODE, UNCLASSIFIED_CODE, ErrorClass

_SETTLED_OTHERWISE: Final = ("cancelled", "deferred")
# plain strings, as classification gives them: rows hold one type
_VALIDATION: Final = str(ErrorClass.VALIDATION.value)
_TRANSIENT: Final = str(ErrorClass.TRANSIENT.value)
_UNCLASSIFIED: Final = str(ErrorClass.UNCLASSIFIED.value)


def judge_unit(unit: Sequence[ToolSpan], requests: Mapping[bytes, SpanFacts]) -> Judgement:
    """
    How *unit*, given from the outermost span inwards, ended.

    Args:
        requests: the last failed HTTP request below each tool span, by the id of the tool span.
    """
    judgements = _heard(unit)
    decisive = _decisive(judgements)
    if decisive is None:
        return Judgement(lint=_lint(judgements))
    if decisive.outcome != "error":
        code = decisive.code if decisive.code == REJECTED_CODE else None
        return Judgement(decisive.outcome, None, code, decisive.evidence, lint=_lint(judgements))
    return _classify(unit, judgements, decisive, requests)


def _heard(unit: Sequence[ToolSpan]) -> list[Judgement]:
    """
    The judgements that count: those up to the first span whose result says `ok: true`.
    """
    judgements: list[Judgement] = []
    for _, call in unit:
        judgements.append(call.judgement)
        if call.judgement.says_ok:
            break
    return judgements


def _decisive(judgements: list[Judgement]) -> Judgement | None:
    """
    The judgement that says how the call ended; None where all say `ok`.
    """
    # what the tool states of itself; a framework's span around it may show the refusal's envelope as a failure
    stated = next((each for each in judgements if each.outcome in _SETTLED_OTHERWISE and each.evidence == "tag"), None)
    if stated is not None:
        return stated
    first = next((judgement for judgement in judgements if judgement.outcome != "ok"), None)
    if first is not None and first.outcome == "error" and first.error_class is None:
        # frameworks paint a pause or a cancellation as an error on the spans around it
        return next((judgement for judgement in judgements if judgement.outcome in _SETTLED_OTHERWISE), first)
    return first


def _classify(
    unit: Sequence[ToolSpan], judgements: list[Judgement], decisive: Judgement, requests: Mapping[bytes, SpanFacts]
) -> Judgement:
    naming = next((judgement for judgement in judgements if judgement.error_class is not None), None)
    if naming is not None:
        if len(judgements) == 1:
            return naming
        return _failure(judgements, naming.error_class, naming.code, naming.evidence, naming)
    retry = next((judgement for judgement in judgements if judgement.model_retry), None)
    if retry is not None:
        return _failure(judgements, _VALIDATION, MODEL_RETRY_CODE, retry.evidence, retry)
    below = [requests[span.span_id] for span, _ in unit if span.span_id in requests]
    if below:
        status = max(below, key=by_end).http_status
        named = name_http(status)
        if named is not None:
            return _failure(judgements, named.error_class, named.code, f"child http:{status}", None)
    return _failure(judgements, _UNCLASSIFIED, UNCLASSIFIED_CODE, decisive.evidence, None)


def _failure(
    judgements: list[Judgement], error_class: str | None, code: str | None, evidence: str, naming: Judgement | None
) -> Judgement:
    """
    The failure, with field and backoff from the span that named its class, else from the first that has them.
    """
    asked = judgements if naming is None else [naming, *judgements]
    field = retry_after_ms = None
    if error_class == _VALIDATION:
        field = next((judgement.field for judgement in asked if judgement.field is not None), None)
    elif error_class == _TRANSIENT:
        waits = (judgement.retry_after_ms for judgement in asked)
        retry_after_ms = next((wait for wait in waits if wait is not None), None)
    return Judgement(
        "error", error_class, code, evidence, field=field, retry_after_ms=retry_after_ms, lint=_lint(judgements)
    )


def _lint(judgements: list[Judgement]) -> int:
    return join_flags(judgement.lint for judgement in judgements)


def join_flags(flags: Iterable[int]) -> int:
    """
    All bits that are set in any of *flags*.
    """
    joined = 0
    for one in flags:
        joined |= one
    return joined
