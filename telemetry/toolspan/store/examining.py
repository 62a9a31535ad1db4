"""
What a store file says of itself, for whoever sees less in it than was expected.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.records import SpanFacts
from toolspan.store.columns import trace_bytes
from toolspan.store.grouping import load_groups
from toolspan.store.intake import intake_of
from toolspan.store.ledger import read_ledger
from toolspan.store.schema import settings_of
from toolspan.store.statements import run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Half a second's work; an agent of a span a second sends as many in six hours.
LATEST_SPANS: Final = 20_000


class ToolFacts(NamedTuple):
    """
    The calls of a tool, and how many of them say little.
    """

    calls: int
    unknown_arguments: int
    failures: int
    unclassified: int


class StoreFacts(NamedTuple):
    """
    What is in a store.

    *intake* is what became of all spans that ever came, by reason; *spans* and *traces* are those that are kept still.
    *last_arrival_ns* is when the last span came, 0 where none did; of one that is not kept it is the beginning of the
    hour, and not exact. *open_tasks* have not settled, of *unseen_tasks* the span never came. Of the *links* between
    calls, *presumed* ones rest on unknown arguments. *evidence* is what most failures without a class have.
    """

    schema: int
    commits: int
    intake: Mapping[str, int]
    spans: int
    traces: int
    last_arrival_ns: int
    is_last_arrival_exact: bool
    tasks: int
    open_tasks: int
    unseen_tasks: int
    first_start_ns: int
    first_end_ns: int
    last_end_ns: int
    links: int
    presumed: int
    tools: Mapping[str, ToolFacts]
    evidence: Mapping[str, int]


def examine(connection: "DuckDBPyConnection") -> StoreFacts:
    """
    What is in the store.
    """
    [(spans, traces, last_kept_ns, last_hour_ns)] = run(connection, "examine_spans")
    [(tasks, open_tasks, unseen_tasks, first_start_ns, first_end_ns, last_end_ns, links, presumed)] = run(
        connection, "examine_rows"
    )
    return StoreFacts(
        schema=int(str(settings_of(connection)["schema_version"])),
        commits=read_ledger(connection).commits,
        intake=intake_of(connection),
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
