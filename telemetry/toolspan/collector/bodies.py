"""
Bodies of requests, uncompressed, within bounds: what comes is counted while it comes, and never trusted.

A few kilobytes of gzip can hold gigabytes, a Content-Length may lie, and many senders may come at once. So the bytes
that arrive are counted while they do, for each request and for all together, and those that they hold while they are
made; nothing is made beyond a bound.
"""

import zlib
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from enum import IntEnum
from io import BytesIO
from typing import Final

from toolspan.errors import InputError, OverloadedError

#: The most that one request may hold, before and after decompression.
MAX_BODY_BYTES: Final = 64 * 2**20
#: What all bodies that arrive may hold together: four of the largest, or five hundred with 512 spans each.
MOST_ARRIVING_BYTES: Final = 4 * MAX_BODY_BYTES
#: A body that others left no room for takes as long to arrive as theirs.
_RETRY_S: Final = 1.0
#: What is decompressed at a time: what comes after a member is copied, so that small members cost little.
_PIECE_BYTES: Final = 64 * 2**10
_STEP_BYTES: Final = 2**20
#: A member of twenty bytes takes 3 µs and makes nothing: three million fit into a request, and writers make few.
_MOST_MEMBERS: Final = 10_000


class Coding(IntEnum):
    """
    A Content-Encoding; its value is zlib's name for it.
    """

    GZIP = 16 + zlib.MAX_WBITS
    DEFLATE = zlib.MAX_WBITS


class TooLargeError(InputError):
    """
    A request holds more than it may.
    """

    def __init__(self) -> None:
        super().__init__(
            f"A request may hold {MAX_BODY_BYTES:,} bytes, compressed and uncompressed; send smaller batches."
        )


class Room:
    """
    How much the bodies that arrive may hold together.
    """

    def __init__(self, size_bytes: int = MOST_ARRIVING_BYTES) -> None:
        self._free_bytes = size_bytes

    @contextmanager
    def share(self) -> "Generator[Share]":
        """
        What one body takes of it, until the block ends.
        """
        share = Share(self)
        try:
            yield share
        finally:
            self._free_bytes += share.taken_bytes

    def take(self, size_bytes: int) -> None:
        """
        Raises:
            OverloadedError: others have it.
        """
        if size_bytes > self._free_bytes:
            raise OverloadedError("More requests arrive at once than there is room for.", retry_after_s=_RETRY_S)
        self._free_bytes -= size_bytes


class Share:
    """
    What one body takes of the *room*.
    """

    __slots__ = ("_room", "taken_bytes")

    def __init__(self, room: Room) -> None:
        self._room = room
        self.taken_bytes = 0

    def take(self, size_bytes: int) -> None:
        """
        Raises:
            TooLargeError: one request may not hold so much.
            OverloadedError: others have it.
        """
        if self.taken_bytes + size_bytes > MAX_BODY_BYTES:
            raise TooLargeError
        self._room.take(size_bytes)
        self.taken_bytes += size_bytes


async def read_body(chunks: AsyncIterator[bytes], *, declared_bytes: int, share: Share) -> bytes:
    """
    All *chunks*, of which the sender *declared* the length.

    Raises:
        TooLargeError: they are more than a request may hold.
        OverloadedError: there is no room for them.
    """
    if declared_bytes > MAX_BODY_BYTES:
        raise TooLargeError
    body = BytesIO()  # whose value is no copy of it
    async for chunk in chunks:
        share.take(len(chunk))
        body.write(chunk)
    return body.getvalue()


def decompress(data: bytes, *, coding: Coding = Coding.GZIP, most_bytes: int | None = None) -> bytes:
    """
    What *data* holds: gzip of one member or several, or one stream of zlib; up to *most_bytes*, or what a request may.

    Raises:
        InputError: it is something else, or ends too soon.
        TooLargeError: it holds more.
    """
    view = memoryview(data)
    made = BytesIO()
    room = MAX_BODY_BYTES if most_bytes is None else most_bytes
    for _ in range(_MOST_MEMBERS if coding is Coding.GZIP else 1):
        if not view:
            return made.getvalue()
        view = _decompress_member(view, made, coding=coding, room=room)
    if view:
        what = f"more than {_MOST_MEMBERS:,} members of gzip" if coding is Coding.GZIP else "more after its end"
        raise InputError(f"The body holds {what}.")
    return made.getvalue()


def _decompress_member(view: memoryview, made: BytesIO, *, coding: Coding, room: int) -> memoryview:
    """
    Adds what the member at the start of *view* holds to *made*; what comes after it.
    """
    stream = zlib.decompressobj(coding)
    while not stream.eof:
        piece = view[:_PIECE_BYTES]
        try:
            part = stream.decompress(piece, min(_STEP_BYTES, room - made.tell() + 1))
        except zlib.error as error:
            raise InputError(f"The body is not {coding.name.lower()}, though its Content-Encoding says so.") from error
        if not piece and not part and not stream.eof:
            raise InputError(f"The body is {coding.name.lower()} that ends too soon.")
        made.write(part)
        if made.tell() > room:
            raise TooLargeError
        # at the end both may name the rest
        left = stream.unused_data if stream.eof else stream.unconsumed_tail
        view = view[len(piece) - len(left) :]
    return view


def let_go(error: BaseException) -> None:
    """
    Drops the frames that *error* came through, which hold the body.

    They also hold the future that has the error, which would keep all of it until garbage is collected: twenty requests
    of 63 MiB that could not be read took 1.3 GB.
    """
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
