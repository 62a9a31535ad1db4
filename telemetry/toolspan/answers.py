"""
What the documents of a store have in common: how a scope is asked for, and answers by tool.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol, TypeVar

from toolspan.scope import Scope
from toolspan_queries import Asked

#: A value of *by* and a tool.
ToolKey = tuple[str, str]


class OfTool(Protocol):
    """
    A row that is about one tool.
    """

    @property
    def group_value(self) -> str:
        """
        The agent, service or environment by which was grouped.
        """
        ...

    @property
    def tool(self) -> str:
        """
        The tool's name.
        """
        ...


Row = TypeVar("Row", bound=OfTool)


def asked(scope: Scope, by: Literal["", "agent", "service", "environment"]) -> Asked:
    """
    What the queries are asked so that they answer of *scope*.
    """
    return Asked(
        since_ns=scope.since_ns,
        until_ns=scope.until_ns,
        tool=scope.tool,
        agent=scope.agent,
        service=scope.service,
        environment=scope.environment,
        by=by,
    )


def by_tool(rows: Iterable[Row]) -> Mapping[ToolKey, list[Row]]:
    """
    The *rows* of each tool in each group; those of any other are none.
    """
    found: defaultdict[ToolKey, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.group_value, row.tool].append(row)
    return found
