"""
JSON as people have it in files: one document, an array, or one document after another, each with its line.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolspan.errors import InputError
from toolspan.framing.source import GZIP_MAGIC, display_name, opened, read_chunks

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BETWEEN: Final = re.compile(r"[ \t\r\n,]*")
#: Where reading goes on behind what is no JSON: what is indented belongs to something.
_NEXT: Final = re.compile(r"^[{\[]", re.MULTILINE)
_scan: Final = json.JSONDecoder().raw_decode


class JsonText(NamedTuple):
    """
    One document: its *value*, the *line* on which it begins, and its *text*.
    """

    value: object
    line: int
    text: str

    def line_of(self, key: str) -> int:
        """
        The line of *key*, of those below `error` where there is one; else that of the document.
        """
        start = self.text.find('"error"') if key not in ("ok", "error") else 0
        found = re.compile(rf'"{re.escape(key)}"\s*:').search(self.text, max(start, 0)) if key else None
        return self.line + self.text.count("\n", 0, found.start() if found else 0)


class NoJson(NamedTuple):
    """
    Something that is no JSON, why, and the *line* on which it stops being some.
    """

    reason: str
    line: int


def read_text(path: str) -> str:
    """
    The text of the file *path*, `-` for standard input; gzip is inflated.

    Raises:
        InputError: it cannot be read, or is no text.
    """
    name = display_name(path)
    with opened(path) as file:
        data = b"".join(read_chunks(file, name=name))
    try:
        if data.startswith(GZIP_MAGIC):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error):
        raise InputError(f"Cannot read {name}: its gzip data is damaged or cut") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name} line {line} is not UTF-8 text; save it as UTF-8") from None


def json_texts(text: str) -> Iterator[JsonText | NoJson]:
    """
    The documents in *text*, of an array its elements; what is no JSON is said, and what follows it is read.
    """
    position, line, counted = 0, 1, 0
    depth = 0
    while True:
        position = (_BETWEEN if depth else _SPACE).match(text, position).end()  # type: ignore[union-attr] # matches all
        line, counted = line + text.count("\n", counted, position), position
        if position == len(text):
            if depth:
                yield NoJson("the array is not closed", line)
            return
        if text[position] == "[" and not depth:
            depth, position = 1, position + 1
        elif text[position] == "]" and depth:
            depth, position = 0, position + 1
        else:
            read = _read(text, position, line)
            yield read
            if isinstance(read, NoJson):
                following = _NEXT.search(text, position + 1)
                position, depth = following.start() if following else len(text), 0
            else:
                position += len(read.text)


def _read(text: str, position: int, line: int) -> JsonText | NoJson:
    try:
        value, end = _scan(text, position)
    except json.JSONDecodeError as error:
        return NoJson(error.msg[:1].lower() + error.msg[1:], line + text.count("\n", position, error.pos))
    except RecursionError:
        return NoJson("it is nested too deeply", line)
    except ValueError:
        # Python reads no integer of more than 4300 digits
        return NoJson("a number in it is too long", line)
    return JsonText(value, line, text[position:end])
