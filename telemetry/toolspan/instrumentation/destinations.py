"""
Where the spans of a process are to go: what arguments say, and of what they do not, the environment.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, Union

from opentelemetry.sdk.trace.export import SpanExporter

from toolspan.errors import InputError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

DISABLED_VARIABLE: Final = "TOOLSPAN_DISABLED"
STORE_VARIABLE: Final = "TOOLSPAN_STORE"
ENDPOINT_VARIABLE: Final = "TOOLSPAN_ENDPOINT"
PORT_VARIABLE: Final = "TOOLSPAN_PROMETHEUS_PORT"
_YES: Final = frozenset(("1", "true", "yes", "on"))
_COLLECTOR: Final = re.compile("https?:", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://|(?:https?|clickhouse|chdb):", re.IGNORECASE)

StoreName: TypeAlias = str | os.PathLike[str]
#: A registry, or a port, or ports as text: `9464-9479`.
Prometheus: TypeAlias = Union["CollectorRegistry", int, str]


class Destinations(NamedTuple):
    """
    A *store* (the path of a DuckDB file), an *exporter* or the OTLP endpoint to send to, and where metrics are shown.
    """

    store: StoreName | None = None
    exporter: SpanExporter | str | None = None
    prometheus: Prometheus | None = None

    def is_empty(self) -> bool:
        """
        Whether there are none.
        """
        return self.store is None and self.exporter is None and self.prometheus is None

    def completed(self, environ: Mapping[str, str]) -> "Destinations":
        """
        These, and those that *environ* names beside them.
        """
        return Destinations(
            environ.get(STORE_VARIABLE) or None if self.store is None else self.store,
            environ.get(ENDPOINT_VARIABLE) or None if self.exporter is None else self.exporter,
            environ.get(PORT_VARIABLE) or None if self.prometheus is None else self.prometheus,
        )


def is_disabled(environ: Mapping[str, str]) -> bool:
    """
    Whether toolspan is switched off.
    """
    return environ.get(DISABLED_VARIABLE, "").strip().lower() in _YES


def store_path(name: StoreName) -> Path:
    """
    The file that *name* is the path of, from the root: an agent may go to another folder.

    Raises:
        InputError: it is the address of a store of another kind.
    """
    text = os.fspath(name)
    if _COLLECTOR.match(text):
        raise InputError(
            f"{text} is a collector, which takes spans over OTLP: give its OTLP address (http://HOST:4318) as exporter,"
            f" or in {ENDPOINT_VARIABLE}"
        )
    if _ADDRESS.match(text) or text in ("", "-"):
        raise InputError(f"No store {text!r} in a process: give the path of a DuckDB file")
    return Path(text).absolute()
