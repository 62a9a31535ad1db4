"""
From requests to durable rows: two threads, a bounded queue, one transaction for all requests that wait.

A commit costs some milliseconds whatever its size, so whoever comes while one is made shares the next (group commit).
Requests are decoded in a thread of their own, since DuckDB works without Python's lock: while one group is written, the
next one is decoded. A request is acknowledged when its transaction is durable, and not before.

**Bounds.** Requests that wait or are in work hold at most `Limits.bytes` together (`backlog`); beyond that a sender is
told when to come again. Decoded, a usual span takes half its bytes more, one with neither name nor attributes five and
a half times as many; but one request at a time is decoded, with few spans of others beside it (`parts`). The worst that
we could send, 128 MiB of the smallest tool spans, made a collector of 1.7 GB, with what DuckDB takes, and of 0.8 GB a
process that decodes. What receivers hold of requests that have not arrived whole is `bodies.Room`'s.

**Faults.** What cannot be stored for now is refused, with a time to send it again; a request that nobody can decode is
the sender's; one that fails for a reason nobody foresaw fails alone, and its group is written without it.
What else fails (settling, counting) makes the collector say that it is not ready, and is tried again.
A thread that ends otherwise is a fault of toolspan: all that waits is refused, and the collector says why and ends.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.collector.backlog import Backlog, Request
from toolspan.collector.decoding import Decoding
from toolspan.collector.inlet import Receipt
from toolspan.collector.parts import HandOver, Part, parts_of
from toolspan.config import Settings
from toolspan.errors import InputError, StoreError, UnavailableError
from toolspan.garbage import Garbage
from toolspan.otlp import Decoded
from toolspan.pipeline import REJECTIONS
from toolspan.prometheus import MetricsCollector
from toolspan.store.held import HeldStore, Written
from toolspan.tracker import Tracker

if TYPE_CHECKING:
    from concurrent.futures import Future

_LOG: Final = logging.getLogger(__name__)
_NS: Final = 10**9
#: Half a second of work for the store: more would make the first of the group wait, and save little.
MOST_SPANS: Final = 16_384
#: Decoded spans that wait for the store: enough for the next transaction, while one more is decoded.
_MOST_DECODED: Final = 2 * MOST_SPANS
#: How long the writer waits for a request before it looks after what is over.
_IDLE_S: Final = 0.1
#: How often groups are settled at the most: it reads the state of all kept traces.
_SETTLE_S: Final = 0.5
#: What an idle writer checkpoints: replaying less takes no time worth saving.
_IDLE_WAL_BYTES: Final = 8 * 2**20
#: A collection takes a tenth of a second for each hundred thousand open calls.
_GARBAGE_S: Final = 60.0
#: A store that cannot be written to (a full disk) will not be back in a second.
_STORE_RETRY_S: Final = 5.0


class Limits(NamedTuple):
    """
    How much may wait: *bytes* of requests, uncompressed (None: what the settings say), and *requests*; a request alone
    may always have all of it.
    """

    bytes: int | None = None
    requests: int = 4_096


class WriterState(NamedTuple):
    """
    How the writer is: whether it takes requests and keeps them, and else *why* not; what waits, and when it last
    committed (Unix time in seconds, 0 where it did not).
    """

    is_ready: bool
    why: str
    waiting_requests: int
    waiting_bytes: int
    last_commit_s: float


class Writer:
    """
    Writes what is submitted to *store*, and counts it in *metrics* through *tracker*.

    Args:
        settings: rules, ignored arguments and the grace period; without a key of its own that of the store is used.
        processes: how many decode beside this one.
        on_failure: is told, in one line, when a thread ends that should not.
    """

    def __init__(
        self,
        store: HeldStore,
        *,
        settings: Settings,
        metrics: MetricsCollector,
        tracker: Tracker,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        processes: int = 0,
        on_failure: Callable[[str], None] = _LOG.error,
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._tracker = tracker
        self._on_failure = on_failure
        self._settle_s = min(_SETTLE_S, max(settings.grace_s / 4, _IDLE_S))
        key = settings.hash_key if settings.is_key_given else store.hash_key()
        self._decoding = Decoding(replace(settings, hash_key=key), processes=processes)
        most_bytes = settings.queue_bytes if limits.bytes is None else limits.bytes
        self._backlog = Backlog(most_requests=limits.requests, most_bytes=most_bytes)
        self._handover = HandOver(most_spans=_MOST_DECODED)
        self._last_commit_s = 0.0
        self._settled_s = 0.0
        self._trouble = self._fault = self._told = ""
        self._is_started = False
        self._is_over = Event()
        self._garbage = Garbage(every_s=_GARBAGE_S)
        self._threads = [
            Thread(target=self._guarded, args=(run,), name=run.__name__.strip("_"), daemon=True)
            for run in (self._decode_all, self._write_all)
        ]

    def start(self) -> None:
        """
        Begins to take requests; once.
        """
        if not self._is_started:
            self._is_started = True
            self._backlog.open()
            for thread in self._threads:
                thread.start()

    def submit(self, data: bytes, *, is_json: bool) -> "Future[Receipt]":
        """
        As `Inlet.submit`.
        """
        return self._backlog.add(data, is_json=is_json).done

    def state(self) -> WriterState:
        """
        How it is now.
        """
        waiting = self._backlog.waiting()
        why = waiting.why or "; ".join(filter(None, (self._trouble, self._fault)))
        return WriterState(not why, why, waiting.requests, waiting.size_bytes, self._last_commit_s)

    def drain(self, timeout_s: float) -> bool:
        """
        Takes no more, and writes what waits; whether that was done in time.
        """
        self._backlog.close("it is about to end")
        return not self._is_started or self._is_over.wait(timeout_s)

    def _guarded(self, run: Callable[[], None]) -> None:
        """
        Runs one of the loops; what ends it by a fault ends the writer.
        """
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - a thread must not end unseen
            _LOG.exception("The collector's %s failed", run.__name__.strip("_"))
            line = f"a fault of toolspan ended its writer ({type(error).__name__}: {error})"
            self._backlog.abandon(line)
            self._handover.clear()
            self._is_over.set()
            self._on_failure(line)

    def _decode_all(self) -> None:
        while (request := self._backlog.take()) is not None:
            self._decoding.decode(request.data, is_json=request.is_json, done=partial(self._hand_over, request))
        self._decoding.close()
        self._handover.end()

    def _hand_over(self, request: Request, outcome: Decoded | Exception) -> None:
        request.data = b""
        if isinstance(outcome, Decoded):
            for part in parts_of(request, outcome, MOST_SPANS):
                self._handover.put(part)
            return
        if isinstance(outcome, InputError):
            self._drop(1, "not_otlp")
        elif not isinstance(outcome, UnavailableError):
            _LOG.error("A request of %d bytes could not be decoded", request.size, exc_info=outcome)
            self._drop(1, "fault")
        self._backlog.finish(request, outcome)

    def _write_all(self) -> None:
        while (parts := self._handover.take(MOST_SPANS, timeout_s=_IDLE_S)) is not None:
            # of a request that was refused, what is left of it is not written: it comes again
            waited_for = [part for part in parts if not part.request.is_finished]
            if waited_for:
                self._write(waited_for, settles=self._is_time_to_settle())
            else:
                self._look_after()
            self._garbage.collect()
        self._is_over.set()

    def _is_time_to_settle(self) -> bool:
        return time.monotonic() - self._settled_s >= self._settle_s

    def _write(self, parts: Sequence[Part], *, settles: bool) -> None:
        """
        Writes *parts* in one transaction, and says so to all who wait.
        """
        begun_s = time.monotonic()
        rejected = sum((part.rejected for part in parts), Counter[str]())
        spans = list(chain.from_iterable(part.spans for part in parts))
        try:
            written = self._store.write(spans, knows=self._tracker.knows, rejected=rejected.total(), settles=settles)
        except StoreError as error:
            self._trouble_with(error)
            for part in parts:
                self._backlog.finish(part.request, UnavailableError(str(error), retry_after_s=_STORE_RETRY_S))
        except Exception as error:  # noqa: BLE001 - one request must not stop the others
            self._write_apart(parts, error, settles=settles)
        else:
            self._trouble = ""
            with self._noting_faults():
                self._count_written(written, received=len(spans) + rejected.total(), rejected=rejected)
                if settles:
                    self._settled_s = time.monotonic()
                    self._count_due()
                    self._fault = ""
            self._backlog.note(sum(part.size_bytes for part in parts), time.monotonic() - begun_s)
            for part in parts:
                if part.is_last:
                    self._backlog.finish(part.request, receipt_of(part.rejected))

    def _write_apart(self, parts: Sequence[Part], error: Exception, *, settles: bool) -> None:
        """
        Writes *parts*, which together met an *error* that nobody foresaw, without what caused it: by halves, so that
        one among thousands is found in a dozen transactions.
        """
        middle = len(parts) // 2
        if settles:  # it may have been that, which is tried again in its time
            self._settled_s = time.monotonic()
            self._note_fault(error)
            self._write(parts, settles=False)
        elif middle:
            self._write(parts[:middle], settles=False)
            self._write(parts[middle:], settles=False)
        elif not parts[0].request.is_finished:
            [part] = parts
            _LOG.error("A request of %d bytes could not be written", part.request.size, exc_info=error)
            self._drop(len(part.spans), "fault")
            self._backlog.finish(part.request, error)

    def _count_written(self, written: Written, *, received: int, rejected: Counter[str]) -> None:
        now_s = self._last_commit_s = time.time()
        appended = written.appended
        drops = {**rejected, "late": appended.late, "conflict": appended.conflicts, "overflow": appended.overflow}
        with self._metrics.folding() as metrics:
            metrics.receive(received)
            for reason, count in drops.items():
                metrics.drop(count, reason=reason)
            metrics.set_last_commit(now_s)
            self._tracker.written(written.derived, written.settled, now_ns=time.monotonic_ns())

    def _drop(self, spans: int, reason: str) -> None:
        with self._metrics.folding() as metrics:
            metrics.drop(spans, reason=reason)

    def _look_after(self) -> None:
        """
        Settles what is over, counts what is due, and checkpoints, while nothing else is to be done: what is written
        settles in its own transaction, and one for that alone took a tenth of the writer's time under load.
        """
        if self._is_time_to_settle():
            with self._noting_faults():
                self._settle_overdue()
                self._fault = ""
        if self._store.wal_bytes() > _IDLE_WAL_BYTES:
            with self._noting_faults():
                self._store.checkpoint()

    def _trouble_with(self, error: StoreError) -> None:
        """
        Remembers that the store cannot be written to, and says so once: on a full disk every request meets it.
        """
        if str(error) != self._trouble:
            self._trouble = str(error)
            _LOG.warning("%s", error)

    @contextmanager
    def _noting_faults(self) -> Generator[None]:
        """
        Remembers what went wrong in the block, beside what was committed, and says so once; it is tried again.
        """
        try:
            yield
        except StoreError as error:
            self._trouble_with(error)
        except Exception as error:  # noqa: BLE001 - what is durable is acknowledged, whatever else fails
            self._note_fault(error)

    def _note_fault(self, error: Exception) -> None:
        self._fault = f"a fault of toolspan keeps it from counting or settling ({type(error).__name__}: {error})"
        if self._fault != self._told:
            self._told = self._fault
            _LOG.error("The collector cannot count or settle", exc_info=error)

    def _settle_overdue(self) -> None:
        self._settled_s = time.monotonic()
        # in trouble, whether or not anything is to be settled: nobody sends to who says that he is not ready
        if self._trouble or self._store.overdue():
            written = self._store.write([], knows=self._tracker.knows)
            self._trouble = ""
            self._count_written(written, received=0, rejected=Counter())
        self._count_due()

    def _count_due(self) -> None:
        """
        Counts calls that are due and did not settle: after what settled, so that most are looked at once.
        """
        open_tasks = self._store.open_tasks()
        with self._metrics.folding() as metrics:
            self._tracker.tick(time.monotonic_ns())
            metrics.set_open_tasks(open_tasks)


def receipt_of(rejected: Counter[str]) -> Receipt:
    """
    What a sender is told of spans that were *rejected*, by reason.
    """
    told = (f"{count} span(s) rejected: {REJECTIONS[reason]}" for reason, count in sorted(rejected.items()))
    return Receipt(rejected.total(), "; ".join(told))
