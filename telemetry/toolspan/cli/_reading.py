"""
What commands read from, files or a store, through one set of questions.

A store is read under its lock, and whoever writes to it waits meanwhile. So a command asks, leaves the block, and only
then prints: somebody who reads its output slowly must stop nobody.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from toolspan.cli._loading import load_files
from toolspan.cli._messages import say
from toolspan.cli._names import Names, names_of
from toolspan.cli._options import Source
from toolspan.cli._stores import open_store
from toolspan.cli._text import counted
from toolspan.config import Settings, load_settings
from toolspan.documents import GroupedQuality, GroupedReport, Quality, Report
from toolspan.numbers import Targets, report, report_by
from toolspan.quality import quality, quality_by
from toolspan.records import Call, Rows, SpanFacts
from toolspan.scope import EVERYTHING, Dimension, Scope, rows_in

if TYPE_CHECKING:
    from toolspan.store.facts import StoreFacts
    from toolspan.store.opening import OpenFile

#: What becomes of a span that is not kept.
_LOSSES: Final = ("conflict", "dropped", "late", "rejected")
_HOUR_NS: Final = 3600 * 10**9
_NO_CALLS: Final = "toolspan doctor FILE says which spans are there and why none is a call."


class CallKey(NamedTuple):
    """
    Which call it is, and what it can be chosen by.
    """

    trace_id: bytes
    span_id: bytes
    tool: str
    task_id: str


class Arrivals(NamedTuple):
    """
    How many spans came, how many of them were not kept, and when the last of all came, 0 where none did.
    """

    came: int
    lost: int
    last_ns: int


class Reading(Protocol):
    """
    Something to ask, for as long as it is open.
    """

    def report(self, *, scope: Scope, targets: Targets) -> Report:
        """
        The document of `report`.
        """
        ...

    def report_by(self, by: Dimension, *, scope: Scope, targets: Targets) -> GroupedReport:
        """
        The document of `report --by`.
        """
        ...

    def quality(self, *, scope: Scope) -> Quality:
        """
        The document of `quality`.
        """
        ...

    def quality_by(self, by: Dimension, *, scope: Scope) -> GroupedQuality:
        """
        The document of `quality --by`.
        """
        ...

    def calls(self, *, scope: Scope = EVERYTHING, task_id: str | None = None) -> Iterator[Call]:
        """
        The calls in *scope*, of one task where it is given, in order of start; some at a time.
        """
        ...

    def has_task(self, task_id: str) -> bool:
        """
        Whether there is a task of that id.
        """
        ...

    def find_calls(self, span: str) -> list[CallKey]:
        """
        The calls whose span id, in hex, begins with *span*; in order of start.
        """
        ...

    def spans_of(self, call: CallKey) -> list[SpanFacts]:
        """
        What is kept of the spans around *call*; nothing where there is more to be read than is kept.
        """
        ...

    def names(self) -> Names:
        """
        What could have been asked for.
        """
        ...

    def arrivals(self, *, since_ns: int | None, until_ns: int | None) -> "Arrivals | None":
        """
        What came, in a window of the time of arrival; None where nobody noted it.
        """
        ...


def arrivals_of(facts: "StoreFacts") -> Arrivals:
    """
    What *facts* say of what came: a repeat is kept already, and what was rejected is not among the received.
    """
    lost = sum(facts.intake.get(reason, 0) for reason in _LOSSES)
    came = facts.intake.get("received", 0) + facts.intake.get("rejected", 0)
    # of a span that is not kept the hour is known: silence is never told too long
    last_ns = facts.last_arrival_ns + (0 if facts.is_last_arrival_exact or not facts.last_arrival_ns else _HOUR_NS)
    return Arrivals(max(came, lost), lost, last_ns)


@contextmanager
def reading(source: Source, *, purpose: str) -> Generator[tuple[Reading, Settings]]:
    """
    What *source* answers, and the settings that it is read with; who waits for a store is told the *purpose*.

    A store with tasks that are over and that nobody has settled is said to have them, on standard error.

    Raises:
        InputError: nothing of its files can be read.
        StoreError: its store cannot be read.
    """
    settings = load_settings(environ=os.environ, config_path=source.config)
    if source.store is None:
        yield FilesReading(load_files(source.files, settings)), settings
        return
    if not isinstance(source.store, Path):
        from toolspan.cli._remote import RemoteReading

        yield RemoteReading(source.store), settings
        return
    store = open_store(source.store, purpose=purpose, settings=settings)
    with store.reading() as file:
        yield StoreReading(file), settings
        waiting = store.waiting_in(file)
    if waiting:
        say(waiting_line(waiting))


def waiting_line(tasks: int) -> str:
    """
    That *tasks* tasks are over and no number counts them as such.
    """
    verb, them = ("waits", "it") if tasks == 1 else ("wait", "them")
    return f"{counted(tasks, 'task')} {verb} to be settled; who writes to the store next settles {them}."


class FilesReading:
    """
    The rows of files.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def report(self, *, scope: Scope, targets: Targets) -> Report:
        """
        The document of `report`.
        """
        return report(self._rows, scope=scope, targets=targets)

    def report_by(self, by: Dimension, *, scope: Scope, targets: Targets) -> GroupedReport:
        """
        The document of `report --by`.
        """
        return report_by(self._rows, by=by, scope=scope, targets=targets)

    def quality(self, *, scope: Scope) -> Quality:
        """
        The document of `quality`.
        """
        return quality(self._rows, scope=scope)

    def quality_by(self, by: Dimension, *, scope: Scope) -> GroupedQuality:
        """
        The document of `quality --by`.
        """
        return quality_by(self._rows, by=by, scope=scope)

    def calls(self, *, scope: Scope = EVERYTHING, task_id: str | None = None) -> Iterator[Call]:
        """
        The calls in *scope*, whatever file or trace they are from.
        """
        return iter(select_calls(self._rows, scope=scope, task_id=task_id))

    def has_task(self, task_id: str) -> bool:
        """
        Whether there is a task of that id.
        """
        return any(task.task_id == task_id for task in self._rows.tasks)

    def find_calls(self, span: str) -> list[CallKey]:
        """
        The calls whose span id begins with *span*.
        """
        return [
            CallKey(call.trace_id, call.span_id, call.tool, call.task_id)
            for call in select_calls(self._rows)
            if call.span_id.hex().startswith(span)
        ]

    def spans_of(self, call: CallKey) -> list[SpanFacts]:
        """
        Nothing: the files hold the spans themselves.
        """
        del call
        return []

    def names(self) -> Names:
        """
        The names in the rows.
        """
        return names_of(self._rows, no_calls=_NO_CALLS)

    def arrivals(self, *, since_ns: int | None, until_ns: int | None) -> Arrivals | None:
        """
        Nothing: a file does not say when its spans came.
        """
        del since_ns, until_ns
        return None


def select_calls(rows: Rows, *, scope: Scope = EVERYTHING, task_id: str | None = None) -> list[Call]:
    """
    The calls of *rows* in *scope*, of one task where it is given, in order of start.
    """
    within = rows if scope._replace(tool=None) == EVERYTHING else rows_in(rows, scope)
    found = [call for call in within.calls if task_id in (None, call.task_id) and scope.tool in (None, call.tool)]
    return sorted(found, key=lambda call: (call.started_ns, call.trace_id, call.span_id))


class StoreReading:
    """
    A store file that is open.
    """

    def __init__(self, file: "OpenFile") -> None:
        self._file = file

    def report(self, *, scope: Scope, targets: Targets) -> Report:
        """
        The document of `report`, counted where the rows are.
        """
        from toolspan.report_answers import ask_report

        return ask_report(self._file.connection, scope=scope, targets=targets)

    def report_by(self, by: Dimension, *, scope: Scope, targets: Targets) -> GroupedReport:
        """
        The document of `report --by`.
        """
        from toolspan.report_answers import ask_report_by

        return ask_report_by(self._file.connection, by=by, scope=scope, targets=targets)

    def quality(self, *, scope: Scope) -> Quality:
        """
        The document of `quality`, counted where the rows are.
        """
        from toolspan.quality_answers import ask_quality

        return ask_quality(self._file.connection, scope=scope)

    def quality_by(self, by: Dimension, *, scope: Scope) -> GroupedQuality:
        """
        The document of `quality --by`.
        """
        from toolspan.quality_answers import ask_quality_by

        return ask_quality_by(self._file.connection, by=by, scope=scope)

    def calls(self, *, scope: Scope = EVERYTHING, task_id: str | None = None) -> Iterator[Call]:
        """
        The calls in *scope*, never all of them in memory.
        """
        from toolspan.store.reading import read_calls

        return read_calls(self._file.connection, scope, task_id=task_id)

    def has_task(self, task_id: str) -> bool:
        """
        Whether there is a task of that id.
        """
        from toolspan.store.overview import has_task

        return has_task(self._file.connection, task_id)

    def find_calls(self, span: str) -> list[CallKey]:
        """
        The calls whose span id begins with *span*.
        """
        from toolspan.store.overview import find_calls

        return [CallKey(*found) for found in find_calls(self._file.connection, span)]

    def spans_of(self, call: CallKey) -> list[SpanFacts]:
        """
        What is kept of the spans of the group of *call*; nothing once they were pruned.
        """
        from toolspan.store.grouping import load_groups

        return [span for group in load_groups(self._file.connection, [call.trace_id]) for span in group]

    def names(self) -> Names:
        """
        The names in the store.
        """
        from toolspan.store.overview import known_names

        known = known_names(self._file.connection)
        values = {
            "agent": known.agents,
            "service": known.services,
            "environment": known.environments,
        }
        no_calls = f"toolspan doctor --store {self._file.path} says what came and what did not."
        return Names(known.calls, known.tools, values, no_calls)

    def arrivals(self, *, since_ns: int | None, until_ns: int | None) -> Arrivals | None:
        """
        What came into the store.
        """
        from toolspan.store.examining import examine

        return arrivals_of(examine(self._file.connection, since_ns=since_ns, until_ns=until_ns))
