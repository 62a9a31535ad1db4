"""
Who may ask the API: by which name of this machine, with which token.

A page of any site can make a browser ask a server of this machine: by a name of its own that it lets mean 127.0.0.1, it
could even read the answers. So where only this machine is meant to ask, other names are refused.
"""

import ipaddress
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolspan._wire import API_HEADER, API_VERSION
from toolspan.collector.access import is_known
from toolspan.collector.problems import problem

#: Asked by what looks after processes, which knows no token.
OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
_SIGNATURE: Final = (API_HEADER.lower().encode(), API_VERSION.encode())


class Gate:
    """
    Lets through to *app* who asks under one of the *hosts*, any name where they are None, and knows the *token*, if
    there is one; every answer says that it is a collector's.
    """

    def __init__(self, app: ASGIApp, *, token: str | None, hosts: Collection[str] | None) -> None:
        self._app = app
        self._token = token
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Answers 400 and 401 to all others.
        """

        async def signed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), _SIGNATURE]}
            await send(message)

        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, signed)

    def _refusal(self, scope: Scope) -> Response | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._hosts is not None and not _is_ours(host, self._hosts):
            return problem(
                400, f"This collector is for its own machine, which {host!r} does not name: ask it at localhost."
            )
        given = headers.get(b"authorization", b"").decode("latin-1")
        if self._token is None or scope["path"] in OPEN_PATHS or is_known(given, self._token):
            return None
        return problem(
            401,
            "Send the header Authorization: Bearer with the collector's token.",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _is_ours(host: str, names: Collection[str]) -> bool:
    """
    Whether the `Host` header is one of *names*, or an address of this machine: nobody can give that to another.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return False
    try:
        return name in names or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
