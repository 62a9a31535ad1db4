"""
What became of spans that came, by hour: nothing that is lost is lost unseen.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from toolspan.store.statements import run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HOUR_NS: Final = 3600 * 10**9


def count_intake(connection: "DuckDBPyConnection", counts: Mapping[str, int], *, now_ns: int) -> None:
    """
    Adds to the counts of spans, by reason, in the hour of *now_ns*.
    """
    hour = now_ns - now_ns % _HOUR_NS
    for reason, count in counts.items():
        if count:
            run(connection, "count_intake", hour=hour, reason=reason, spans=count)


def intake_of(
    connection: "DuckDBPyConnection", *, since_ns: int | None = None, until_ns: int | None = None
) -> dict[str, int]:
    """
    The spans that ever came, by what became of them; in a window, of the hours that overlap it.
    """
    found = run(connection, "sum_intake", since_ns=since_ns, until_ns=until_ns)
    return {str(reason): int(spans) for reason, spans in found}
