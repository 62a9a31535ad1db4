"""
Who may open a store file, and when: many readers or one writer, between processes and threads alike.

DuckDB locks a file that it opens, but reads its header first, so an open that overlaps the close of another process
works on an old header and discards that process's last commit, without an error. Every open of a store file therefore
comes after this lock is taken, and its close before this lock is released.

**Two files.** `x.duckdb.lock` is the lock, shared for reading and exclusive for writing. `x.duckdb.turn` is the
turnstile before it: everybody passes it, readers shared and writers exclusive, and waits for the lock inside. So
readers who follow one another without a gap cannot keep a writer out, since whoever comes after a waiting writer waits
behind him; nor can writers keep out a reader. Two ranges of one file would do it with one, but locks that belong to an
open file and have ranges exist on Linux alone, and the older ones of POSIX end when the process closes the file
anywhere. flock(2) is everywhere and counts every open by itself, so that threads exclude each other, too. The known
libraries for lock files lock exclusively, or have no turnstile.

**Nobody removes a lock file**: who waits for the removed one would share nothing with who makes a new one. Where a
person did it, whoever gets the lock sees that the path names another file by now, and starts again.

**A folder that cannot be written.** A reader can take a lock file that he may only read. Where there is none and none
can be made, a reader goes on without: a writer would have made it, so there is no writer; one who comes later meets
DuckDB's own lock, and a reader writes nothing, so nothing that was acknowledged is lost by it.

Waiting is polling: flock(2) knows no deadline.
"""

import os
import random
import stat
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Final

from toolspan.errors import StoreBusyError, StoreError
from toolspan.framing.source import display_name
from toolspan.store._lock_file import LockFile, failure, kind_of, open_lock_file
from toolspan.store._lock_record import PAGE_BYTES, Holder, Record, read_record

__all__ = ["FileLock", "Holder", "acquire", "locked"]

#: Four writers who hold 30 ms each come 95 % as often as with 1 ms (74 % with 20), and to wait costs 1.4 % of a core.
POLL_S: Final = 0.005


class FileLock:
    """
    One hold of a store file's lock, by the process that took it; made by `acquire` and `locked`.

    *file* is locked. With *holder* the hold is exclusive, and told in the file.
    """

    def __init__(self, name: str, file: LockFile, store: Path, *, holder: Holder | None) -> None:
        self._name = name
        self._file = file
        self._store = store
        self._pid = os.getpid()
        self._is_released = False
        self._holder = holder
        found = read_record(file.read(PAGE_BYTES))
        self._last_holder = found.holder
        self._ledger = found.ledger
        if holder is not None:
            self._write(found.ledger, is_holding=True)

    def noted(self) -> dict[str, object]:
        """
        What the last writer left here; empty where none did or it cannot be read.
        """
        self._require_held()
        return dict(self._ledger)

    def note(self, ledger: Mapping[str, object]) -> None:
        """
        Leaves *ledger*, a JSON object of less than a page, for whoever opens the store next.

        Raises:
            StoreError: It is too large, or this hold is for reading only.
        """
        self._require_held()
        if self._holder is None:
            raise StoreError(f"Cannot note anything beside {self._name}: it is held for reading; hold it exclusively")
        self._write(ledger, is_holding=True)

    def last_holder(self) -> Holder | None:
        """
        Who held the store for writing last, before this hold; None where nobody did or it cannot be read.
        """
        self._require_held()
        return self._last_holder

    def is_current(self) -> bool:
        """
        Whether whoever comes now would meet this lock: nobody removed its file.
        """
        self._require_held()
        return self._file.is_current()

    def is_wanted(self) -> bool:
        """
        Whether somebody waits for the lock: then he stands in the turnstile.
        """
        self._require_held()
        path = self._store.with_name(f"{self._store.name}.turn")
        with open_lock_file(path, store=self._store, writing=True) as turn:
            return not turn.try_lock(exclusive=True)

    def release(self) -> None:
        """
        Gives up the lock; nothing happens where it was given up before, nor in a process that did not take it.
        """
        if self._is_released or self._pid != os.getpid():
            return
        self._is_released = True
        with self._file:
            if self._holder is not None:
                # A courtesy to people who look into the file: one who holds nothing is named to nobody anyway.
                with suppress(StoreError):
                    self._write(self._ledger, is_holding=False)

    def _write(self, ledger: Mapping[str, object], *, is_holding: bool) -> None:
        page = Record(holder=self._holder, is_holding=is_holding, ledger=ledger).page()
        self._file.write(page)
        self._ledger = read_record(page).ledger

    def _require_held(self) -> None:
        if self._pid != os.getpid():
            raise StoreError(
                f"The lock of {self._name} is held by process {self._pid}, not by {os.getpid()}; "
                "a forked process opens the store anew"
            )
        if self._is_released:
            raise StoreError(f"The lock of {self._name} was released; open the store anew")


def acquire(
    path: Path,
    *,
    exclusive: bool,
    purpose: str,
    url: str = "",
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> FileLock:
    """
    The lock of the store file *path*, held until it is released or its process ends.

    *purpose* and *url* tell others who holds it and where to ask, if it is *exclusive*. With a *timeout_s* of 0 it is
    tried once.

    Raises:
        StoreBusyError: Others held it until *timeout_s* had passed.
        StoreError: There can be no store at *path*, or no lock beside it.
    """
    name = display_name(str(path))
    store = _real_file(path, name)
    attempt = _Attempt(name, store, exclusive, timeout_s, clock, sleep, deadline=clock() + timeout_s)
    with attempt.take("turn"), ExitStack() as undo:
        file = undo.enter_context(attempt.take("lock"))
        since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        holder = Holder(os.getpid(), display_name(purpose), display_name(url), since) if exclusive else None
        lock = FileLock(name, file, store, holder=holder)
        undo.pop_all()
    return lock


@contextmanager
def locked(
    path: Path,
    *,
    exclusive: bool,
    purpose: str,
    url: str = "",
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[FileLock, None, None]:
    """
    The lock of the store file *path*, held for a block; the rest is as with `acquire`.
    """
    lock = acquire(path, exclusive=exclusive, purpose=purpose, url=url, timeout_s=timeout_s, clock=clock, sleep=sleep)
    try:
        yield lock
    finally:
        lock.release()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """
    One wait for the lock of one store.
    """

    name: str
    store: Path
    exclusive: bool
    timeout_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    deadline: float

    def take(self, suffix: str) -> LockFile:
        """
        The file of this *suffix* beside the store, locked.
        """
        while True:
            with ExitStack() as undo:
                file = undo.enter_context(self._open(suffix, writing=self.exclusive))
                while not file.try_lock(exclusive=self.exclusive):
                    self._pause()
                if file.is_current():
                    undo.pop_all()
                    return file
                self._pause()

    def _open(self, suffix: str, *, writing: bool) -> LockFile:
        path = self.store.with_name(f"{self.store.name}.{suffix}")
        return open_lock_file(path, store=self.store, writing=writing)

    def _pause(self) -> None:
        left_s = self.deadline - self.clock()
        if left_s <= 0:
            raise self._busy()
        # Spread, so that waiters who came together do not try together for ever.
        pause_s = POLL_S * random.uniform(0.5, 1.5)  # noqa: S311 — no secret
        self.sleep(min(left_s, pause_s))

    def _busy(self) -> StoreBusyError:
        with self._open("lock", writing=False) as file:
            if file.try_lock(exclusive=False):
                waiter = "" if self.exclusive else " and a writer waits for them"
                who, remedy = f"being read by other processes{waiter}", "Wait for them, or stop them."
            else:
                # Only now: a record that a killed writer left names nobody who holds anything.
                who, remedy = _describe(read_record(file.read(PAGE_BYTES)))
        return StoreBusyError(f"{self.name} is {who}; waited {self.timeout_s:g} s. {remedy}")


def _describe(record: Record) -> tuple[str, str]:
    """
    Who holds the store exclusively, and what to do about it.
    """
    holder = record.holder
    if holder is None or not record.is_holding:
        return "in use by another process", "Wait for it, or stop it."
    since = f" since {display_name(holder.since)}" if holder.since else ""
    who = f"in use by {display_name(holder.purpose)} (pid {holder.pid}){since}"
    return who, f"Ask it at {display_name(holder.url)} instead." if holder.url else "Wait for it, or stop it."


def _real_file(path: Path, name: str) -> Path:
    """
    *path* without links, so that all who open one file take one lock, under whatever names they know it.

    Raises:
        StoreError: No store can be there.
    """
    try:
        real = Path(os.path.realpath(path))
        mode = _mode_of(real)
    except (OSError, ValueError) as error:
        raise failure(f"Cannot open {name}", error) from None
    if mode is None and not real.parent.exists():
        folder = display_name(str(real.parent))
        remedy = f"create it (mkdir -p {quote(folder)})"
        raise StoreError(f"Cannot open {name}: the folder {folder} does not exist; {remedy}")
    if mode is not None and (kind := kind_of(mode)) is not None:
        example = f" in it, for example {name.rstrip('/')}/toolspan.duckdb" if stat.S_ISDIR(mode) else ""
        raise StoreError(f"{name} is {kind}; name a file{example}")
    return real


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
