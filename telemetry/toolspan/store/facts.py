"""
What a store says of itself, as it is passed on: to `doctor`, also over a wire.
"""

from collections.abc import Mapping
from typing import NamedTuple


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

    *intake* is what became of all spans that ever came, or came in the window that was asked for, by reason; *spans*
    and *traces* are those that are kept still.
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
