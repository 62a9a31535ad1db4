"""
Tool calls and agent runs as nearly all are, read straight from the wire: what `Recogniser.reduce` makes of them.

A GenAI span that carries its tool's name, the call's id and arguments, maybe its agent, its result, `error.type` and
an exception, and nothing else that anybody reads, needs no search for where things might be. Failures repeat: how one
was judged is looked up by its bytes. Whatever is odd about a span is left to `reduce`. Through a `SpanView`, a call
that ended ok takes 12.8 µs, here 8.3; one that failed 19 and 9; a run 8.3 and 4.
"""

from typing import Any, Final, TypeAlias

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.otlp_values import lone_text, status_of, view_of, wanted_values
from toolspan.recognise import Recogniser, Source
from toolspan.records import CallFacts, Judgement, Marks, Role, SpanFacts
from toolspan.roles import LOOKALIKE_TOOLS, MAX_NAME_CHARS
from toolspan.wanted import WANTED

_TOOL, _RUN = int(Role.TOOL), int(Role.RUN)
_NAME, _CALL_ID, _ARGUMENTS, _RESULT = conv.TOOL_NAME[0], conv.CALL_ID[0], conv.ARGUMENTS[0], conv.RESULT[0]
_AGENT: Final = conv.AGENT[0]
#: What a common call does not carry.
_UNUSUAL: Final = WANTED - {conv.OPERATION, _NAME, _CALL_ID, _ARGUMENTS, _RESULT, _AGENT, attr.ERROR_TYPE}
_UNUSUAL_IN_RUN: Final = WANTED - {conv.OPERATION, _AGENT, attr.ERROR_TYPE}
#: How a Status that is no error stands on the wire: left out, or a code alone.
_NO_ERROR: Final = frozenset((b"", b"\x18\x00", b"\x18\x01"))
_ERROR: Final = b"\x18\x02"
#: Tag of an event's `time_unix_nano`, field 1 in 64 bits, and the bytes that both take. It stands first, if at all.
_TIME_TAG: Final = b"\x09"
_TIME_BYTES: Final = 9
#: How many tools, agents of a source, and failures are kept; failures of more bytes and characters than 4 096 (a stack
#: trace of Python takes 1 to 4 thousand) are not, so that all take 4 MiB at most.
_CACHE_SIZE: Final = 1024
_MAX_KEY_SIZE: Final = 4096

# by position: half of what a call of the class costs, and there are two for every call
_make_call: Final = CallFacts._make
_make_span: Final = SpanFacts._make

#: Trace id, span id, parent's id, start and end.
Identity: TypeAlias = tuple[bytes, bytes, bytes, int, int]


class CommonSpans:
    """
    Reads common spans with the rules and the hash key of *recogniser*.
    """

    __slots__ = ("_by_agent", "_classifier", "_failures", "_hasher", "_recogniser", "_source", "_tools")

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser = recogniser
        self._classifier, self._hasher = recogniser.classifier, recogniser.hasher
        self._source = Source()
        self._by_agent: dict[bytes | None, Marks] = {}
        self._failures: dict[tuple[object, ...], Judgement] = {}
        self._tools: dict[bytes | None, str] = {}

    def read_call(self, span: Any, attributes: Any, scope: str, source: Source, identity: Identity) -> SpanFacts | None:
        """
        The facts of *span*, whose operation is that of a tool call; None where it is no common one.
        """
        try:
            if not _UNUSUAL.isdisjoint(attributes):
                return None
            get = attributes.get
            name, agent = get(_NAME), get(_AGENT)
            tool = self._tools.get(name) or self._read_tool(name)
            call_id = lone_text(get(_CALL_ID)).decode()
            if not (tool and call_id) or len(call_id) > MAX_NAME_CHARS or call_id == conv.NO_CALL_ID:
                return None
            arguments = lone_text(get(_ARGUMENTS))
            if not arguments:
                return None
            args_hash = self._hash(arguments, tool, call_id)
            result = get(_RESULT)
            if result is not None:
                result = lone_text(result).decode()
                if not result:
                    return None
        except UnicodeDecodeError:
            # what is no UTF-8 is replaced there
            return None
        if source is not self._source:
            self._source, self._by_agent = source, {}
        marks = self._by_agent.get(agent) or self._read_marks(agent)
        span_name, status = span.name, span.status
        # a name that is no UTF-8 is bytes
        if marks is None or span_name.__class__ is not str or span_name.startswith(conv.HANDOFF_NAME):
            return None
        judgement = self._judge(span, attributes, status, scope, tool, result)
        if judgement is None:
            return None
        call = _make_call((tool, judgement, call_id, args_hash, "", "", None, None, False))
        return _make_span((*identity, _TOOL, _is_error(status), marks, call, None, 0))

    def read_run(self, span: Any, attributes: Any, source: Source, identity: Identity) -> SpanFacts | None:
        """
        The facts of *span*, whose operation is that of an agent run; None where it is no common one.
        """
        try:
            if span.events or not _UNUSUAL_IN_RUN.isdisjoint(attributes):
                return None
            agent = attributes.get(_AGENT)
            agent_name, name, status = lone_text(agent).decode(), span.name, span.status
        except UnicodeDecodeError:
            return None
        if (agent is not None and not agent_name) or name.__class__ is not str:
            return None
        marks = self._recogniser.marks_of_run(name, agent_name, source)
        return _make_span((*identity, _RUN, _is_error(status), marks, None, None, 0))

    def _hash(self, arguments: bytes, tool: str, call_id: str) -> str | None:
        args_hash = self._hasher.hash_json(arguments)
        return args_hash or self._hasher.hash(arguments.decode(), tool=tool, call_id=call_id)

    def _judge(
        self, span: Any, attributes: Any, status: bytes, scope: str, tool: str, result: str | None
    ) -> Judgement | None:
        """
        How the call ended, by what is known of the very same failure; None where an event says what is read elsewhere.
        """
        events, error_type = span.events, attributes.get(attr.ERROR_TYPE)
        if error_type is None and not events and status in _NO_ERROR:
            judgement = self._classifier.glance(result)
            if judgement is not None:
                return judgement
        key = None
        if len(events) == 1:
            # only the user's rules look at the tool
            rules_tool = "" if self._classifier.is_blind_to_tools else tool
            key = (rules_tool, status, error_type, result, _timeless(events[0]))
            known = self._failures.get(key)
            if known is not None:
                return known
        view = view_of(span, scope, wanted_values(attributes))
        if result is None and any(event.name != attr.EXCEPTION_EVENT for event in view.events):
            return None
        judgement = self._classifier.judge(view, tool, result)
        if key is not None and sum(len(part) for part in key if part) <= _MAX_KEY_SIZE:
            if len(self._failures) >= _CACHE_SIZE:
                self._failures.clear()
            self._failures[key] = judgement
        return judgement

    def _read_tool(self, name: bytes | None) -> str:
        """
        The tool that *name* is the name of; empty where it may be none.
        """
        tool = lone_text(name).decode()
        if not tool.strip() or len(tool) > MAX_NAME_CHARS or tool in LOOKALIKE_TOOLS:
            return ""
        if len(self._tools) >= _CACHE_SIZE:
            self._tools.clear()
        self._tools[name] = tool
        return tool

    def _read_marks(self, agent: bytes | None) -> Marks | None:
        """
        The marks of calls of *agent*; None where that is no text.
        """
        try:
            name = lone_text(agent).decode()
        except UnicodeDecodeError:
            return None
        if agent is not None and not name:
            return None
        if len(self._by_agent) >= _CACHE_SIZE:
            self._by_agent.clear()
        marks = self._by_agent[agent] = self._recogniser.marks_of_call(name, self._source)
        return marks


def _is_error(status: bytes) -> bool:
    return status not in _NO_ERROR and (status == _ERROR or status_of(status)[0] == attr.STATUS_ERROR)


def _timeless(event: bytes) -> bytes:
    """
    *event* without its time: of the same failure it says the same.
    """
    return event[_TIME_BYTES:] if event[:1] == _TIME_TAG else event
