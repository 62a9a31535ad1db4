"""
How often Python looks for garbage, where batches of records come without an end.
"""

import gc
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def collections_rare() -> Generator[None, None, None]:
    """
    Looks for garbage rarely while the block runs.

    A batch is tens of thousands of records that all live until it is handed on. Looked for every 700 objects, as is
    usual, garbage costs a fifth of the time of reading and a third of that of writing; every 100 000, next to nothing.
    """
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextmanager
def collections_by_hand() -> Generator[None]:
    """
    Looks for garbage only when `collect` is called, while the block runs.

    A collector makes next to no cycles, and whatever it keeps is looked at again by every collection: a fifth of its
    CPU under load, also where collections are rare.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


class Garbage:
    """
    Is looked for by `collect`, once in *every_s* at the most by the *clock*.
    """

    def __init__(self, *, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._clock = clock
        self._collected_s = clock()

    def collect(self) -> bool:
        """
        Frees what only refers to itself; whether it was time to.
        """
        if self._clock() - self._collected_s < self._every_s:
            return False
        gc.collect()
        self._collected_s = self._clock()
        return True
