"""
From files to rows, for the commands that read; and what to say where there are none.
"""

import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import NamedTuple

import click

from toolspan.cli._options import Source
from toolspan.cli._progress import read_progress
from toolspan.cli._text import counted, inert, one_line
from toolspan.config import Settings, load_settings
from toolspan.pipeline import make_decoder, read_files
from toolspan.records import Rows
from toolspan.scope import Scope
from toolspan.store.memory import MemoryStore

#: A file that is no OTLP at all has a problem in every line; the first few say so.
_MOST_PROBLEMS = 10


class Loaded(NamedTuple):
    """
    The rows of a source, every task settled, and the settings they were read with.
    """

    rows: Rows
    settings: Settings


def load(source: Source) -> Loaded:
    """
    Reads *source*; what cannot be read of it is said on standard error, and the rest counts.
    """
    settings = load_settings(environ=os.environ, config_path=source.config)
    store = MemoryStore(escalation_tools=settings.escalation_tools)
    problems = _Problems()
    with collections_paused():
        with read_progress(source.files) as progress:
            intake = read_files(
                source.files,
                decoder=make_decoder(settings),
                store=store,
                stdin=sys.stdin.buffer,
                on_bytes=progress,
                on_problem=problems,
            )
        store.settle()
        rows = store.rows()
    if intake.conflicts:
        problems(f"{counted(intake.conflicts, 'span')} came again with other content; the first of each counts.")
    problems.close()
    return Loaded(rows, settings)


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
        close = get_close_matches(scope.tool, tools, n=1)
        meant = f"did you mean {inert(close[0])!r}?" if close else f"{counted(len(tools), 'other tool')} were called."
        return f"No call of the tool {inert(scope.tool)!r}; {meant}"
    return f"No tool calls in this window and with these filters; without them there are {len(rows.calls):,}."


class _Problems:
    """
    Says the first problems on standard error and counts the others.
    """

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, line: str) -> None:
        self._count += 1
        if self._count <= _MOST_PROBLEMS:
            click.echo(f"toolspan: {one_line(line)}", err=True)

    def close(self) -> None:
        more = self._count - _MOST_PROBLEMS
        if more > 0:
            click.echo(f"toolspan: and {counted(more, 'problem')} more like these.", err=True)
