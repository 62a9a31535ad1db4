"""
A collector as a store: what is asked of it, over its API, by the commands that read a store.

Whatever goes wrong on the way is one line that says what to do: nothing listens there, something else does, a token is
missing, it takes too long.
"""

import base64
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import requests

from toolspan.call_records import call_of
from toolspan.errors import InputError, StoreError
from toolspan.records import Call, SpanFacts
from toolspan.scope import Scope
from toolspan.store import PruneResult
from toolspan.store.connecting import install_command
from toolspan.store.facts import StoreFacts, ToolFacts
from toolspan.windows import format_time

#: A query over a hundred million calls takes seconds; a collector that does not answer for so long is not there.
_TIMEOUT_S: Final = 60.0
_PAGE_CALLS: Final = 10_000
_CHUNK_BYTES: Final = 2**20
_PATHS: Final = frozenset({"", "/"})


class Collector:
    """
    The collector at *url*; it is sent the *token*, where there is one.

    Raises:
        InputError: *url* is no address of a collector.
    """

    def __init__(self, url: str, *, token: str | None) -> None:
        if not _is_address(url):
            raise InputError(f"{url!r} is no address of a collector: give http://HOST:PORT, as http://127.0.0.1:9464.")
        self.url = url.rstrip("/")
        self._session = requests.Session()
        if token:
            self._session.headers["Authorization"] = f"Bearer {token}"

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
            try:
                yield from map(call_of, page["calls"])
                after = page["next"]
            except (KeyError, TypeError, ValueError, InputError) as error:
                raise StoreError(f"{self.url} answers as no collector of this version does: {error!r}.") from error
            if after is None:
                return

    def has_task(self, task_id: str) -> bool:
        """
        Whether there is a task of that id.
        """
        return bool(task_id) and self._ask("GET", f"/api/v1/tasks/{quote(task_id, safe='')}").status_code == 200

    def names(self) -> Mapping[str, Any]:
        """
        How many calls there are, and the names of tools, agents, services and environments.
        """
        document: Mapping[str, Any] = self._get("/api/v1/names", {})
        return document

    def facts(self) -> tuple[StoreFacts, int]:
        """
        What the store says of itself, and how many of its tasks wait to be settled.
        """
        document = self._get("/api/v1/store", {})
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
        return [
            decode_span((*row[:-1], None if row[-1] is None else base64.b64decode(row[-1])))
            for row in document["spans"]
        ]

    def prune(self, before_ns: int) -> PruneResult:
        """
        Deletes the tasks that ended before *before_ns*.
        """
        response = self._ask("POST", "/api/v1/prune", json={"before": format_time(before_ns)})
        return PruneResult(**self._document(response))

    def snapshot(self, target: Path) -> None:
        """
        Copies the store to the file *target*, which is there only when it is whole.
        """
        from toolspan.store.copying import refuse_target

        refuse_target(target)
        partial = target.with_name(f".toolspan-{secrets.token_hex(8)}.partial")
        try:
            with self._ask("GET", "/api/v1/snapshot", stream=True) as response, partial.open("xb") as file:
                self._require_ok(response)
                for chunk in response.iter_content(_CHUNK_BYTES):
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            os.link(partial, target)
        except requests.RequestException as error:
            raise StoreError(f"The copy from {self.url} broke off: {error}; do it again.") from error
        except OSError as error:
            raise StoreError(f"Cannot write {target}: {error.strerror or error}") from error
        finally:
            partial.unlink(missing_ok=True)

    def _get(self, path: str, parameters: Mapping[str, object]) -> Any:
        given = {name: str(value) for name, value in parameters.items() if value is not None}
        return self._document(self._ask("GET", path, params=given))

    def _document(self, response: requests.Response) -> Any:
        self._require_ok(response)
        try:
            return response.json()
        except requests.JSONDecodeError as error:
            raise StoreError(self._stranger()) from error

    def _ask(self, method: str, path: str, **more: Any) -> requests.Response:
        try:
            return self._session.request(method, f"{self.url}{path}", timeout=_TIMEOUT_S, allow_redirects=False, **more)
        except requests.exceptions.SSLError as error:
            raise StoreError(
                f"No TLS with {self.url}: {error}; where its certificate is not public, name it in REQUESTS_CA_BUNDLE."
            ) from error
        except requests.Timeout as error:
            raise StoreError(f"{self.url} did not answer within {_TIMEOUT_S:.0f} s; is it overloaded?") from error
        except requests.ConnectionError as error:
            raise StoreError(
                f"Nothing answers at {self.url}; is toolspan collect running, and is that its --http address?"
            ) from error
        except requests.RequestException as error:
            raise StoreError(f"Cannot ask {self.url}: {error}") from error

    def _require_ok(self, response: requests.Response) -> None:
        """
        Raises:
            InputError: the collector says that it was asked something wrong.
            StoreError: it cannot answer, or is none.
        """
        if response.status_code == 200:
            return
        if response.status_code == 401:
            raise StoreError(f"{self.url} wants a token: set TOOLSPAN_TOKEN to the one that it was started with.")
        try:
            detail = response.json()["detail"]
        except (requests.JSONDecodeError, KeyError, TypeError) as error:
            raise StoreError(self._stranger()) from error
        raise (InputError if response.status_code == 400 else StoreError)(f"{self.url}: {detail}")

    def _stranger(self) -> str:
        return f"{self.url} is no toolspan collector, or not its --http address (9464 where nobody said otherwise)."


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return is_whole and parts.path in _PATHS and not (parts.query or parts.fragment) and parts.username is None


def _parameters(scope: Scope) -> dict[str, object]:
    times = {"since": scope.since_ns, "until": scope.until_ns}
    return {
        **{name: None if ns is None else format_time(ns) for name, ns in times.items()},
        "tool": scope.tool,
        "agent": scope.agent,
        "service": scope.service,
        "environment": scope.environment,
    }
