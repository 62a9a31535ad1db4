"""
From files to rows, for the commands that read; and what to say where there are none.
"""

import gc
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final, NamedTuple

import click

from toolspan.cli._options import DIMENSIONS, Source
from toolspan.cli._problems import Problems
from toolspan.cli._progress import read_progress
from toolspan.cli._text import counted, inert, one_line
from toolspan.config import Settings, load_settings
from toolspan.errors import InputError
from toolspan.pipeline import make_decoder, read_files
from toolspan.records import Rows
from toolspan.scope import Scope
from toolspan.store.memory import MemoryStore

#: Of the values that a filter could have had.
_MOST_VALUES: Final = 5
_NOTHING_READ: Final = "Nothing was read as OTLP traces; toolspan doctor FILE says what to change."


class Loaded(NamedTuple):
    """
    The rows of a source, every task settled, and the settings they were read with.
    """

    rows: Rows
    settings: Settings


def load(source: Source) -> Loaded:
    """
    Reads *source*; what cannot be read of it is said on standard error, and the rest counts.

    Raises:
        InputError: there is something, and no span of it can be read.
    """
    settings = load_settings(environ=os.environ, config_path=source.config)
    store = MemoryStore(escalation_tools=settings.escalation_tools)
    problems = Problems(source.files)
    with collections_paused():
        with read_progress(source.files) as progress:
            intake = read_files(
                source.files,
                decoder=make_decoder(settings),
                store=store,
                on_bytes=progress,
                on_problem=problems,
            )
        store.settle()
        rows = store.rows()
    for line in problems.lines():
        _say(line)
    if intake.conflicts:
        _say(f"{counted(intake.conflicts, 'span')} came again with other content; the first of each counts.")
    if intake.rejected and not intake.new:
        raise InputError(_NOTHING_READ)
    return Loaded(rows, settings)


def _say(line: str) -> None:
    click.echo(f"toolspan: {one_line(line)}", err=True)


@contextmanager
def collections_paused() -> Generator[None, None, None]:
    """
    Reads without garbage collection; what was made in the meantime is never walked again.

    Millions of records are made and none of them is garbage, but full collections walk them all each time: a quarter
    of the time of reading a million spans.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def nothing_line(rows: Rows, scope: Scope) -> str:
    """
    Why there is nothing to show, and what to do about it, in one line.
    """
    if not rows.calls:
        return "No tool calls found; toolspan doctor FILE says which spans are there and why none is a call."
    tools = {call.tool for call in rows.calls}
    if scope.tool is not None and scope.tool not in tools:
        other = f"{counted(len(tools), 'other tool')} were called."
        return f"No call of the tool {inert(scope.tool)!r}; {_meant(scope.tool, tools) or other}"
    for name in DIMENSIONS:
        wanted, there = getattr(scope, name), {getattr(task, name) for task in rows.tasks}
        if wanted is not None and wanted not in there:
            listed = f"there are {', '.join(repr(inert(value)) for value in sorted(there)[:_MOST_VALUES])}"
            more = f" and {len(there) - _MOST_VALUES:,} more" if len(there) > _MOST_VALUES else ""
            return f"No task of the {name} {inert(wanted)!r}; {_meant(wanted, there) or f'{listed}{more}.'}"
    return f"No tool calls in this window and with these filters; without them there are {len(rows.calls):,}."


def _meant(wanted: str, there: Iterable[str]) -> str:
    """
    The nearest of the values that are *there*; empty where none is near.
    """
    close = get_close_matches(wanted, there, n=1)
    return f"did you mean {inert(close[0])!r}?" if close else ""
