"""
Which attempt meets which fault. A plan is any iterable of faults; None lets an attempt through, and so does its end.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import repeat
from threading import Lock
from typing import Generic, TypeVar

from toolspan.errors import InputError

F = TypeVar("F")


def always(fault: F) -> Iterable[F]:
    """
    *fault* on every attempt.
    """
    return repeat(fault)


def times(count: int, fault: F) -> Iterable[F]:
    """
    *fault* on the first *count* attempts.
    """
    return (fault,) * count


def flaky(*faults: F, share: float = 0.3, seed: int = 0) -> Iterable[F | None]:
    """
    One of *faults* on about this *share* of the attempts, without end; the same *seed* gives the same pattern.
    """
    if not faults or not 0 <= share <= 1:
        raise InputError(f"A flaky plan takes a fault or more and a share from 0 to 1, not {len(faults)} and {share}.")
    return _Flaky(faults, share, seed)


class _Flaky(Generic[F]):
    """
    The pattern from its beginning, for each that uses it.
    """

    def __init__(self, faults: tuple[F, ...], share: float, seed: int) -> None:
        self._faults = faults
        self._share = share
        self._seed = seed

    def __iter__(self) -> Iterator[F | None]:
        source = random.Random(self._seed)  # noqa: S311 - a pattern to repeat, not a secret
        while True:
            # both are drawn every time, so that the pattern does not depend on the number of faults
            is_struck, place = source.random() < self._share, int(source.random() * len(self._faults))
            yield self._faults[place] if is_struck else None


class Drawing(Generic[F]):
    """
    The faults of a plan, one at a time, also to several threads.
    """

    def __init__(self, plan: Iterable[F | None]) -> None:
        self._faults = iter(plan)
        self._lock = Lock()

    def draw(self) -> F | None:
        """
        The fault of the next attempt; None where the real one is to run.
        """
        with self._lock:
            return next(self._faults, None)
