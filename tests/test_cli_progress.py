"""
The progress bar: seen by people who wait, by nobody else.
"""

import io
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli_runner import scene
from toolspan.cli._progress import LONG_BYTES, ReadProgress, size_of

MIB = 2**20

#: Reads a file as the commands do, with a bar from the first byte on.
READ = """
import sys
from toolspan.cli._progress import read_progress
with read_progress(sys.argv[1:2], long_bytes=int(sys.argv[2])) as progress:
    progress(100)
print("read")
"""


def read_on_terminal(path: Path, long_bytes: int) -> tuple[str, str]:
    """
    What a process prints on standard output, a pipe, and on standard error, a terminal.
    """
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(path), str(long_bytes)],
        stdout=subprocess.PIPE,
        stderr=end,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as process:
        os.close(end)
        said = b"".join(pieces(terminal))
        out = process.communicate(timeout=60)[0]
    os.close(terminal)
    return out, said.decode()


def pieces(terminal: int) -> Iterator[bytes]:
    """
    What comes from *terminal* until nobody holds its other end; Linux answers that with an error.
    """
    try:
        while piece := os.read(terminal, 4096):
            yield piece
    except OSError:
        return


class TestOnATerminal:
    def test_shows_how_much_was_read_and_goes_away(self, tmp_path: Path) -> None:
        """
        On standard error; the line is erased at the end, and standard output knows nothing of it.
        """
        out, said = read_on_terminal(scene(tmp_path), 1)

        assert "read\n" == out
        assert "reading" in said
        assert said.rstrip().endswith("\x1b[2K")

    def test_short_input_shows_none(self, tmp_path: Path) -> None:
        """
        Nobody waits for it.
        """
        assert ("read\n", "") == read_on_terminal(scene(tmp_path), LONG_BYTES)


class Clock:
    """
    A clock that is set by hand.
    """

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def shown(total: int | None, steps: list[tuple[float, int]], *, is_terminal: bool = True) -> str:
    """
    What is printed of an input of *total* bytes, of which so many come at such times.
    """
    file, clock = io.StringIO(), Clock()
    progress = ReadProgress(Console(file=file, force_terminal=is_terminal, width=80), total, clock=clock)
    for clock.now_s, size in steps:
        progress(size)
    progress.close()
    return file.getvalue()


@pytest.mark.parametrize(
    ("total", "steps", "is_shown"),
    [
        (20 * MIB, [(0.0, MIB)], True),
        (None, [(0.0, 15 * MIB), (0.1, MIB)], True),
        (None, [(0.0, 15 * MIB)], False),
        (2 * MIB, [(0.0, MIB), (0.9, MIB)], False),
        (2 * MIB, [(0.0, MIB), (1.0, 1)], True),
    ],
    ids=["long file", "long pipe", "short pipe", "short file", "small file that takes long"],
)
def test_starts_once_it_is_worth_it(total: int | None, steps: list[tuple[float, int]], is_shown: bool) -> None:
    """
    By size, or by time: gzip hides how much there is to read.
    """
    assert is_shown == ("reading" in shown(total, steps))


def test_nobody_sees_it_in_a_pipe() -> None:
    """
    However long it takes.
    """
    assert "" == shown(20 * MIB, [(5.0, MIB)], is_terminal=False)


def test_the_size_of_a_pipe_is_not_known(tmp_path: Path) -> None:
    """
    Nor is that of several files of which one is a pipe.
    """
    file = scene(tmp_path)

    assert [file.stat().st_size * 2, None] == [size_of([str(file)] * 2), size_of([str(file), "-"])]
