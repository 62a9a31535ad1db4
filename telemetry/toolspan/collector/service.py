"""
The collector as one process: sockets, the store, its writer and three servers, in the order in which they begin and
end.

Sockets are bound before the store is opened, so that a port that is taken costs nothing. At the end no more is taken
first, then what was taken is committed and acknowledged, then the store is closed, and last the answers stop: whoever
asks `/readyz` meanwhile is told.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from toolspan.collector.access import Endpoint, Tls, bind, uvicorn_tls
from toolspan.collector.api import api_app
from toolspan.collector.connections import BoundedConnection
from toolspan.collector.otlp_grpc import make_server
from toolspan.collector.otlp_http import PATH, otlp_app
from toolspan.collector.questions import Context
from toolspan.collector.writing import Limits, Writer
from toolspan.config import Settings
from toolspan.errors import StoreError, ToolspanError
from toolspan.garbage import collections_by_hand
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.store.held import HeldStore
from toolspan.tracker import Tracker

_LOG: Final = logging.getLogger(__name__)
#: How long senders may take to finish what they had begun, and what waits to be committed.
DRAIN_S: Final = 30.0
#: An exporter sends every five seconds: its connection stays open, nobody's for ever.
_KEEP_ALIVE_S: Final = 65
_NS: Final = 10**9
#: How often what is older than the retention is looked for: each minute, or ten times in it.
_RETENTION_S: Final = 60.0
_RETENTION_PARTS: Final = 10
#: How long the writer may keep Python to itself while the loop waits: with the usual 5 ms each piece of a body waits so
#: long, and half as many spans a second come in (11 k against 19 k, 20 k against 35 k in two runs with 32 senders).
_SWITCH_S: Final = 0.0003
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1", "[::1]")


#: That decode: to write takes longer than to decode, so more would wait; on one core they would be in its way.
PROCESSES: Final = min(2, (os.cpu_count() or 1) - 1)


class Places(NamedTuple):
    """
    Where the collector listens; None where it does not.
    """

    otlp_http: Endpoint | None
    otlp_grpc: Endpoint | None
    http: Endpoint | None


class Plan(NamedTuple):
    """
    What is to be served: the file *store* at *places*, to those who know the *token* where there is one. Tasks older
    than *retention_ns* are deleted, where it is given. As many *processes* decode large requests.
    """

    store: Path
    places: Places
    token: str | None = None
    tls: Tls | None = None
    retention_ns: int | None = None
    limits: Limits = Limits()
    processes: int = PROCESSES


class Addresses(NamedTuple):
    """
    Where it listens, with the ports that were free; empty where it does not.
    """

    otlp_http: str
    otlp_grpc: str
    http: str


def serve(
    plan: Plan, settings: Settings, *, tell: Callable[[str], None], announce: Callable[[Addresses], None]
) -> None:
    """
    Serves *plan* until the process is told to end (SIGTERM, SIGINT); what was acknowledged is in the store then.

    *announce* is called once it listens. *tell* is told of losses that were found, in one line each.

    Raises:
        InputError: it cannot listen there.
        StoreError: the store cannot be opened.
        ToolspanError: a fault ended it.
    """
    sys.setswitchinterval(_SWITCH_S)
    with collections_by_hand():
        asyncio.run(_serve(plan, settings, tell=tell, announce=announce))


async def _serve(
    plan: Plan, settings: Settings, *, tell: Callable[[str], None], announce: Callable[[Addresses], None]
) -> None:
    places = plan.places
    with ExitStack() as stack:
        otlp = None if places.otlp_http is None else stack.enter_context(closing(bind(places.otlp_http)))
        http = None if places.http is None else stack.enter_context(closing(bind(places.http)))
        scheme = "https" if plan.tls else "http"
        urls = [_url(scheme, place, each) for place, each in ((places.otlp_http, otlp), (places.http, http))]
        store = stack.enter_context(closing(HeldStore(plan.store, url=urls[1], settings=settings, tell=tell)))
        ending = _Ending()
        metrics = Metrics(limits=settings.metric_limits, hold_s=settings.metric_hold_s)
        shown = MetricsCollector(metrics)
        tracker = Tracker(metrics, grace_ns=round(settings.grace_s * _NS), most=settings.metric_limits.remembered)
        writer = Writer(
            store,
            settings=settings,
            metrics=shown,
            tracker=tracker,
            limits=plan.limits,
            processes=plan.processes,
            on_failure=ending.fail,
        )
        context = Context(store, writer.state, settings)
        writer.start()
        async with AsyncExitStack() as servers:
            if http is not None and places.http is not None:
                hosts = _LOOPBACK_NAMES if places.http.is_loopback else None
                app = api_app(context, shown, token=plan.token, trusted_hosts=hosts)
                # certificates are for senders: whoever asks, a person or Prometheus, has the token
                tls = plan.tls and plan.tls._replace(client_ca=None)
                await servers.enter_async_context(_serving(app, http, tls))
            async with AsyncExitStack() as receivers:
                if otlp is not None:
                    app = otlp_app(writer, token=plan.token)
                    await receivers.enter_async_context(_serving(app, otlp, plan.tls))
                grpc_place = places.otlp_grpc
                port = 0
                if grpc_place is not None:
                    port = await receivers.enter_async_context(_receiving(writer, grpc_place, plan))
                with ending.watched(), _retaining(store, plan.retention_ns):
                    grpc_name = "" if grpc_place is None else str(grpc_place._replace(port=port))
                    announce(Addresses(f"{urls[0]}{PATH}" if urls[0] else "", grpc_name, urls[1]))
                    await ending.come()
            is_drained = await asyncio.to_thread(writer.drain, DRAIN_S)
    if ending.fault:
        raise ToolspanError(f"The collector ended: {ending.fault}.")
    if not is_drained:
        raise ToolspanError(
            f"What waited could not be written within {DRAIN_S:.0f} s; its senders were not told it was."
        )


def _url(scheme: str, place: Endpoint | None, listener: socket.socket | None) -> str:
    if place is None or listener is None:
        return ""
    return f"{scheme}://{place._replace(port=listener.getsockname()[1])}"


class _Ending:
    """
    Waits for the end: a signal, or a fault, which is then told.
    """

    def __init__(self) -> None:
        self.fault = ""
        self._loop = asyncio.get_running_loop()
        self._has_come = asyncio.Event()

    def fail(self, line: str) -> None:
        """
        Ends for a reason; from any thread.
        """
        self.fault = line
        self._loop.call_soon_threadsafe(self._has_come.set)

    @contextmanager
    def watched(self) -> Generator[None]:
        """
        Listens to signals while the block runs; after it they do what they did, so that a second one ends at once.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._has_come.set)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                self._loop.remove_signal_handler(number)

    async def come(self) -> None:
        """
        Returns when it is time to end.
        """
        await self._has_come.wait()


class _Server(uvicorn.Server):
    """
    Leaves signals alone: two servers of one process end when that ends.
    """

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """
        As uvicorn's, without handlers.
        """
        yield


@asynccontextmanager
async def _serving(app: ASGIApp, listener: socket.socket, tls: Tls | None) -> AsyncGenerator[None]:
    """
    Serves *app* on *listener* while the block runs; then requests that had begun are finished.
    """
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=round(DRAIN_S),
        **uvicorn_tls(tls),
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def _receiving(writer: Writer, place: Endpoint, plan: Plan) -> AsyncGenerator[int]:
    """
    Receives over gRPC while the block runs; gives the port.
    """
    server, port = make_server(writer, place, token=plan.token, tls=plan.tls)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(DRAIN_S)


@contextmanager
def _retaining(store: HeldStore, retention_ns: int | None) -> Generator[None]:
    """
    Deletes tasks older than *retention_ns* while the block runs, in a thread of its own: who writes goes on between two
    hours of them.
    """
    is_over = threading.Event()

    def retain(retention_ns: int) -> None:
        while not is_over.wait(min(_RETENTION_S, retention_ns / _NS / _RETENTION_PARTS)):
            try:
                store.prune(time.time_ns() - retention_ns)
            except StoreError as error:
                _LOG.warning("%s", error)

    thread = None
    if retention_ns is not None:
        thread = threading.Thread(target=retain, args=(retention_ns,), name="retention", daemon=True)
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if thread is not None:
            thread.join(DRAIN_S)
