"""
Faults in the transport of requests.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import requests
from requests.adapters import BaseAdapter, HTTPAdapter

from toolspan.faults.plans import Drawing, always
from toolspan.faults.raising import make_response
from toolspan.faults.responses import Break, HttpFault

_EXCEPTIONS: Final[Mapping[Break, tuple[type[requests.RequestException], str]]] = {
    Break.REFUSED: (requests.ConnectionError, "[Errno 111] Connection refused"),
    Break.CONNECT_TIMEOUT: (requests.ConnectTimeout, "timed out"),
    Break.READ_TIMEOUT: (requests.ReadTimeout, "Read timed out. (read timeout=1)"),
    Break.RESET: (requests.ConnectionError, "('Connection aborted.', ConnectionResetError(104, 'Connection reset'))"),
}


class RequestsFaults(BaseAdapter):
    """
    Answers requests with the faults of its plan, and passes those on to *inner* that no fault meets.
    """

    def __init__(
        self,
        plan: Iterable[HttpFault | None] | HttpFault,
        *,
        inner: BaseAdapter | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__()
        self._drawing = Drawing(always(plan) if isinstance(plan, HttpFault) else plan)
        self._inner = HTTPAdapter() if inner is None else inner
        self._sleep = sleep
        #: Of each request, the name of the fault that it met.
        self.met: list[str | None] = []

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: float | tuple[float, float] | tuple[float, None] | None = None,
        verify: bool | str = True,
        cert: bytes | str | tuple[bytes | str, bytes | str] | None = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """
        The answer to *request*, under the fault that is its turn.
        """
        fault = self._drawing.draw()
        self.met.append(None if fault is None else fault.name)
        if fault is not None and fault.delay_s:
            self._sleep(fault.delay_s)
        if fault is None or fault.is_let_through or fault.commits:
            answer = self._inner.send(request, stream, timeout, verify, cert, proxies)
            if fault is None or fault.is_let_through:
                return answer
            answer.close()
        return _answer(fault, request)

    def close(self) -> None:
        """
        Closes the inner adapter.
        """
        self._inner.close()


def _answer(fault: HttpFault, request: requests.PreparedRequest) -> requests.Response:
    if fault.breaks is not None:
        kind, text = _EXCEPTIONS[fault.breaks]
        raise kind(text, request=request)
    response = make_response(fault.status or 0, fault.headers, fault.body, url=request.url or "")
    response.request = request
    return response
