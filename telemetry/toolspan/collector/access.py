"""
Who may talk to the collector: where it listens, the token that senders must know, how connections are encrypted.

It listens on this machine only, unless told otherwise. On any other address whoever reaches the port could add spans
and read all there is, so that takes a token, or the word that the network is trusted.
"""

import errno
import hmac
import ipaddress
import re
import socket
import ssl
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict

from toolspan.config import TOKEN_VARIABLE
from toolspan.errors import InputError

if TYPE_CHECKING:
    import grpc

OFF: Final = "off"
_LISTEN: Final = 1024
#: Of OpenSSL's reasons those that say something.
_TLS_REASONS: Final = {"KEY_VALUES_MISMATCH": "they do not fit each other"}
_TOKEN: Final = re.compile(r"[!-~]+")
_ENDPOINT: Final = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:/\s]+)):(?P<port>[0-9]{1,5})")


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
    Files in PEM: the *certificate* with its chain, and its *key*; with *client_ca*, who connects has to show a
    certificate that one of these signed.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def grpc(self) -> "grpc.ServerCredentials":
        """
        What encrypts gRPC.
        """
        import grpc

        root = None if self.client_ca is None else self.client_ca.read_bytes()
        pair = self.key.read_bytes(), self.certificate.read_bytes()
        return grpc.ssl_server_credentials([pair], root, require_client_auth=root is not None)


class UvicornTls(TypedDict):
    """
    Options of `uvicorn.Config`.
    """

    ssl_certfile: Path | None
    ssl_keyfile: Path | None
    ssl_ca_certs: str | None
    ssl_cert_reqs: int


def uvicorn_tls(tls: Tls | None) -> UvicornTls:
    """
    What encrypts HTTP with *tls*; nothing where that is None.
    """
    if tls is None:
        return UvicornTls(ssl_certfile=None, ssl_keyfile=None, ssl_ca_certs=None, ssl_cert_reqs=ssl.CERT_NONE)
    return UvicornTls(
        ssl_certfile=tls.certificate,
        ssl_keyfile=tls.key,
        ssl_ca_certs=None if tls.client_ca is None else str(tls.client_ca),
        ssl_cert_reqs=ssl.CERT_NONE if tls.client_ca is None else ssl.CERT_REQUIRED,
    )


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
        InputError: it cannot stand in a header, or is empty: who sets it means to be protected.
    """
    if token is not None and not _TOKEN.fullmatch(token):
        what = "has to be visible ASCII characters without blanks" if token else "is empty"
        raise InputError(f"{TOKEN_VARIABLE} {what}; choose another, or unset it where only this machine may come in.")
    return token


def check_tls(certificate: str | None, key: str | None, *, client_ca: str | None = None) -> Tls | None:
    """
    What is encrypted with these files, None without any.

    Raises:
        InputError: one of them is missing, cannot be read, or does not fit the other.
    """
    if certificate is None and key is None and client_ca is None:
        return None
    if certificate is None or key is None:
        raise InputError("TLS takes both --tls-cert and --tls-key; give the other one, too.")
    files = [Path(name) for name in (certificate, key, client_ca) if name is not None]
    _check_readable(files)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # without a password OpenSSL would ask for one at the terminal
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        reason = _TLS_REASONS.get(error.reason or "", "no certificate and unencrypted key in PEM")
        raise InputError(f"Cannot use {certificate} with the key {key}: {reason}; give a pair in PEM.") from error
    try:
        context.load_verify_locations(client_ca or certificate)
    except ssl.SSLError as error:
        raise InputError(f"Cannot use {client_ca}: no certificate in PEM; give those that sign clients'.") from error
    return Tls(*files)


def _check_readable(files: Sequence[Path]) -> None:
    for file in files:
        try:
            with file.open("rb") as opened:
                opened.read(1)
        except OSError as error:
            what = error.strerror or str(error)
            raise InputError(f"Cannot read {file} ({what}); check that it is there, its owner and mode.") from error


def bind(endpoint: Endpoint) -> socket.socket:
    """
    A socket that listens on *endpoint*.

    Raises:
        InputError: it cannot be bound; says what to do.
    """
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # a name may mean several: IPv4, if any, since all that connects by the name tries that
        family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
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
