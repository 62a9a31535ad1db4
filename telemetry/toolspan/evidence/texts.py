"""
What the text of a failure names.

Frameworks keep of an upstream failure little more than its text, so reading the well-known forms is the heart of
classification. Three kinds are read, in this order: (a) codes as clients print them (`http_forms`, `rpc_forms`),
(b) `Type: message` and `Type('message')` of a listed exception (`exception_forms`), (c) the listed phrases and errno
names (`phrases`). Where several of a kind are there, the first in the text decides: what follows quotes, explains or
advises.

A *generic* type (ValueError, KeyError, …) of kind (b) comes last: it names its class only where nothing else does.
"ValueError: 409 Conflict" is a conflict.

Texts repeat, so readings are kept in a bounded cache: 0.1 µs for a text seen before, 4 to 8 µs for a new one of 150 to
200 characters.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from toolspan.evidence.exception_forms import find_type
from toolspan.evidence.exceptions import exception_texts
from toolspan.evidence.http_forms import find_http
from toolspan.evidence.phrases import find_phrase
from toolspan.evidence.rpc_forms import find_code
from toolspan.evidence.statuses import Named

# What is looked at of a long text: an error says what it is at its beginning, a stack trace at its end. The longest
# texts seen of real frameworks, repr and traceback in one, have 5 000 characters.
_HEAD_CHARS: Final = 6_144
_TAIL_CHARS: Final = 2_048
# stands where the middle was left out: a word character at both cuts, so that no cut word or number looks whole;
# indented, so that in a stack trace it looks like a frame
_CUT: Final = "_\n  _"
#: Most texts are below 300 characters, so a full cache is below a megabyte; of the longest it would be 16.
_CACHE_SIZE: Final = 2_048

# inside JSON or a repr, line ends and quotes are escaped
_ESCAPED: Final = re.compile(r"\\([nt'\"])")
_ESCAPES: Final = {"n": "\n", "t": "\t"}
# pydantic quotes the input it refused
_INPUT_VALUE: Final = re.compile(r"input_value=.{0,200}?, input_type=", re.DOTALL)


class _Reading(NamedTuple):
    form: Named | None
    generic: Named | None


def read_text(text: str) -> Named | None:
    """
    What the *text* of a failure names; None where it has no well-known form.
    """
    reading = _read(text if len(text) <= _HEAD_CHARS + _TAIL_CHARS else _clip(text))
    return reading.form or reading.generic


def read_form(text: str) -> Named | None:
    """
    What the *text* of a failure names without its generic exception types: the form before which those give way.
    """
    return _read(text if len(text) <= _HEAD_CHARS + _TAIL_CHARS else _clip(text)).form


def _clip(text: str) -> str:
    return text[:_HEAD_CHARS] + _CUT + text[-_TAIL_CHARS:]


@lru_cache(maxsize=_CACHE_SIZE)
def _read(text: str) -> _Reading:
    if "\\" in text:
        text = _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text)
    if "input_value=" in text:
        text = _INPUT_VALUE.sub("input_type=", text)
    generic: Named | None = None
    for part in exception_texts(text):
        form = _find_code(part)
        if form is None:
            form, found = find_type(part)
            generic = generic or found
        form = form or find_phrase(part)
        if form is not None:
            return _Reading(form, None)
    return _Reading(None, generic)


def _find_code(text: str) -> Named | None:
    http, code = find_http(text), find_code(text)
    if http is None or code is None:
        return http[1] if http else code[1] if code else None
    return min(http, code)[1]
