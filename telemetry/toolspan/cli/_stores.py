"""
Stores as people name them: which file is meant, and how it is opened.
"""

import os
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolspan.cli._messages import say
from toolspan.errors import InputError, StoreError
from toolspan.framing.source import display_name

if TYPE_CHECKING:
    from toolspan.config import Settings
    from toolspan.remote import Collector
    from toolspan.store.duckdb import DuckDBStore

STORE_VARIABLE: Final = "TOOLSPAN_STORE"
#: In the folder where a command runs.
DEFAULT_STORE: Final = "toolspan.duckdb"

#: How long a command waits for others that use the file; `ingest` holds it for a second at a time.
TIMEOUT_S: Final = 30.0

#: `chdb:/dir` has one slash or three; of any other name only the two slashes tell an address from a file.
_COLLECTOR: Final = re.compile(r"https?:", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://|(?:https?|clickhouse|chdb):", re.IGNORECASE)
#: What extras install.
_PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "duckdb": ("duckdb", "msgspec", "numpy", "pyarrow"),
    "collector": ("duckdb", "grpc", "httptools", "msgspec", "prometheus_client", "pyarrow", "starlette", "uvicorn"),
}


def find_store(name: str | None, *, environ: Mapping[str, str]) -> "Path | Collector":
    """
    The file or the collector of the store *name*; where none is named, of that in `TOOLSPAN_STORE`, else
    `./toolspan.duckdb`.

    Raises:
        InputError: the name is none of a store that this build has.
    """
    if name is None:
        name = environ.get(STORE_VARIABLE) or DEFAULT_STORE
    if name in ("", "-"):
        raise InputError(f"A store is a file: give its path, for example --store {DEFAULT_STORE}.")
    if _COLLECTOR.match(name):
        from toolspan.config import TOKEN_VARIABLE
        from toolspan.remote import Collector

        return Collector(name, token=environ.get(TOKEN_VARIABLE))
    if _ADDRESS.match(name):
        # the one place that says which stores this build has
        raise InputError(
            f"No store {display_name(name)}: this build has stores in DuckDB files and behind collectors, no ClickHouse"
            f" yet; give the path of a file (--store {DEFAULT_STORE}), or http://HOST:PORT."
        )
    return Path(name)


def require_file(store: "Path | Collector") -> Path:
    """
    *store*, which is a file of our own.

    Raises:
        InputError: it is a collector.
    """
    if isinstance(store, Path):
        return store
    raise InputError(
        f"{display_name(str(store))} is a collector, which takes spans over OTLP: send them to its OTLP address"
        " (http://HOST:4318/v1/traces), or name a file."
    )


def open_store(
    path: Path, *, purpose: str, settings: "Settings", tell: Callable[[str], None] = say, lingers: bool = False
) -> "DuckDBStore":
    """
    The store in the file *path*; others that wait for it are told its *purpose*, and *tell* is told of losses. Who
    *lingers* closes it in the end.

    Raises:
        StoreError: what it takes is not installed.
    """
    require_packages()
    from toolspan.store.duckdb import DuckDBStore

    return DuckDBStore(path, purpose=purpose, settings=settings, timeout_s=TIMEOUT_S, tell=tell, lingers=lingers)


def require_packages(extra: str = "duckdb") -> None:
    """
    Passes where what *extra* installs is there; asked before anything else is said of a store.

    Raises:
        StoreError: it is not.
    """
    if any(find_spec(name) is None for name in _PACKAGES[extra]):
        from toolspan.store.connecting import INSTALL, install_command

        others = f"The collector needs packages that are not installed; {install_command(extra)} installs them."
        raise StoreError(INSTALL if extra == "duckdb" else others)


def require_store(path: Path) -> None:
    """
    Passes where there is a file at *path*: what only changes a store must not make an empty one.

    Raises:
        StoreError: there is none.
    """
    if not os.path.lexists(path):
        raise StoreError(f"{path} does not exist; toolspan ingest FILE --store {path} makes it.")
