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


def intake_of(connection: "DuckDBPyConnection") -> dict[str, int]:
    """
    The spans that ever came, by what became of them.
    """
    return {str(reason): int(spans) for reason, spans in run(connection, "sum_intake")}
