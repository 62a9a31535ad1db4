"""
Cursors of a connection that others write through: many at once, each in a read transaction, none of them in the way.

DuckDB gives every transaction the rows as they were when it began, so a reader neither waits for the writer nor makes
it wait. What a reader could do is to keep an old database alive: while a cursor of it is open, opening the file again
in this process gives the old database, broken or not. So before the connection is closed, all cursors are.
"""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from toolspan.errors import StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: An interrupted query ends within milliseconds; a reader that is elsewhere meanwhile has its cursor closed under it.
_INTERRUPT_S: Final = 2.0
#: One interrupt ends one query, and a reader may ask the next.
_AGAIN_S: Final = 0.02


class Readers:
    """
    Reads through cursors of one connection after the other; *name* is the store in what people are told.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._connection: DuckDBPyConnection | None = None
        self._is_paused = False
        self._cursors: list[DuckDBPyConnection] = []

    def serve(self, connection: "DuckDBPyConnection") -> None:
        """
        Reads through *connection* from now on.
        """
        with self._changed:
            self._connection = connection

    def closed(self) -> StoreError:
        """
        What a reader is told while nothing is served.
        """
        return StoreError(f"{self._name} is not open just now; ask again in a moment.")

    @contextmanager
    def reading(self) -> Generator["DuckDBPyConnection"]:
        """
        A cursor that sees the store as it is now, whatever is written while the block runs.

        Raises:
            StoreError: the store is not open just now.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_paused)
            if self._connection is None:
                raise self.closed()
            cursor = self._connection.cursor()
            self._cursors.append(cursor)
        try:
            cursor.execute("begin transaction read only")
            cursor.execute("from ledger").fetchall()  # a transaction sees the moment of its first query, not its begin
            yield cursor
        finally:
            with self._changed:
                cursor.close()  # which ends the transaction
                self._cursors.remove(cursor)
                self._changed.notify_all()

    @contextmanager
    def paused(self, patience_s: float) -> Generator[None]:
        """
        Lets nobody begin to read while the block runs, which begins when those who read have ended, or are not waited
        for any more.
        """
        with self._changed:
            self._is_paused = True
            self._changed.wait_for(lambda: not self._cursors, timeout=patience_s)
        try:
            yield
        finally:
            with self._changed:
                self._is_paused = False
                self._changed.notify_all()

    def stop(self) -> None:
        """
        Lets nobody begin to read, and ends who does.
        """
        import duckdb

        until_s = time.monotonic() + _INTERRUPT_S
        with self._changed:
            self._connection = None
            while self._cursors and time.monotonic() < until_s:
                for cursor in self._cursors:
                    cursor.interrupt()
                self._changed.wait(_AGAIN_S)
            for cursor in self._cursors:
                with suppress(duckdb.Error):  # one that is busy is refused, and closes itself
                    cursor.close()
