"""
A store file that is held for life: its lock, its connection, and what is done when either fails.

**The file under it.** A file that is removed, renamed or replaced while it is open goes on working and is gone with the
process. So before anything is acknowledged the path is compared with the file that was opened, and where it is another,
all that the open connection holds is written to the path again (see `restoring`).

**Failing.** After an error the connection is closed and opened again by the next write: of a disk that was full, DuckDB
replays its log and goes on with what was committed. The lock stays.
"""

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, NamedTuple

from toolspan.config import new_hash_key
from toolspan.errors import StoreError
from toolspan.store.connecting import HELD_CHECKPOINT_AT, How
from toolspan.store.lock import FileLock, locked
from toolspan.store.mending import Tell
from toolspan.store.opening import OpenFile, connect_store, refuse_foreign, refuse_place
from toolspan.store.readers import Readers
from toolspan.store.restoring import is_same, put_back

#: Of DuckDB: the other half of the cores decodes and derives. On two cores a transaction of 2 000 spans takes a quarter
#: less CPU with one thread, for it is too small to be shared; queries have as few.
_THREADS: Final = max(1, (os.cpu_count() or 1) // 2)


class _Open(NamedTuple):
    """
    The open *file*, and which one it was when it was opened.
    """

    file: OpenFile
    own: os.stat_result


class Holding:
    """
    Holds the file *path*; others that want it are told its *url*. For one thread at a time, but for the *readers*.
    """

    def __init__(self, path: Path, *, url: str, tell: Tell, timeout_s: float) -> None:
        self._path = path
        self._url = url
        self._tell = tell
        self._timeout_s = timeout_s
        self._lock: tuple[ExitStack, FileLock] | None = None
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
        if self._open is None:
            return self._connect().file
        if is_same(self._path, self._open.own):
            return self._open.file
        return self._put_back(self._open)

    def own(self) -> os.stat_result:
        """
        The owner and mode of the file.
        """
        return self._connect().own if self._open is None else self._open.own

    def fail(self) -> None:
        """
        Lets go of a connection that failed; not of one whose file was taken away, since nothing else has what is in it:
        what it had begun is undone, and it is put back by who comes next.
        """
        import duckdb

        if self._open is None or is_same(self._path, self._open.own):
            self.let_go()
            return
        with suppress(duckdb.TransactionException):  # nothing was begun, or it is undone already
            self._open.file.connection.rollback()

    def let_go(self) -> None:
        """
        Closes the connection, which failed or is to be another; whoever reads is interrupted.
        """
        self.readers.stop()
        opened, self._open = self._open, None
        if opened is not None:
            import duckdb

            with suppress(duckdb.Error):  # it failed before, which was said; this only lets go
                opened.file.connection.close()

    def close(self) -> None:
        """
        Closes the file for good, and gives up its lock; in a forked child it is not the child's to close.
        """
        if os.getpid() != self._pid:
            return
        self._is_closed = True
        self._let_go_of_all()

    def _connect(self) -> _Open:
        refuse_place(self._path)
        lock = self._hold()
        try:
            how = How(threads=_THREADS, checkpoint_at=HELD_CHECKPOINT_AT)
            connection = connect_store(self._path, lock, tell=self._tell, new_key=new_hash_key, how=how)
        except BaseException:
            self._let_go_of_all()
            raise
        self._open = _Open(OpenFile(self._path, connection, lock), self._path.stat())
        self.readers.serve(connection)
        return self._open

    def _hold(self) -> FileLock:
        """
        The lock, taken where it is not held.
        """
        if self._lock is None:
            refuse_foreign(self._path)
            with ExitStack() as stack:
                lock = stack.enter_context(
                    locked(
                        self._path,
                        exclusive=True,
                        purpose="toolspan collect",
                        url=self._url,
                        timeout_s=self._timeout_s,
                    )
                )
                self._lock = stack.pop_all(), lock
        return self._lock[1]

    def _put_back(self, opened: _Open) -> OpenFile:
        """
        Writes what the open connection holds to the path again, and goes on with that.
        """
        import duckdb

        connection = opened.file.connection
        try:
            line = put_back(connection, self._path, opened=opened.own, close=self._let_go_of_all)
        except duckdb.FatalException as error:
            # DuckDB has given it up: whatever is at the path now is all there is
            self._let_go_of_all()
            line = f"{self._path} was taken away while it was in use, and what was open cannot be read: {error}"
        file = self._connect().file
        self._tell(line)
        return file

    def _let_go_of_all(self) -> None:
        self.let_go()
        held, self._lock = self._lock, None
        if held is not None:
            held[0].close()
