"""
Whether envelopes that others made keep the rules, with every broken rule and its remedy.

What a rule is and when it is broken is the same for an envelope that is built and for one that a span shows
(`evidence.error_documents`). Here come those that need more than the envelope: the tool's input schema, its registered
codes, the other envelopes beside it; and what `clean_hint` would take out.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from toolspan.envelopes.codes import CodeKey, Registry
from toolspan.envelopes.envelope import parse_envelope
from toolspan.envelopes.envelope_rules import broken_rule
from toolspan.envelopes.field_paths import field_problem, parse_path
from toolspan.envelopes.hints import clean_hint
from toolspan.errors import EnvelopeError
from toolspan.evidence.error_documents import read_envelope, to_class
from toolspan.evidence.payloads import is_object
from toolspan.evidence.results import read_result
from toolspan.lint import LintFlag
from toolspan.taxonomy import CODE_FORM, UNCLASSIFIED_CODE

#: Of those that an envelope breaks on its own, in the order of `LintFlag`; these need something beside it.
NO_ENVELOPE = "no_envelope"
FORM = "form"
HINT_UNSAFE = "hint_unsafe"
FIELD_NO_PATH = "field_no_path"
FIELD_UNKNOWN = "field_unknown"
CODE_UNREGISTERED = "code_unregistered"
CODE_OTHER_CLASS = "code_other_class"


class LintFinding(NamedTuple):
    """
    A broken *rule*: the *key* of the envelope at fault, and what is wrong with it.
    """

    rule: str
    key: str
    text: str


def find_envelope(document: object) -> Mapping[str, object] | None:
    """
    The envelope in *document*: itself, or what a result of MCP or of a framework wraps. None where there is none.
    """
    if is_object(document) and "ok" in document:
        return document
    reading = read_result(document)
    return reading.envelope if reading.envelope is not None else {"ok": True} if reading.says_ok else None


def lint_envelope(
    document: object,
    *,
    schema: Mapping[str, object] | None = None,
    registry: Registry | None = None,
    tool: str | None = None,
) -> list[LintFinding]:
    """
    The rules that the envelope in *document* breaks.

    Args:
        schema: the tool's input schema, which `field` is to resolve against.
        registry: of codes; they are those of *tool* where it is given, else of any tool.
    """
    envelope = find_envelope(document)
    if envelope is None:
        text = "is missing; an envelope is an object with ok: true and data, or ok: false and error"
        return [LintFinding(NO_ENVELOPE, "ok", text)]
    found = list(_broken_alone(envelope))
    error = envelope.get("error")
    if envelope.get("ok") is False and is_object(error):
        found += _broken_texts(error, schema)
        found += _broken_code(error, registry, tool)
    return found


def _broken_alone(envelope: Mapping[str, object]) -> Iterator[LintFinding]:
    """
    What an envelope shows by itself.
    """
    error = envelope.get("error")
    if envelope.get("ok") is False or error:
        stated: Mapping[str, object] = error if is_object(error) else {}
        flags = LintFlag(read_envelope(envelope).lint)
        yield from (LintFinding(str(flag.name).lower(), *broken_rule(flag, stated)) for flag in flags)
        if flags & ~(LintFlag.RETRY_AFTER_INVALID | LintFlag.FIELD_MISSING):
            return
    try:
        parse_envelope(envelope)
    except EnvelopeError as problem:
        yield LintFinding(FORM, "", str(problem))


def _broken_texts(error: Mapping[str, object], schema: Mapping[str, object] | None) -> Iterator[LintFinding]:
    hint, field = error.get("hint"), error.get("field")
    if isinstance(hint, str) and hint.strip() and _is_unsafe(hint):
        text = f"shows a model what it must not: as {clean_hint(hint)!r} it would be fine"
        yield LintFinding(HINT_UNSAFE, "hint", text)
    if to_class(error.get("class")) != "validation" or not isinstance(field, str) or not field:
        return
    if parse_path(field) is None:
        yield LintFinding(FIELD_NO_PATH, "field", f"is {field!r}, no path; write it like 'date' or 'items[2].sku'")
    elif schema is not None and (problem := field_problem(field, schema)):
        yield LintFinding(FIELD_UNKNOWN, "field", f"is {field!r}, but {problem}")


def _is_unsafe(hint: str) -> bool:
    """
    Cleaning takes more than space out of *hint*; its length and stack traces have rules of their own.
    """
    cleaned = clean_hint(hint)
    return not cleaned.endswith("…") and cleaned != " ".join(hint.split()) and not _has_trace(hint)


def _has_trace(hint: str) -> bool:
    flags = LintFlag(read_envelope({"ok": False, "error": {"hint": hint}}).lint)
    return LintFlag.STACK_TRACE_IN_HINT in flags


def _broken_code(error: Mapping[str, object], registry: Registry | None, tool: str | None) -> Iterator[LintFinding]:
    code, error_class = error.get("code"), to_class(error.get("class"))
    if registry is None or not isinstance(code, str) or error_class is None:
        return
    if code == UNCLASSIFIED_CODE or not CODE_FORM.fullmatch(code):
        return
    tools = [tool] if tool is not None else sorted(registry.tools())
    entries = [entry for name in tools if (entry := registry.entries.get(CodeKey(name, code)))]
    if not entries:
        of_tool = f" for {tool}" if tool is not None else ""
        yield LintFinding(CODE_UNREGISTERED, "code", f"is {code!r}, which is not registered{of_tool}; add it")
    elif all(entry.error_class != error_class for entry in entries):
        classes = " or ".join(sorted({entry.error_class for entry in entries}))
        text = f"is {error_class!r} for code {code!r}, which is registered as {classes}; give that, or a new code"
        yield LintFinding(CODE_OTHER_CLASS, "class", text)
