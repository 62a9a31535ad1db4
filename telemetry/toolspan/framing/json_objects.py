"""
JSON objects in text: where they end, and whether each is an OTLP request.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from toolspan.framing.foreign import describe_object
from toolspan.framing.payload import Payload, Reason, Rejection

#: Byte-order mark of UTF-8, which some editors and shells write before text.
BOM = b"\xef\xbb\xbf"

#: How a request starts when exporters write it; `{}` is an empty one.
REQUEST = re.compile(rb'\{\s*(?:"resource_?[sS]pans"\s*:|\}\Z)')

#: How JSON that can be OTLP starts: an object with a key, an empty one, or an array of them. Protobuf cannot: after
#: what would be the quotation mark comes a tag, which is a control character.
_START = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*(?:\{[ \t\r\n]*(?:"[^\x00-\x1f]|\})|\[[ \t\r\n]*[{\]])')
#: What could still become that.
_START_CUT = re.compile(rb'(?:\xef\xbb?|(?:\xef\xbb\xbf)?[ \t\r\n]*(?:\{[ \t\r\n]*"?|\[[ \t\r\n]*)?)\Z')

_REQUEST_NAMES = frozenset({"resourceSpans", "resource_spans"})
_SEPARATORS = re.compile(r"[ \t\r\n,\[\]]*")

#: The decoder reports a cut literal, number or escape where it starts: at most this far from the end ("-Infinity").
_LONGEST_LITERAL = 9


def _names(pairs: list[tuple[str, object]]) -> frozenset[str]:
    return frozenset(name for name, _ in pairs)


# Structure only: an object becomes True (or the set of its names) as soon as it is complete, so that decoding 64 MiB
# does not take ten times that; numbers stay text, since Python refuses integers of more than 4300 digits.
_ENDS = json.JSONDecoder(object_pairs_hook=bool, parse_int=str, parse_float=str, strict=False)
_NAMES = json.JSONDecoder(object_pairs_hook=_names, parse_int=str, parse_float=str, strict=False)


class Objects(NamedTuple):
    """
    Where the objects of a text stand, how much of it is done, and what stopped there.
    """

    places: list[tuple[int, int]]
    done: int
    error: ValueError | RecursionError | None


def starts_json(head: bytes) -> bool | None:
    """
    *head* starts like JSON; None where it takes more bytes to tell.
    """
    if _START.match(head):
        return True
    return None if _START_CUT.match(head) else False


def find_objects(data: bytes) -> Objects:
    """
    The JSON objects (and other values) in *data*, whatever whitespace, commas and array brackets are between them.
    """
    # In Latin-1 positions are those of the bytes, and outside of strings JSON is ASCII anyway.
    text = data.decode("latin-1")
    places: list[tuple[int, int]] = []
    done = 0
    while True:
        separators = _SEPARATORS.match(text, done)
        start = separators.end() if separators else done
        if start == len(text):
            return Objects(places, start, None)
        try:
            _, done = _ENDS.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            return Objects(places, start, error)
        places.append((start, done))


def is_cut(error: ValueError | RecursionError, size: int) -> bool:
    """
    *error* is one that a text of *size* bytes gives when its end is missing.
    """
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= size - _LONGEST_LITERAL or error.msg.startswith("Unterminated string")


def judge_object(data: bytes, where: str) -> Payload | Rejection:
    """
    The JSON value *data* as a request, or as what it is instead.
    """
    if REQUEST.match(data):
        return Payload(data, True, where)
    if not data.startswith(b"{"):
        return Rejection(where, Reason.NOT_OTLP, "is JSON, but no object; give OTLP/JSON, one request per line")
    names: frozenset[str] = _NAMES.decode(data.decode("latin-1"))
    if not names.isdisjoint(_REQUEST_NAMES):
        return Payload(data, True, where)
    return Rejection(where, *describe_object(names))


def judge_text(data: bytes, where: str, *, is_ended: bool) -> Iterator[Payload | Rejection]:
    """
    All requests in *data*, and a rejection for each object that is none and for what is no JSON.
    """
    data = data.removeprefix(BOM)
    found = find_objects(data)
    for start, end in found.places:
        yield judge_object(data[start:end], where)
    if found.error is not None:
        yield not_json(found.error, where, is_cut=not is_ended and is_cut(found.error, len(data)))


def not_json(error: ValueError | RecursionError, where: str, *, is_cut: bool) -> Rejection:
    """
    The rejection of text that the decoder refused with *error*.
    """
    if is_cut:
        return Rejection(where, Reason.TRUNCATED, "ends in the middle of a request: the file was cut short")
    if isinstance(error, json.JSONDecodeError):
        return Rejection(where, Reason.NOT_JSON, f"is no JSON ({error.msg.lower()}); look at what wrote it")
    return Rejection(where, Reason.NOT_JSON, "is nested too deeply to be OTLP")


def too_large(where: str, limit_bytes: int) -> Rejection:
    """
    The rejection of a request of more than *limit_bytes*.
    """
    detail = f"is larger than {limit_bytes} bytes, OTLP's limit on a request; let the exporter send smaller batches"
    return Rejection(where, Reason.TOO_LARGE, detail)
