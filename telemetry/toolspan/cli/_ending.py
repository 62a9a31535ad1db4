"""
Being told to end: Ctrl-C, `kill`, a terminal that goes away.
"""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _ToldToEnd(BaseException):
    """
    Leaves the block of `told_to_end`.
    """


class Ending:
    """
    Whether somebody told to end.
    """

    def __init__(self) -> None:
        self.is_told = False


@contextmanager
def told_to_end() -> Generator[Ending]:
    """
    A block that ends, and is cleaned up after, when the process is told to end; what is told meanwhile again is known
    already.
    """

    ending = Ending()

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        ending.is_told = True
        raise _ToldToEnd

    before = {each: signal.signal(each, end) for each in _SIGNALS}
    try:
        yield ending
    except _ToldToEnd:
        return
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
