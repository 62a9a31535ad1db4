"""
What could have been asked for, and why nothing was found: the answer to a filter that leaves no call.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from toolspan.cli._text import counted, inert
from toolspan.records import Rows
from toolspan.scope import DIMENSIONS, Scope

#: Of the values that a filter could have had.
_MOST_VALUES: Final = 5


class Names(NamedTuple):
    """
    How many *calls* there are, of which *tools*, and the *values* of their tasks that filters choose by; *no_calls* is
    what to say where there are none.
    """

    calls: int
    tools: frozenset[str]
    values: Mapping[str, frozenset[str]]
    no_calls: str


def names_of(rows: Rows, *, no_calls: str) -> Names:
    """
    The names in *rows*.
    """
    return Names(
        len(rows.calls),
        frozenset(call.tool for call in rows.calls),
        {name: frozenset(getattr(task, name) for task in rows.tasks) for name in DIMENSIONS},
        no_calls,
    )


def nothing_line(names: Names, scope: Scope) -> str:
    """
    Why there is nothing to show, and what to do about it, in one line.
    """
    if not names.calls:
        return f"No tool calls found; {names.no_calls}"
    if scope.tool is not None and scope.tool not in names.tools:
        other = f"{counted(len(names.tools), 'other tool')} were called."
        return f"No call of the tool {inert(scope.tool)!r}; {_meant(scope.tool, names.tools) or other}"
    for name, there in names.values.items():
        wanted = getattr(scope, name)
        if wanted is not None and wanted not in there:
            listed = f"there are {', '.join(repr(inert(value)) for value in sorted(there)[:_MOST_VALUES])}"
            more = f" and {len(there) - _MOST_VALUES:,} more" if len(there) > _MOST_VALUES else ""
            return f"No task of the {name} {inert(wanted)!r}; {_meant(wanted, there) or f'{listed}{more}.'}"
    return f"No tool calls in this window and with these filters; without them there are {names.calls:,}."


def _meant(wanted: str, there: Iterable[str]) -> str:
    """
    The nearest of the values that are *there*; empty where none is near.
    """
    close = get_close_matches(wanted, there, n=1)
    return f"did you mean {inert(close[0])!r}?" if close else ""
