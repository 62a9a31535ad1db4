"""
Receivers that run: both of them in a thread of this process, on free ports, with an inlet that a test can look into.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from threading import Thread
from typing import NamedTuple

import uvicorn

from tests.inlets import MemoryInlet
from toolspan.collector.access import Endpoint, Tls, bind, uvicorn_tls
from toolspan.collector.connections import BoundedConnection
from toolspan.collector.otlp_grpc import make_server
from toolspan.collector.otlp_http import otlp_app

#: How long anything here may take on a machine that does other things.
PATIENCE_S = 60
LOCAL = Endpoint("127.0.0.1", 0)


class Receivers(NamedTuple):
    """
    Where they listen, as `127.0.0.1:PORT`, and what they hand in to.
    """

    inlet: MemoryInlet
    http: str
    grpc: str


class _Running(NamedTuple):
    loop: asyncio.AbstractEventLoop
    is_over: asyncio.Event
    http_port: int
    grpc_port: int


@contextmanager
def receiving(*, token: str | None = None, tls: Tls | None = None) -> Generator[Receivers]:
    """
    Receivers that end with the block.
    """
    inlet = MemoryInlet()
    begun: Future[_Running] = Future()

    async def receive() -> None:
        async with AsyncExitStack() as servers:
            listener = bind(LOCAL)
            await servers.enter_async_context(_serving(inlet, listener, token=token, tls=tls))
            server, grpc_port = make_server(inlet, LOCAL, token=token, tls=tls)
            await server.start()
            servers.push_async_callback(server.stop, None)
            running = _Running(asyncio.get_running_loop(), asyncio.Event(), listener.getsockname()[1], grpc_port)
            begun.set_result(running)
            await running.is_over.wait()

    thread = Thread(target=asyncio.run, args=(receive(),), daemon=True)
    thread.start()
    running = begun.result(PATIENCE_S)
    try:
        yield Receivers(inlet, f"127.0.0.1:{running.http_port}", f"127.0.0.1:{running.grpc_port}")
    finally:
        running.loop.call_soon_threadsafe(running.is_over.set)
        thread.join(PATIENCE_S)


@asynccontextmanager
async def _serving(
    inlet: MemoryInlet, listener: socket.socket, *, token: str | None, tls: Tls | None
) -> AsyncGenerator[None]:
    config = uvicorn.Config(
        otlp_app(inlet, token=token),
        http=BoundedConnection,
        lifespan="off",
        log_config=None,
        timeout_keep_alive=10 * PATIENCE_S,  # who disconnects earlier is not uvicorn
        timeout_graceful_shutdown=1,
        **uvicorn_tls(tls),
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
