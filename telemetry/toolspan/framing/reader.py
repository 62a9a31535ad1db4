"""
From a path to payloads: what a file holds is decided by its content, never by its name.
"""

from collections.abc import Callable, Iterator
from typing import BinaryIO

from toolspan.framing.foreign import describe, is_text, is_unwritten
from toolspan.framing.json_documents import read_documents
from toolspan.framing.json_lines import has_later_request, is_of_lines, read_lines
from toolspan.framing.json_objects import BOM, starts_json
from toolspan.framing.payload import MAX_PAYLOAD_BYTES, Payload, Reason, Rejection
from toolspan.framing.protobuf import HEAD_BYTES, detect, read_messages
from toolspan.framing.source import CHUNK_BYTES, GZIP_MAGIC, ByteStream, Inflated, display_name, opened, read_chunks


def read_payloads(
    path: str,
    *,
    stdin: BinaryIO | None = None,
    on_bytes: Callable[[int], None] | None = None,
    limit_bytes: int = MAX_PAYLOAD_BYTES,
) -> Iterator[Payload | Rejection]:
    """
    The OTLP requests in the file *path* (`-`: *stdin*), one by one, and a rejection for each thing that is none.

    The file is OTLP/JSON, one request per line or not, or protobuf in any of three framings, gzip or not; it is
    opened at the first step, and JSON lines from a pipe come out as they come in. *on_bytes* hears how many bytes
    of the file, as it is on disk, were read. What is larger than *limit_bytes* is passed over.

    Raises:
        InputError: The file cannot be opened or read.
    """
    name = display_name(path)
    with opened(path, stdin) as file:
        stream = ByteStream(read_chunks(file, name=name, on_bytes=on_bytes))
        if stream.peek(len(GZIP_MAGIC)) != GZIP_MAGIC:
            yield from _read_stream(stream, name, limit_bytes)
            return
        inflated = Inflated(stream.rest())
        for item in _read_stream(ByteStream(iter(inflated)), name, limit_bytes):
            # That the last request is cut is the same news as that the gzip data are.
            if inflated.fault is None or not (isinstance(item, Rejection) and item.reason is Reason.TRUNCATED):
                yield item
        if inflated.fault is not None:
            yield Rejection(name, *inflated.fault)


def _read_stream(stream: ByteStream, name: str, limit_bytes: int) -> Iterator[Payload | Rejection]:
    if _starts_json(stream):
        if stream.peek(len(BOM)) == BOM:
            stream.skip(len(BOM))
        read_json = read_lines if is_of_lines(stream, limit_bytes=limit_bytes) else read_documents
        return read_json(stream, name=name, limit_bytes=limit_bytes)
    head = stream.peek(HEAD_BYTES + 1)
    if is_text(head):
        return _read_text(stream, name, limit_bytes)
    # Before the framing: each zero would be an empty message, and gzip makes 4 GB of zeros of 4 MB.
    framing = None if is_unwritten(head) else detect(head[:HEAD_BYTES], is_all=len(head) <= HEAD_BYTES)
    if framing is None:
        return iter([Rejection(name, *describe(head))])
    return read_messages(stream, framing, name=name, limit_bytes=limit_bytes)


def _starts_json(stream: ByteStream) -> bool:
    """
    *stream* starts like JSON, told from as few bytes as it takes: a pipe may have no others yet.
    """
    verdict = starts_json(stream.peek())
    while verdict is None and len(stream.peek()) < CHUNK_BYTES and stream.fetch():
        verdict = starts_json(stream.peek())
    return bool(verdict)


def _read_text(stream: ByteStream, name: str, limit_bytes: int) -> Iterator[Payload | Rejection]:
    """
    The requests in a text that does not start with one, if there are any; nothing for a blank text.
    """
    head = stream.peek(CHUNK_BYTES)
    if has_later_request(head):
        return read_lines(stream, name=name, limit_bytes=limit_bytes)
    return iter([Rejection(name, *describe(head))] if head.removeprefix(BOM).strip() else [])
