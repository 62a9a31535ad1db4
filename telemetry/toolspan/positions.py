"""
The line on which each key of a TOML text stands.

`tomllib` keeps no positions, and a message about a wrong value is worth little without its line. This reads a text
that `tomllib` has accepted, so it need not check anything: it has to know strings, comments and brackets, no more.
"""

import re
import tomllib
from collections.abc import Iterator

#: From the document's root to a value: names of keys, and numbers of elements of an array.
Place = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""
    (?P<skipped>[ \t\r]+|\#[^\n]*)
    |"{3}(?:\\.|[^\\])*?"{3}"{0,2}   # up to two quotation marks may stand before the closing three
    |'{3}.*?'{3}'{0,2}
    |"(?:\\.|[^"\\])*"
    |'[^']*'
    |[\n\[\]{}=.,]
    |[^\s\[\]{}=.,"'\#]+
    """,
    re.VERBOSE | re.DOTALL,
)
_END = ""
_ENDS_OF_SCALARS = frozenset((_END, "\n", ",", "]", "}"))


def key_lines(text: str) -> dict[Place, int]:
    """
    Place → line of every table, key and element of *text*, a valid TOML document.
    """
    reader = _Reader(text)
    reader.read_document()
    return reader.lines


class _Reader:
    """
    A walk over the tokens of a document; one method per thing that TOML has.
    """

    def __init__(self, text: str) -> None:
        self.lines: dict[Place, int] = {}
        self._tables: dict[Place, int] = {}
        self._tokens = _tokens(text)
        self._symbol, self._line = next(self._tokens)

    def read_document(self) -> None:
        table: Place = ()
        while self._symbol != _END:
            if self._symbol == "\n":
                self._advance()
            elif self._symbol == "[":
                table = self._read_header()
            else:
                self._read_pair(table)

    def _read_header(self) -> Place:
        self._advance()
        is_array = self._symbol == "["
        if is_array:
            self._advance()
        line = self._line
        place: Place = ()
        for key in self._read_key():
            # What is below an array of tables belongs to its last table so far.
            if place in self._tables:
                place = (*place, self._tables[place])
            place = (*place, key)
        if is_array:
            self._tables[place] = self._tables.get(place, -1) + 1
            place = (*place, self._tables[place])
        self._note(place, line)
        while self._symbol == "]":
            self._advance()
        return place

    def _read_pair(self, table: Place) -> None:
        line = self._line
        place = table
        for key in self._read_key():
            place = (*place, key)
            self._note(place, line)
        self._advance()
        self._read_value(place)

    def _read_key(self) -> list[str]:
        keys: list[str] = []
        while self._symbol not in ("=", "]"):
            if self._symbol != ".":
                keys.append(_unquoted(self._symbol))
            self._advance()
        return keys

    def _read_value(self, place: Place) -> None:
        if self._symbol == "[":
            self._read_array(place)
        elif self._symbol == "{":
            self._read_table(place)
        else:
            while self._symbol not in _ENDS_OF_SCALARS:
                self._advance()

    def _read_array(self, place: Place) -> None:
        self._advance()
        number = 0
        while self._symbol != "]":
            if self._symbol == ",":
                number += 1
            if self._symbol in (",", "\n"):
                self._advance()
                continue
            self._note((*place, number), self._line)
            self._read_value((*place, number))
        self._advance()

    def _read_table(self, place: Place) -> None:
        self._advance()
        while self._symbol != "}":
            if self._symbol in (",", "\n"):
                self._advance()
            else:
                self._read_pair(place)
        self._advance()

    def _note(self, place: Place, line: int) -> None:
        self.lines.setdefault(place, line)

    def _advance(self) -> None:
        self._symbol, self._line = next(self._tokens)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match["skipped"] is None:
            yield match[0], line
        line += match[0].count("\n")
    while True:
        yield _END, line


def _unquoted(key: str) -> str:
    """
    The name that the token *key* stands for.
    """
    return str(tomllib.loads(f"name = {key}")["name"]) if key[0] in "\"'" else key
