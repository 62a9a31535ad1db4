"""
Where bytes come from: a file, a pipe or stdin, inflated on the way if they are gzip.

Nothing is read ahead of need: a pipe's bytes are handed on as they come, gzip is inflated a piece at a time (a
bomb costs time, never memory), and `ByteStream` holds only what its reader asked to see.
"""

import difflib
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from toolspan.errors import InputError
from toolspan.framing.payload import Reason

#: One read, and one piece of inflated gzip: large enough that the cost of a call vanishes, small beside a payload.
CHUNK_BYTES = 256 * 1024

GZIP_MAGIC = b"\x1f\x8b"

#: zlib's "maximum window, expect a gzip header".
_GZIP_WBITS = 31

#: Siblings looked at for a "did you mean": a directory may hold millions of files.
_MAX_SIBLINGS = 1000


class Fault(NamedTuple):
    """
    Why a source ended before its time.
    """

    reason: Reason
    detail: str


def display_name(path: str) -> str:
    """
    *path* as it stands in messages: `stdin` for `-`, and always one printable line.
    """
    if path == "-":
        return "stdin"
    return path if path.isprintable() else ascii(path)


@contextmanager
def opened(path: str, stdin: BinaryIO | None = None) -> Generator[BinaryIO, None, None]:
    """
    *path* opened for reading, unbuffered; `-` is *stdin*, else the process's own, which stays open.

    Raises:
        InputError: It does not exist, is a directory or may not be read.
    """
    if path == "-":
        yield stdin or _own_stdin()
        return
    with _open(path, display_name(path)) as file:
        yield file


def _own_stdin() -> BinaryIO:
    # None in a process that was started with it closed, whatever its type says.
    own: object = sys.stdin
    if own is None:
        raise InputError("Cannot read stdin: it is closed; name a file instead")
    return sys.stdin.buffer


def _open(path: str, name: str) -> BinaryIO:
    try:
        if Path(path).is_dir():
            raise InputError(f"{name} is a directory; name the files in it, for example {name.rstrip('/')}/*.jsonl")
        return Path(path).open("rb", buffering=0)
    except FileNotFoundError:
        raise InputError(f"No file {name}{_suggestion(Path(path))}") from None
    except PermissionError:
        raise InputError(f"Cannot read {name}: permission denied; check its owner and mode (ls -l)") from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {name}: {_reason(error)}") from None


def read_chunks(file: BinaryIO, *, name: str, on_bytes: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """
    The bytes of *file* as they come; *on_bytes* hears the size of each piece.

    Raises:
        InputError: The device or the pipe failed.
    """
    # `read1` returns what a buffered pipe has; `read` of a buffered one would wait until the chunk is full.
    read: Callable[[int], bytes | None] = getattr(file, "read1", file.read)
    while True:
        try:
            chunk = read(CHUNK_BYTES)
        except OSError as error:
            raise InputError(f"Cannot read {name}: {_reason(error)}") from None
        if not chunk:
            return
        if on_bytes is not None:
            on_bytes(len(chunk))
        yield chunk


class Inflated:
    """
    *chunks* without their gzip, member after member; *fault* says why it ended early.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.fault: Fault | None = None

    def __iter__(self) -> Iterator[bytes]:
        """
        Pieces of at most `CHUNK_BYTES`.
        """
        pending = b""
        while (pending := self._next_member(pending)) and self.fault is None:
            member = zlib.decompressobj(_GZIP_WBITS)
            while not member.eof:
                try:
                    piece = member.decompress(pending, CHUNK_BYTES)
                except zlib.error:
                    self.fault = Fault(Reason.GZIP, "the gzip data is damaged; what came before the damage was read")
                    return
                if piece:
                    yield piece
                pending = member.unconsumed_tail
                if not pending and not member.eof and not piece:
                    pending = next(self._chunks, b"")
                    if not pending:
                        self.fault = Fault(Reason.TRUNCATED, "the gzip data ends too early; what came before was read")
                        return
            pending = member.unused_data

    def _next_member(self, pending: bytes) -> bytes:
        """
        *pending* and what follows, up to a member's first bytes; empty at the end.
        """
        # Tape and block devices pad the last member with zeros; gzip itself ignores them.
        pending = pending.lstrip(b"\0")
        while len(pending) < len(GZIP_MAGIC) and (chunk := next(self._chunks, b"")):
            pending = (pending + chunk).lstrip(b"\0")
        if pending and not pending.startswith(GZIP_MAGIC):
            self.fault = Fault(Reason.GZIP, "what follows the gzip data is no gzip and was not read")
        return pending


class ByteStream:
    """
    Bytes from *chunks*, as few or as many at a time as the reader asks for.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""
        self._start = 0

    def fetch(self) -> bool:
        """
        One more piece is there to peek at; False at the end.
        """
        chunk = next(self._chunks, b"")
        if chunk:
            self._buffer = self._buffer[self._start :] + chunk
            self._start = 0
        return bool(chunk)

    def peek(self, size: int = 0) -> bytes:
        """
        The next *size* bytes, fewer at the end, left in place; with 0 those that are there already.
        """
        while len(self._buffer) - self._start < size and self.fetch():
            pass
        return self._buffer[self._start : self._start + size] if size else self._buffer[self._start :]

    def read(self, size: int) -> bytes:
        """
        The next *size* bytes, fewer at the end.
        """
        end = self._start + size
        if end <= len(self._buffer):
            piece = self._buffer[self._start : end]
            self._start = end
            return piece
        parts = [self._buffer[self._start :]]
        missing = size - len(parts[0])
        self._buffer, self._start = b"", 0
        # Gathered, not appended: a 64 MiB message from a pipe comes in a thousand pieces.
        while missing > 0 and (chunk := next(self._chunks, b"")):
            parts.append(chunk[:missing])
            self._buffer, self._start = chunk, len(parts[-1])
            missing -= len(parts[-1])
        return b"".join(parts)

    def advance(self, size: int) -> None:
        """
        Passes over *size* bytes that were peeked at.
        """
        self._start += size

    def skip(self, size: int) -> int:
        """
        Passes over *size* bytes without holding them; returns how many there were.
        """
        left = size
        while left > 0 and (piece := self.read(min(left, CHUNK_BYTES))):
            left -= len(piece)
        return size - left

    def rest(self) -> Iterator[bytes]:
        """
        All that is left, in pieces as they come.
        """
        if self._start < len(self._buffer):
            piece, self._buffer, self._start = self._buffer[self._start :], b"", 0
            yield piece
        # No `yield from`: it would close the source when a reader stops halfway.
        while chunk := next(self._chunks, b""):
            yield chunk

    def give_back(self, data: bytes) -> None:
        """
        Puts *data* before what comes next.
        """
        self._buffer = data + self._buffer[self._start :]
        self._start = 0


def _suggestion(path: Path) -> str:
    """
    What the user may have meant instead of the missing *path*.
    """
    try:
        with os.scandir(path.parent) as entries:
            siblings = [entry.name for entry, _ in zip(entries, range(_MAX_SIBLINGS), strict=False)]
    except OSError:
        return f"; there is no directory {display_name(str(path.parent))} either"
    close = difflib.get_close_matches(path.name, siblings, n=1)
    return f"; did you mean {display_name(str(path.with_name(close[0])))}?" if close else "; check the path"


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
