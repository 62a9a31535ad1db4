"""
What a store file says of itself, for whoever sees less in it than was expected.
"""

from typing import TYPE_CHECKING, Final

from toolspan.records import SpanFacts
from toolspan.store.columns import trace_bytes
from toolspan.store.facts import StoreFacts, ToolFacts
from toolspan.store.grouping import load_groups
from toolspan.store.intake import intake_of
from toolspan.store.ledger import read_ledger
from toolspan.store.schema import settings_of
from toolspan.store.statements import run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Half a second's work; an agent of a span a second sends as many in six hours.
LATEST_SPANS: Final = 20_000


def examine(
    connection: "DuckDBPyConnection", *, since_ns: int | None = None, until_ns: int | None = None
) -> StoreFacts:
    """
    What is in the store; what came into it, in a window of the time of arrival where one is given.
    """
    [(spans, traces, last_kept_ns, last_hour_ns)] = run(connection, "examine_spans")
    [(tasks, open_tasks, unseen_tasks, first_start_ns, first_end_ns, last_end_ns, links, presumed)] = run(
        connection, "examine_rows"
    )
    return StoreFacts(
        schema=int(str(settings_of(connection)["schema_version"])),
        commits=read_ledger(connection).commits,
        intake=intake_of(connection, since_ns=since_ns, until_ns=until_ns),
        spans=int(spans),
        traces=int(traces),
        last_arrival_ns=max(int(last_kept_ns), int(last_hour_ns)),
        is_last_arrival_exact=0 < last_kept_ns >= last_hour_ns,
        tasks=int(tasks),
        open_tasks=int(open_tasks),
        unseen_tasks=int(unseen_tasks),
        first_start_ns=int(first_start_ns),
        first_end_ns=int(first_end_ns),
        last_end_ns=int(last_end_ns),
        links=int(links),
        presumed=int(presumed),
        tools={str(tool): ToolFacts(*map(int, counts)) for tool, *counts in run(connection, "examine_tools")},
        evidence={str(evidence): int(failures) for evidence, failures in run(connection, "examine_evidence")},
    )


def latest_groups(connection: "DuckDBPyConnection", *, most_spans: int) -> list[list[SpanFacts]]:
    """
    The groups to which spans came last, about *most_spans* of them or all there are.
    """
    traces = [trace_bytes(high, low) for high, low in run(connection, "latest_traces", most_spans=most_spans)]
    return load_groups(connection, traces)
