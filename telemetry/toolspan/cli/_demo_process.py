"""
Made-up trips as a process of their own, for as long as the block runs.
"""

import subprocess
import sys
from types import TracebackType
from typing import Self

from toolspan.cli._messages import say


class DemoProcess:
    """
    The demo's *agent* (`before`, `after` or `both`), which sends to the OTLP *endpoint*.
    """

    def __init__(self, endpoint: str, agent: str) -> None:
        self._command = [sys.executable, "-m", "toolspan.demo", "--endpoint", endpoint, "--agent", agent]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # what it could say is that the collector is gone, at the end of both
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        if process is None:
            return
        status = process.poll()
        if status is not None:
            say(f"The demo ended by itself, with exit code {status}; python -m toolspan.demo says why.")
            return
        process.kill()  # what it has not sent is made up
        process.wait()
