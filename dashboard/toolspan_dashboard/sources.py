"""
Where the numbers come from: a store file or a collector, asked the same questions.

A file is borrowed for one look: the lock, an open, the queries of a page in one transaction, a close; agents that write
to it meanwhile wait for tens of milliseconds. A collector answers over HTTP and is never locked.
"""

import os
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import quote

from toolspan.answers import asked
from toolspan.call_records import call_of
from toolspan.config import TOKEN_VARIABLE, Settings
from toolspan.documents import GroupedReport, Quality, Report
from toolspan.errors import InputError, StoreError
from toolspan.records import Call
from toolspan.remote import Collector
from toolspan.report_answers import ReportAnswers, ask_report, report_by_from, report_from
from toolspan.scope import EVERYTHING, Dimension, Scope
from toolspan.store.facts import StoreFacts
from toolspan.windows import parse_time
from toolspan_queries import fetch
from toolspan_queries._catalogue import ROWS
from toolspan_queries.rows import Durations

if TYPE_CHECKING:
    from toolspan.store.duckdb import DuckDBStore
    from toolspan.store.opening import OpenFile

Row = TypeVar("Row")

_COLLECTOR: Final = re.compile(r"https?:", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://|(?:clickhouse|chdb):", re.IGNORECASE)
#: A page that waits longer for the file says who holds it; the next refresh asks again.
LOCK_S: Final = 3.0
#: Calls that one timeline can show.
MOST_CALLS: Final = 1_000


class NamesKnown(NamedTuple):
    """
    What can be chosen: tools, and what tasks are filtered by.
    """

    tools: tuple[str, ...]
    agents: tuple[str, ...]
    services: tuple[str, ...]
    environments: tuple[str, ...]


class EscalationShown(NamedTuple):
    """
    When a human was asked, about which *tool* (empty: none named), and why.
    """

    at_ns: int
    tool: str
    reason: str


class TaskShown(NamedTuple):
    """
    One task with its first calls and its escalations; *more* where there are more calls.
    """

    task_id: str
    name: str
    agent: str
    service: str
    environment: str
    started_ns: int
    ended_ns: int
    outcome: str
    outcome_source: str
    settled: bool
    unhandled: bool
    calls: tuple[Call, ...]
    more: bool
    escalations: tuple[EscalationShown, ...]


class Looking(Protocol):
    """
    One look at a store.
    """

    def report(self, scope: Scope, settings: Settings) -> Report:
        """
        The document of `toolspan report`.
        """
        ...

    def numbers(self, scope: Scope, settings: Settings) -> Report:
        """
        The same, in which durations may be 0: they take half of the time of all.
        """
        ...

    def numbers_by(self, by: Dimension, scope: Scope, settings: Settings) -> GroupedReport:
        """
        The document of `toolspan report --by`, in which durations may be 0.
        """
        ...

    def quality(self, scope: Scope) -> Quality:
        """
        The document of `toolspan quality`.
        """
        ...

    def rows(self, row: Callable[..., Row], scope: Scope) -> list[Row]:
        """
        The rows of the query whose rows are of that type.
        """
        ...

    def names(self) -> NamesKnown:
        """
        What there is to choose.
        """
        ...

    def facts(self, scope: Scope) -> tuple[StoreFacts, int]:
        """
        What the store says of itself, with what came in the window of *scope*, and how many of its tasks wait to be
        settled.
        """
        ...

    def task(self, task_id: str) -> TaskShown | None:
        """
        The task of that id.
        """
        ...


class Source(Protocol):
    """
    A store by its *name*.
    """

    name: str

    def looking(self) -> AbstractContextManager[Looking]:
        """
        A look at it as it is now.

        Raises:
            StoreError: it cannot be had now; says why and what to do.
        """
        ...


def open_source(name: str, *, settings: Settings, environ: Mapping[str, str]) -> Source:
    """
    The store *name*: the path of a file, or the URL of a collector.

    Raises:
        InputError: this build has no such store.
    """
    if _COLLECTOR.match(name):
        return CollectorSource(Collector(name, token=environ.get(TOKEN_VARIABLE)))
    if _ADDRESS.match(name) or not name:
        raise InputError(
            f"No store {name!r}: the dashboard reads DuckDB files and collectors; give a path, or http://HOST:PORT."
        )
    return FileSource(Path(name), settings)


class FileSource:
    """
    The store in the file *path*.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.name = str(path)
        self._path = path
        self._settings = settings

    @contextmanager
    def looking(self) -> Generator[Looking]:
        """
        A look at the file, in one transaction.
        """
        from toolspan.store.duckdb import DuckDBStore

        if not os.path.lexists(self._path):
            raise StoreError(
                f"There is no store {self._path} yet: `toolspan ingest FILE --store {self._path}` makes it of files,"
                f" `toolspan collect --store {self._path}` of what agents send."
            )
        losses: list[str] = []
        store = DuckDBStore(
            self._path,
            purpose="toolspan dashboard",
            settings=self._settings,
            timeout_s=LOCK_S,
            tell=losses.append,
        )
        with store.reading() as file:
            yield _FileLooking(store, file)


class _FileLooking:
    def __init__(self, store: "DuckDBStore", file: "OpenFile") -> None:
        self._store = store
        self._file = file

    def report(self, scope: Scope, settings: Settings) -> Report:
        return ask_report(self._file.connection, scope=scope, targets=settings.targets)

    def numbers(self, scope: Scope, settings: Settings) -> Report:
        return report_from(self._answers(scope, ""), scope=scope, targets=settings.targets)

    def numbers_by(self, by: Dimension, scope: Scope, settings: Settings) -> GroupedReport:
        return report_by_from(self._answers(scope, by), by=by, scope=scope, targets=settings.targets)

    def _answers(self, scope: Scope, by: Literal["", "agent", "service", "environment"]) -> ReportAnswers:
        # of 0.45 s for ten million calls, percentiles of durations take 0.18
        what = asked(scope, by)
        answers: dict[str, Any] = {
            name: fetch(self._file.connection, ROWS[name], **what)
            for name in ReportAnswers._fields
            if name != "durations"
        }
        none = [Durations(each.group_value, each.tool, each.calls, 0, 0) for each in answers["calls"]]
        return ReportAnswers(**answers, durations=none)

    def quality(self, scope: Scope) -> Quality:
        from toolspan.quality_answers import ask_quality

        return ask_quality(self._file.connection, scope=scope)

    def rows(self, row: Callable[..., Row], scope: Scope) -> list[Row]:
        return fetch(self._file.connection, row, **asked(scope, ""))

    def names(self) -> NamesKnown:
        from toolspan.store.overview import known_names

        known = known_names(self._file.connection)
        return NamesKnown(*(tuple(sorted(names)) for names in known[1:]))

    def facts(self, scope: Scope) -> tuple[StoreFacts, int]:
        from toolspan.store.examining import examine

        found = examine(self._file.connection, since_ns=scope.since_ns, until_ns=scope.until_ns)
        return found, self._store.waiting_in(self._file)

    def task(self, task_id: str) -> TaskShown | None:
        from toolspan.store.reading import read_page, read_task

        found = read_task(self._file.connection, task_id)
        if found is None:
            return None
        task, escalations = found
        calls = read_page(self._file.connection, EVERYTHING, limit=MOST_CALLS + 1, task_id=task_id)
        return TaskShown(
            task_id=task.task_id,
            name=task.name,
            agent=task.agent,
            service=task.service,
            environment=task.environment,
            started_ns=task.started_ns,
            ended_ns=task.ended_ns,
            outcome=task.outcome,
            outcome_source=task.outcome_source,
            settled=task.settled,
            unhandled=task.unhandled,
            calls=tuple(calls[:MOST_CALLS]),
            more=len(calls) > MOST_CALLS,
            escalations=tuple(EscalationShown(each.at_ns, each.tool, each.reason) for each in escalations),
        )


class CollectorSource:
    """
    What a *collector* has.
    """

    def __init__(self, collector: Collector) -> None:
        self.name = collector.url
        self._collector = collector

    @contextmanager
    def looking(self) -> Generator[Looking]:
        """
        A look over HTTP; each answer is of a moment of its own.
        """
        yield _CollectorLooking(self._collector)


class _CollectorLooking:
    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def report(self, scope: Scope, settings: Settings) -> Report:
        document: Report = self._collector.document("report", scope=scope, **settings.targets._asdict())
        return document

    def numbers(self, scope: Scope, settings: Settings) -> Report:
        return self.report(scope, settings)

    def numbers_by(self, by: Dimension, scope: Scope, settings: Settings) -> GroupedReport:
        document: GroupedReport = self._collector.document("report", scope=scope, by=by, **settings.targets._asdict())
        return document

    def quality(self, scope: Scope) -> Quality:
        document: Quality = self._collector.document("quality", scope=scope)
        return document

    def rows(self, row: Callable[..., Row], scope: Scope) -> list[Row]:
        name = next(name for name, of_query in ROWS.items() if of_query is row)
        document = self._collector.document(f"query/{name}", scope=scope)
        return [row(**values) for values in document["rows"]]

    def names(self) -> NamesKnown:
        known = self._collector.names()
        return NamesKnown(*(tuple(known[name]) for name in NamesKnown._fields))

    def facts(self, scope: Scope) -> tuple[StoreFacts, int]:
        return self._collector.facts(since_ns=scope.since_ns, until_ns=scope.until_ns)

    def task(self, task_id: str) -> TaskShown | None:
        if not self._collector.has_task(task_id):
            return None
        path = quote(task_id, safe="", errors="surrogatepass")
        document = self._collector.document(f"tasks/{path}", scope=EVERYTHING, limit=MOST_CALLS)
        task: Mapping[str, Any] = document["task"]
        return TaskShown(
            task_id=task["task_id"],
            name=task["name"] or "",
            agent=task["agent"] or "",
            service=task["service"] or "",
            environment=task["environment"] or "",
            started_ns=parse_time(task["started_at"], now_ns=0),
            ended_ns=parse_time(task["ended_at"], now_ns=0),
            outcome=task["outcome"],
            outcome_source=task["outcome_source"],
            settled=task["settled"],
            unhandled=task["unhandled"],
            calls=tuple(map(call_of, document["calls"])),
            more=document["next"] is not None,
            escalations=tuple(
                EscalationShown(parse_time(each["at"], now_ns=0), each["tool"] or "", each["reason"] or "")
                for each in document["escalations"]
            ),
        )
