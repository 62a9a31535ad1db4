"""
Protobuf files: which of three framings, and the messages in them.

- **whole**: the file is one message, as a saved request body is;
- **varint**: each message after its length as a varint, as every protobuf library's "delimited" writes;
- **u32**: each after its length in four bytes, big end first, as the Collector's file exporter writes
  (`format: proto`; with `compression` its JSON is framed so, too).

The framing is that whose frames fit the beginning of the file: every frame a possible request, the last one cut
only by the edge of what was looked at. OTLP's tags make two fits at once all but impossible. What remains is
decided by a fixed order: a file that starts with a zero byte is u32 if it can be (as varint it would start with
empty messages, which nobody writes; such a file can be misread), any other is whole before varint before u32.
Where nothing fits to the end of the file, a framing whose last frame is cut short will do.
"""

from collections.abc import Iterator
from enum import Enum, auto

from toolspan.framing.foreign import OTHER_SIGNALS, UNWRITTEN, ZEROS
from toolspan.framing.json_objects import judge_text, starts_json, too_large
from toolspan.framing.payload import Payload, Reason, Rejection
from toolspan.framing.shape import fits, signal, varint
from toolspan.framing.source import ByteStream

#: How much of a file decides on its framing. Contradictions show within the first dozen bytes of a message.
HEAD_BYTES = 4096

#: Protobuf's own limit: a length beyond it is none.
_MAX_MESSAGE_BYTES = 2**31 - 1

_U32_BYTES = 4
_MAX_VARINT_BYTES = 10

#: The tag with which every request starts that is not empty: field 1, length-delimited.
_FIRST_TAG = b"\n"


class Framing(Enum):
    """
    How the messages of a file are told apart.
    """

    WHOLE = auto()
    VARINT = auto()
    U32 = auto()


def detect(head: bytes, *, is_all: bool) -> Framing | None:
    """
    The framing that the first bytes of a file fit; *is_all* where there are no others.
    """
    starts_with_zero = head.startswith(b"\0")
    # Cut within a length, u32 would leave zeros behind, which varint takes for empty messages.
    if starts_with_zero and _tiles(head, Framing.U32, may_be_cut=True):
        return Framing.U32
    order = (Framing.U32, Framing.VARINT) if starts_with_zero else tuple(Framing)
    for may_be_cut in (not is_all, True):
        for framing in order:
            if _tiles(head, framing, may_be_cut=may_be_cut) is not None:
                return framing
    return None


def read_messages(
    stream: ByteStream, framing: Framing, *, name: str, limit_bytes: int
) -> Iterator[Payload | Rejection]:
    """
    The messages of *stream*, each once, and a rejection for each that is damaged, cut or too large.
    """
    if framing is Framing.WHOLE:
        return _only_spans(_read_whole(stream, name, limit_bytes))
    return _only_spans(_read_frames(stream, framing, name, limit_bytes))


def _only_spans(items: Iterator[Payload | Rejection]) -> Iterator[Payload | Rejection]:
    """
    *items* without messages of other signals, where the first one is such.

    Looking into a message costs 5 µs. It is done only where the file does not start with spans: where the
    pipelines of several signals write to one file.
    """
    starts_with_spans: bool | None = None
    for item in items:
        if starts_with_spans or isinstance(item, Rejection) or item.is_json or not item.data:
            yield item
            continue
        other = signal(item.data)
        if starts_with_spans is None:
            starts_with_spans = other is None
        yield item if other is None else Rejection(item.where, *OTHER_SIGNALS[other])


def _tiles(head: bytes, framing: Framing, *, may_be_cut: bool) -> int | None:
    """
    How many messages *head* holds, not counting empty ones, or None where its frames do not fit.

    The last frame may go beyond it if it *may_be_cut*, and does not count then.
    """
    if framing is Framing.WHOLE:
        return 0 if fits(head, 0, _MAX_MESSAGE_BYTES if may_be_cut else len(head)) else None
    position = messages = 0
    while position < len(head):
        try:
            size, position = _header(head, position, framing)
        except IndexError:
            return messages if may_be_cut else None
        end = position + size
        if not 0 <= size <= _MAX_MESSAGE_BYTES or (end > len(head) and not may_be_cut):
            return None
        is_json = framing is Framing.U32 and starts_json(head[position:end])
        if not is_json and not fits(head, position, end):
            return None
        messages += 0 < size <= len(head) - position
        position = end
    return messages


def _header(data: bytes, position: int, framing: Framing) -> tuple[int, int]:
    """
    The length of the frame at *position* and where its message starts.

    Raises:
        IndexError: *data* ends first.
    """
    if framing is Framing.VARINT:
        return varint(data, position)
    end = position + _U32_BYTES
    if end > len(data):
        raise IndexError(end)
    return int.from_bytes(data[position:end], "big"), end


def _read_frames(stream: ByteStream, framing: Framing, name: str, limit_bytes: int) -> Iterator[Payload | Rejection]:
    # The length and the first byte of what follows.
    peeked_bytes = 1 + (_U32_BYTES if framing is Framing.U32 else _MAX_VARINT_BYTES)
    number = 0
    while head := stream.peek(peeked_bytes):
        number += 1
        where = f"{name} message {number}"
        try:
            size, start = _header(head, 0, framing)
        except IndexError:
            yield Rejection(where, Reason.TRUNCATED, "ends within its length: the file was cut short")
            return
        if not size and stream.peek(len(ZEROS)) == ZEROS:
            yield Rejection(where, Reason.DAMAGED, f"is zero bytes from here on and was not read further: {UNWRITTEN}")
            return
        stream.advance(start)
        first = head[start : start + 1] if size else b""
        is_json = framing is Framing.U32 and first == b"{"
        if not 0 <= size <= _MAX_MESSAGE_BYTES or not (is_json or first in (b"", _FIRST_TAG)):
            yield _damaged(where)
            return
        data = stream.read(size) if size <= limit_bytes else b""
        there = len(data) if size <= limit_bytes else stream.skip(size)
        if there < size:
            yield _truncated(where, size, there)
            return
        if size > limit_bytes:
            yield too_large(where, limit_bytes)
        elif is_json:
            yield from judge_text(data, where, is_ended=True)
        else:
            yield Payload(data, False, where)


def _read_whole(stream: ByteStream, name: str, limit_bytes: int) -> Iterator[Payload | Rejection]:
    """
    The fields of the one message as one message again, or as several where it is larger than a request may be.

    Field by field, since a message that is cut still holds what came before, and any run of fields of a message is
    a message, too.
    """
    number = 0
    rest = b""
    while data := rest + stream.read(limit_bytes - len(rest)):
        number += 1
        where = f"{name} message {number}"
        end = _complete_fields(data)
        rest = data[end:]
        if end:
            yield Payload(data[:end], False, where)
            continue
        # Not even one field is complete: it is too large, cut or none.
        try:
            size, start = varint(data, len(_FIRST_TAG))
        except IndexError:
            yield Rejection(where, Reason.TRUNCATED, "ends within its length: the file was cut short")
            return
        if not data.startswith(_FIRST_TAG) or not 0 <= size <= _MAX_MESSAGE_BYTES:
            yield _damaged(where)
            return
        there = len(data) - start
        there += stream.skip(size - there)
        if there < size:
            yield _truncated(where, size, there)
            return
        yield too_large(where, limit_bytes)
        rest = b""


def _complete_fields(data: bytes) -> int:
    """
    Where the last complete field of the message at the start of *data* ends.
    """
    end = position = 0
    try:
        while position < len(data) and data[position] == _FIRST_TAG[0]:
            size, position = varint(data, position + 1)
            position += size
            if not 0 <= size <= len(data) or position > len(data):
                break
            end = position
    except IndexError:
        return end  # the length of the last field is cut
    return end


def _truncated(where: str, size: int, there: int) -> Rejection:
    detail = f"ends after {there} of its {size} bytes: the file was cut short"
    return Rejection(where, Reason.TRUNCATED, detail)


def _damaged(where: str) -> Rejection:
    detail = "is no OTLP message: the file is damaged from here on and was not read further"
    return Rejection(where, Reason.DAMAGED, detail)
