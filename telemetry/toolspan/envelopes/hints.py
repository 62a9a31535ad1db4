"""
What of a text may be shown to a model: a line without anything that acts, leaks or pretends.

A hint is read by a model as part of its instructions, and whoever wrote it may have put an upstream's words into it. So
whatever has the form of a stack trace, an address, a secret or markup is replaced where a model would see it. Forms are
all that can be known: a sentence that lies stays a sentence, and the class, which decides what may be done, is never
read out of one.

A host without a known ending, a port or two dots is a word like others. A mail address stays: whom to ask is what the
hint of a missing permission is for.
"""

import re
from typing import Final

from toolspan.evidence.error_documents import MAX_HINT_CHARS

#: Names of arguments, and of keys in them.
_FIELD: Final = re.compile(r"[\w-]{1,64}(?:\.[\w-]{1,64}|\[\d{1,6}\])*")
#: What is looked at. Some of the forms take quadratic time: 1 ms on so much, 12 ms on four times as much.
_MAX_SEEN_CHARS: Final = 1024

#: One form may hide another, two deep at most in any real text.
_MAX_ROUNDS: Final = 5
_BUILT_TO_CHANGE: Final = "[text]"

_ENDINGS: Final = (
    r"ai|app|cloud|cluster|com|corp|dev|internal|intra|intranet|io|lan|local|localdomain|net|org|svc"
    r"|(?:ac|co|com|org)\.[a-z]{2}"
)
_LABEL: Final = r"[a-z0-9_-]+"
#: Not within a word, a path or a mail address.
_APART: Final = r"(?<![\w@./-])"
_PORT: Final = r":\d{2,5}\b"
_HOSTS: Final = (
    rf"localhost(?:{_PORT})?",
    rf"(?:{_LABEL}\.)+(?:{_ENDINGS})\b(?![@(\[-]|\.[a-z0-9])(?:{_PORT})?",
    rf"(?:{_LABEL}\.)+{_LABEL}{_PORT}",
    rf"[a-z][a-z0-9]*(?:-[a-z0-9]+)+{_PORT}",
    # three labels, a digit or dash within: db-1.prod.eu
    rf"(?=[a-z.]*[0-9-])(?:{_LABEL}\.){{2,}}[a-z]{{2,}}\b(?![@(\[-]|\.[a-z0-9])",
    rf"\d{{1,3}}(?:\.\d{{1,3}}){{3}}\b(?:{_PORT})?",
    r"(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}\b",
    r"(?:[0-9a-f]{1,4}:){1,6}:(?:[0-9a-f]{1,4}\b)?",
)
_TELLTALES: Final = (
    "access[_-]?key|api[_-]?key|authorization|client[_-]?secret|cookie|credentials?|passwd|password|private[_-]?key"
    "|pwd|secret|session[_-]?id|token"
)
_SECRETS: Final = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    r"\b(?:bearer|basic)\s+(?=[a-z._~+/=-]*\d)[a-z0-9._~+/=-]{8,}",
    rf"(?<![a-z])(?:[a-z]+[_-])?(?:{_TELLTALES})[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic)\s+)?[^\s\"',;]+",
    r"\beyJ[\w-]{8,}(?:\.[\w-]*){1,2}",
    r"\b(?:akia|asia)[a-z0-9]{12,}",
    r"\b(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[abprs]|hf|npm|pypi)[-_][\w-]{10,}",
    # as long as the keys of most vendors, with letters and digits; ids are shorter, or a UUID with a prefix
    r"(?<![\w+/-])(?!\w{0,20}[0-9a-f]{8}-[0-9a-f]{4}-)(?=[a-z_+/-]*\d)(?=[\d_+/-]*[a-z])[\w+/-]{40,}={0,2}",
)


def _any(forms: tuple[str, ...]) -> str:
    return "|".join(f"(?:{form})" for form in forms)


#: In this order: an address may hold a secret, a secret a host.
_FORMS: Final = (
    (re.compile(r"Traceback \(most recent call last\).*", re.DOTALL), " "),
    (re.compile(r"^[ \t]+(?:at \S+ ?\(|at \S+:\d|File \").*$", re.MULTILINE), " "),
    (re.compile(_any(_SECRETS[:1]), re.DOTALL), "[secret]"),
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>]+", re.IGNORECASE), "[address]"),
    (re.compile(_any(_SECRETS[1:]), re.IGNORECASE), "[secret]"),
    (re.compile(f"{_APART}(?:{_any(_HOSTS)})", re.IGNORECASE), "[host]"),
    (re.compile(r"(?<![\w./\]-])(?:~|[A-Za-z]:)?[\\/](?:[\w.-]+[\\/])+[\w.-]+"), "[path]"),
    # markup, marks of a chat's roles, fences
    (re.compile(r"<[/!?|]?[A-Za-z][^<>]{0,200}>|</?\||\|>|`{3,}|~{3,}|\[/?(?:INST|SYS)\]"), " "),
)
_BLANKS: Final = re.compile(r"\s+")


def clean_hint(text: str) -> str:
    """
    *text* as a model may see it: one line of at most 300 characters without stack traces, addresses, secrets, paths,
    markup and characters that are not printed. Cleaning it again changes nothing.
    """
    seen = text[:_MAX_SEEN_CHARS]
    if len(text) > _MAX_SEEN_CHARS:
        # what is cut in half has no form any more
        seen = seen.rpartition(" ")[0] or seen
    for _ in range(_MAX_ROUNDS):
        cleaned = _cleaned(seen)
        if cleaned == seen:
            return cleaned
        seen = cleaned
    return _BUILT_TO_CHANGE


def _cleaned(text: str) -> str:
    for form, substitute in _FORMS:
        text = form.sub(substitute, text)
    text = "".join(char if char.isprintable() else " " for char in text)
    text = _BLANKS.sub(" ", text).strip()
    return text if len(text) <= MAX_HINT_CHARS else f"{text[: MAX_HINT_CHARS - 1].rstrip()}…"


def clean_field(path: str | None) -> str | None:
    """
    *path* if a model may see it: names, dots and indices; None where it is anything else, which an upstream may have
    put there.
    """
    if path is None or not _FIELD.fullmatch(path) or clean_hint(path) != path:
        return None
    return path
