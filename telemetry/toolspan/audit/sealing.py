"""
Keeps a tool's requests from leaving the process, and answers them with a fault.

Whatever goes through requests, httpx or Python's sockets is sealed, in every thread. A driver that brings sockets of
its own in C (gRPC, libpq) is not: a tool that writes through one is not run without being asked to.
"""

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Final

from toolspan.faults import HttpFault, httpx_transport, requests_adapter

_SLEEP_ASYNC: Final = asyncio.sleep
_HTTPX: Final = ("httpx", "httpx2")


class Sealed:
    """
    What tried to leave.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.connections = 0


@contextmanager
def sealed(fault: HttpFault) -> Generator[Sealed]:
    """
    Answers every HTTP request with *fault*, refuses every other connection, and sleeps for nobody while the block runs.
    """
    seal = Sealed()
    with ExitStack() as stack:
        for owner, name, stand_in in _stand_ins(fault, seal):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, stand_in)
        yield seal


def _stand_ins(fault: HttpFault, seal: Sealed) -> Generator[tuple[object, str, Callable[..., object]]]:
    """
    What is replaced, of the libraries that are imported: its owner, its name, what stands there in its place.
    """
    yield socket.socket, "connect", _refusing(seal)
    yield socket.socket, "connect_ex", _refusing(seal)
    yield socket, "getaddrinfo", _refusing(seal)
    yield time, "sleep", _hurried()
    yield asyncio, "sleep", _hurried_async
    if "requests.adapters" in sys.modules:
        adapter = requests_adapter(fault)
        yield import_module("requests.adapters").HTTPAdapter, "send", _counting(adapter.send, seal)
    for name in _HTTPX:
        if name in sys.modules:
            library, transport = import_module(name), httpx_transport(fault)
            yield library.HTTPTransport, "handle_request", _counting(transport.handle_request, seal)
            yield library.AsyncHTTPTransport, "handle_async_request", _counting(transport.handle_async_request, seal)


def _refusing(seal: Sealed) -> Callable[..., object]:
    def refuse(*_: object, **__: object) -> object:
        seal.connections += 1
        raise ConnectionRefusedError(111, "Connection refused")

    return refuse


def _hurried() -> Callable[[float], None]:
    """
    A sleep that returns at once to who audits, so that a retry of the tool's own takes no time; others sleep on.
    """
    hurried, sleep = threading.get_ident(), time.sleep

    def hurry(seconds: float) -> None:
        if threading.get_ident() != hurried:
            sleep(seconds)

    return hurry


async def _hurried_async(_: float, result: object = None) -> object:
    await _SLEEP_ASYNC(0)
    return result


def _counting(handle: Callable[..., object], seal: Sealed) -> Callable[..., object]:
    def answer(_: object, request: object, *args: object, **options: object) -> object:
        seal.requests += 1
        return handle(request, *args, **options)

    return answer
