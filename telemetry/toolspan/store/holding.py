"""
A store file that is held for life: its lock, its connection, and what is done when either fails.

**The file under it.** A file that is removed, renamed or replaced while it is open goes on working and is gone with the
process. So before anything is acknowledged the path is compared with the file that was opened, and where it is another,
all that the open connection holds is written to the path again (see `restoring`). What DuckDB wrote to a log that was
removed is put into the file, and a lock file that was removed is made and taken anew, before another process thinks
that nobody holds the store.

**Failing.** A connection that still works after an error goes on, its transaction rolled back: of 60 disks that were
full in the middle of commits, none left anything of what was refused, nor lost anything else. One that DuckDB gives up
(a checkpoint that failed) is opened again by whoever writes next, and replays the log. The lock stays.
"""

import os
import shutil
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolspan.config import new_hash_key
from toolspan.errors import StoreError
from toolspan.store.connecting import HELD_CHECKPOINT_AT, How
from toolspan.store.lock import FileLock, acquire
from toolspan.store.mending import Tell
from toolspan.store.opening import OpenFile, connect_store, refuse_foreign, refuse_place
from toolspan.store.readers import Readers
from toolspan.store.restoring import is_same, make_folder, put_back, stat_of

#: Of DuckDB: the other half of the cores decodes and derives. On two cores a transaction of 2 000 spans takes a quarter
#: less CPU with one thread, for it is too small to be shared; queries have as few.
_THREADS: Final = max(1, (os.cpu_count() or 1) // 2)
#: Who took a lock file that was removed, and made a store of his own, may hold it for long: a write does not wait.
_RETAKE_S: Final = 2.0
#: Of the log's size: a checkpoint writes about as much as the log holds, and some row groups anew. One that runs out
#: of space costs the connection.
_CHECKPOINT_SPACE: Final = 2
#: With less, nothing is written: a small transaction would still find a place, and the next large one none, so that
#: nobody could say whether the store takes anything.
_LEAST_FREE: Final = 2**20
#: DuckDB refuses a checkpoint while somebody reads what was updated since: beside three who read without a pause it
#: refused three of four, beside three whose queries take a tenth of a second all. So where it has to be, readers pause.
_PATIENCE_S: Final = 1.0


@dataclass(slots=True)
class _Open:
    """
    The open *file*, and which one it was when it was opened; whether anything was committed that only its log has, and
    which file that *log* is, once it was seen.
    """

    file: OpenFile
    own: os.stat_result
    is_logged: bool
    log: os.stat_result | None = None


class Holding:
    """
    Holds the file *path*; others that want it are told its *url*. For one thread at a time, but for the *readers*.
    """

    def __init__(self, path: Path, *, url: str, tell: Tell, timeout_s: float) -> None:
        self._path = path
        self._log = path.parent / f"{path.name}.wal"
        self._url = url
        self._tell = tell
        self._timeout_s = timeout_s
        self._lock: FileLock | None = None
        self._open: _Open | None = None
        self._is_closed = False
        self._pid = os.getpid()
        self.readers = Readers(str(path))

    def refuse_child(self) -> None:
        """
        Raises:
            StoreError: this is a child of the process that holds the file, forked since then.
        """
        if os.getpid() != self._pid:
            raise StoreError(
                f"{self._path} is held by process {self._pid}, from which this one was forked; ask that one."
            )

    def file(self) -> OpenFile:
        """
        The open file, which the path names: opened where it is not, put back where it was taken away.

        Raises:
            StoreError: it cannot be opened, or was closed for good.
        """
        if self._is_closed:
            raise StoreError(f"{self._path} was closed; open it again to write to it.")
        opened = self._open or self._connect()
        if not is_same(self._path, opened.own):
            opened = self._put_back(opened)
        opened.file.lock = self._hold()
        if opened.is_logged:
            self._look_at_log(opened)
        return opened.file

    def look_after(self) -> None:
        """
        Opens the file where it is not, or puts it back; where that fails and it can be read, the next write says why.
        """
        try:
            self.file()
        except StoreError:
            if self._open is None:
                raise

    def refuse_full_disk(self) -> None:
        """
        Raises:
            StoreError: there is next to no space to write to.
        """
        if shutil.disk_usage(self._path.parent).free < _LEAST_FREE:
            raise StoreError(
                f"Cannot write to {self._path}: its disk has less than 1 MiB left; free some space."
                " What was kept before is kept."
            )

    def commit(self) -> None:
        """
        Makes the open transaction durable.
        """
        opened = self._opened()
        opened.file.connection.commit()
        opened.is_logged = True

    def acknowledge(self) -> None:
        """
        Notes what was committed, once it is sure to be found at the path.

        Raises:
            StoreError: it is not; whatever still has it open goes on.
        """
        self.file().acknowledge()

    def own(self) -> os.stat_result:
        """
        The owner and mode of the file.

        Raises:
            StoreError: it is not open just now.
        """
        return self._opened().own

    def log_bytes(self) -> int:
        """
        How large the log is that a restart would replay.
        """
        found = stat_of(self._log)
        return 0 if found is None else found.st_size

    def checkpoint(self, *, has_to_be: bool) -> bool:
        """
        Puts the log into the file; whether the disk had the space and nobody read. Where it *has_to_be*, readers wait
        for it, and it for them for a moment.
        """
        self.file()
        return self._checkpoint(self._opened(), self.log_bytes(), has_to_be=has_to_be)

    def recover(self) -> None:
        """
        Takes back what a failed transaction did; lets go of a connection that does not work any more.
        """
        if self._open is None:
            return
        import duckdb

        try:
            with suppress(duckdb.TransactionException):  # what failed in its commit was rolled back by that
                self._open.file.connection.rollback()
        except duckdb.Error:
            if not is_same(self._path, self._open.own):
                self._tell(f"{self._path} was taken away, and what still had it open failed: what was in it is gone.")
            self._let_go()

    def close(self) -> None:
        """
        Closes the file for good, and gives up its lock; in a forked child it is not the child's to close.
        """
        if os.getpid() != self._pid:
            return
        self._is_closed = True
        self._let_go()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _opened(self) -> _Open:
        if self._open is None:
            raise self.readers.closed()
        return self._open

    def _connect(self) -> _Open:
        refuse_place(self._path)
        lock = self._hold()
        how = How(threads=_THREADS, checkpoint_at=HELD_CHECKPOINT_AT)
        connection = connect_store(self._path, lock, tell=self._tell, new_key=new_hash_key, how=how)
        try:
            own = self._path.stat()
        except OSError as error:
            connection.close()
            raise StoreError(f"{self._path} was taken away while it was opened: {error.strerror}") from error
        self._open = _Open(OpenFile(self._path, connection, lock), own, is_logged=stat_of(self._log) is not None)
        self.readers.serve(connection)
        return self._open

    def _hold(self) -> FileLock:
        """
        The lock that others would meet: taken where it is not held, or where its file was taken away.
        """
        held = self._lock
        if held is not None and held.is_current():
            return held
        if held is None:
            refuse_foreign(self._path)
        timeout_s = self._timeout_s if held is None else min(self._timeout_s, _RETAKE_S)
        lock = acquire(self._path, exclusive=True, purpose="toolspan collect", url=self._url, timeout_s=timeout_s)
        self._lock = lock
        if held is not None:
            held.release()
        return lock

    def _put_back(self, opened: _Open) -> _Open:
        """
        Writes what the open connection holds to the path again, and goes on with that.
        """
        import duckdb

        make_folder(self._path)
        self._hold()
        try:
            with self.readers.reading() as cursor:
                cursor.rollback()  # a copy is a transaction of its own
                line = put_back(cursor, self._path, opened=opened.own, log=opened.log)
        except duckdb.FatalException as error:
            line = f"{self._path} was taken away while it was in use, and what still had it open failed: {error}"
        # Only now: until the copy stood there whole, the connection was all that was left.
        self._let_go()
        with suppress(OSError):  # of the old file; a log that is not the new one's is set aside when it is opened
            self._log.unlink()
        self._tell(line)
        return self._connect()

    def _look_at_log(self, opened: _Open) -> None:
        """
        Puts what was committed into the file where the log that has it is gone.
        """
        found = stat_of(self._log)
        if found is not None and (opened.log is None or os.path.samestat(found, opened.log)):
            opened.log = found
            return
        if not self._checkpoint(opened, 0 if opened.log is None else opened.log.st_size, has_to_be=True):
            raise StoreError(
                f"The log of {self._path} was taken away, and what was in it cannot be put into the file:"
                " its disk has no space for it, or somebody reads for long."
            )
        self._tell(f"The log of {self._path} was taken away while it was in use: what was in it is in the file now.")

    def _checkpoint(self, opened: _Open, size: int, *, has_to_be: bool) -> bool:
        import duckdb

        if shutil.disk_usage(self._path.parent).free < _CHECKPOINT_SPACE * size:
            return False
        try:
            with self.readers.paused(_PATIENCE_S) if has_to_be else nullcontext():
                opened.file.connection.execute("checkpoint")
        except duckdb.TransactionException:
            return False  # somebody reads
        except BaseException:
            self.recover()
            raise
        opened.is_logged, opened.log = False, None
        return True

    def _let_go(self) -> None:
        """
        Closes the connection; whoever reads is interrupted.
        """
        self.readers.stop()
        opened, self._open = self._open, None
        if opened is not None:
            import duckdb

            with suppress(duckdb.Error):  # it failed before, which was said; this only lets go
                opened.file.connection.close()
