"""
What a call's result says of how the call ended.

A result is opened through a list of known wrapper keys, never deeper than eight levels nor into more than sixteen
items of a list, stopping at an object that has `ok`: what a tool returned as data is none of our business, and a
log of old failures inside a success must not make it one.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final, NamedTuple

from toolspan.evidence.payloads import is_array, is_object, parse, parse_literal

MAX_DEPTH: Final = 8
MAX_ITEMS: Final = 16
#: Longest text that is read for forms of failures; the form stands at the front, a dump behind it.
MAX_TEXT_CHARS: Final = 4096

#: Keys that hold the result proper, in the order in which they are believed. Error text comes before the
#: structured payload where both are there: a stale payload beside `isError` is no success.
_WRAPPERS: Final = (
    "structuredContent",
    "structured_content",
    "content",
    "result",
    "output",
    "raw_output",
    "response",
    "value",
    "return_value",
    "returnValue",
    "kwargs",
    "tool_response",
    "toolResult",
    "text",
    "json",
    "message",
    "parts",
    "blocks",
)
#: Only a serialised LangChain message keeps its content under `data`.
_MESSAGE_TYPES: Final = frozenset(("tool", "ToolMessage"))
#: A message of role "tool" carries `status`; any other object's `status` is the tool's own data.
_MESSAGE_MARKS: Final = ("tool_call_id", "toolUseId", "tool_use_id")
_CALL_ID_KEYS: Final = ("tool_call_id", "toolUseId", "tool_use_id", "call_id")
_TEXT_KEYS: Final = ("error", "error_details", "error_message", "detail", "exception", "message", "title", "reason")

#: agno and others write `str(result)`: key='value' pairs.
_REPR_RESULT: Final = re.compile(r"(?:^|[\s(])(?:result|content|output)=(?=[{\['\"])")
_REPR_NEXT: Final = re.compile(r",? \w+=|\)?$")
_REPR_FAILED: Final = re.compile(r"^\s*(?:\w+\()?(?:\w+=\S+ )*?status=['\"]failure['\"]")
#: How JSON or a repr of data begins.
_DATA: Final = frozenset("{[")
#: How far into a text its first key=value pairs are looked for.
_MAX_REPR_HEAD: Final = 200
_REFLECT_MARK: Final = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"
#: What frameworks answer in place of a result while they ask a human (ADK).
_CONFIRMATIONS: Final = ("This tool call requires confirmation",)
#: … and when the human said no (ADK, OpenAI Agents, pydantic-ai).
_REJECTIONS: Final = (
    "This tool call is rejected.",
    "Tool execution was not approved.",
    "The tool call was denied.",
)


class ResultReading(NamedTuple):
    """
    What a result says.

    *envelope* is the object with `ok: false` (or with a contradicting `error`), *says_ok* that there is one with
    `ok: true`. *flags* name the marks that say "failed" without saying why. *documents* are the objects that may be
    an error document if the call failed, *texts* the texts that may name a class then. *exception* is a pair of type
    and message that a framework wrote into the result.
    """

    envelope: Mapping[str, object] | None = None
    says_ok: bool = False
    flags: tuple[str, ...] = ()
    documents: tuple[Mapping[str, object], ...] = ()
    texts: tuple[str, ...] = ()
    exception: tuple[str, str] | None = None
    call_id: str = ""
    is_deferred: bool = False
    is_rejected: bool = False


NOTHING: Final = ResultReading()


def is_plain(value: object) -> bool:
    """
    Whether *value* is a text that surely says nothing but its data: the way out for most successes.

    "alse": `success` is false. "rror": isError, error. "ailure": status failure. "ok": an envelope. The others:
    deferrals and refusals.
    """
    if not isinstance(value, str):
        return value is None
    if value[:1] not in _DATA:
        # plain text may name the class of a failure that another span of the call tells of
        return not value
    # unrolled: a generator over the hints takes a third longer, and every success passes here
    return not (
        "rror" in value
        or "alse" in value
        or "ailure" in value
        or "input_required" in value
        or "not approved" in value
        or "was denied" in value
        or '"ok' in value
        or "'ok" in value
    )


def is_clean_success(value: object) -> bool:
    """
    Whether *value* is surely an envelope that says `ok: true` and nothing against it, without parsing it.
    """
    return isinstance(value, str) and value.startswith(('{"ok": true', '{"ok":true')) and "rror" not in value


def read_result(value: object) -> ResultReading:
    """
    What *value* (text or data) says of how its call ended. Never raises.
    """
    if value is None or value == "":
        return NOTHING
    walk = _Walk()
    walk.visit(value, 0)
    return walk.reading()


class _Walk:
    """
    One pass over a result.
    """

    __slots__ = ("call_id", "documents", "envelope", "exception", "flags", "is_deferred", "is_rejected", "ok", "texts")

    def __init__(self) -> None:
        self.envelope: Mapping[str, object] | None = None
        self.ok = False
        self.flags: list[str] = []
        self.documents: list[Mapping[str, object]] = []
        self.texts: list[str] = []
        self.exception: tuple[str, str] | None = None
        self.call_id = ""
        self.is_deferred = False
        self.is_rejected = False

    def reading(self) -> ResultReading:
        return ResultReading(
            self.envelope,
            self.ok,
            tuple(self.flags),
            tuple(self.documents),
            tuple(self.texts),
            self.exception,
            self.call_id,
            self.is_deferred,
            self.is_rejected,
        )

    @property
    def is_settled(self) -> bool:
        return self.ok or self.envelope is not None

    def visit(self, value: object, depth: int) -> None:
        if depth > MAX_DEPTH or self.is_settled:
            return
        if isinstance(value, str):
            opened = parse(value)
            if isinstance(opened, str):
                self._read_text(opened, depth)
            else:
                self.visit(opened, depth + 1)
        elif is_object(value):
            self._visit_object(value, depth)
        elif is_array(value):
            for item in value[:MAX_ITEMS]:
                self.visit(item, depth + 1)

    def _visit_object(self, value: Mapping[str, object], depth: int) -> None:
        self._read_marks(value)
        ok = value.get("ok")
        if isinstance(ok, bool):
            error = value.get("error")
            if not ok or (is_object(error) and error):
                self.envelope = value
                self._add_documents(value)
            self.ok = ok
            if not ok:
                self._read_error_texts(value, error, depth)
            return
        self._add_documents(value)
        error = value.get("error")
        for key in _WRAPPERS:
            inner = value.get(key)
            if inner is not None and not (key == "message" and isinstance(inner, str)):
                self.visit(inner, depth + 1)
        if "data" in value and value.get("type") in _MESSAGE_TYPES:
            self.visit(value["data"], depth + 1)
        if not self.is_settled:
            self._read_error_texts(value, error, depth)

    def _add_documents(self, value: Mapping[str, object]) -> None:
        self.documents.append(value)
        error = value.get("error")
        if is_object(error):
            self.documents.append(error)

    def _read_marks(self, value: Mapping[str, object]) -> None:
        for key in ("isError", "is_error"):
            if value.get(key) is True:
                self.flags.append("mcp.isError")
        if value.get("success") is False:
            self.flags.append("result.success")
        if "jsonrpc" in value and is_object(value.get("error")):
            self.flags.append("jsonrpc.error")
        is_message = value.get("type") in _MESSAGE_TYPES or any(mark in value for mark in _MESSAGE_MARKS)
        if is_message and value.get("status") == "error":
            self.flags.append("message.status")
        if value.get("response_type") == _REFLECT_MARK:
            self.flags.append("adk.reflect")
            self.exception = (str(value.get("error_type", "")), str(value.get("error_details", "")))
        if value.get("resultType") == "input_required" or value.get("result_type") == "input_required":
            self.is_deferred = True
        if not self.call_id:
            for key in _CALL_ID_KEYS:
                identifier = value.get(key)
                if isinstance(identifier, str):
                    self.call_id = identifier
                    break

    def _read_error_texts(self, value: Mapping[str, object], error: object, depth: int) -> None:
        if isinstance(error, str):
            self.is_deferred = self.is_deferred or error.startswith(_CONFIRMATIONS)
        for source in (value, error):
            if is_object(source):
                for key in _TEXT_KEYS:
                    text = source.get(key)
                    if isinstance(text, str) and text:
                        self._read_text(text, depth)

    def _read_text(self, text: str, depth: int) -> None:
        if text.startswith(_REJECTIONS):
            self.is_rejected = True
        if "=" in text[:_MAX_REPR_HEAD]:
            head = text[:MAX_TEXT_CHARS]
            if _REPR_FAILED.match(head):
                self.flags.append("repr.status")
            self.visit(_result_in_repr(head), depth + 1)
        if len(self.texts) < MAX_ITEMS:
            self.texts.append(text[:MAX_TEXT_CHARS])


def _result_in_repr(text: str) -> object:
    """
    The value behind `result=` in a text of key=value pairs; None where there is none that can be read.
    """
    found = _REPR_RESULT.search(text, 0, _MAX_REPR_HEAD)
    if found is None:
        return None
    # where the value ends is known only when it parses: try the places where the next pair may begin
    for boundary in islice(_REPR_NEXT.finditer(text, found.end()), MAX_ITEMS):
        value = text[found.end() : boundary.start()]
        opened = parse_literal(value)
        if opened is not value:
            return opened
    return None
