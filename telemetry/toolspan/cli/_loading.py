"""
From files to rows, for the commands that read.
"""

import gc
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from toolspan.cli._messages import say
from toolspan.cli._problems import Problems
from toolspan.cli._progress import read_progress
from toolspan.cli._text import counted
from toolspan.config import Settings
from toolspan.errors import InputError
from toolspan.pipeline import make_decoder, read_files
from toolspan.records import Rows
from toolspan.store.memory import MemoryStore

NOTHING_READ: Final = "Nothing was read as OTLP traces; toolspan doctor FILE says what to change."


def load_files(files: Sequence[str], settings: Settings) -> Rows:
    """
    The rows of *files*, every task settled; what cannot be read is said on standard error, and the rest counts.

    Raises:
        InputError: there is something, and no span of it can be read.
    """
    store = MemoryStore(escalation_tools=settings.escalation_tools)
    problems = Problems(files)
    with collections_paused():
        with read_progress(files) as progress:
            intake = read_files(
                files, decoder=make_decoder(settings), store=store, on_bytes=progress, on_problem=problems
            )
        store.settle()
        rows = store.rows()
    for line in problems.lines():
        say(line)
    if intake.conflicts:
        say(conflict_line(intake.conflicts))
    if intake.rejected and not intake.new:
        raise InputError(NOTHING_READ)
    return rows


def conflict_line(conflicts: int) -> str:
    """
    What became of *conflicts* spans that had the ids of others.
    """
    return f"{counted(conflicts, 'span')} came again with other content; the first of each counts."


@contextmanager
def collections_paused() -> Generator[None, None, None]:
    """
    Reads without garbage collection; what was made in the meantime is never walked again. Only for input that ends.

    Millions of records are made and none of them is garbage, but full collections walk them all each time: a quarter
    of the time of reading a million spans.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
