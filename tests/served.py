"""
Servers for tests, in threads of this process: an application on a port of its own, and something that only talks.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

TLS = Path(__file__).parent / "data" / "tls"


@contextmanager
def serving(app: ASGIApp) -> Generator[str]:
    """
    *app* behind a real server; gives its address.
    """
    with _listener() as listener:
        config = uvicorn.Config(app, lifespan="off", log_config=None, server_header=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            # who connects before the server runs waits for it
            yield _address(listener)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def talking(answer: Callable[[bytes], bytes], *, hangs_up: bool = True, is_encrypted: bool = False) -> Generator[str]:
    """
    A server that reads the head of each request, sends what *answer* makes of it, and hangs up, or says nothing more.
    """
    context = None
    if is_encrypted:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(TLS / "localhost.pem", TLS / "localhost.key")
    with _listener() as listener, ExitStack() as until_the_end:
        thread = threading.Thread(target=_talk, args=(listener, answer, context, None if hangs_up else until_the_end))
        thread.start()
        try:
            yield _address(listener).replace("http", "https" if is_encrypted else "http")
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _talk(
    listener: socket.socket,
    answer: Callable[[bytes], bytes],
    context: ssl.SSLContext | None,
    kept: ExitStack | None,
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # it is over
        try:
            connection = context.wrap_socket(connection, server_side=True) if context else connection
            connection.sendall(answer(connection.recv(65_536)))
        except OSError:
            continue  # whoever asked hung up, or wants no TLS
        if kept is None:
            connection.close()
        else:
            kept.enter_context(connection)


def http(status: int, body: bytes = b"", **headers: str) -> bytes:
    """
    An HTTP response; a name's underlines are hyphens.
    """
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *lines])
    return f"{head}\r\n\r\n".encode() + body


def _listener() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def _address(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"
