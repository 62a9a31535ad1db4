"""
`toolspan ingest`: files into a store.

What is committed stays, whatever happens then: an interrupt, a file that cannot be read, a store that others hold.
Reading the same again changes nothing, so the remedy for all of these is the same command once more.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from toolspan.arguments import ArgumentHasher
from toolspan.cli._batches import Batches
from toolspan.cli._live import LiveInput, interruptible, stdin_descriptor
from toolspan.cli._loading import NOTHING_READ, conflict_line
from toolspan.cli._messages import say
from toolspan.cli._options import config_option, debug_option, format_option, input_options, store_option
from toolspan.cli._problems import Problems
from toolspan.cli._progress import read_progress
from toolspan.cli._stores import DEFAULT_STORE, open_store
from toolspan.cli._text import counted, duration, inert
from toolspan.config import Settings, load_settings
from toolspan.errors import InputError, ToolspanError
from toolspan.garbage import collections_rare
from toolspan.otlp import Decoded, Decoder
from toolspan.pipeline import Intake, make_decoder, read_files
from toolspan.recognise import Recogniser
from toolspan.rules import RuleBook
from toolspan.store import SettleResult

if TYPE_CHECKING:
    from toolspan.store.duckdb import DuckDBStore

#: When nothing has come for so long, what did come is committed.
_IDLE_S: Final = 1.0
#: How often tasks are settled while input goes on; it takes 30 ms of the store each time.
_SETTLE_S: Final = 5.0
#: Reasons for which spans are rejected; the others are of requests, and how many spans these hold nobody knows.
_OF_SPANS: Final = ("trace_id", "span_id", "time")


class Counts(NamedTuple):
    """
    What became of the *spans* that were read, and how many calls and tasks got new ones.
    """

    spans: int
    new: int
    duplicates: int
    conflicts: int
    late: int
    rejected: int
    calls: int
    tasks: int


@click.command("ingest")
@input_options
@store_option("Add to the store S", is_file=True)
@config_option
@format_option("table", "json")
@debug_option
def ingest(files: tuple[str, ...], store: Path, config: str | None, output: str) -> None:
    """
    Add spans to a store, which the other commands read.

    FILE is OTLP as the Collector's file exporter writes it (JSON lines or protobuf, also .gz), or - for standard input,
    which need not end: what comes is committed within seconds. A span that the store has changes nothing.
    """
    settings = load_settings(environ=os.environ, config_path=config)
    # files are read without a pause; who waits for input does not keep others from the store
    lingers = all(Path(file).is_file() for file in files)
    opened = open_store(store, purpose="toolspan ingest", settings=settings, lingers=lingers)
    run = Ingestion(opened, settings, is_new=not os.path.lexists(store))
    with interruptible() as interruption, collections_rare(), closing(opened):
        try:
            run.read(files)
            counts = run.finish()
        except KeyboardInterrupt:
            run.save()
            say(f"Interrupted. {run.kept_line(store)}{run.open_line()}")
            raise click.exceptions.Exit(interruption.status) from None
        except ToolspanError:
            if run.has_read():
                say(run.kept_line(store))
            raise
    if output == "json":
        click.echo(json.dumps(counts._asdict()))
    else:
        for line in result_lines(counts, store):
            click.echo(line)


class Ingestion:
    """
    One run of `ingest` into *store*, which is made for the first spans where it *is_new*: a file that holds none leaves
    no empty store behind.
    """

    def __init__(
        self,
        store: "DuckDBStore",
        settings: Settings,
        *,
        is_new: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._batches = Batches(store, clock=clock)
        self._intake = Intake()
        self._counted = 0
        self._settled_s = clock()
        self._is_new = is_new

    def read(self, files: Sequence[str]) -> None:
        """
        Commits the spans of *files*; what cannot be read is said on standard error.

        Raises:
            InputError: one of them cannot be opened; what the others before it hold is committed.
        """
        decoder = _LateDecoder(self._begin) if self._is_new else self._begin()
        problems = Problems(files)
        descriptor = stdin_descriptor() if "-" in files else None
        with read_progress(files) as progress:

            def on_bytes(size_bytes: int) -> None:
                progress(size_bytes)
                if descriptor is not None:
                    self.settle_meanwhile()

            try:
                read_files(
                    files,
                    decoder=decoder,
                    store=self._batches,
                    intake=self._intake,
                    stdin=None if descriptor is None else LiveInput(descriptor, idle_s=_IDLE_S, on_idle=self.on_idle),
                    on_bytes=on_bytes,
                    on_problem=problems,
                )
            except InputError:
                self._batches.flush()  # of the files before
                raise
            finally:
                progress.close()
                for line in problems.lines():
                    say(line)
        self._batches.flush()

    def _begin(self) -> Decoder:
        """
        Settles what earlier runs left, and gives the decoder with the key of the store, which is made where it is new.
        """
        self._is_new = False
        overdue = self._store.settle_overdue()
        if overdue.tasks:
            say(f"{counted(overdue.tasks, 'task')} of earlier runs waited to be settled, and were.")
        settings = self._settings
        if not settings.is_key_given:
            settings = replace(settings, hash_key=self._store.hash_key())
        return make_decoder(settings)

    def on_idle(self) -> None:
        """
        Keeps what has come, since nobody knows when more will.
        """
        self._batches.flush()
        self._count_rejected()
        self.settle_meanwhile()

    def settle_meanwhile(self) -> None:
        """
        Settles what is overdue, now and then: input without an end would have no settled tasks.
        """
        if not self._is_new and self._clock() - self._settled_s >= _SETTLE_S:
            self._store.settle_overdue()
            self._settled_s = self._clock()

    def finish(self) -> Counts:
        """
        Settles what was touched, since the input has ended, and says what was not counted.

        Raises:
            InputError: nothing could be read.
        """
        touched = SettleResult(0, 0, 0)
        if self._batches.totals.new or self._batches.totals.duplicates:
            touched = self._store.touched()
            self._store.settle()
        self._count_rejected()
        totals = self._batches.totals
        if totals.conflicts:
            say(conflict_line(totals.conflicts))
        if totals.late:
            within = duration(self._settings.late_s * 1000)
            say(f"{counted(totals.late, 'span')} came more than {within} after the others of their task; not counted.")
        if self._intake.rejected and not self._committed():
            raise InputError(NOTHING_READ)
        if self._is_new:
            self._begin()  # input without spans is no error, and what comes after finds the store that was told of
        return Counts(self._intake.spans, *totals, self._rejected(), touched.calls, touched.tasks)

    def save(self) -> None:
        """
        Commits what was read, on the way out; a second interrupt stops this, too.
        """
        with suppress(KeyboardInterrupt, ToolspanError):
            self._batches.flush()
            self._count_rejected()

    def has_read(self) -> bool:
        """
        Whether there is anything to say of what was read.
        """
        return self._intake.spans > self._rejected()

    def open_line(self) -> str:
        """
        How many tasks nobody has settled, after a blank; empty where there are none, or it cannot be told.
        """
        tasks = 0
        if not self._is_new:
            with suppress(KeyboardInterrupt, ToolspanError), self._store.reading() as file:
                from toolspan.store.overview import count_open

                tasks = count_open(file.connection)
        verb = "stays" if tasks == 1 else "stay"
        return f" {counted(tasks, 'task')} {verb} open until the next ingest." if tasks else ""

    def kept_line(self, store: Path) -> str:
        """
        How much of what was read is in *store*, and how much is not.
        """
        committed = self._committed()
        lost = self._intake.spans - self._rejected() - committed
        verb = "is" if committed == 1 else "are"
        more = f"; {lost:,} more were read and are not" if lost else ""
        return f"{counted(committed, 'span')} of this input {verb} kept in {inert(str(store))}{more}."

    def _committed(self) -> int:
        return sum(self._batches.totals)

    def _rejected(self) -> int:
        return sum(self._intake.rejected[reason] for reason in _OF_SPANS)

    def _count_rejected(self) -> None:
        """
        Counts in the store what was rejected since the last time.
        """
        rejected = self._rejected()
        if rejected > self._counted:
            self._store.count({"rejected": rejected - self._counted})
            self._counted = rejected


class _LateDecoder(Decoder):
    """
    The decoder that *begin* gives, from the first request on that can be decoded and holds spans.

    That one is decoded twice: what is no OTLP shows only then, and *begin* makes a store.
    """

    def __init__(self, begin: Callable[[], Decoder]) -> None:
        super().__init__(Recogniser(RuleBook(), ArgumentHasher(b"")))
        self._begin = begin
        self._begun: Decoder | None = None

    def decode(self, data: bytes, *, is_json: bool) -> Decoded:
        """
        The spans of one request.
        """
        if self._begun is None:
            decoded = super().decode(data, is_json=is_json)
            if not decoded.spans:
                return decoded
            self._begun = self._begin()
        return self._begun.decode(data, is_json=is_json)


def result_lines(counts: Counts, store: Path) -> Iterator[str]:
    """
    What was done, for people.
    """
    parts = (
        (counts.new, "new"),
        (counts.duplicates, "known already"),
        (counts.conflicts, "with other content than before"),
        (counts.late, "too late"),
        (counts.rejected, "rejected"),
    )
    told = ", ".join(f"{'all' if count == counts.spans else f'{count:,}'} {name}" for count, name in parts if count)
    yield f"{counted(counts.spans, 'span')} read into {inert(str(store))}{f': {told}' if told else ''}."
    if counts.tasks:
        option = "" if str(store) == DEFAULT_STORE else f" --store {inert(str(store))}"
        touched = f"{counted(counts.tasks, 'task')} with {counted(counts.calls, 'call')}"
        yield f"{touched}; toolspan report{option} shows them."
