"""
The store in a DuckDB file, held for life: the collector's. One connection, the store's lock, one writer, any readers.

What `DuckDBStore` does for each batch (lock, open, note, close) is done once. A transaction is durable and noted when
`write` returns, so whatever it was given may be acknowledged then.

The cost of a small transaction does not grow with the file. New traces of 1 and of 512 spans took 15 and 33 ms in an
empty file, 14 and 31 with a million spans kept, 15 and 31 to 45 with five million; 512 spans of groups that were kept
52, 55 and 50 ms. Semi joins read the ids of half a million kept traces in 3 ms, so nothing is remembered here.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.changes import Changes, Derived, Knows, Settled
from toolspan.config import Settings
from toolspan.derive import derive
from toolspan.errors import StoreError
from toolspan.records import SpanFacts
from toolspan.store import AppendResult, PruneResult
from toolspan.store.appending import Intent, append_spans
from toolspan.store.connecting import explaining
from toolspan.store.copying import copy_open
from toolspan.store.duckdb import real_path
from toolspan.store.grouping import load_groups
from toolspan.store.holding import Holding
from toolspan.store.intake import count_intake
from toolspan.store.ledger import count_commit
from toolspan.store.mending import Tell
from toolspan.store.overview import count_open
from toolspan.store.pruning import next_slice, prune_spans, prune_tasks
from toolspan.store.schema import settings_of
from toolspan.store.settling import Due, count_overdue, settle_some
from toolspan.store.totals import is_time_to_sum_up, sum_up

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SECOND_NS: Final = 10**9
#: How often spans that are needed no more are looked for: it reads the arrival of every kept trace.
_PRUNE_NS: Final = 60 * _SECOND_NS
#: A log of this size is replayed in 2 s after a crash, and checkpointed in as much; `write` waits for it.
MOST_WAL_BYTES: Final = 512 * 2**20
#: By how much it may grow after a checkpoint that had to be and could not: each costs a second where somebody reads.
_MORE_WAL_BYTES: Final = 64 * 2**20
#: How many groups settle in one transaction: those that are known in half a second, those that have to be loaded in
#: 0.15 s more. After a restart there may be very many, and who writes waits.
_MOST_SETTLED: Final = 32_768
_MOST_LOADED: Final = 1_024


class Written(NamedTuple):
    """
    What one transaction did, now that it is durable: what became of the spans, which groups got some, which settled.
    """

    appended: AppendResult
    derived: Sequence[Derived]
    settled: Sequence[Settled]


class HeldStore:
    """
    A store in the file *path*, open until it is closed.

    Args:
        url: where others can ask meanwhile; whoever wants the file is told.
        settings: grace period, open timeout, how long a late span counts, escalation tools.
        tell: is told, in one line each, of what a person should know: losses, a file that was taken away.
        timeout_s: how long to wait for others that use the file, before it is opened.

    Raises:
        StoreError: the file cannot be made or opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        url: str,
        settings: Settings,
        tell: Tell,
        timeout_s: float = 30.0,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.path = real_path(path)
        self._settings = settings
        self._clock_ns = clock_ns
        self._guard = RLock()
        self._holding = Holding(self.path, url=url, tell=tell, timeout_s=timeout_s)
        self._tell = tell
        self._pruned_ns = 0
        self._log_bound = 0
        self._untold: Changes | None = None
        try:
            self._holding.file()
        except BaseException:
            self._holding.close()
            raise

    def hash_key(self) -> bytes:
        """
        The key with which arguments are hashed: the file's own.
        """
        with self.reading() as connection:
            return bytes.fromhex(str(settings_of(connection)["hash_key"]))

    def write(self, spans: Sequence[SpanFacts], *, knows: Knows, rejected: int = 0, settles: bool = True) -> Written:
        """
        Keeps the *spans* that are new, counts those that were *rejected* before, and settles what is overdue.

        Raises:
            StoreError: nothing of it was kept, or where it is kept may be lost; deliver it again.
        """
        self._holding.refuse_child()
        with self._guard:
            changes = self._resume(knows)
            with self._transaction(changes) as connection:
                now_ns = self._clock_ns()
                appended = append_spans(connection, spans, self._intent(now_ns), changes)
                count_intake(connection, {"rejected": rejected}, now_ns=now_ns)
                if settles:
                    self._settle(connection, now_ns, changes)
        return Written(appended, changes.derived, changes.settled)

    def _resume(self, knows: Knows) -> Changes:
        """
        Changes, to begin with those that were committed and that nobody was told of.
        """
        untold = self._untold
        if untold is None:
            return Changes(knows)
        settled = {trace for each in untold.settled for trace in each.traces}
        derived = {trace for each in untold.derived for trace in each.traces} - settled
        changes = Changes(lambda traces: knows(traces) or traces <= derived)
        changes.derived += untold.derived
        changes.settled += untold.settled
        return changes

    def open_tasks(self) -> int:
        """
        How many tasks are not settled.
        """
        with self.reading() as connection:
            return count_open(connection)

    def overdue(self) -> int:
        """
        How many tasks are due to be settled. A file that failed or was taken away is looked after, if nobody writes.
        """
        self._holding.refuse_child()
        if self._guard.acquire(blocking=False):
            try:
                with self._explaining():
                    self._holding.look_after()
            finally:
                self._guard.release()
        with self.reading() as connection:
            return count_overdue(connection, self._due(self._clock_ns()))

    @contextmanager
    def reading(self) -> Generator["DuckDBPyConnection"]:
        """
        A cursor that sees the store as it is now, whatever is written while the block runs; for any thread.

        Raises:
            StoreError: the store is not open just now, or a query failed.
        """
        self._holding.refuse_child()
        with explaining(self.path), self._holding.readers.reading() as cursor:
            yield cursor

    def prune(self, before_ns: int) -> PruneResult:
        """
        Deletes the tasks that ended before *before_ns*, an hour of them at a time: who writes waits for no more.
        """
        tasks = calls = 0
        until_ns = self._next_slice(0, before_ns)
        while until_ns is not None:
            with self._transaction() as connection:
                result = prune_tasks(connection, before_ns=until_ns)
            tasks, calls = tasks + result.tasks, calls + result.calls
            until_ns = self._next_slice(until_ns, before_ns)
        if tasks:
            self.checkpoint()  # gives the space of what went back to the file
        return PruneResult(tasks, calls)

    def snapshot(self, target: Path) -> None:
        """
        Copies the store to the file *target*, as it is at one moment, beside whoever writes.
        """
        self._holding.refuse_child()
        with self._explaining(), self._holding.readers.reading() as cursor:
            cursor.rollback()  # a copy is a transaction of its own
            copy_open(cursor, self._holding.own(), real_path(target.parent) / target.name)

    def wal_bytes(self) -> int:
        """
        How large the log is that a restart would replay.
        """
        return self._holding.log_bytes()

    def checkpoint(self) -> bool:
        """
        Puts the log into the file; whether its disk had the space, and nobody read what was updated since. A later one
        does.
        """
        self._holding.refuse_child()
        with self._guard, self._explaining():
            return self._holding.checkpoint(has_to_be=False)

    def close(self) -> None:
        """
        Closes the file and gives up its lock.
        """
        with self._guard:
            self._holding.close()

    @contextmanager
    def _transaction(self, changes: Changes | None = None) -> Generator["DuckDBPyConnection"]:
        """
        One transaction, durable and noted when the block ends, and nothing of it kept where it raises; except that what
        could be committed and not noted stays, and the *changes* are told with those of the next.
        """
        self._holding.refuse_child()
        with self._guard, self._explaining():
            connection = self._holding.file().connection
            self._holding.refuse_full_disk()
            try:
                connection.begin()
                count_commit(connection)
                yield connection
                self._holding.commit()
            except BaseException:
                self._holding.recover()
                raise
            if changes is not None:
                self._untold = changes
            self._holding.acknowledge()
            if changes is not None:
                self._untold = None
            self._bound_log()

    def _bound_log(self) -> None:
        """
        Checkpoints where the log is large; what fails of that is nothing of the transaction before.
        """
        size = self.wal_bytes()
        if size <= max(MOST_WAL_BYTES, self._log_bound):
            return
        try:
            with self._explaining():
                is_done = self._holding.checkpoint(has_to_be=True)
        except StoreError as error:
            is_done = False
            self._tell(f"{error} All is kept; the log is put into the file later.")
        self._log_bound = 0 if is_done else size + _MORE_WAL_BYTES

    @contextmanager
    def _explaining(self) -> Generator[None]:
        try:
            with explaining(self.path):
                yield
        except OSError as error:
            raise StoreError(f"Cannot use {self.path}: {error.strerror or error}.") from error

    def _settle(self, connection: "DuckDBPyConnection", now_ns: int, changes: Changes) -> None:
        groups = settle_some(
            connection, self._due(now_ns), knows=changes.knows, most=_MOST_SETTLED, most_unknown=_MOST_LOADED
        )
        if groups:
            unknown = [traces for traces in groups if not changes.knows(traces)]
            changes.settled += [Settled(traces, None) for traces in groups if changes.knows(traces)]
            changes.settled += self._load_settled(connection, unknown)
            if is_time_to_sum_up(connection):
                sum_up(connection)
        if now_ns - self._pruned_ns >= _PRUNE_NS:
            self._pruned_ns = now_ns
            closed_ns = now_ns - round(self._settings.late_s * _SECOND_NS)
            prune_spans(connection, closed_ns=closed_ns, most_spans=self._settings.max_spans)

    def _due(self, now_ns: int) -> Due:
        settings = self._settings
        return Due(
            None,
            now_ns - round(settings.grace_s * _SECOND_NS),
            now_ns - round(settings.open_timeout_s * _SECOND_NS),
        )

    def _load_settled(self, connection: "DuckDBPyConnection", groups: Sequence[frozenset[bytes]]) -> list[Settled]:
        """
        The *groups* with their rows as they were before they settled.
        """
        if not groups:
            return []
        loaded = load_groups(connection, [min(traces) for traces in groups])
        return [
            Settled(
                frozenset(span.trace_id for span in spans),
                derive(spans, escalation_tools=self._settings.escalation_tools, settled=False),
            )
            for spans in loaded
        ]

    def _intent(self, now_ns: int) -> Intent:
        late_ns = round(self._settings.late_s * _SECOND_NS)
        return Intent(0, now_ns, self._settings.escalation_tools, late_ns, self._settings.task_spans)

    def _next_slice(self, after_ns: int, before_ns: int) -> int | None:
        with self.reading() as connection:
            return next_slice(connection, after_ns, before_ns)
