"""
Bodies of requests, uncompressed, within a bound: what comes is counted while it comes, and never trusted.

A few kilobytes of gzip can hold gigabytes, and a Content-Length may lie. So both the bytes that arrive and those that
they make are counted as they are made, and nothing is made beyond the bound.
"""

import zlib
from collections.abc import AsyncIterator
from typing import Final

from toolspan.errors import InputError

#: The most that one request may hold, before and after decompression.
MAX_BODY_BYTES: Final = 64 * 2**20
_GZIP: Final = 16 + zlib.MAX_WBITS


class TooLargeError(InputError):
    """
    A request holds more than it may.
    """

    def __init__(self) -> None:
        super().__init__(
            f"A request may hold {MAX_BODY_BYTES:,} bytes, compressed and uncompressed; send smaller batches."
        )


async def read_body(chunks: AsyncIterator[bytes], *, declared_bytes: int) -> bytes:
    """
    All *chunks*, of which the sender *declared* the length.

    Raises:
        TooLargeError: they are more than a request may hold.
    """
    if declared_bytes > MAX_BODY_BYTES:
        raise TooLargeError
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise TooLargeError
        parts.append(chunk)
    return b"".join(parts)


def decompress(data: bytes) -> bytes:
    """
    What *data*, which is gzip of one member or several, holds.

    Raises:
        InputError: it is no gzip, or ends too soon.
        TooLargeError: it holds more than a request may.
    """
    parts: list[bytes] = []
    room = MAX_BODY_BYTES
    while data:
        member = zlib.decompressobj(_GZIP)
        try:
            part = member.decompress(data, room + 1)
        except zlib.error as error:
            raise InputError("The body is not gzip, though its Content-Encoding says so.") from error
        room -= len(part)
        if room < 0:
            raise TooLargeError
        if not member.eof:
            raise InputError("The body is gzip that ends too soon.")
        parts.append(part)
        data = member.unused_data
    return b"".join(parts)
