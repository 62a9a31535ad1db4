"""
Other processes that hold a store's lock: one that obeys line by line, and forks of this one.

Run as a program, this is the process that obeys.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from toolspan.errors import StoreBusyError, StoreError
from toolspan.store.lock import FileLock, acquire, locked

ROOT = Path(__file__).parent.parent


def take(path: Path, *, exclusive: bool) -> FileLock:
    """
    The lock of *path* at once or not at all.
    """
    return acquire(path, exclusive=exclusive, purpose="toolspan test", timeout_s=0)


def is_free(path: Path, *, exclusive: bool = True) -> bool:
    """
    Whether the lock of *path* could be taken now.
    """
    try:
        with locked(path, exclusive=exclusive, purpose="toolspan test", timeout_s=0):
            return True
    except StoreBusyError:
        return False


def refusal(path: Path, *, exclusive: bool) -> str:
    """
    The line that says why the lock of *path* cannot be taken.
    """
    try:
        with locked(path, exclusive=exclusive, purpose="toolspan test", timeout_s=0):
            return ""
    except StoreError as error:
        return str(error)


def lock_file(store: Path) -> Path:
    """
    Where the lock of *store* lies.
    """
    return store.with_name(f"{store.name}.lock")


class OtherProcess:
    """
    A process that holds one lock at a time.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.lock_holders"],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.pid = self._process.pid

    def take(self, path: Path, *, exclusive: bool, url: str = "") -> str:
        """
        Lets it take the lock of *path*; what it says if it cannot, else nothing.
        """
        return self._ask({"path": str(path), "exclusive": exclusive, "url": url})

    def release(self) -> None:
        """
        Lets it give up its lock.
        """
        self._ask({})

    def kill(self) -> None:
        """
        Ends it without a chance to clean up.
        """
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        """
        Itself, killed at the end.
        """
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _ask(self, order: dict[str, object]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")


class Fork:
    """
    A fork of this process that does *action*, which can say one thing to the function it is given; then it waits.
    """

    def __init__(self, action: Callable[[Callable[[object], None]], None]) -> None:
        heard, told = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                action(lambda said: _tell(told, said))
                os.close(told)
                wait_to_be_killed()
            finally:
                os._exit(1)
        os.close(told)
        with os.fdopen(heard, encoding="utf-8") as pipe:
            self.said = pipe.readline().rstrip("\n")

    def kill(self) -> None:
        """
        Ends it without a chance to clean up.
        """
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def __enter__(self) -> Self:
        """
        Itself, killed at the end.
        """
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@contextmanager
def killing(pid: int) -> Generator[None, None, None]:
    """
    A block after which the process *pid*, which is nobody's child here, is killed.
    """
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)


def _tell(descriptor: int, said: object) -> None:
    os.write(descriptor, f"{said}\n".encode())


def wait_to_be_killed() -> None:
    """
    Waits for a signal; should nobody be left to send one, for a minute.
    """
    signal.alarm(60)
    signal.pause()


def _obey() -> None:
    held: FileLock | None = None
    for line in sys.stdin:
        order = json.loads(line)
        if held is not None:
            held.release()
            held = None
        answer = ""
        if order:
            try:
                held = acquire(
                    Path(order["path"]),
                    exclusive=order["exclusive"],
                    purpose="toolspan other",
                    url=order["url"],
                    timeout_s=0,
                )
            except StoreError as error:
                answer = str(error)
        print(answer, flush=True)  # noqa: T201 — the other end of the pipe


if __name__ == "__main__":
    _obey()
