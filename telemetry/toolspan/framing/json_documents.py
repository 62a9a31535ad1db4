"""
JSON files of requests that span many lines: one document, several as `jq .` writes them, or an array.

They are read as a sequence of objects in which the commas and brackets of a surrounding array are mere
separators, so an array of any size streams. An object's end is found by decoding it, which doubles the cost of
reading; JSON has no cheaper way that is right, since strings hold brackets, too.
"""

from collections.abc import Iterator

from toolspan.framing.json_objects import find_objects, is_cut, judge_object, not_json, too_large
from toolspan.framing.payload import Payload, Reason, Rejection
from toolspan.framing.source import CHUNK_BYTES, ByteStream

#: Where reading goes on after something unreadable: a line that starts with a brace, as each document's first does.
_NEXT = b"\n{"

#: After so many unreadable objects in a row the file is given up: each costs another try on all that was read ahead.
_MAX_UNREADABLE = 100


def read_documents(stream: ByteStream, *, name: str, limit_bytes: int) -> Iterator[Payload | Rejection]:
    """
    The requests of *stream*, each once, and a rejection for each object that is none, cut or too large.
    """
    text = _Text(stream)
    size = CHUNK_BYTES
    unreadable = 0
    while text.fill(size):
        found = find_objects(text.data)
        for start, end in found.places:
            where = f"{name} line {text.line_at(start)}"
            is_small = end - start <= limit_bytes
            yield judge_object(text.data[start:end], where) if is_small else too_large(where, limit_bytes)
        text.drop(found.done)
        unreadable = 0 if found.places else unreadable
        # Doubling keeps all tries on one long object at twice the cost of the last.
        size = max(CHUNK_BYTES, min(2 * len(text.data), limit_bytes + 1))
        if found.error is None:
            continue
        where, is_unfinished = f"{name} line {text.line}", is_cut(found.error, found.done + len(text.data))
        if not is_unfinished or text.is_ended:
            yield not_json(found.error, where, is_cut=is_unfinished)
        elif len(text.data) > limit_bytes:
            yield too_large(where, limit_bytes)
        else:
            continue
        unreadable += 1
        if unreadable == _MAX_UNREADABLE:
            yield Rejection(where, Reason.DAMAGED, "follows too much that is no JSON; the rest was not read")
            return
        text.drop_to_next_object()
        size = CHUNK_BYTES


class _Text:
    """
    What is read of a stream but not done with, and the line on which it starts.
    """

    def __init__(self, stream: ByteStream) -> None:
        self.data = b""
        self.line = 1
        self.is_ended = False
        self._stream = stream
        self._counted = 0

    def fill(self, size: int) -> bool:
        """
        *data* has *size* bytes, fewer at the end; False where there is nothing left.
        """
        piece = self._stream.read(size - len(self.data))
        self.is_ended = len(piece) < size - len(self.data)
        self.data += piece
        return bool(self.data)

    def line_at(self, position: int) -> int:
        """
        The line of *position*; asked for in order.
        """
        self.line += self.data.count(b"\n", self._counted, position)
        self._counted = position
        return self.line

    def drop(self, size: int) -> None:
        """
        Is done with the first *size* bytes.
        """
        self.line_at(size)
        self.data, self._counted = self.data[size:], 0

    def drop_to_next_object(self) -> None:
        """
        Is done with all that comes before the next line that starts with a brace.
        """
        while (place := self.data.find(_NEXT)) < 0 and not self.is_ended:
            self.drop(len(self.data) - 1)
            self.fill(CHUNK_BYTES)
        self.drop(place + 1 if place >= 0 else len(self.data))
