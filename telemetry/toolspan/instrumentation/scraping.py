"""
The port on which a process shows its metrics, where nothing else of it serves HTTP.

Of several workers on one machine each needs a port of its own, so there may be a range of them, and each process takes
the first that is free. A worker that is forked leaves its parent's port alone and takes another with its first span.

A scraper that hangs holds a thread for some seconds, and nothing else: what it reads was made before, and the agent's
threads never come here.
"""

import logging
import re
import socket
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app  # pyright: ignore[reportUnknownVariableType]  # has no types

from toolspan.errors import InputError
from toolspan.instrumentation import forks

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_LOG: Final = logging.getLogger("toolspan")
#: How long a scraper may take to ask or to read; Prometheus itself gives up after ten seconds.
_TIMEOUT_S: Final = 10.0
_LOOPBACK: Final = "127.0.0.1"
_PLACE: Final = re.compile(r"(?:(?P<host>[^:]*|\[[^\]]*\]):)?(?P<first>\d{1,5})(?:-(?P<last>\d{1,5}))?")
_MOST_PORT: Final = 65_535


class Ports(NamedTuple):
    """
    The ports from *first* to *last* of the address *host*; a first of 0 is any port that is free.
    """

    host: str
    first: int
    last: int

    def __str__(self) -> str:
        ports = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.host}:{ports}"


def parse_ports(text: str) -> Ports:
    """
    The ports that *text* names: `9464`, `9464-9479`, each maybe after `HOST:`; without a host only this machine.

    Raises:
        InputError: it names none.
    """
    found = _PLACE.fullmatch(text.strip())
    first = int(found["first"]) if found else -1
    last = int(found["last"] or first) if found else -1
    if found is None or not 0 <= first <= last <= _MOST_PORT:
        raise InputError(f"No port for metrics: {text!r}; write it like 9464, 9464-9479 or 0.0.0.0:9464")
    return Ports((found["host"] or _LOOPBACK).strip("[]"), first, last)


class _Handler(WSGIRequestHandler):
    """
    Gives a scraper up that does not go on.
    """

    timeout = _TIMEOUT_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as its base names it
        """
        Nothing: a scrape is no event, and standard error is the host's.
        """


class _Server(ThreadingMixIn, WSGIServer):
    """
    Serves each scraper in a thread that ends with the process.
    """

    daemon_threads = True
    block_on_close = False

    def server_bind(self) -> None:
        """
        Binds without asking a name server for the name of this machine, which may take seconds and is for nothing.
        """
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """
        Nothing: a scraper that went away is its own affair.
        """


class _Server6(_Server):
    """
    The same on an address of IPv6.
    """

    address_family = socket.AF_INET6


class MetricsPort:
    """
    Shows *registry* on the first of *ports* that is free, once it is opened and until it is closed.
    """

    def __init__(self, registry: CollectorRegistry, ports: Ports) -> None:
        self._registry = registry
        self._ports = ports
        self._server: WSGIServer | None = None
        self._is_refused = False
        forks.register(self)

    @property
    def number(self) -> int | None:
        """
        Its number; None where it is not open.
        """
        return None if self._server is None else int(self._server.server_port)

    def open(self) -> None:
        """
        Opens the port where it is not open; that it cannot be is said once.
        """
        if self._server is None and not self._is_refused:
            try:
                self._server = _serve(self._registry, self._ports)
            except InputError as error:
                self._is_refused = True
                _LOG.warning("toolspan: %s", error)

    def close(self) -> None:
        """
        Serves no more.
        """
        server, self._server = self._server, None
        self._is_refused = True
        if server is not None:
            server.shutdown()
            server.server_close()

    def before_fork(self) -> None:
        """
        As `Forked.before_fork`.
        """

    def after_fork(self, *, is_child: bool) -> None:
        """
        Leaves, in a child, the port to its parent: the socket must not stay open when that has ended.
        """
        if is_child and self._server is not None:
            self._server.socket.close()
            self._server = None


def _serve(registry: CollectorRegistry, ports: Ports) -> WSGIServer:
    """
    Raises:
        InputError: none of *ports* is free.
    """
    app = cast("WSGIApplication", make_wsgi_app(registry))
    kind = _Server6 if ":" in ports.host else _Server
    why = ""
    for port in range(ports.first, ports.last + 1):
        try:
            server = make_server(ports.host, port, app, kind, handler_class=_Handler)
        except OSError as error:
            why = error.strerror or str(error)
            continue
        Thread(target=server.serve_forever, name="toolspan port", daemon=True).start()
        return server
    raise InputError(
        f"Cannot show metrics on {ports}: {why.lower()}; several processes need a port each, for which a range may be "
        "given (9464-9479)."
    )
