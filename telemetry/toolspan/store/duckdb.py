"""
The store in a DuckDB file, borrowed for each thing that is done: lock, open, do it in one transaction, close, unlock.

For whoever shares the file with others: `ingest`, and services that write their own spans. About five processes can
write to one file every second; more of them send their spans to a collector.
"""

import os
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from toolspan.config import Settings, new_hash_key
from toolspan.errors import StoreError
from toolspan.framing.source import display_name
from toolspan.records import Rows, SpanFacts
from toolspan.scope import EVERYTHING, Scope
from toolspan.store import AppendResult, PruneResult, SettleResult, opening
from toolspan.store._forks import keep_for_ever
from toolspan.store.appending import Intent, append_spans
from toolspan.store.connecting import How, explaining
from toolspan.store.copying import copy_store, shrink
from toolspan.store.grouping import load_groups
from toolspan.store.intake import count_intake
from toolspan.store.ledger import count_commit, read_ledger
from toolspan.store.lock import FileLock, locked
from toolspan.store.mending import Tell
from toolspan.store.opening import OpenFile
from toolspan.store.pruning import prune_spans, prune_tasks
from toolspan.store.reading import read_rows
from toolspan.store.schema import settings_of
from toolspan.store.settling import Due, count_overdue, count_touched, settle
from toolspan.store.totals import is_time_to_sum_up, sum_up

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SECOND_NS: Final = 10**9
#: Writers hold a file for tens of milliseconds, `ingest` for a second at a time.
DEFAULT_TIMEOUT_S: Final = 30.0

# State of the process: a fork must find them all.
_stores: WeakSet["DuckDBStore"] = WeakSet()


def real_path(path: Path) -> Path:
    """
    *path* without links, as the system resolves them: DuckDB would take `a/../b` for `b`, whatever `a` is, and what
    lies beside a store lies beside the file and not beside a link to it. A path that has neither stays as it was given,
    which is how people know it.

    Raises:
        StoreError: it is no path that DuckDB can open.
    """
    try:
        real = os.path.realpath(path)
        real.encode()
    except ValueError as error:
        name = display_name(str(path))
        raise StoreError(f"{name} is no name for a store: it has to be UTF-8, without NUL; choose another.") from error
    return path if real == os.path.abspath(path) and ".." not in path.parts else Path(real)  # noqa: PTH100 - as DuckDB does


class DuckDBStore:
    """
    A store in the file *path*.

    Args:
        purpose: what others that wait for the file are told of who holds it: "toolspan ingest".
        settings: grace period, open timeout, how long a late span counts, escalation tools.
        timeout_s: how long to wait for others that use the file.
        tell: is told, in one line each, of losses that were found.
        lingers: whether the file stays open between one thing and the next while nobody else waits for it. An open and
            a close take 25 ms, and the close writes again much of what the last one wrote. Who lingers closes at last.
    """

    def __init__(
        self,
        path: Path,
        *,
        purpose: str,
        settings: Settings,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        tell: Tell,
        lingers: bool = False,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._path = real_path(path)
        self._purpose = purpose
        self._settings = settings
        self._timeout_s = timeout_s
        self._tell = tell
        self._lingers = lingers
        self._kept: tuple[ExitStack, OpenFile] | None = None
        self._clock_ns = clock_ns
        self._writer = secrets.randbits(63)
        self._guard = RLock()
        _stores.add(self)

    def hash_key(self) -> bytes:
        """
        The key with which arguments are hashed: the file's own; a file that is not there is made.
        """
        with self.writing() as file:
            return bytes.fromhex(str(settings_of(file.connection)["hash_key"]))

    def append(self, spans: Iterable[SpanFacts], /) -> AppendResult:
        """
        Keeps the spans that are new, with the rows of their groups, which are open until they are settled.
        """
        batch = list(spans)
        with self.transaction() as connection:
            return append_spans(connection, batch, self._intent())

    def flush(self, spans: Iterable[SpanFacts], /) -> tuple[AppendResult, SettleResult]:
        """
        Keeps the spans that are new and settles the groups that are overdue, in one hold of the file.
        """
        batch = list(spans)
        with self.transaction() as connection:
            return append_spans(connection, batch, self._intent()), self._settle(connection, self._overdue())

    def count(self, reasons: Mapping[str, int]) -> None:
        """
        Adds to the counts of spans that were received and not kept, by reason.
        """
        with self.transaction() as connection:
            count_intake(connection, reasons, now_ns=self._clock_ns())

    def settle(self) -> SettleResult:
        """
        Settles the groups that this object was the last to be given spans of: its input has ended.
        """
        with self.transaction() as connection:
            # before time began nothing came: only what this object was given is due
            return self._settle(connection, Due(self._writer, -1, -1))

    def prune(self, before_ns: int) -> PruneResult:
        """
        Deletes the tasks that ended before *before_ns*, and gives the space back where much of the file is free.
        """
        with self.transaction() as connection:
            result = prune_tasks(connection, before_ns=before_ns)
        self.close()
        with self._locked(exclusive=True), explaining(self._path):
            shrink(self._path)
        return result

    def snapshot(self, target: Path) -> None:
        """
        Copies the store to the file *target*, as it is at one moment.
        """
        with self.reading() as file:
            read_ledger(file.connection)  # refuses what is no store before anything is written
        with self._locked(exclusive=False), explaining(self._path):
            copy_store(self._path, real_path(target.parent) / target.name)

    def settle_overdue(self) -> SettleResult:
        """
        Settles the groups of which nothing more is expected, whoever added to them.
        """
        with self.transaction() as connection:
            return self._settle(connection, self._overdue())

    def waiting(self) -> int:
        """
        How many tasks are overdue: whoever writes next settles them.
        """
        with self.reading() as file:
            return self.waiting_in(file)

    def waiting_in(self, file: OpenFile) -> int:
        """
        As `waiting`, of a *file* that is open.
        """
        return count_overdue(file.connection, self._overdue())

    def touched(self) -> SettleResult:
        """
        The groups that this object was the last to be given spans of, settled or not, with their calls and tasks.
        """
        with self.reading() as file:
            return count_touched(file.connection, self._writer)

    def load_groups(self, traces: Iterable[bytes], /) -> list[list[SpanFacts]]:
        """
        All kept spans of every group that has one of *traces*.
        """
        with self.reading() as file:
            return load_groups(file.connection, traces)

    def rows(self, scope: Scope = EVERYTHING, /) -> Rows:
        """
        All rows of the tasks in *scope*, whatever tool they belong to.
        """
        with self.reading() as file:
            return read_rows(file.connection, scope)

    @contextmanager
    def reading(self) -> Generator[OpenFile]:
        """
        The file, to run queries on; nobody writes to it meanwhile.
        """
        with self._guard:
            self.close()
        with (
            explaining(self._path),
            opening.reading(self._path, purpose=self._purpose, timeout_s=self._timeout_s, tell=self._tell) as file,
        ):
            yield file

    @contextmanager
    def transaction(self) -> Generator["DuckDBPyConnection"]:
        """
        One transaction, durable and noted when the block ends, and nothing of it kept where it raises.
        """
        with self.writing() as file:
            file.connection.begin()
            count_commit(file.connection)
            yield file.connection
            file.connection.commit()
            file.acknowledge()

    @contextmanager
    def writing(self) -> Generator[OpenFile]:
        """
        The file, to write to; one thread at a time.
        """
        with self._guard, explaining(self._path):
            file = self._kept[1] if self._kept is not None else self._open()
            is_done = False
            try:
                yield file
                is_done = True
            finally:
                # what failed may have left a transaction open, which a close rolls back
                if not (is_done and self._lingers) or file.lock.is_wanted():
                    self.close()

    def _open(self) -> OpenFile:
        opened = opening.writing(
            self._path,
            purpose=self._purpose,
            timeout_s=self._timeout_s,
            tell=self._tell,
            new_key=new_hash_key,
            # for a small batch, to start and stop more threads takes a fifth of the time
            how=How(threads=None if self._lingers else 1),
        )
        with ExitStack() as stack:
            file = stack.enter_context(opened)
            self._kept = stack.pop_all(), file
        return file

    def close(self) -> None:
        """
        Closes the file where it lingers; it opens again when it is needed.
        """
        with self._guard:
            kept, self._kept = self._kept, None
            if kept is not None:
                kept[0].close()

    def abandon(self) -> None:
        """
        Forgets, in a forked child, what its parent has open.
        """
        keep_for_ever(self._kept)
        self._kept, self._guard = None, RLock()

    def _intent(self) -> Intent:
        late_ns = round(self._settings.late_s * _SECOND_NS)
        return Intent(self._writer, self._clock_ns(), self._settings.escalation_tools, late_ns)

    def _settle(self, connection: "DuckDBPyConnection", due: Due) -> SettleResult:
        """
        Settles what is *due*, and does what keeps the file small.
        """
        result = settle(connection, due)
        if result.groups and is_time_to_sum_up(connection):
            sum_up(connection)
        closed_ns = self._clock_ns() - round(self._settings.late_s * _SECOND_NS)
        prune_spans(connection, closed_ns=closed_ns, most_spans=self._settings.max_spans)
        return result

    def _locked(self, *, exclusive: bool) -> AbstractContextManager[FileLock]:
        return locked(self._path, exclusive=exclusive, purpose=self._purpose, timeout_s=self._timeout_s)

    def _overdue(self) -> Due:
        now_ns, settings = self._clock_ns(), self._settings
        return Due(
            None,
            now_ns - round(settings.grace_s * _SECOND_NS),
            now_ns - round(settings.open_timeout_s * _SECOND_NS),
        )


def _abandon_inherited() -> None:
    for store in list(_stores):
        store.abandon()


os.register_at_fork(after_in_child=_abandon_inherited)
