"""
Connections that a forked child inherits: never closed there, and never used.

DuckDB knows nothing of forks. A child that closes its copy, be it at its exit, checkpoints the parent's file and
removes the log that the parent goes on writing; one that uses it hangs or dies, for its threads are not there. And
within a process a second open of a file is a second handle on the first. So a child keeps what it inherited for ever,
and is refused the files that were open at the fork.
"""

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from toolspan.errors import StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# State of the process, as its open files are.
_open: "WeakKeyDictionary[DuckDBPyConnection, Path]" = WeakKeyDictionary()
_inherited: set[Path] = set()


def watch(connection: "DuckDBPyConnection", path: Path) -> None:
    """
    Remembers that *connection* has the file *path* open, until it is gone.
    """
    _open[connection] = path


def refuse_inherited(path: Path) -> None:
    """
    Raises:
        StoreError: the file *path* was open when this process was forked.
    """
    if path in _inherited:
        raise StoreError(
            f"{path} was open in process {os.getppid()} when this one was forked from it, and cannot be opened here; "
            "start the process anew (spawn), or fork while the store is closed"
        )


def keep_for_ever(thing: object) -> None:
    """
    Lets *thing* live until the process ends, and not be finalised then.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _abandon_inherited() -> None:
    for connection, path in list(_open.items()):
        keep_for_ever(connection)
        _inherited.add(path)
    _open.clear()


os.register_at_fork(after_in_child=_abandon_inherited)
