"""
What stands in files of spans, counted: who wrote which kind of span, and how much each tool span says.

Counts and examples, never spans, so that the survey of any file fits in memory: scopes, tools and shapes of spans are
told apart up to a limit, what comes after them is counted together. What takes several spans to see (parents that
never came, clocks that disagree) is measured afterwards, on the facts that the store keeps anyway.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.arguments import is_unknown
from toolspan.contents import arguments_of, result_of
from toolspan.evidence.results import is_plain, read_result
from toolspan.records import CallFacts, Role, SpanFacts, SpanView
from toolspan.roles import convention_of, role_of

#: Distinct lines of each table; a service has tens, a file of damaged names could have millions.
MOST_DISTINCT: Final = 500
#: Stands for what came after those, and for a scope that has no name.
OTHERS: Final = "(others)"
NO_SCOPE: Final = "(no scope)"
#: Clocks that are kept in time differ by less, and no number depends on so little.
CLOCK_TOLERANCE_NS: Final = 1_000_000

_Key = TypeVar("_Key")


class Kind(StrEnum):
    """
    What a span is to someone who looks for tool calls.
    """

    TOOL = "tool call"
    RUN = "agent run"
    ESCALATION = "human asked"
    LEFT_OUT = "left out"
    NEAR_MISS = "near miss"
    MODEL = "model call"
    HTTP = "HTTP"
    DATABASE = "database"
    RPC = "RPC"
    MESSAGING = "messaging"
    OTHER = "other"


class _Sign(NamedTuple):
    """
    An attribute with one of some values, or any, that tells kind and convention of a span that is no call.
    """

    attribute: str
    values: tuple[str, ...]
    kind: Kind
    convention: str


_SIGNS: Final = (
    _Sign(conv.OPERATION, ("chat", "text_completion", "generate_content", "embeddings"), Kind.MODEL, "GenAI"),
    _Sign(conv.OPENINFERENCE_KIND, ("LLM", "EMBEDDING"), Kind.MODEL, "OpenInference"),
    _Sign("llm.request.type", (), Kind.MODEL, "OpenLLMetry"),
    _Sign("ai.model.id", (), Kind.MODEL, "Vercel AI SDK"),
    _Sign(conv.OPERATION, (), Kind.OTHER, "GenAI"),
    _Sign(conv.OPENINFERENCE_KIND, (), Kind.OTHER, "OpenInference"),
    _Sign(conv.TRACELOOP_KIND, (), Kind.OTHER, "OpenLLMetry"),
    _Sign(conv.MCP_METHOD, (), Kind.OTHER, "MCP"),
    _Sign("http.request.method", (), Kind.HTTP, ""),
    _Sign("http.method", (), Kind.HTTP, ""),
    _Sign("db.system.name", (), Kind.DATABASE, ""),
    _Sign("db.system", (), Kind.DATABASE, ""),
    _Sign("rpc.system.name", (), Kind.RPC, ""),
    _Sign("rpc.system", (), Kind.RPC, ""),
    _Sign("messaging.system", (), Kind.MESSAGING, ""),
)
_RECOGNISED: Final = {int(Role.TOOL): Kind.TOOL, int(Role.RUN): Kind.RUN, int(Role.ESCALATION): Kind.ESCALATION}

#: Names that people and frameworks give to spans of tool calls; "tools" is a graph's node or a list, not a call.
_TOOL_LIKE_NAME: Final = re.compile(
    r"\b(?:execute|executing|running|run|call|calling|invoke|use)[ _.]tool\b|\btools/call\b|\.tool\b|^tool\b"
    r"|\btool[ _]?call\b",
    re.IGNORECASE,
)
#: Attributes that only a tool call carries, in the spelling of whatever convention.
_TOOL_LIKE_KEY: Final = re.compile(
    r"(?:^|[._])tool(?:[._]?call)?[._]?(?:name|id|arguments|args|result)$", re.IGNORECASE
)
_KIND_LIKE_KEY: Final = re.compile(r"(?:span|observation|run|operation)[._]?(?:kind|type|name)$", re.IGNORECASE)
_TOOL_LIKE_VALUE: Final = re.compile(r"(?:execute_?)?tools?(?:_?calls?)?", re.IGNORECASE)
#: What makes a span with such an attribute a tool call; anything else is told the GenAI conventions.
_MARKS: Final = (
    ("ai.toolCall", "ai.toolCall.name"),
    ("openinference.", "openinference.span.kind=TOOL"),
    ("tool", "openinference.span.kind=TOOL"),
    ("traceloop.", "traceloop.span.kind=tool"),
    ("mcp.", "mcp.method.name=tools/call"),
)
_GENAI_MARK: Final = "gen_ai.operation.name=execute_tool"
#: Attributes named per near miss: more say nothing new.
_MOST_NAMED: Final = 3

#: Where conventions put the messages of a model's answer, one attribute for each part.
_ANSWERS: Final = ("llm.output_messages.", "gen_ai.completion.")
_REDACTED: Final = re.compile(r"redact|withheld", re.IGNORECASE)
_EMPTY: Final = frozenset(("{}", "[]", "null", "None"))
#: How a result begins that is an error told in words; …
_ERROR_START: Final = re.compile(r"\s*(?:Error\b|error:|Exception\b|Traceback\b|Failed to\b)")
#: … what of that the cheap test for plain results does not look for …
_ERROR_HINT: Final = re.compile(r"Exception|Traceback|Failed to")
#: … and the keys whose texts are data: an article may be titled "Error budgets".
_DATA_KEYS: Final = ("title", "detail", "message", "reason")

#: Attributes of spans and scopes that say how traces were chosen, and the values that say that all were.
_SAMPLERS: Final = ("sampler.type", "tailsampling.policy", "tailsampling.composite_policy", "SampleRate")
_KEEPS_ALL: Final = frozenset(("const", "always_on", "1", "1.0"))


class Entry(NamedTuple):
    """
    What a line of the census counts.
    """

    scope: str
    convention: str
    kind: Kind


class NearMiss(NamedTuple):
    """
    Spans of *scope* that seem tool calls by what they *carry*, and are none because of what they *lack*.
    """

    scope: str
    carries: str
    lacks: str


@dataclass(slots=True)
class Tally:
    """
    How many spans, and the name of the first of them.
    """

    example: str
    spans: int = 0


@dataclass(slots=True)
class ToolUse:
    """
    How much the spans of one tool in one scope say.

    Arguments are *unrecorded* where nothing holds them, *withheld* where a word stands in their place. Of the
    *answered* spans, which ended ok, *results* have a result, and *error_like* ones a result that reads like an error.
    Of the *failed* spans that name no class, *silent* ones have no text at all, *redacted* ones a text that says it
    was taken out.
    """

    spans: int = 0
    unrecorded: int = 0
    withheld: int = 0
    answered: int = 0
    results: int = 0
    failed: int = 0
    silent: int = 0
    redacted: int = 0
    error_like: int = 0


class Margins(NamedTuple):
    """
    What a request says beside what is decoded of it.

    *backwards* spans end before they start, *dropped* ones lost attributes; *sampling* counts signs of sampling.
    """

    backwards: int
    dropped: int
    sampling: Counter[str]


@dataclass(slots=True)
class Survey:
    """
    The counts over all spans that were seen, repeated deliveries among them.

    *asked* counts model calls that ended with a request for tools, *foreign_roots* by scope the parentless spans that
    follow no convention for agents.
    """

    spans: int = 0
    traces: set[bytes] = field(default_factory=set[bytes])
    census: dict[Entry, Tally] = field(default_factory=dict[Entry, Tally])
    near_misses: dict[NearMiss, Tally] = field(default_factory=dict[NearMiss, Tally])
    tools: dict[tuple[str, str], ToolUse] = field(default_factory=dict[tuple[str, str], ToolUse])
    asked: int = 0
    foreign_roots: dict[str, Tally] = field(default_factory=dict[str, Tally])
    backwards: int = 0
    dropped: int = 0
    sampling: Counter[str] = field(default_factory=Counter[str])

    def add(self, view: SpanView, facts: SpanFacts) -> None:
        """
        Counts a span, given whole and as the *facts* that recognition made of it.
        """
        self.spans += 1
        self.traces.add(facts.trace_id)
        kind, convention = self._classify(view, facts)
        scope = view.scope or NO_SCOPE
        _tally(self.census, Entry(scope, convention, kind), Entry(OTHERS, "", kind), view.name)
        if not facts.parent_id and not convention:
            _tally(self.foreign_roots, scope, OTHERS, view.name)
        if facts.call is not None:
            self._add_call(view, facts.call)
        elif kind == Kind.MODEL:
            self.asked += _asks_for_tools(view.attributes)
        self.sampling.update(samplers(view.attributes))

    def add_margins(self, margins: Margins) -> None:
        """
        Counts what stands beside the spans of a request.
        """
        self.backwards += margins.backwards
        self.dropped += margins.dropped
        self.sampling.update(margins.sampling)

    def _classify(self, view: SpanView, facts: SpanFacts) -> tuple[Kind, str]:
        if facts.role in _RECOGNISED:
            return _RECOGNISED[facts.role], convention_of(view)
        sign = next((sign for sign in _SIGNS if _shows(view.attributes, sign)), None)
        convention = "" if sign is None else sign.convention
        if role_of(view) == Role.TOOL or view.attributes.get(conv.OPERATION) == conv.HANDOFF_OPERATION:
            return Kind.LEFT_OUT, convention
        if sign is not None and sign.kind != Kind.OTHER:
            return sign.kind, convention
        # what MCP calls a method is exact: tools/list is about tools and calls none
        near = _near_miss(view) if convention != "MCP" else None
        if near is None:
            return Kind.OTHER, convention
        _tally(self.near_misses, near, NearMiss(OTHERS, "", ""), view.name)
        return Kind.NEAR_MISS, convention

    def _add_call(self, view: SpanView, call: CallFacts) -> None:
        key = (call.tool, view.scope)
        if key not in self.tools and len(self.tools) >= MOST_DISTINCT:
            key = (OTHERS, OTHERS)
        use = self.tools.setdefault(key, ToolUse())
        use.spans += 1
        if call.args_hash is None:
            arguments = arguments_of(view)
            use.unrecorded += arguments is None
            # a tool that takes nothing is called with {}: that is recorded, and nobody withheld it
            use.withheld += isinstance(arguments, str) and is_unknown(arguments) and arguments not in _EMPTY
        result = result_of(view)
        if call.judgement.outcome == "ok":
            use.answered += 1
            use.results += result is not None
            use.error_like += _is_error_like(result)
        elif call.judgement.outcome == "error":
            use.failed += 1
            if call.judgement.error_class is None:
                texts = _texts(view, result)
                use.silent += not texts
                use.redacted += any(_REDACTED.search(text) for text in texts)


def _tally(tallies: dict[_Key, Tally], key: _Key, rest: _Key, example: str) -> None:
    if key not in tallies and len(tallies) >= MOST_DISTINCT:
        key = rest
    tallies.setdefault(key, Tally(example)).spans += 1


def _shows(attributes: Mapping[str, object], sign: _Sign) -> bool:
    value = attributes.get(sign.attribute)
    return value is not None and (not sign.values or value in sign.values)


def _near_miss(view: SpanView) -> NearMiss | None:
    carried = [key for key in view.attributes if "tool" in key.lower() and _TOOL_LIKE_KEY.search(key)]
    kinds = [
        f"{key}={value}"
        for key, value in view.attributes.items()
        if isinstance(value, str) and _TOOL_LIKE_VALUE.fullmatch(value) and _KIND_LIKE_KEY.search(key)
    ]
    carries = [*kinds, *sorted(carried)][:_MOST_NAMED]
    if not carries and not _TOOL_LIKE_NAME.search(view.name):
        return None
    lacks = next((mark for start, mark in _MARKS if carries and carries[0].startswith(start)), _GENAI_MARK)
    return NearMiss(view.scope or NO_SCOPE, ", ".join(carries) or "only the name", lacks)


def _texts(view: SpanView, result: object) -> list[str]:
    thrown = (event.attributes.get(attr.EXCEPTION_MESSAGE) for event in view.events)
    return [text for text in (view.status_message, *thrown, result) if isinstance(text, str) and text]


def _is_error_like(result: object) -> bool:
    """
    *result* begins as errors do, or is an object that holds an error before all else; a guess that only doctor makes.
    """
    if is_plain(result) and not (isinstance(result, str) and _ERROR_HINT.search(result)):
        return False
    reading = read_result(result)
    if reading.says_ok:
        return False
    if any(next(iter(document), "") == "error" and _is_text(document["error"]) for document in reading.documents):
        return True
    told = {document.get(key) for document in reading.documents for key in _DATA_KEYS if _is_text(document.get(key))}
    return any(_ERROR_START.match(text) is not None for text in reading.texts[:1] if text not in told)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _asks_for_tools(attributes: Mapping[str, object]) -> bool:
    if any("tool" in str(attributes.get(key, "")) for key in conv.FINISH_REASONS):
        return True
    if '"tool_call"' in str(attributes.get(conv.OUTPUT_MESSAGES, "")) or "ai.response.toolCalls" in attributes:
        return True
    return any("tool_call" in key and key.startswith(_ANSWERS) for key in attributes)


def samplers(attributes: Mapping[str, object]) -> Iterator[str]:
    """
    What of *attributes*, a span's or a scope's, says that not all traces were kept.
    """
    return (name for name in _SAMPLERS if name in attributes and str(attributes[name]) not in _KEEPS_ALL)


@dataclass(slots=True)
class Shape:
    """
    How the spans that were kept hang together.

    *broken* traces hold *orphans*, spans whose parent never came. *top_tools* are tool spans with nothing above them
    and no task id. *early* spans start before their parent, by *early_ns* at the most; *late* ones after its end.
    *first_ns* is the first start, 0 where nothing was kept.
    """

    first_ns: int = 0
    traces: int = 0
    runs: int = 0
    broken: int = 0
    orphans: int = 0
    top_tools: int = 0
    early: int = 0
    early_ns: int = 0
    late: int = 0


def measure(groups: Iterable[Sequence[SpanFacts]]) -> Shape:
    """
    The shape of the traces in *groups*, each trace whole in one of them.
    """
    shape = Shape()
    for group in groups:
        traces: dict[bytes, dict[bytes, SpanFacts]] = {}
        for span in group:
            traces.setdefault(span.trace_id, {})[span.span_id] = span
        for spans in traces.values():
            orphans = sum(_measure_span(shape, span, spans.get(span.parent_id)) for span in spans.values())
            shape.traces += 1
            shape.orphans += orphans
            shape.broken += orphans > 0
    return shape


def _measure_span(shape: Shape, span: SpanFacts, parent: SpanFacts | None) -> bool:
    """
    Whether *span* has a parent that never came; what else it says goes into *shape*.
    """
    shape.runs += span.role == Role.RUN
    shape.first_ns = min(shape.first_ns or span.start_ns, span.start_ns)
    if not span.parent_id:
        shape.top_tools += span.call is not None and not (span.marks is not None and span.marks.task_id)
        return False
    if parent is None:
        return True
    before_ns = parent.start_ns - span.start_ns
    if before_ns > CLOCK_TOLERANCE_NS:
        shape.early += 1
        shape.early_ns = max(shape.early_ns, before_ns)
    shape.late += span.start_ns - parent.end_ns > CLOCK_TOLERANCE_NS
    return False
