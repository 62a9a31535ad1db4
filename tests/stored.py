"""
Stores that commands are run on: what is in them, and what a process left that was killed.
"""

from pathlib import Path
from typing import Final

from tests.facts import run, tool_span
from tests.stores import SECOND_NS, Clock, open_store
from toolspan.store.examining import examine
from toolspan.store.facts import StoreFacts

#: The spans that come with the README.
EXAMPLE: Final = Path(__file__).parent.parent / "docs" / "travel-agent.otlp.jsonl.gz"
#: In 2023: whatever came then and was not settled is overdue.
LONG_AGO_NS: Final = 1_700_000_000 * SECOND_NS


def facts_of(path: Path) -> StoreFacts:
    """
    What the store *path* says of itself.
    """
    with open_store(path).reading() as file:
        return examine(file.connection)


def leave_open(path: Path, *, tasks: int) -> None:
    """
    Adds *tasks* tasks of one call each to the store *path*, whose spans have come, and settles none.
    """
    store = open_store(path, clock=Clock(LONG_AGO_NS))
    store.append([span for number in range(1, tasks + 1) for span in (run(number), tool_span(number, 2, start=0))])
