"""
Standard output for what is read under a lock.

`toolspan calls | less` stops after a screen, for minutes, and whoever writes to the store would wait for it. So once
the reader of the output keeps us waiting, the rest goes to a temporary file, the lock is given up, and only then is the
rest passed on.
"""

import os
import select
import shutil
import stat
import tempfile
from io import UnsupportedOperation
from typing import IO, Final, Protocol, TextIO

#: A program that reads is quicker, a person who reads is slower.
PATIENCE_S: Final = 1.0
#: What a pipe that is ready takes without waiting, on every system we run on.
_PIECE_BYTES: Final = 4096
#: Asking whether a pipe is ready costs as much as writing ten lines.
_BUFFER_BYTES: Final = 64 * 1024


class Output(Protocol):
    """
    What rows are written to.
    """

    def write(self, text: str, /) -> int:
        """
        Writes *text*.
        """
        ...


class PatientOutput:
    """
    Writes to *stream* as long as it takes each piece within *patience_s*, and keeps the rest until `finish`; without
    *patience_s* it waits for as long as that takes.
    """

    def __init__(self, stream: TextIO, *, patience_s: float | None = PATIENCE_S) -> None:
        stream.flush()  # what was written before comes first
        self._stream = stream
        self._patience_s = patience_s
        self._descriptor = _waiting_descriptor(stream)
        self._buffer = bytearray()
        self._kept: IO[bytes] | None = None

    def write(self, text: str) -> int:
        """
        Writes *text*, now or at the end.
        """
        if self._descriptor is None:
            return self._stream.write(text)
        self._buffer += text.encode(self._stream.encoding, self._stream.errors or "strict")
        if len(self._buffer) >= _BUFFER_BYTES:
            self._hand_over(self._descriptor)
        return len(text)

    def finish(self) -> None:
        """
        Passes on what was kept, however long that takes.
        """
        if self._descriptor is None:
            return
        with os.fdopen(os.dup(self._descriptor), "wb") as file:
            if self._kept is not None:
                self._kept.seek(0)
                shutil.copyfileobj(self._kept, file)
                self._kept.close()
            file.write(self._buffer)
            self._buffer.clear()

    def _hand_over(self, descriptor: int) -> None:
        if self._kept is None:
            self._write_ready(descriptor)
        if self._buffer:
            if self._kept is None:
                self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `finish`
            self._kept.write(self._buffer)
            self._buffer.clear()

    def _write_ready(self, descriptor: int) -> None:
        """
        Writes the buffer for as long as somebody takes it.
        """
        while self._buffer and select.select([], [descriptor], [], self._patience_s)[1]:
            del self._buffer[: os.write(descriptor, self._buffer[:_PIECE_BYTES])]


def _waiting_descriptor(stream: TextIO) -> int | None:
    """
    The descriptor of *stream* where writing to it may wait for somebody: of a pipe or a terminal, not of a file.
    """
    try:
        descriptor = stream.fileno()
    except UnsupportedOperation:
        return None  # a test's
    return None if stat.S_ISREG(os.fstat(descriptor).st_mode) else descriptor
