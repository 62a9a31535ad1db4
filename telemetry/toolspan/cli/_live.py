"""
Standard input that may pause for hours, and signals that end a command which waits for it.
"""

import os
import select
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import BufferedReader, FileIO, UnsupportedOperation
from types import FrameType

from toolspan.framing.source import CHUNK_BYTES


class LiveInput(BufferedReader):
    """
    The bytes of the file *descriptor*, which stays open; each time that none came for *idle_s*, *on_idle* is called.
    """

    def __init__(self, descriptor: int, *, idle_s: float, on_idle: Callable[[], None]) -> None:
        # what is read at once is never left in the buffer, where `select` would not see it
        super().__init__(FileIO(os.dup(descriptor)), CHUNK_BYTES)
        self._idle_s = idle_s
        self._on_idle = on_idle

    def read1(self, size: int = -1, /) -> bytes:
        """
        What has come, once something has.
        """
        while not select.select([self], [], [], self._idle_s)[0]:
            self._on_idle()
        return super().read1(size)


def stdin_descriptor() -> int | None:
    """
    The descriptor of standard input; None where it is closed, or stands for something else in this process.
    """
    own: object = sys.stdin
    try:
        return None if own is None else sys.stdin.fileno()
    except UnsupportedOperation:
        return None


class Interruption:
    """
    Which signal ended the block.
    """

    def __init__(self) -> None:
        self.signal: int = signal.SIGINT

    @property
    def status(self) -> int:
        """
        The exit code of a program that the signal stopped.
        """
        return 128 + self.signal


@contextmanager
def interruptible() -> Generator[Interruption]:
    """
    SIGTERM raises KeyboardInterrupt in the block, as SIGINT does: what was begun is ended in order.
    """
    interruption = Interruption()

    def stop(number: int, _frame: FrameType | None) -> None:
        interruption.signal = number
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
