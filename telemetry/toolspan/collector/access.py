"""
Who may talk to the collector: where it listens, the token that senders must know, how connections are encrypted.

It listens on this machine only, unless told otherwise. On any other address whoever reaches the port could add spans
and read all there is, so that takes a token, or the word that the network is trusted.
"""

import errno
import hmac
import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from toolspan.config import TOKEN_VARIABLE
from toolspan.errors import InputError

OFF: Final = "off"
_LISTEN: Final = 1024
_TOKEN: Final = re.compile(r"[!-~]+")
_ENDPOINT: Final = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:/\s]+)):(?P<port>\d{1,5})")


class Endpoint(NamedTuple):
    """
    An address to listen on; port 0 is any that is free.
    """

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """
        Whether only this machine reaches it.
        """
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class Tls(NamedTuple):
    """
    Files in PEM: the *certificate* with its chain, and its *key*.
    """

    certificate: Path
    key: Path


def parse_endpoint(text: str, *, option: str) -> Endpoint | None:
    """
    The endpoint that *text* names; None for `off`.

    Raises:
        InputError: it names none; the line says how *option* is written.
    """
    if text == OFF:
        return None
    match = _ENDPOINT.fullmatch(text)
    if match is None or int(match["port"]) > 65_535:
        raise InputError(f"Cannot listen on {text!r}: write {option} HOST:PORT, for example 127.0.0.1:4318, or {OFF}.")
    return Endpoint(match["v6"] or match["host"], int(match["port"]))


def refuse_public(endpoints: Collection[Endpoint], *, token: str | None, is_insecure: bool) -> None:
    """
    Raises:
        InputError: others than this machine could reach one of *endpoints* without knowing a *token*.
    """
    public = [str(endpoint) for endpoint in endpoints if not endpoint.is_loopback]
    if public and token is None and not is_insecure:
        raise InputError(
            f"Whoever reaches {public[0]} could read and write: set {TOKEN_VARIABLE} to a secret that senders know, or"
            " say --insecure where the network is trusted."
        )


def check_token(token: str | None) -> str | None:
    """
    *token*, None where there is none.

    Raises:
        InputError: it cannot stand in a header.
    """
    if not token:
        return None
    if not _TOKEN.fullmatch(token):
        raise InputError(f"{TOKEN_VARIABLE} has to be visible ASCII characters without blanks; choose another.")
    return token


def check_tls(certificate: str | None, key: str | None) -> Tls | None:
    """
    The certificate and key of these files, None without any.

    Raises:
        InputError: one of them is missing, cannot be read, or does not fit the other.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise InputError("TLS takes both --tls-cert and --tls-key; give the other one, too.")
    for name in (certificate, key):
        if not os.access(name, os.R_OK):
            raise InputError(f"Cannot read {name}; check that it is there, and its owner and mode.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        reason = error.reason or "no certificate and key in PEM"
        raise InputError(f"Cannot use {certificate} with the key {key}: {reason}; give a pair in PEM.") from error
    return Tls(Path(certificate), Path(key))


def bind(endpoint: Endpoint) -> socket.socket:
    """
    A socket that listens on *endpoint*.

    Raises:
        InputError: it cannot be bound; says what to do.
    """
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InputError(f"Cannot listen on {endpoint}: {error}; is that a name of this machine?") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_LISTEN)
    except OSError as error:
        listener.close()
        raise InputError(f"Cannot listen on {endpoint}: {_remedy(error)}") from error
    return listener


def _remedy(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return "something else does already; end it, or choose another port (0 is any that is free)."
        case errno.EADDRNOTAVAIL:
            return "this machine has no such address; 127.0.0.1 is for this machine, 0.0.0.0 for all that reach it."
        case errno.EACCES:
            return "ports below 1024 are for root; choose a higher one."
        case _:
            return f"{error.strerror or error}."


def is_known(header: str | None, token: str) -> bool:
    """
    Whether the `Authorization` *header* has the *token*.
    """
    scheme, _, given = (header or "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


class BearerGate:
    """
    Lets through to *app* who knows the *token*, and everybody to the *open_paths*.
    """

    def __init__(self, app: ASGIApp, *, token: str, open_paths: Collection[str] = ()) -> None:
        self._app = app
        self._token = token
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Answers 401 to all others.
        """
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        given = headers.get(b"authorization", b"").decode("latin-1")
        if scope["type"] != "http" or scope["path"] in self._open_paths or is_known(given, self._token):
            await self._app(scope, receive, send)
            return
        refused = PlainTextResponse(
            "Unauthorized: send the header Authorization: Bearer with the collector's token.\n",
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refused(scope, receive, send)
