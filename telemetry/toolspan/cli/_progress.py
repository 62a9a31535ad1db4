"""
A progress bar for long input: on standard error, only where a person sees it, only once it is worth it.

Size alone does not tell what takes long: spans shrink to a hundredth in gzip, so 2 MB may take a minute. Time does.
"""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

#: Less is read within a second.
LONG_BYTES: Final = 16 * 2**20
#: From here on people wonder whether anything happens.
LONG_S: Final = 1.0


class ReadProgress:
    """
    Shows how much of an input was read; starts to once *long_bytes* are, or at once where the input is that long, or
    when reading has taken *LONG_S* by the *clock*.
    """

    def __init__(
        self,
        console: Console,
        total_bytes: int | None,
        *,
        long_bytes: int = LONG_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._total = total_bytes
        self._long_bytes = long_bytes
        self._clock = clock
        self._began_s = clock()
        self._read = 0
        self._bar: Progress | None = None

    def __call__(self, size_bytes: int) -> None:
        """
        *size_bytes* more were read.
        """
        self._read += size_bytes
        if self._bar is None:
            if not self._console.is_terminal or not self._is_long():
                return
            self._bar = self._start()
        self._bar.update(self._bar.task_ids[0], completed=self._read)

    def _is_long(self) -> bool:
        return max(self._read, self._total or 0) >= self._long_bytes or self._clock() - self._began_s >= LONG_S

    def _start(self) -> Progress:
        bar = Progress(
            TextColumn("reading"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        bar.add_task("reading", total=self._total)
        bar.start()
        return bar

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
def read_progress(paths: Iterable[str], *, long_bytes: int = LONG_BYTES) -> Generator[ReadProgress, None, None]:
    """
    A bar over *paths* for the time of a `with`.
    """
    progress = ReadProgress(Console(stderr=True), size_of(paths), long_bytes=long_bytes)
    try:
        yield progress
    finally:
        progress.close()
