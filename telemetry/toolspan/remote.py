"""
A collector as a store: what is asked of it, over its API, by the commands that read a store.

Whatever goes wrong on the way is one line that says what to do: nothing listens there, something else does, a token is
missing, it takes too long.
"""

import ipaddress
import os
import secrets
from base64 import b64decode
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlsplit

import requests
from requests.auth import AuthBase

from toolspan._remote_failures import failure_line
from toolspan._wire import API_HEADER, API_VERSION
from toolspan.call_records import call_of
from toolspan.errors import InputError, StoreError
from toolspan.records import Call, SpanFacts
from toolspan.scope import Scope
from toolspan.store import PruneResult
from toolspan.store.connecting import install_command
from toolspan.store.facts import StoreFacts, ToolFacts
from toolspan.windows import format_time

#: Whoever is there accepts a connection at once.
_CONNECT_S: Final = 10.0
#: A query over a hundred million calls takes seconds; a collector that does not answer for so long is not there.
_ANSWER_S: Final = 60.0
#: A copy is sent once it is whole, and a deletion goes hour by hour: of a large store each takes minutes.
_WHOLE_STORE_S: Final = 3600.0
_PAGE_CALLS: Final = 10_000
_CHUNK_BYTES: Final = 2**20
_PATHS: Final = frozenset({"", "/"})
#: Of what stands before a collector when that does not answer it.
_GATEWAY: Final = frozenset({502, 503, 504})


class Collector:
    """
    The collector at *url*, which has *timeout_s* for an answer; it is sent the *token*, where there is one.

    Raises:
        InputError: *url* is no address of a collector.
    """

    def __init__(self, url: str, *, token: str | None, timeout_s: float = _ANSWER_S) -> None:
        host = _host_of(url)
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._session = requests.Session()
        if token:
            self._session.auth = _Bearer(token)
        self._proxies: dict[str, str] = {}
        if _is_this_machine(host):
            # a proxy would look for it on its own machine; and to squeeze what goes nowhere takes time
            self._proxies["no_proxy"] = host
            self._session.headers["Accept-Encoding"] = "identity"

    def __str__(self) -> str:
        return self.url

    def document(self, name: str, *, scope: Scope, **more: object) -> Any:
        """
        The document *name* (`report`, `quality`) of *scope*.

        Raises:
            StoreError: it cannot be had; so for all that is asked.
        """
        return self._get(f"/api/v1/{name}", {**_parameters(scope), **more})

    def calls(self, scope: Scope, *, task_id: str | None = None, span: str = "") -> Iterator[Call]:
        """
        The calls in *scope* in order of start, some at a time; of one task, or whose span id begins with *span*.
        """
        asked = {**_parameters(scope), "task": task_id, "span": span or None, "limit": _PAGE_CALLS}
        after: str | None = None
        while True:
            page = self._get("/api/v1/calls", {**asked, "after": after})
            with self._understanding():
                calls, after = [call_of(record) for record in page["calls"]], page["next"]
            yield from calls
            if after is None:
                return

    def has_task(self, task_id: str) -> bool:
        """
        Whether there is a task of that id.
        """
        if not task_id:
            return False
        path = quote(task_id, safe="", errors="surrogatepass")
        response = self._ask("GET", f"/api/v1/tasks/{path}", params={"limit": "1"})
        if response.status_code == 404:
            self._require_collector(response)
            return False
        self._require_ok(response)
        return True

    def names(self) -> Mapping[str, Any]:
        """
        How many calls there are, and the names of tools, agents, services and environments.
        """
        document: Mapping[str, Any] = self._get("/api/v1/names", {})
        return document

    def facts(self, *, since_ns: int | None = None, until_ns: int | None = None) -> tuple[StoreFacts, int]:
        """
        What the store says of itself, and how many of its tasks wait to be settled; in a window, what came in it.
        """
        document = self._get("/api/v1/store", _parameters(Scope(since_ns, until_ns)))
        with self._understanding():
            tools = {name: ToolFacts(**counts) for name, counts in document["tools"].items()}
            values = [tools if name == "tools" else document[name] for name in StoreFacts._fields]
            return StoreFacts._make(values), int(document["waiting_tasks"])

    def spans(self, trace_id: bytes | None = None) -> list[SpanFacts]:
        """
        What is kept of the spans around *trace_id*, else of those that came last.
        """
        try:
            from toolspan.store.columns import decode_span
        except ModuleNotFoundError as error:
            raise StoreError(
                f"To read what is kept of spans takes packages that are not installed; {install_command('duckdb')}"
                " installs them."
            ) from error
        document = self._get("/api/v1/spans", {} if trace_id is None else {"trace": trace_id.hex()})
        with self._understanding():
            return [
                decode_span((*row[:-1], None if row[-1] is None else b64decode(row[-1]))) for row in document["spans"]
            ]

    def prune(self, before_ns: int) -> PruneResult:
        """
        Deletes the tasks that ended before *before_ns*.
        """
        body = {"before": format_time(before_ns)}
        document = self._document(self._ask("POST", "/api/v1/prune", json=body, timeout_s=_WHOLE_STORE_S))
        with self._understanding():
            return PruneResult(**document)

    def snapshot(self, target: Path) -> None:
        """
        Copies the store to the file *target*, which is there only when it is whole.
        """
        from toolspan.store.copying import refuse_target

        refuse_target(target)
        partial = target.with_name(f".toolspan-{secrets.token_hex(8)}.partial")
        try:
            self._download(partial)
            os.link(partial, target)
        except OSError as error:
            raise StoreError(f"Cannot write {target}: {error.strerror or error}") from error
        finally:
            partial.unlink(missing_ok=True)

    def _download(self, file: Path) -> None:
        # it is read by nobody else until it is linked: the key with which arguments are hashed is in it
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        asked: dict[str, Any] = {"stream": True, "headers": {"Accept-Encoding": "identity"}}
        with (
            os.fdopen(descriptor, "wb") as copy,
            self._ask("GET", "/api/v1/snapshot", timeout_s=_WHOLE_STORE_S, **asked) as response,
        ):
            self._require_ok(response)
            try:
                for chunk in response.iter_content(_CHUNK_BYTES):
                    copy.write(chunk)
            except requests.RequestException as error:
                raise StoreError(f"The copy from {self.url} broke off: {error}; do it again.") from error
            copy.flush()
            os.fsync(copy.fileno())

    def _get(self, path: str, parameters: Mapping[str, object]) -> Any:
        # what is no text becomes something that nothing is called, as it would be for a file
        given = {
            name: str(value).encode("utf-8", "surrogatepass") for name, value in parameters.items() if value is not None
        }
        return self._document(self._ask("GET", path, params=given))

    def _document(self, response: requests.Response) -> Any:
        self._require_ok(response)
        with self._understanding():
            return response.json()

    def _ask(self, method: str, path: str, *, timeout_s: float | None = None, **more: Any) -> requests.Response:
        timeout_s = timeout_s or self._timeout_s
        more |= {"timeout": (_CONNECT_S, timeout_s), "allow_redirects": False, "proxies": self._proxies}
        try:
            return self._session.request(method, f"{self.url}{path}", **more)
        except requests.RequestException as error:
            raise StoreError(failure_line(error, self.url, timeout_s=timeout_s)) from error

    def _require_ok(self, response: requests.Response) -> None:
        """
        Raises:
            InputError: the collector says that it was asked something wrong.
            StoreError: it cannot answer, or is none.
        """
        self._require_collector(response)
        if response.status_code == 200:
            return
        if response.status_code == 401:
            raise StoreError(f"{self.url} wants a token: set TOOLSPAN_TOKEN to the one that it was started with.")
        with self._understanding():
            detail = response.json()["detail"]
        raise (InputError if response.status_code == 400 else StoreError)(f"{self.url}: {detail}")

    def _require_collector(self, response: requests.Response) -> None:
        """
        Raises:
            StoreError: nobody who answers so is a collector, or it is one of another version.
        """
        version = response.headers.get(API_HEADER)
        if version == API_VERSION:
            return
        if version is not None:
            raise StoreError(
                f"{self.url} is a collector of another version (its API is {version}, this command's {API_VERSION}):"
                " use the same toolspan on both sides."
            )
        if response.status_code in _GATEWAY:
            raise StoreError(f"{self.url} answers {response.status_code}: is the collector behind it running?")
        raise StoreError(
            f"{self.url} is no toolspan collector, or not its --http address (9464 where nobody said otherwise)."
        )

    @contextmanager
    def _understanding(self) -> Generator[None]:
        """
        An answer that is not as it should be is said in one line.
        """
        try:
            yield
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise StoreError(f"{self.url} answers as no collector of this version does: {error!r}.") from error


class _Bearer(AuthBase):
    """
    Sends the *token*, whatever a `.netrc` has for the host.
    """

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """
        The *request* with the token.
        """
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _host_of(url: str) -> str:
    """
    Whom *url* names.

    Raises:
        InputError: it is more or less than an address.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.port is None or parts.port > 0
    except ValueError:
        parts, is_address = SplitResult("", "", "", "", ""), False
    if parts.username is not None or "@" in url:
        # not said again: it is a secret
        raise InputError("An address of a collector holds no user or password; put the token into TOOLSPAN_TOKEN.")
    if not (is_address and parts.hostname) or parts.path not in _PATHS or parts.query or parts.fragment:
        raise InputError(f"{url!r} is no address of a collector: give http://HOST:PORT, such as http://127.0.0.1:9464.")
    return parts.hostname


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parameters(scope: Scope) -> dict[str, object]:
    times = {"since": scope.since_ns, "until": scope.until_ns}
    return {
        **{name: None if ns is None else format_time(ns) for name, ns in times.items()},
        "tool": scope.tool,
        "agent": scope.agent,
        "service": scope.service,
        "environment": scope.environment,
    }
