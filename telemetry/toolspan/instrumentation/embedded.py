"""
The store in the agent's own process: batches of facts into a DuckDB file that others use, too.

The file is borrowed for each batch (see `store.duckdb`), so that any process may read it in between. Nobody here waits
for long for others that use it: what could not be written waits in the backlog, and comes again.

A task settles once nothing came for the grace period, whether or not anything else is written by then; where somebody
asks for it or the process ends, all tasks settle whose spans have come.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolspan.config import Settings
from toolspan.errors import StoreError
from toolspan.records import SpanFacts

if TYPE_CHECKING:
    from toolspan.store import AppendResult
    from toolspan.store.duckdb import DuckDBStore

_LOG: Final = logging.getLogger("toolspan")
#: Others hold the file for tens of milliseconds, `ingest` for a second; a backlog can wait, a shutdown should not.
_TIMEOUT_S: Final = 2.0
#: How long the start of a service may wait for a store's key; a store that is in use longer is hashed without it.
_KEY_TIMEOUT_S: Final = 0.5
#: What others that wait for the file are told.
_PURPOSE: Final = "an agent with toolspan.instrument()"
#: What reading and writing a store takes.
_PACKAGES: Final = ("duckdb", "msgspec", "numpy", "pandas", "pyarrow")


def key_of(path: Path, settings: Settings) -> bytes:
    """
    The key with which the store in *path*, which is made where there is none, hashes arguments.

    Raises:
        StoreError: it cannot be opened now.
    """
    store = _open(path, settings, timeout_s=_KEY_TIMEOUT_S)
    return store.hash_key()


class EmbeddedStore:
    """
    Writes facts to the store in *path*.

    *dropped* tells how many spans of this process were lost so far on their way here, which the store counts, too;
    *on_written* is told what became of each batch. *clock* never goes back; *clock_ns* is the time of day.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        *,
        dropped: Callable[[], int],
        on_written: Callable[["AppendResult"], None],
        clock: Callable[[], float] = time.monotonic,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = _open(path, settings, timeout_s=_TIMEOUT_S, clock_ns=clock_ns)
        # the same file, to which a task is over as soon as its spans have come
        self._ending = _open(path, replace(settings, grace_s=0.0), timeout_s=_TIMEOUT_S, clock_ns=clock_ns)
        self._grace_s = settings.grace_s
        self._dropped = dropped
        self._on_written = on_written
        self._clock = clock
        self._unsettled_s: float | None = None
        self._pid, self._counted = os.getpid(), 0

    def take(self, items: Sequence[SpanFacts], /) -> None:
        """
        Keeps *items* durably, and settles what is over.
        """
        appended, _ = self._store.flush(items)
        self._unsettled_s = self._clock()
        self._on_written(appended)
        self._count_dropped()

    def look_after(self) -> None:
        """
        Settles what was taken a grace period ago.
        """
        if self._unsettled_s is not None and self._clock() - self._unsettled_s > self._grace_s:
            self._store.settle_overdue()
            self._unsettled_s = None
        self._count_dropped()

    def finish(self) -> None:
        """
        Settles all tasks whose spans have come.
        """
        if self._unsettled_s is not None:
            self._ending.settle_overdue()
            self._unsettled_s = None
        self._count_dropped()

    def _count_dropped(self) -> None:
        """
        Adds to the store's counts what was lost since the last time.
        """
        if self._pid != os.getpid():
            # what the parent of a forked process lost is the parent's to count
            self._pid, self._counted = os.getpid(), 0
        dropped = self._dropped()
        if dropped > self._counted:
            self._store.count({"dropped": dropped - self._counted})
            self._counted = dropped


def _open(
    path: Path, settings: Settings, *, timeout_s: float, clock_ns: Callable[[], int] = time.time_ns
) -> "DuckDBStore":
    if any(find_spec(name) is None for name in _PACKAGES):
        from toolspan.store.connecting import INSTALL

        raise StoreError(INSTALL)
    # all that a write imports: when the interpreter ends, nothing can be imported any more
    for name in _PACKAGES:
        import_module(name)
    from toolspan.store.duckdb import DuckDBStore

    return DuckDBStore(
        path,
        purpose=_PURPOSE,
        settings=settings,
        timeout_s=timeout_s,
        tell=lambda line: _LOG.warning("toolspan: %s", line),
        clock_ns=clock_ns,
    )


def counted_losses(counts: Mapping[str, int]) -> int:
    """
    How many of the losses *counts* are of spans that did not come to the store.
    """
    return counts.get("queue_full", 0) + counts.get("fault", 0) + counts.get("time", 0)
