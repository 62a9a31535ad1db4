"""
The facts that are kept of a span: what it is, what its call says, whose task it belongs to.

Everything is read when the span has ended: frameworks set most attributes late. Nothing here sees more than one
span; what needs several (one call traced twice, tasks, links) is `derive`'s.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.arguments import ArgumentHasher, is_hash
from toolspan.classify import Classifier
from toolspan.contents import arguments_of, call_id_of, count, first_text, result_of, text_of
from toolspan.records import CallFacts, EscalationFacts, Marks, Role, SpanFacts, SpanView
from toolspan.roles import (
    LOOKALIKE_TOOLS,
    MAX_NAME_CHARS,
    ends_waiting,
    failed_http_status,
    only_looks_like_a_call,
    role_of,
    tool_name,
)
from toolspan.rules import RuleBook
from toolspan.wanted import ENDING, MARKING, WANTED


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
    service, environment = first_text(resource, conv.SERVICE), first_text(resource, conv.ENVIRONMENT)
    return Source(service[:MAX_NAME_CHARS], environment[:MAX_NAME_CHARS])


class Recogniser:
    """
    Turns spans into facts, with one set of rules and one hash key.
    """

    __slots__ = ("_marks", "_tools", "classifier", "hasher")

    #: Of tool names, and of marks (agent, service, environment, task, step), that are kept to be shared among spans.
    CACHE_SIZE: Final = 4096

    def __init__(self, rules: RuleBook, hasher: ArgumentHasher) -> None:
        self.classifier = Classifier(rules)
        self.hasher = hasher
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
            call = self._common_call(span)
            if call is not None:
                shared = self._marks_of(span, source, is_call=True, has_own=False)
                return SpanFacts(trace_id, span_id, parent_id, start_ns, end_ns, _TOOL, is_error, shared, call)
        role = role_of(span)
        if role == _TOOL:
            tool = tool_name(span)
            if only_looks_like_a_call(span, tool):
                role = Role.OTHER
            else:
                call = self._call(span, tool)
        if role == Role.ESCALATION or attributes.get(attr.KIND) == attr.KIND_ESCALATION:
            # a tool by which the agent asks a human may say so itself
            escalation = _escalation(attributes)
        elif role == Role.RUN and (span.events or not ENDING.isdisjoint(attributes)) and ends_waiting(span):
            escalation = EscalationFacts("run")
        marks = None
        has_own = not MARKING.isdisjoint(attributes)
        if role or not parent_id or has_own:
            marks = self._marks_of(span, source, is_call=call is not None, has_own=has_own)
        return SpanFacts(
            trace_id,
            span_id,
            parent_id,
            start_ns,
            end_ns,
            int(role),
            # of a span that stands for nothing nobody asks how it ended
            is_error and marks is not None,
            marks,
            call,
            escalation,
            failed_http_status(span.kind, attributes) if span.kind == attr.KIND_CLIENT else 0,
        )

    def _common_call(self, span: SpanView) -> CallFacts | None:
        """
        The call of a GenAI span that carries nothing unusual; None if its name, id or arguments are odd.

        What `_call` would say of it, without looking for what is not there: recognition costs 13 % less so.
        """
        get = span.attributes.get
        tool, call_id, arguments = get(_NAME), get(_CALL_ID), get(_ARGUMENTS)
        if (
            not (isinstance(tool, str) and isinstance(call_id, str) and call_id)
            or arguments is None
            or not tool.strip()
        ):
            return None
        is_odd = len(tool) > MAX_NAME_CHARS or len(call_id) > MAX_NAME_CHARS or call_id == conv.NO_CALL_ID
        if is_odd or tool in LOOKALIKE_TOOLS or span.name.startswith(conv.HANDOFF_NAME):
            return None
        judgement = self.classifier.judge(span, tool, get(_RESULT))
        shared = self._tools.get(tool)
        if shared is None:
            if len(self._tools) >= self.CACHE_SIZE:
                self._tools.clear()
            shared = self._tools[tool] = tool
        return CallFacts(shared, judgement, call_id, self.hasher.hash(arguments, tool=tool, call_id=call_id))

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
        chain = self.classifier.explain(span, tool_name(span), result_of(span))
        return [(found.item, found.evidence, *(found.named or ("", "", ""))[:2]) for found in chain]

    def _marks_of(self, span: SpanView, source: Source, *, is_call: bool, has_own: bool) -> Marks:
        """
        The marks of *span*.
        """
        attributes = span.attributes
        key: tuple[object, ...] = (_agent(attributes)[:MAX_NAME_CHARS] or None, source)
        if not is_call:
            # a call is named by its tool: its span's name would make every tool's marks distinct
            key = (*key, span.name[:MAX_NAME_CHARS])
        if has_own:
            own = (text_of(attributes.get(name)) for name in (attr.TASK_ID, attr.STEP_ID, attr.TASK_OUTCOME))
            key = (*key, *(text[:MAX_NAME_CHARS] for text in own), None)
        return self._share(key, lambda: _marks(span, source, is_call=is_call))

    def marks_of_call(self, agent: str, source: Source) -> Marks:
        """
        The marks of a tool span of *agent* that says nothing else of its task.
        """
        agent = agent[:MAX_NAME_CHARS]
        return self._share((agent or None, source), lambda: Marks("", agent, *source))

    def marks_of_run(self, name: str, agent: str, source: Source) -> Marks:
        """
        The marks of an agent run that says nothing else of its task.
        """
        name, agent = name[:MAX_NAME_CHARS], agent[:MAX_NAME_CHARS]
        return self._share((agent or None, source, name), lambda: Marks(name, agent, *source))

    def _share(self, key: tuple[object, ...], make: Callable[[], Marks]) -> Marks:
        """
        One record for all spans that say the same: most calls of a service do.
        """
        shared = self._marks.get(key)
        if shared is None:
            if len(self._marks) >= self.CACHE_SIZE:
                self._marks.clear()
            shared = self._marks[key] = make()
        return shared

    def _call(self, span: SpanView, tool: str) -> CallFacts:
        attributes = span.attributes
        result = result_of(span)
        arguments = arguments_of(span)
        call_id = call_id_of(attributes, arguments, result)
        args_hash = self.hasher.hash(arguments, tool=tool, call_id=call_id) if arguments is not None else None
        if args_hash is None:
            tagged = attributes.get(attr.CALL_ARGS_HASH)
            args_hash = tagged if isinstance(tagged, str) and is_hash(tagged) else None
        side = request_id = ""
        if attributes.get(conv.MCP_METHOD) == "tools/call":
            side = {attr.KIND_CLIENT: "client", attr.KIND_SERVER: "server"}.get(span.kind, "")
            request_id = text_of(attributes.get(conv.REQUEST_ID))
        return CallFacts(
            tool,
            self.classifier.judge(span, tool, result),
            call_id,
            args_hash,
            side,
            request_id,
            _attempts(attributes),
            count(attributes.get(attr.CALL_WAITED_MS)),
            attributes.get(attr.CALL_BUDGET_EXHAUSTED) is True,
        )


# plain ints and texts for the hot path
_TOOL: Final = int(Role.TOOL)
_EXECUTE_TOOL: Final = "execute_tool"
_NAME, _CALL_ID, _ARGUMENTS, _RESULT = conv.TOOL_NAME[0], conv.CALL_ID[0], conv.ARGUMENTS[0], conv.RESULT[0]
#: What a common call does not carry.
_UNUSUAL: Final = WANTED - {conv.OPERATION, _NAME, _CALL_ID, _ARGUMENTS, _RESULT, conv.AGENT[0], attr.ERROR_TYPE}


def _attempts(attributes: Mapping[str, object]) -> int | None:
    """
    How often the call was tried, as the tool counts; None where it does not. A processor that tags other people's spans
    says 1 of all that do not count: what is below such a span may know better.
    """
    attempts = count(attributes.get(attr.CALL_ATTEMPTS))
    # a call that was made was tried at least once
    if not attempts or (attempts == 1 and attributes.get(attr.TAGGED) == attr.TAGGED_BY_PROCESSOR):
        return None
    return attempts


def _escalation(attributes: Mapping[str, object]) -> EscalationFacts:
    if attributes.get(attr.KIND) == attr.KIND_ESCALATION:
        tool = text_of(attributes.get(attr.ESCALATION_TOOL))[:MAX_NAME_CHARS]
        return EscalationFacts("span", tool, text_of(attributes.get(attr.ESCALATION_REASON))[:MAX_NAME_CHARS])
    return EscalationFacts("elicitation")


def _agent(attributes: Mapping[str, object]) -> str:
    agent = first_text(attributes, conv.AGENT)
    if not agent and attributes.get(conv.TRACELOOP_KIND) == "agent":
        return text_of(attributes.get(conv.TRACELOOP_ENTITY))
    return agent


def _marks(span: SpanView, source: Source, *, is_call: bool) -> Marks:
    attributes = span.attributes
    return Marks(
        "" if is_call else span.name[:MAX_NAME_CHARS],
        _agent(attributes)[:MAX_NAME_CHARS],
        source.service,
        source.environment,
        text_of(attributes.get(attr.TASK_ID))[:MAX_NAME_CHARS],
        text_of(attributes.get(attr.STEP_ID))[:MAX_NAME_CHARS],
        text_of(attributes.get(attr.TASK_OUTCOME)),
    )
