"""
Faults below a tool's HTTP client: for what the tool itself makes of statuses, broken connections and timeouts.

The libraries are imported when they are asked for; toolspan needs neither.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from toolspan.faults.responses import HttpFault

if TYPE_CHECKING:
    import httpx
    from requests.adapters import BaseAdapter

    from toolspan.faults._httpx import HttpxFaults
    from toolspan.faults._requests import RequestsFaults


def httpx_transport(
    plan: Iterable[HttpFault | None] | HttpFault,
    *,
    inner: "httpx.BaseTransport | httpx.AsyncBaseTransport | None" = None,
    sleep: Callable[[float], object] = time.sleep,
    sleep_async: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> "HttpxFaults":
    """
    A transport for `httpx.Client(transport=…)` and `httpx.AsyncClient(transport=…)`, and for httpx2's.

    Args:
        plan: a fault, which every request meets, or the faults of one request after the other; None lets one through.
        inner: the transport of the requests that reach the server; without one there must be none.
        sleep: what a slow fault waits with.
        sleep_async: the same, in an async client.
    """
    from toolspan.faults._httpx import HttpxFaults

    return HttpxFaults(plan, inner=inner, sleep=sleep, sleep_async=sleep_async)


def requests_adapter(
    plan: Iterable[HttpFault | None] | HttpFault,
    *,
    inner: "BaseAdapter | None" = None,
    sleep: Callable[[float], object] = time.sleep,
) -> "RequestsFaults":
    """
    An adapter for `session.mount("https://", …)`.

    Args:
        plan: a fault, which every request meets, or the faults of one request after the other; None lets one through.
        inner: the adapter of the requests that reach the server; by default requests' own.
        sleep: what a slow fault waits with.
    """
    from toolspan.faults._requests import RequestsFaults

    return RequestsFaults(plan, inner=inner, sleep=sleep)
