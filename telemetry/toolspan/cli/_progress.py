"""
A progress bar for long input: on standard error, only where a person sees it, only once it is worth it.
"""

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

#: Less is read within a second.
LONG_BYTES: Final = 16 * 2**20


class ReadProgress:
    """
    Shows how much of an input was read; starts to once *LONG_BYTES* are, or at once where the input is that long.
    """

    def __init__(self, console: Console, total_bytes: int | None) -> None:
        self._console = console
        self._total = total_bytes
        self._read = 0
        self._bar: Progress | None = None

    def __call__(self, size_bytes: int) -> None:
        """
        *size_bytes* more were read.
        """
        self._read += size_bytes
        if self._bar is None:
            if not self._console.is_terminal or max(self._read, self._total or 0) < LONG_BYTES:
                return
            self._start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._read)

    def _start(self) -> None:
        self._bar = Progress(
            TextColumn("reading"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._bar.add_task("reading", total=self._total)
        self._bar.start()

    def close(self) -> None:
        """
        Clears the bar away.
        """
        if self._bar is not None:
            self._bar.stop()


def size_of(paths: Iterable[str]) -> int | None:
    """
    The bytes of all *paths*; None where one is standard input or not a plain file.
    """
    total = 0
    for path in paths:
        if path == "-" or not Path(path).is_file():
            return None
        total += Path(path).stat().st_size
    return total


@contextmanager
def read_progress(paths: Iterable[str]) -> Generator[ReadProgress, None, None]:
    """
    A bar over *paths* for the time of a `with`.
    """
    progress = ReadProgress(Console(file=sys.stderr), size_of(paths))
    try:
        yield progress
    finally:
        progress.close()
