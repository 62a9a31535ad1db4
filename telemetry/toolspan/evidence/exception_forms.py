"""
Listed exception types as languages and frameworks print them: `Type: message`, `Type('message')`.

A type counts where something was thrown, not where it is talked about: at the beginning of a text or line, behind a
colon, a quote or the few words that introduce an exception. "Handled errors such as TimeoutError: …" and the source
line `raise TimeoutError('…')` tell of no exception. The full name is looked up first, then its last component.
"""

import re
from itertools import chain
from typing import Final

from toolspan.evidence.exceptions import name_exception
from toolspan.evidence.statuses import Named

# a word that may be a type, and the sign that it is one: `: `, `('`, `(1`, `()`, `(Other(`, ` - ` (strands), `>`
# (tenacity: "raised ReadTimeout>"), `)` (SQLAlchemy: "(psycopg.errors.UniqueViolation) …"), the end of the line.
# The lookbehind comes second and the quantifier is possessive, so that a search is fast and linear.
_SIGN: Final = r"(?=(: ?|\((?:[bu]?['\"]|[\d)<\[{A-Z])| - |>|\)|[ \t]*$))"
_TYPE: Final = re.compile(rf"([A-Z](?<!\w.)\w*+){_SIGN}", re.MULTILINE)
# the two types of the table that are spelled lower, both of the module socket
_LOWER_TYPE: Final = re.compile(rf"\b(timeout|gaierror){_SIGN}", re.MULTILINE)
_QUALIFIER_CHARS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$:\\*"
#: The longest qualifier looked at; the longest of the table's has 33 characters.
_MAX_QUALIFIER: Final = 120
#: How far behind a generic type its message is looked for.
_MAX_GAP: Final = 200

# what may stand before a type; one space at the beginning of a line is langgraph's
_BEFORE: Final = (
    *("\n", "\n ", ": ", "'", '"', "`", "<", "[", " - ", " \u2013 "),
    *(" with ", " due to ", "aused by ", "---> ", "Uncaught ", "(in promise) ", "Unhandled exception. "),
)
# inside another repr: `RetryError(ReadTimeout('…'))`, `ClientConnectorError(…, ConnectionRefusedError(111, …))`
_BEFORE_REPR: Final = re.compile(r"\w\(|, \Z")
# what stands before a type in parentheses: kubectl, fastmcp
_BEFORE_PARENTHESIS: Final = ("Error from server (", "HTTP request timed out (", "Request error (")
# `Timeout: 30` is a setting
_QUANTITY: Final = re.compile(r": ?[\d.]+ ?[a-z]{0,12}\s*(?:[,;\n]|\Z)")


def find_type(text: str) -> tuple[Named | None, Named | None]:
    """
    What the first listed type in *text* that is not generic names, and what the first generic one with a message does.

    Where the former is there, the latter is None.
    """
    generic: Named | None = None
    is_lower = "timeout(" in text or "gaierror" in text or "socket." in text or text.startswith("timeout:")
    lower = _LOWER_TYPE.finditer(text) if is_lower else ()
    for match in chain(lower, _TYPE.finditer(text)):
        if name_exception(match[1]) is None:
            continue
        before = text[max(0, match.start() - _MAX_QUALIFIER) : match.start()]
        start = match.start() - len(before) + len(before.rstrip(_QUALIFIER_CHARS))
        found = name_exception(text[start : match.end()].lstrip(":*\\"))
        if found is None or not _is_thrown(text, start, match):
            continue
        named, is_generic = found
        if not is_generic:
            return named, None
        if generic is None and _has_message(text, match):
            generic = named
    return None, generic


def _is_thrown(text: str, start: int, match: re.Match[str]) -> bool:
    sign, end = match[2], match.end()
    if sign == ">":
        return text.endswith(" raised ", 0, start)
    if sign == ")":
        is_sqlalchemy = start < match.start() and text.startswith("(", start - 1) and text.startswith(") ", end)
        return is_sqlalchemy or text.endswith(_BEFORE_PARENTHESIS, 0, start)
    if sign == " - ":
        return text.endswith("Error: ", 0, start)
    if sign.startswith("("):
        return start == 0 or text.endswith(_BEFORE, 0, start) or _BEFORE_REPR.search(text[:start][-2:]) is not None
    if start == match.start() and _is_everyday(match[1]):
        # Timeout, Conflict, Forbidden, …: types only where a text begins with them, and not before a quantity
        return start == 0 and sign.startswith(":") and not _QUANTITY.match(text, end)
    if not sign.strip():
        # a bare name: the whole text, or the first line of a Java trace
        return start == 0 and (end == len(text.rstrip()) or text.startswith("\n\tat ", end))
    return start == 0 or text.endswith(_BEFORE, 0, start)


def _is_everyday(word: str) -> bool:
    return word[1:].islower() and not word.endswith("rror")


def _has_message(text: str, match: re.Match[str]) -> bool:
    sign, end = match[2], match.end()
    if sign.startswith("("):
        return not text.startswith("()", end)
    return bool(sign.strip(" \t)>") and text[end + len(sign) : end + len(sign) + _MAX_GAP].strip())
