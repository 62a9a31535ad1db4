"""
How a tool span says that its call ended: outcome, class, code, and the evidence for them.

Two questions are answered apart. *Did it fail?* Any kind of evidence can say so. *Of which class?* The first in
the order of `evidence.findings` that names one; evidence that only says "failed" does not end the search. What no
evidence names stays without a class: it is never guessed.

Most calls succeed and say nothing, so the way out for them comes first: one look at what the span carries and a
few substring tests of its result. Failures repeat, so their judgements are cached by what was judged.
"""

from typing import Final

from toolspan import attributes as attr
from toolspan.conventions import DEFERRALS, FAILURE_FLAGS
from toolspan.evidence import Evidence, Finding, exception_of, findings, gather
from toolspan.evidence.error_documents import MAX_FIELD_CHARS, read_envelope, retry_after_of, to_retry_after
from toolspan.evidence.exceptions import is_wrapper
from toolspan.evidence.fields import field_in_text
from toolspan.evidence.payloads import is_array, is_object
from toolspan.evidence.results import ResultReading, is_clean_success, is_plain, read_result
from toolspan.evidence.statuses import Named
from toolspan.records import Judgement, SpanView
from toolspan.rules import FailureEvidence, RuleBook, RuleHit
from toolspan.taxonomy import REJECTED_CODE, ErrorClass

_OK: Final = Judgement()
_SAYS_OK: Final = Judgement(says_ok=True)
_TAGS: Final = frozenset(
    (attr.ERROR_CLASS, attr.ERROR_CODE, attr.CALL_OUTCOME, attr.ERROR_FIELD, attr.ERROR_RETRY_AFTER_MS)
)
#: What makes the judgement of a failure depend on more than its types and texts; such a failure is not cached.
_SPECIFIC: Final = frozenset(
    (
        *_TAGS,
        *attr.HTTP_STATUS,
        *attr.GRPC_STATUS,
        *attr.RPC_STATUS,
        *attr.SQLSTATE,
        attr.RETRY_AFTER_HEADER,
        *(flag.attribute for flag in FAILURE_FLAGS),
        *DEFERRALS,
    )
)
#: A span with none of these says nothing beside its status, its events and its result.
_SPEAKING: Final = _SPECIFIC | {attr.ERROR_TYPE}
#: How many judgements of failures are kept: a service has hundreds of distinct error texts, not thousands.
_CACHE_SIZE: Final = 4096
#: A cached failure may carry a result up to this long; a longer one is no message but data.
_MAX_KEY_CHARS: Final = 512


class Classifier:
    """
    Judges tool spans, with the user's rules before the built-in table.

    Args:
        rules: the user's rules; the first that matches a failure wins over everything else.
    """

    __slots__ = ("_cache", "_reads_plain_results", "_rules")

    def __init__(self, rules: RuleBook) -> None:
        self._rules = rules
        # whether a rule of the user may find a failure in any text that a tool returned.
        self._reads_plain_results = rules.has_result_rules
        self._cache: dict[tuple[object, ...], Judgement] = {}

    def judge(self, span: SpanView, tool: str, result: object) -> Judgement:
        """
        How *span*, a tool span of *tool* whose call returned *result*, says that the call ended. Never raises.
        """
        attributes = span.attributes
        is_quiet = span.status_code != attr.STATUS_ERROR and not span.events and _SPEAKING.isdisjoint(attributes)
        if is_quiet and (result is None or isinstance(result, str)):
            judgement = self.glance(result)
            if judgement is not None:
                return judgement
        key = None
        if _SPECIFIC.isdisjoint(attributes):
            # only the user's rules look at the tool
            key = _cache_key(span, "" if self._rules.is_empty else tool, result)
            cached = self._cache.get(key) if key is not None else None
            if cached is not None:
                return cached
        judgement = self._judge(span, tool, read_result(result))
        if key is not None:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            self._cache[key] = judgement
        return judgement

    @property
    def is_blind_to_tools(self) -> bool:
        """
        Whether no rule looks at the tool's name.
        """
        return self._rules.is_empty

    def glance(self, result: str | None) -> Judgement | None:
        """
        What is said of a call whose span carries nothing but the text *result*; None where that is to be read.
        """
        if self._reads_plain_results:
            return None
        if is_plain(result):
            return _OK
        return _SAYS_OK if is_clean_success(result) else None

    def explain(self, span: SpanView, tool: str, result: object) -> list[Finding]:
        """
        The whole chain of evidence of *span*, most believed first; a matching rule of the user stands before it.
        """
        evidence = gather(span, read_result(result))
        hit = self._match(evidence, tool)
        rule = [] if hit is None else [Finding(0, f"rule:{hit.line}", hit.named)]
        return [*rule, *findings(evidence)]

    def _judge(self, span: SpanView, tool: str, result: ResultReading) -> Judgement:
        if span.attributes.get(attr.TAGGED) == attr.TAGGED_BY_PROCESSOR:
            return self._judge_tagged(span, tool, result)
        return self._judge_evidence(gather(span, result), tool)

    def _judge_tagged(self, span: SpanView, tool: str, result: ResultReading) -> Judgement:
        """
        Derived tags give way to evidence of the span's own, so that agent and collector cannot disagree.
        """
        code = span.attributes.get(attr.ERROR_CODE)
        bare = {name: value for name, value in span.attributes.items() if name not in _TAGS}
        if bare.get(attr.ERROR_TYPE) == code:
            bare.pop(attr.ERROR_TYPE, None)
        own = self._judge_evidence(gather(span._replace(attributes=bare), result), tool)
        if own.error_class is not None or own.outcome in ("cancelled", "deferred") or own.says_ok:
            return own
        tagged = self._judge_evidence(gather(span, result), tool)
        if own.outcome == "error" and (tagged.outcome == "ok" or tagged.error_class is None or own.model_retry):
            # the tags say no more than what they were derived from
            return own
        return tagged

    def _judge_evidence(self, evidence: Evidence, tool: str) -> Judgement:
        attributes, result = evidence.span.attributes, evidence.result
        stated = attributes.get(attr.CALL_OUTCOME)
        if stated in ("cancelled", "deferred"):
            is_rejected = stated == "cancelled" and attributes.get(attr.ERROR_CODE) == REJECTED_CODE
            return Judgement(outcome=str(stated), code=REJECTED_CODE if is_rejected else None, evidence="tag")
        if stated is None and evidence.is_deferred:
            return Judgement(outcome="deferred", evidence="deferral")
        if result.is_rejected:
            return Judgement(outcome="cancelled", code=REJECTED_CODE, evidence="rejection")
        if stated is None and evidence.is_cancelled and result.envelope is None:
            return Judgement(outcome="cancelled", evidence="cancellation")
        return self._judge_failure(evidence, tool, is_stated_ok=stated == "ok", is_stated_error=stated == "error")

    def _judge_failure(self, evidence: Evidence, tool: str, *, is_stated_ok: bool, is_stated_error: bool) -> Judgement:
        span, _result = evidence.span, evidence.result
        failed = is_stated_error or span.status_code == attr.STATUS_ERROR
        first: Finding | None = None
        naming: Finding | None = None
        for finding in findings(evidence):
            if not finding.if_failed:
                failed = True
                first = first or finding
            if finding.named is not None and naming is None:
                naming = finding
            if failed and naming is not None:
                break
        hit = None if self._rules.is_empty else self._match(evidence, tool, only_result=not failed)
        if hit is not None:
            failed, naming = True, Finding(0, f"rule:{hit.line}", hit.named)
        if is_stated_ok:
            failed = False
        return _judgement(evidence, failed=failed, first=first, naming=naming, hit=hit)

    def _match(self, evidence: Evidence, tool: str, *, only_result: bool = False) -> RuleHit | None:
        if not only_result:
            hit = self._rules.match_failure(tool, _rule_view(evidence))
            if hit is not None:
                return hit
        for text in evidence.result.texts:
            hit = self._rules.match_result(tool, text)
            if hit is not None:
                return hit
        return None


def _cache_key(span: SpanView, tool: str, result: object) -> tuple[object, ...] | None:
    """
    Everything that a failure without specific attributes is judged by; None where that is too much to keep.
    """
    if result is not None and (not isinstance(result, str) or len(result) > _MAX_KEY_CHARS):
        return None
    if len(span.status_message) > _MAX_KEY_CHARS * 4:
        return None
    thrown: tuple[str, ...] = ()
    for event in span.events:
        if event.name == attr.EXCEPTION_EVENT:
            kind, message, stacktrace = exception_of(event)
            # a stack trace is read for the cause of a wrapper only, and is ten times as long as the rest
            thrown = (kind, message, stacktrace if is_wrapper(kind) else "")
            if len(message) > _MAX_KEY_CHARS * 4:
                return None
    error_type = span.attributes.get(attr.ERROR_TYPE)
    return (tool, span.status_code, span.status_message, str(error_type or ""), result, thrown)


def _rule_view(evidence: Evidence) -> FailureEvidence:
    """
    What the user's rules look at: what the span states, and what its texts and documents were read as.
    """
    read: dict[str, str] = {}
    types = [evidence.exception_type, evidence.error_type]
    for finding in findings(evidence):
        for said in (finding.evidence, finding.named.evidence if finding.named is not None else ""):
            kind, _, value = said.partition(":")
            read.setdefault("http" if kind == "rfc9457" else "grpc" if kind == "aip193" else kind, value)
            if kind == "exception":
                types.append(value)
    error = (evidence.result.envelope or {}).get("error")
    code = error.get("code") if is_object(error) else None
    return FailureEvidence(
        http=evidence.http or _number(read.get("http")),
        grpc=evidence.grpc or read.get("grpc"),
        jsonrpc=evidence.jsonrpc or _number(read.get("jsonrpc")),
        sqlstate=evidence.sqlstate or read.get("sqlstate"),
        error_types=tuple(dict.fromkeys(name for name in types if name)),
        code=code if isinstance(code, str) else None,
        texts=evidence.texts,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def _judgement(
    evidence: Evidence, *, failed: bool, first: Finding | None, naming: Finding | None, hit: RuleHit | None
) -> Judgement:
    result = evidence.result
    named = naming.named if naming is not None else None
    reading = read_envelope(result.envelope) if result.envelope is not None else None
    lint = reading.lint if reading is not None else 0
    if not failed:
        if named is None and not result.says_ok and not lint:
            return _OK
        if named is None or result.says_ok:
            return Judgement(says_ok=result.says_ok, lint=lint)
        return Judgement("ok", named.error_class, named.code, named.evidence, lint=lint)
    field = (hit.field if hit is not None else None) or _field(evidence, reading.field if reading else None, named)
    strongest = naming or first
    return Judgement(
        outcome="error",
        error_class=named.error_class if named is not None else None,
        code=named.code if named is not None else None,
        evidence=strongest.evidence if strongest is not None else "tag",
        says_ok=result.says_ok,
        model_retry=evidence.is_model_retry,
        field=field,
        retry_after_ms=_retry_after(evidence, reading.retry_after_ms if reading else None, named),
        lint=lint,
    )


def _field(evidence: Evidence, stated: str | None, named: Named | None) -> str | None:
    if named is None or named.error_class != ErrorClass.VALIDATION:
        return None
    tag = evidence.span.attributes.get(attr.ERROR_FIELD)
    if isinstance(tag, str) and tag:
        return tag[:MAX_FIELD_CHARS]
    if stated is not None:
        return stated
    return next((field for text in evidence.texts if (field := field_in_text(text)) is not None), None)


def _retry_after(evidence: Evidence, stated: int | None, named: Named | None) -> int | None:
    if named is None or named.error_class != ErrorClass.TRANSIENT:
        return None
    attributes = evidence.span.attributes
    tag = to_retry_after(attributes.get(attr.ERROR_RETRY_AFTER_MS))
    if tag is not None or stated is not None:
        return tag if tag is not None else stated
    header = attributes.get(attr.RETRY_AFTER_HEADER)
    seconds = header[0] if is_array(header) and header else header
    if isinstance(seconds, str) and seconds.isdecimal() and len(seconds) < 9:
        return to_retry_after(int(seconds) * 1000)
    waits = (retry_after_of(document) for document in evidence.result.documents)
    return next((wait for wait in waits if wait is not None), None)
