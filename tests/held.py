"""
Stores that are held for life, for tests: written to in traces, read as rows.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.stores import Clock, a_trace
from toolspan.config import Settings
from toolspan.records import Rows
from toolspan.store.held import HeldStore, Written
from toolspan.store.memory import MemoryStore
from toolspan.store.reading import read_rows

URL: Final = "http://127.0.0.1:9464"
#: A group of `a_trace` has these many calls, and one span more.
CALLS: Final = 2
SPANS: Final = 3


def hold(
    path: Path, *, tell: Callable[[str], None], clock: Callable[[], int] | None = None, timeout_s: float = 20
) -> HeldStore:
    """
    The store in the file *path*, held; what it is told goes to *tell*.
    """
    return HeldStore(
        path, url=URL, settings=Settings(), tell=tell, timeout_s=timeout_s, clock_ns=Clock() if clock is None else clock
    )


def write(store: HeldStore, *traces: int) -> Written:
    """
    Writes the traces of these numbers, of which whoever counts knows nothing.
    """
    return store.write([span for number in traces for span in a_trace(number)], knows=knows_none)


def knows_none(traces: frozenset[bytes]) -> bool:
    del traces
    return False


def knows_all(traces: frozenset[bytes]) -> bool:
    return bool(traces)


def read(store: HeldStore) -> Rows:
    """
    All rows there are.
    """
    with store.reading() as connection:
        return read_rows(connection)


def calls_in(store: HeldStore) -> int:
    """
    How many calls there are.
    """
    return len(read(store).calls)


def rows_of(*traces: int) -> Rows:
    """
    The rows of the traces of these numbers while they are open.
    """
    store = MemoryStore()
    store.append([span for number in traces for span in a_trace(number)])
    return store.rows()
