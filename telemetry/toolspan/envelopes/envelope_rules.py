"""
The rules of an envelope's error in words: what is wrong, with the value and the remedy.

Which of them are broken is found in one place (`evidence.error_documents`), for envelopes that are built, linted, and
seen in spans alike.
"""

from collections.abc import Mapping
from typing import Final

from toolspan.evidence.error_documents import MAX_HINT_CHARS, MAX_RETRY_AFTER_MS, to_class, to_code
from toolspan.lint import LintFlag
from toolspan.taxonomy import CLASSES, ErrorClass

_NEEDED_HINTS: Final[Mapping[str | None, str]] = {
    ErrorClass.PERMISSION: "what is missing, and whom to ask",
    ErrorClass.BUSINESS_RULE: "the rule, and what is possible instead",
}
#: Of a value that is quoted; a longer one is recognised by its start.
_MAX_QUOTED_CHARS: Final = 40

#: The key that is at fault, and what to say of it.
_RULES: Final[Mapping[LintFlag, tuple[str, str]]] = {
    LintFlag.RETRYABLE_CONTRADICTS_CLASS: (
        "retryable",
        "is {retryable} for class {class}; it is true for 'transient' only, and follows from the class if left out",
    ),
    LintFlag.FIELD_MISSING: ("field", "is missing; name the argument to rewrite, like 'date' or 'items[2].sku'"),
    LintFlag.HINT_TOO_LONG: ("hint", f"has {{length}} characters; keep it to {MAX_HINT_CHARS}, one or two sentences"),
    LintFlag.HINT_MISSING: ("hint", "is missing for class {class}; say {needed}"),
    LintFlag.CODE_INVALID: ("code", "is {code}; {meant}"),
    LintFlag.CLASS_UNKNOWN: ("class", f"is {{class}}; give one of {', '.join(CLASSES)}"),
    LintFlag.ERROR_BESIDE_OK: ("ok", "is true beside an error; one of them is wrong"),
    LintFlag.ERROR_MISSING: ("error", "is missing; say why it failed by code, class and hint"),
    LintFlag.RETRY_AFTER_NOT_TRANSIENT: (
        "retry_after_ms",
        "is for class 'transient' only, and this is {class}; leave it out",
    ),
    LintFlag.RETRY_AFTER_INVALID: (
        "retry_after_ms",
        f"is {{retry_after_ms}}; give whole milliseconds from 0 to {MAX_RETRY_AFTER_MS}",
    ),
    LintFlag.FIELD_NOT_VALIDATION: ("field", "is for class 'validation' only, and this is {class}; leave it out"),
    LintFlag.STACK_TRACE_IN_HINT: ("hint", "holds a stack trace; that is for message, which no model sees"),
}


def broken_rule(flag: LintFlag, error: Mapping[str, object]) -> tuple[str, str]:
    """
    The key at fault, and what is wrong with it, where *error*, the error of an envelope, breaks the rule *flag*.
    """
    key, text = _RULES[flag]
    values = {name: _quoted(error.get(name)) for name in ("retryable", "class", "code", "retry_after_ms")}
    values["length"] = f"{len(str(error.get('hint'))):,}"
    values["needed"] = _NEEDED_HINTS.get(to_class(error.get("class")), "what to do next")
    values["meant"] = _meant(error.get("code"))
    return key, text.format_map(values)


def _quoted(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return str(value).lower()
    shown = repr(str(value)) if isinstance(value, str) else repr(value)
    return shown if len(shown) <= _MAX_QUOTED_CHARS else f"{shown[:_MAX_QUOTED_CHARS]}…"


def _meant(code: object) -> str:
    meant = to_code(code)
    return f"did you mean {meant!r}?" if meant and meant != code else "write it like 'SLOT_TAKEN', 2 to 63 characters"
