"""
The dashboard as a process of its own: Streamlit, told what it needs and nothing that it would tell others.

It runs in a session of its own, so that Ctrl-C in a terminal reaches toolspan alone, which then ends it.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from toolspan.cli._stores import STORE_VARIABLE
from toolspan.errors import InputError, StoreError, ToolspanError
from toolspan.store.connecting import install_command

#: What the page is asked for to know that it is there.
_HEALTH: Final = "_stcore/health"
#: Streamlit is there after 2 s; on a machine that does other things after ten.
_START_S: Final = 60.0
_AGAIN_S: Final = 0.1
#: What is asked to end and has not, is ended.
_END_S: Final = 10.0
_PACKAGES: Final = ("altair", "streamlit")
#: No statistics for others, no watching of files, no tracebacks and no deploy button for who looks at it.
_OPTIONS: Final = (
    "--server.headless=true",
    "--server.fileWatcherType=none",
    "--server.showEmailPrompt=false",
    "--browser.gatherUsageStats=false",
    "--client.toolbarMode=minimal",
    "--client.showErrorDetails=none",
    "--client.showSidebarNavigation=true",
    "--logger.level=error",
)
#: The address at which it is asked when it listens everywhere.
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what somebody may have chosen


class Site(NamedTuple):
    """
    Where the dashboard is: it listens on *port* (0: any that is free) of *host*, below *path*.
    """

    host: str
    port: int
    path: str = ""

    @property
    def url(self) -> str:
        """
        Where a browser finds it.
        """
        host = _EVERYWHERE.get(self.host, self.host)
        name = f"[{host}]" if ":" in host else host
        return f"http://{name}:{self.port}{f'/{self.path}' if self.path else ''}"


def require_dashboard() -> None:
    """
    Passes where what the dashboard takes is installed.

    Raises:
        StoreError: it is not.
    """
    if any(find_spec(name) is None for name in _PACKAGES):
        raise StoreError(
            f"The dashboard needs packages that are not installed; {install_command('dashboard')} installs them."
        )


def free_site(site: Site, *, option: str = "--port") -> Site:
    """
    *site* with a port that is free now.

    Raises:
        InputError: it cannot listen there; the line names *option*.
    """
    family = socket.AF_INET6 if ":" in site.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # as a server does: a port that somebody listened on a moment ago is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((site.host, site.port))
            return site._replace(port=probe.getsockname()[1])
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"The dashboard cannot listen on {site.host}:{site.port}: {reason}; give another {option}."
        ) from error


class DashboardProcess:
    """
    The dashboard of the store *store* at *site*, from the beginning of the block to its end.
    """

    def __init__(self, store: str, site: Site, *, config: str | None = None, needs_login: bool = False) -> None:
        self._site = site
        self._environ = {**os.environ, STORE_VARIABLE: store}
        if config is not None:
            self._environ["TOOLSPAN_CONFIG"] = str(Path(config).absolute())
        if needs_login:
            self._environ["TOOLSPAN_DASHBOARD_LOGIN"] = "1"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [
                sys.executable,
                "-m",
                "streamlit",
                "run",
                str(_script()),
                f"--server.address={self._site.host}",
                f"--server.port={self._site.port}",
                f"--server.baseUrlPath={self._site.path}",
                *_OPTIONS,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=self._environ,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._running()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def url(self) -> str:
        """
        Where a browser finds it.
        """
        return self._site.url

    def await_ready(self) -> None:
        """
        Returns when it answers.

        Raises:
            ToolspanError: it ended, or does not.
        """
        opener = build_opener(ProxyHandler({}))  # a proxy would look for it on its own machine
        until_s = time.monotonic() + _START_S
        while time.monotonic() < until_s:
            status = self._running().poll()
            if status is not None:
                raise ToolspanError(f"The dashboard ended as it began, with exit code {status}; what it said is above.")
            try:
                with opener.open(f"{self.url}/{_HEALTH}", timeout=1.0):
                    return
            except (URLError, TimeoutError, ConnectionError):
                time.sleep(_AGAIN_S)
        raise ToolspanError(f"The dashboard does not answer at {self.url} after {_START_S:.0f} s.")

    def wait(self) -> int:
        """
        Its exit code, when it has ended.
        """
        return self._running().wait()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError("the block has not begun")  # a mistake in our own code
        return self._process


def _script() -> Path:
    """
    The file that Streamlit runs; the dashboard imports toolspan and not the reverse, so it is found by its name.
    """
    spec = find_spec("toolspan_dashboard")
    if spec is None or spec.origin is None:
        raise StoreError("The package toolspan_dashboard is missing; install toolspan again.")
    return Path(spec.origin).with_name("entry") / "script.py"
