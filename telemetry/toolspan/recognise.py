"""
What a span is: a tool call, an agent run, an escalation, or none of them; and the facts that are kept of it.

Everything is read when the span has ended: frameworks set most attributes late. Nothing here sees more than one
span; what needs several (one call traced twice, tasks, links) is `derive`'s.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.arguments import ArgumentHasher
from toolspan.classify import OK, Classifier
from toolspan.payloads import is_array, is_object, parse
from toolspan.records import CallFacts, EscalationFacts, Judgement, Marks, Role, SpanFacts, SpanView
from toolspan.results import is_plain, read_result
from toolspan.rules import RuleBook

#: A model may invent a tool name; what is longer than this is none.
MAX_NAME_CHARS: Final = 256
#: In messages a part of this type, or this finish reason; inside a text its quotes would be escaped.
_WAITING: Final = re.compile(
    rf'"type"\s*:\s*"{conv.APPROVAL_PART}"|"{conv.FINISH_REASON_KEY}"\s*:\s*"{conv.FINISH_WAITING}"'
)
_CALL_ID_HINT: Final = "tool_call_id"


class Source(NamedTuple):
    """
    Where a span came from: what its resource says.
    """

    service: str = ""
    environment: str = ""


NO_SOURCE: Final = Source()


def source_of(resource: Mapping[str, object]) -> Source:
    """
    Service and environment that *resource* attributes name.
    """
    return Source(_first_text(resource, conv.SERVICE), _first_text(resource, conv.ENVIRONMENT))


class Recogniser:
    """
    Turns spans into facts, with one set of rules and one hash key.
    """

    __slots__ = ("_classifier", "_hasher", "_marks", "_tools")

    #: Of tool names, and of marks (agent, service, environment, task, step), that are kept to be shared among spans.
    CACHE_SIZE: Final = 4096

    def __init__(self, rules: RuleBook, hasher: ArgumentHasher) -> None:
        self._classifier = Classifier(rules)
        self._hasher = hasher
        self._marks: dict[tuple[object, ...], Marks] = {}
        self._tools: dict[str, str] = {}

    def reduce(
        self,
        span: SpanView,
        trace_id: bytes,
        span_id: bytes,
        parent_id: bytes,
        start_ns: int,
        end_ns: int,
        source: Source = NO_SOURCE,
    ) -> SpanFacts:
        """
        The facts of *span*.
        """
        attributes = span.attributes
        is_error = span.status_code == attr.STATUS_ERROR
        call = escalation = None
        if self._is_common(span):
            call = self._common_call(attributes, span.name, None, span)
            if call is not None:
                shared = self._marks_of(span, source, is_call=True, has_own=False)
                return SpanFacts(trace_id, span_id, parent_id, start_ns, end_ns, _TOOL, is_error, shared, call)
        role = role_of(span)
        if role == _TOOL:
            tool = tool_name(span)
            if _only_looks_like_a_call(span, tool):
                role = Role.OTHER
            else:
                call = self._call(span, tool)
        elif role == Role.ESCALATION:
            escalation = _escalation(attributes)
        elif role == Role.RUN and _waits(span):
            escalation = EscalationFacts("run")
        marks = None
        has_own = not _OWN.isdisjoint(attributes)
        if role or not parent_id or has_own:
            marks = self._marks_of(span, source, is_call=call is not None, has_own=has_own)
        return SpanFacts(
            trace_id,
            span_id,
            parent_id,
            start_ns,
            end_ns,
            int(role),
            is_error,
            marks,
            call,
            escalation,
            failed_http_status(span.kind, attributes) if span.kind == attr.KIND_CLIENT else 0,
        )

    def reduce_success(
        self,
        attributes: Mapping[str, object],
        name: str,
        trace_id: bytes,
        span_id: bytes,
        parent_id: bytes,
        start_ns: int,
        end_ns: int,
        source: Source,
    ) -> SpanFacts | None:
        """
        The facts of a span without status and events, if it is a common call that went well; None for any other.

        What `reduce` would make of it, at half the price: most calls come this way.
        """
        if attributes.get(conv.OPERATION) != _EXECUTE_TOOL or not _UNUSUAL_SUCCESS.isdisjoint(attributes):
            return None
        if not is_plain(attributes.get(_RESULT)) or self._classifier.reads_plain_results:
            return None
        call = self._common_call(attributes, name, OK)
        marks = self._marks.get((attributes.get(_AGENT), source))
        if call is None or marks is None:
            return None
        return SpanFacts(trace_id, span_id, parent_id, start_ns, end_ns, _TOOL, False, marks, call)

    def _common_call(
        self, attributes: Mapping[str, object], name: str, judgement: Judgement | None, span: SpanView | None = None
    ) -> CallFacts | None:
        """
        The call of a GenAI span that carries nothing unusual; None if its name, id or arguments are odd.
        """
        get = attributes.get
        tool, call_id, arguments = get(_NAME), get(_CALL_ID), get(_ARGUMENTS)
        if not (isinstance(tool, str) and tool and isinstance(call_id, str) and call_id) or arguments is None:
            return None
        is_odd = len(tool) > MAX_NAME_CHARS or len(call_id) > MAX_NAME_CHARS or call_id == conv.NO_CALL_ID
        if is_odd or tool in _LOOKALIKE_TOOLS or name.startswith(conv.HANDOFF_NAME):
            return None
        if judgement is None and span is not None:
            judgement = self._classifier.judge(span, tool, get(_RESULT))
        shared = self._tools.get(tool)
        if shared is None:
            if len(self._tools) >= self.CACHE_SIZE:
                self._tools.clear()
            shared = self._tools[tool] = tool
        return CallFacts(shared, judgement or OK, call_id, self._hasher.hash(arguments))

    @staticmethod
    def _is_common(span: SpanView) -> bool:
        attributes = span.attributes
        return (
            attributes.get(conv.OPERATION) == _EXECUTE_TOOL
            and _UNUSUAL.isdisjoint(attributes)
            and (
                attributes.get(_RESULT) is not None or all(event.name == attr.EXCEPTION_EVENT for event in span.events)
            )
        )

    def explain(self, span: SpanView) -> list[tuple[int, str, str, str]]:
        """
        The chain of evidence of a tool span, most believed first: (item, evidence, class, code), empty where unnamed.
        """
        chain = self._classifier.explain(span, tool_name(span), _result(span))
        return [(found.item, found.evidence, *(found.named or ("", "", ""))[:2]) for found in chain]

    def _marks_of(self, span: SpanView, source: Source, *, is_call: bool, has_own: bool) -> Marks:
        """
        The marks of *span*, one record for all spans that say the same: most calls of a service do.
        """
        attributes = span.attributes
        key: tuple[object, ...] = (_agent(attributes) or None, source)
        if not is_call:
            # a call is named by its tool: its span's name would make every tool's marks distinct
            key = (*key, span.name)
        if has_own:
            key = (*key, *(_text(attributes.get(name)) for name in (attr.TASK_ID, attr.STEP_ID, attr.TASK_OUTCOME)), 0)
        shared = self._marks.get(key)
        if shared is None:
            if len(self._marks) >= self.CACHE_SIZE:
                self._marks.clear()
            shared = self._marks[key] = _marks(span, source, is_call=is_call)
        return shared

    def _call(self, span: SpanView, tool: str) -> CallFacts:
        attributes = span.attributes
        result = _result(span)
        arguments = _payload(span, conv.ARGUMENTS, conv.ARGUMENT_EVENTS)
        args_hash = self._hasher.hash(arguments) if arguments is not None else None
        if args_hash is None:
            tagged = attributes.get(attr.CALL_ARGS_HASH)
            args_hash = tagged if isinstance(tagged, str) and tagged else None
        side = request_id = ""
        if attributes.get(conv.MCP_METHOD) == "tools/call":
            side = {attr.KIND_CLIENT: "client", attr.KIND_SERVER: "server"}.get(span.kind, "")
            request_id = _text(attributes.get(conv.REQUEST_ID))
        return CallFacts(
            tool,
            self._classifier.judge(span, tool, result),
            _call_id(attributes, arguments, result),
            args_hash,
            side,
            request_id,
            _count(attributes.get(attr.CALL_ATTEMPTS)),
            _count(attributes.get(attr.CALL_WAITED_MS)),
            attributes.get(attr.CALL_BUDGET_EXHAUSTED) is True,
        )


#: The same of an event.
EVENT_WANTED: Final = frozenset(
    (
        attr.EXCEPTION_TYPE,
        attr.EXCEPTION_MESSAGE,
        attr.EXCEPTION_STACKTRACE,
        *(name for content in (*conv.ARGUMENT_EVENTS, *conv.RESULT_EVENTS) for name in content.attributes),
        *conv.FINISH_REASONS,
        conv.OUTPUT_MESSAGES,
    )
)
#: Attributes that make any span carry marks.
_OWN: Final = frozenset(name for name, _ in conv.gate() if name.startswith("toolspan."))

#: Every attribute that recognition or classification reads of a span.
WANTED: Final = frozenset(
    (
        *(name for name, _ in conv.gate()),
        *attr.OWN,
        attr.ERROR_TYPE,
        attr.RETRY_AFTER_HEADER,
        *attr.HTTP_STATUS,
        *attr.GRPC_STATUS,
        *attr.RPC_STATUS,
        *attr.SQLSTATE,
        *conv.TOOL_NAME,
        *conv.CALL_ID,
        *conv.ARGUMENTS,
        *conv.RESULT,
        *conv.DEFERRALS,
        *conv.AGENT,
        *conv.FINISH_REASONS,
        *(flag.attribute for flag in conv.FAILURE_FLAGS),
        conv.REQUEST_ID,
        conv.OUTPUT_MESSAGES,
        conv.FINAL_RESULT,
        conv.TRACELOOP_ENTITY,
    )
)


# plain ints and texts for the hot path
_TOOL: Final = int(Role.TOOL)
_EXECUTE_TOOL: Final = "execute_tool"
_NAME, _CALL_ID, _ARGUMENTS, _RESULT = conv.TOOL_NAME[0], conv.CALL_ID[0], conv.ARGUMENTS[0], conv.RESULT[0]
_AGENT = conv.AGENT[0]
#: What a common call does not carry.
_UNUSUAL_SUCCESS: Final = WANTED - {conv.OPERATION, _NAME, _CALL_ID, _ARGUMENTS, _RESULT, _AGENT}
_UNUSUAL: Final = _UNUSUAL_SUCCESS - {attr.ERROR_TYPE}
_LOOKALIKE_TOOLS: Final = frozenset(lookalike.tool for lookalike in conv.LOOKALIKES)


def role_of(span: SpanView) -> Role:
    """
    What *span* is to us by its markers; a tool may still only look like a call.
    """
    attributes = span.attributes
    if _matches(attributes, conv.TOOL_MARKERS):
        return Role.TOOL
    if _matches(attributes, conv.ESCALATION_MARKERS):
        return Role.ESCALATION
    if _matches(attributes, conv.RUN_MARKERS):
        return Role.RUN
    return Role.OTHER


def convention_of(span: SpanView) -> str:
    """
    The convention by which *span* is recognised, empty where by none.
    """
    for markers in (conv.TOOL_MARKERS, conv.ESCALATION_MARKERS, conv.RUN_MARKERS):
        marker = _matches(span.attributes, markers)
        if marker is not None:
            return marker.convention
    return ""


def tool_name(span: SpanView) -> str:
    """
    The tool that *span* called: the convention's attribute, else what the span's name says of it; never empty.
    """
    for key in conv.TOOL_NAME:
        value = span.attributes.get(key)
        if isinstance(value, str) and value:
            return value[:MAX_NAME_CHARS]
    return _name_from_span_name(span) or conv.UNKNOWN_TOOL


def failed_http_status(kind: int, attributes: Mapping[str, object]) -> int:
    """
    The status of an HTTP client span that failed, else 0.
    """
    if kind != attr.KIND_CLIENT:
        return 0
    for key in attr.HTTP_STATUS:
        status = _count(attributes.get(key))
        if status is not None:
            return status if 400 <= status <= 599 else 0
    return 0


def _matches(attributes: Mapping[str, object], markers: tuple[conv.Marker, ...]) -> conv.Marker | None:
    for marker in markers:
        value = attributes.get(marker.attribute)
        if value is not None and (not marker.values or (isinstance(value, str) and value in marker.values)):
            return marker
    return None


def _only_looks_like_a_call(span: SpanView, tool: str) -> bool:
    if span.attributes.get(conv.OPERATION) == conv.HANDOFF_OPERATION or span.name.startswith(conv.HANDOFF_NAME):
        return True
    return tool in _LOOKALIKE_TOOLS and any(
        tool == lookalike.tool and lookalike.scope in span.scope for lookalike in conv.LOOKALIKES
    )


def _name_from_span_name(span: SpanView) -> str:
    name = span.name
    if name.startswith(conv.NAME_GENAI):
        return name.removeprefix(conv.NAME_GENAI).strip()[:MAX_NAME_CHARS]
    before, found, after = name.partition(conv.NAME_MCP)
    if found:
        return after.strip()[:MAX_NAME_CHARS]
    if span.attributes.get(conv.TRACELOOP_KIND) is not None:
        return before.removesuffix(conv.NAME_TRACELOOP_SUFFIX).strip()[:MAX_NAME_CHARS]
    if any(span.attributes.get(key) is not None for key in conv.NAMED_BY_SPAN):
        return before.strip()[:MAX_NAME_CHARS]
    return ""


def _payload(span: SpanView, keys: tuple[str, ...], events: tuple[conv.EventContent, ...]) -> object:
    attributes = span.attributes
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    for event in span.events:
        for content in events:
            if event.name == content.event:
                value = _first_value(event.attributes, content.attributes)
                if value is not None:
                    return value
    return None


def _result(span: SpanView) -> object:
    return _payload(span, conv.RESULT, conv.RESULT_EVENTS)


def _call_id(attributes: Mapping[str, object], arguments: object, result: object) -> str:
    for key in conv.CALL_ID:
        value = attributes.get(key)
        if isinstance(value, str) and value and value != conv.NO_CALL_ID:
            return value[:MAX_NAME_CHARS]
    # a framework that has no attribute for it may still say it in its own wrapper
    for payload in (arguments, result):
        if isinstance(payload, str) and _CALL_ID_HINT in payload:
            found = _call_id_in(payload)
            if found and found != conv.NO_CALL_ID:
                return found[:MAX_NAME_CHARS]
    return ""


def _call_id_in(payload: str) -> str:
    opened = parse(payload)
    if is_object(opened):
        inner = opened.get("kwargs")
        for holder in (opened, inner):
            if is_object(holder) and isinstance(holder.get(_CALL_ID_HINT), str):
                return str(holder[_CALL_ID_HINT])
    return read_result(opened).call_id


def _escalation(attributes: Mapping[str, object]) -> EscalationFacts:
    if attributes.get(attr.KIND) == attr.KIND_ESCALATION:
        tool = _text(attributes.get(attr.ESCALATION_TOOL))[:MAX_NAME_CHARS]
        return EscalationFacts("span", tool, _text(attributes.get(attr.ESCALATION_REASON))[:MAX_NAME_CHARS])
    return EscalationFacts("elicitation")


def _waits(span: SpanView) -> bool:
    """
    Whether an agent run ends waiting for a human.
    """
    attributes = span.attributes
    for holder in (attributes, *(event.attributes for event in span.events)):
        if any(_has_word(holder.get(key), conv.FINISH_WAITING) for key in conv.FINISH_REASONS):
            return True
        messages = holder.get(conv.OUTPUT_MESSAGES)
        if isinstance(messages, str) and _WAITING.search(messages):
            return True
    final = attributes.get(conv.FINAL_RESULT)
    if isinstance(final, str) and conv.APPROVALS in final:
        final = parse(final)
    return is_object(final) and bool(final.get(conv.APPROVALS))


def _has_word(value: object, word: str) -> bool:
    if isinstance(value, str):
        value = parse(value)
    return value == word or (is_array(value) and word in value)


def _agent(attributes: Mapping[str, object]) -> str:
    agent = _first_text(attributes, conv.AGENT)
    if not agent and attributes.get(conv.TRACELOOP_KIND) == "agent":
        return _text(attributes.get(conv.TRACELOOP_ENTITY))
    return agent


def _marks(span: SpanView, source: Source, *, is_call: bool) -> Marks:
    attributes = span.attributes
    return Marks(
        "" if is_call else span.name[:MAX_NAME_CHARS],
        _agent(attributes)[:MAX_NAME_CHARS],
        source.service,
        source.environment,
        _text(attributes.get(attr.TASK_ID))[:MAX_NAME_CHARS],
        _text(attributes.get(attr.STEP_ID))[:MAX_NAME_CHARS],
        _text(attributes.get(attr.TASK_OUTCOME)),
    )


def _first_value(attributes: Mapping[str, object], names: tuple[str, ...]) -> object:
    for name in names:
        value = attributes.get(name)
        if value is not None and value != "":
            return value
    return None


def _first_text(attributes: Mapping[str, object], names: tuple[str, ...]) -> str:
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _count(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 12:
        return int(value)
    return None
