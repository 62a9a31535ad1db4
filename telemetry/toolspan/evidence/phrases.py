"""
The listed phrases and errno names, found in texts.

The phrases are the table's `text` rows: regular expressions that anyone may extend. Most of them begin with a class
or `\\b`, which makes a search walk over every character (all rows: 10 µs for a text of 150 characters). So a row is
searched only where a word is that all its matches contain (all rows: 1 µs); the words are taken from the expression
itself, and an expression from which none can be taken is always searched.
"""

import re
from typing import Final

from toolspan.evidence.statuses import Named, name_rule, rules_of
from toolspan.taxonomy import TABLE

#: Shorter words are in every text.
_MIN_WORD: Final = 4
#: Words of an expression that make its name in the evidence.
_NAME_WORDS: Final = 5
# `\d+` at the beginning of an expression takes quadratic time over a long run of digits (90 ms for 6 000)
_LONG_NUMBER: Final = re.compile(r"\d{20}\d+")
_SHORT_TEXT: Final = 256
# one item of a regular expression: escape, class, group or alternation mark, quantifier, character
_ITEM: Final = re.compile(r"\\.|\[\^?\]?[^\]]*\]|\(\?[^)]?|[()|]|[?*+]\??|\{[^}]*\}\??|.", re.DOTALL)
_CASE_PAIR: Final = re.compile(r"\[([A-Z])[a-z]\]")

_ERRNO_NAME: Final = re.compile(r"E[A-Z]{3,12}(?:_[A-Z]{2,8})?(?!\w)")
# `[Errno 111] Connection refused`: the numbers differ between systems, the texts name the error
_ERRNO: Final = re.compile(r"\[(?:Errno|WinError) -?\d{1,5}\] ")
_ERRNO_TEXTS: Final = {
    "Connection refused": "ECONNREFUSED",
    "Connect call failed": "ECONNREFUSED",
    "Connection reset by peer": "ECONNRESET",
    "Broken pipe": "EPIPE",
    "Connection timed out": "ETIMEDOUT",
    "Operation timed out": "ETIMEDOUT",
    "Permission denied": "EACCES",
    "No such file or directory": "ENOENT",
    "No space left on device": "ENOSPC",
    "Name or service not known": "ENOTFOUND",
    "nodename nor servname provided": "ENOTFOUND",
    "No address associated with hostname": "ENOTFOUND",
    "getaddrinfo failed": "ENOTFOUND",
    "Temporary failure in name resolution": "EAI_AGAIN",
}
_ERRNO_TEXT_STARTS: Final = tuple(_ERRNO_TEXTS)


def words_of(expression: str) -> tuple[str, ...]:
    """
    Words of which every match of *expression* contains at least one; empty where the expression promises none.
    """
    if re.compile(expression).flags & (re.IGNORECASE | re.VERBOSE):
        return ()
    words: list[str] = []
    for runs in _literal_runs(expression):
        longest = max(runs, key=len)
        if len(longest) < _MIN_WORD:
            return ()
        words.append(longest)
    return tuple(words)


def _literal_runs(expression: str) -> list[list[str]]:
    # for each alternative of *expression*: the runs of characters that stand in all its matches
    alternatives: list[list[str]] = [[""]]
    depth = 0
    for item in _ITEM.findall(expression):
        runs = alternatives[-1]
        if item == ")":
            depth -= 1
        elif item.startswith("("):
            depth += 1
        elif depth == 0 and item == "|":
            alternatives.append([""])
            continue
        elif depth == 0 and item[0] in "?*{":
            runs[-1] = runs[-1][:-1]
        elif depth == 0 and len(item) == 1 and item not in "^$.+":
            runs[-1] += item
            continue
        elif depth == 0 and item in (r"\-", r"\.", r"\(", r"\)", r"\[", r"\]"):
            runs[-1] += item[1]
            continue
        runs.append("")
    return alternatives


def _compiled() -> tuple[tuple[str, re.Pattern[str], Named], ...]:
    # a row stands here once for each of its words, or once with the empty word, which is in every text
    phrases: list[tuple[str, re.Pattern[str], Named]] = []
    for rule in TABLE.get("text", ()):
        named = name_rule(rule, f"phrase:{_slug(rule.value)}")
        if named is not None:
            pattern = re.compile(rule.value)
            phrases.extend((word, pattern, named) for word in words_of(rule.value) or ("",))
    return tuple(phrases)


def _slug(expression: str) -> str:
    words = re.findall("[A-Za-z_]{2,}", " ".join(_literal_runs(_CASE_PAIR.sub(r"\1", expression))[0]))
    return "-".join(words[:_NAME_WORDS]).lower()


_PHRASES: Final = _compiled()
_ERRNOS: Final = rules_of("errno")


def find_phrase(text: str) -> Named | None:
    """
    What the first listed phrase or errno name in *text* names.
    """
    if len(text) > _SHORT_TEXT:
        text = _LONG_NUMBER.sub("0", text)
    found = _errnos(text)
    for word, pattern, named in _PHRASES:
        if word in text:
            match = pattern.search(text)
            if match is not None:
                found.append((match.start(), named))
    return min(found)[1] if found else None


def _errnos(text: str) -> list[tuple[int, Named]]:
    found: list[tuple[int, Named]] = []
    for match in _ERRNO_NAME.finditer(text):
        start = match.start()
        if match[0] in _ERRNOS and not (start and (text[start - 1].isalnum() or text[start - 1] == "_")):
            found.extend(_named(start, match[0]))
            break
    if "rror " in text or "rrno " in text:
        for match in _ERRNO.finditer(text):
            name = next((_ERRNO_TEXTS[each] for each in _ERRNO_TEXT_STARTS if text.startswith(each, match.end())), "")
            if name in _ERRNOS:
                found.extend(_named(match.start(), name))
                break
    return found


def _named(start: int, name: str) -> list[tuple[int, Named]]:
    named = name_rule(_ERRNOS[name], f"errno:{name}")
    return [(start, named)] if named else []
