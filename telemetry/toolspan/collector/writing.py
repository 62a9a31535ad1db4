"""
From requests to durable rows: two threads, a bounded queue, one transaction for all requests that wait.

A commit costs some milliseconds whatever its size, so whoever comes while one is made shares the next (group commit).
Requests are decoded in a thread of their own, since DuckDB works without Python's lock: while one group is written, the
next one is decoded. A request is acknowledged when its transaction is durable, and not before.

**Bounds.** Requests that wait or are in work hold at most `Limits.bytes` together; beyond that a sender is told when to
come again. Decoded, a usual span takes half its bytes more, one with neither name nor attributes five and a half times
as many. What receivers hold of requests that have not arrived whole is not counted here.

**Faults.** What cannot be stored for now is refused, with a time to send it again; a request that nobody can decode is
the sender's; one that fails for a reason nobody foresaw fails alone, and its group is written without it.
A thread that ends otherwise is a fault of toolspan: all that waits is refused, and the collector says why and ends.
"""

import logging
import queue
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import chain
from threading import Event, Lock, Thread
from typing import Final, NamedTuple

from toolspan.collector.decoding import Decoding
from toolspan.collector.inlet import Receipt
from toolspan.config import Settings
from toolspan.errors import InputError, OverloadedError, StoreError, UnavailableError
from toolspan.garbage import Garbage
from toolspan.otlp import Decoded
from toolspan.pipeline import REJECTIONS
from toolspan.prometheus import MetricsCollector
from toolspan.store.held import HeldStore, Written
from toolspan.tracker import Tracker

_LOG: Final = logging.getLogger(__name__)
_NS: Final = 10**9
#: Half a second of work for the store: more would make the first of the group wait, and save little.
MOST_SPANS: Final = 16_384
#: Decoded requests that wait for the store: enough for the next transaction.
_MOST_DECODED: Final = 64
#: How long the writer waits for a request before it looks after what is over.
_IDLE_S: Final = 0.1
#: How often groups are settled at the most: it reads the state of all kept traces.
_SETTLE_S: Final = 0.5
#: What an idle writer checkpoints: replaying less takes no time worth saving.
_IDLE_WAL_BYTES: Final = 8 * 2**20
#: A collection takes a tenth of a second for each hundred thousand open calls.
_GARBAGE_S: Final = 60.0
_LEAST_RETRY_S: Final = 1.0
_MOST_RETRY_S: Final = 30.0
#: A store that cannot be written to (a full disk) will not be back in a second.
_STORE_RETRY_S: Final = 5.0


class Limits(NamedTuple):
    """
    How much may wait: *bytes* of requests, uncompressed, and *requests*; a request alone may always have all of it.
    """

    bytes: int = 128 * 2**20
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


class _Request(NamedTuple):
    """
    What somebody waits for.
    """

    data: bytes
    is_json: bool
    done: "Future[Receipt]"


class _Ready(NamedTuple):
    """
    A request that was decoded.
    """

    request: _Request
    decoded: Decoded


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
        self._limits = limits
        self._on_failure = on_failure
        self._settle_s = min(_SETTLE_S, max(settings.grace_s / 4, _IDLE_S))
        key = settings.hash_key if settings.is_key_given else store.hash_key()
        self._decoding = Decoding(replace(settings, hash_key=key), processes=processes)
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._decoded: queue.Queue[_Ready | None] = queue.Queue(_MOST_DECODED)
        self._count = Lock()
        self._waiting_requests = self._waiting_bytes = 0
        self._bytes_per_s = 0.0
        self._last_commit_s = 0.0
        self._settled_s = 0.0
        self._why = "it has not started"
        self._trouble = ""
        self._is_over = Event()
        self._garbage = Garbage(every_s=_GARBAGE_S)
        self._threads = [
            Thread(target=self._guarded, args=(run,), name=run.__name__.strip("_"), daemon=True)
            for run in (self._decode_all, self._write_all)
        ]

    def start(self) -> None:
        """
        Begins to take requests.
        """
        self._why = ""
        for thread in self._threads:
            thread.start()

    def submit(self, data: bytes, *, is_json: bool) -> "Future[Receipt]":
        """
        As `Inlet.submit`.
        """
        size = len(data)
        with self._count:
            if self._why:
                raise UnavailableError(f"The collector takes nothing now: {self._why}.", retry_after_s=_STORE_RETRY_S)
            if self._waiting_requests and (
                self._waiting_bytes + size > self._limits.bytes or self._waiting_requests >= self._limits.requests
            ):
                raise OverloadedError(
                    f"{self._waiting_requests:,} requests of {self._waiting_bytes:,} bytes wait to be written.",
                    retry_after_s=self._until_free_s(),
                )
            self._waiting_requests += 1
            self._waiting_bytes += size
        done: Future[Receipt] = Future()
        done.set_running_or_notify_cancel()  # what was handed in is written, whoever still waits for it
        self._requests.put(_Request(data, is_json, done))
        return done

    def state(self) -> WriterState:
        """
        How it is now.
        """
        with self._count:
            why = self._why or self._trouble
            return WriterState(not why, why, self._waiting_requests, self._waiting_bytes, self._last_commit_s)

    def drain(self, timeout_s: float) -> bool:
        """
        Takes no more, and writes what waits; whether that was done in time.
        """
        with self._count:
            self._why = self._why or "it is about to end"
        self._requests.put(None)
        return self._is_over.wait(timeout_s)

    def _guarded(self, run: Callable[[], None]) -> None:
        """
        Runs one of the loops; what ends it by a fault ends the writer.
        """
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - a thread must not end unseen
            _LOG.exception("The collector's %s failed", run.__name__.strip("_"))
            line = f"a fault of toolspan ended its writer ({type(error).__name__}: {error})"
            with self._count:
                self._why = line
            self._refuse_all(
                UnavailableError(f"The collector takes nothing now: {line}.", retry_after_s=_STORE_RETRY_S)
            )
            self._is_over.set()
            self._on_failure(line)

    def _refuse_all(self, error: UnavailableError) -> None:
        for waiting in (self._requests, self._decoded):
            while True:
                try:
                    item = waiting.get_nowait()
                except queue.Empty:
                    break
                if item is not None:
                    self._finish(item.request if isinstance(item, _Ready) else item, error)

    def _decode_all(self) -> None:
        while (request := self._requests.get()) is not None:
            self._decoding.decode(request.data, is_json=request.is_json, done=partial(self._hand_over, request))
        self._decoding.close()
        self._decoded.put(None)

    def _hand_over(self, request: _Request, outcome: Decoded | Exception) -> None:
        if isinstance(outcome, Decoded):
            self._decoded.put(_Ready(request, outcome))
            return
        if not isinstance(outcome, (InputError, UnavailableError)):
            _LOG.error("A request of %d bytes could not be decoded", len(request.data), exc_info=outcome)
        self._finish(request, outcome)

    def _write_all(self) -> None:
        is_over = False
        while not is_over:
            group, is_over = self._gather()
            if group:
                self._write(group)
            self._look_after(is_idle=not group)
            self._garbage.collect()
        self._is_over.set()

    def _gather(self) -> tuple[list[_Ready], bool]:
        """
        All that is decoded, up to a transaction's worth, and whether nothing more will come.
        """
        group: list[_Ready] = []
        spans = 0
        try:
            item = self._decoded.get(timeout=_IDLE_S)
            while item is not None:
                group.append(item)
                spans += len(item.decoded.spans)
                if spans >= MOST_SPANS:
                    return group, False
                item = self._decoded.get_nowait()
        except queue.Empty:
            return group, False
        return group, True

    def _write(self, group: Sequence[_Ready]) -> None:
        """
        Writes *group* in one transaction, and says so to all who wait.
        """
        begun_s = time.monotonic()
        try:
            self._keep(group)
        except StoreError as error:
            self._trouble_with(error)
            for each in group:
                self._finish(each.request, UnavailableError(str(error), retry_after_s=_STORE_RETRY_S))
        except Exception as error:  # noqa: BLE001 - one request must not stop the others
            if len(group) == 1:
                _LOG.exception("A request of %d bytes could not be written", len(group[0].request.data))
                self._drop(len(group[0].decoded.spans), "fault")
                self._finish(group[0].request, error)
            else:
                for each in group:
                    self._write([each])
        else:
            self._trouble = ""
            size = sum(len(each.request.data) for each in group)
            self._bytes_per_s = size / max(time.monotonic() - begun_s, 0.001)
            for each in group:
                self._finish(each.request, receipt_of(each.decoded.rejected))

    def _keep(self, group: Sequence[_Ready]) -> None:
        spans = list(chain.from_iterable(each.decoded.spans for each in group))
        rejected = sum((each.decoded.rejected for each in group), Counter[str]())
        settles = time.monotonic() - self._settled_s >= self._settle_s
        written = self._store.write(spans, knows=self._tracker.knows, rejected=rejected.total(), settles=settles)
        self._count_written(written, received=len(spans) + rejected.total(), rejected=rejected)
        if settles:
            self._settled_s = time.monotonic()
            self._count_due()

    def _count_written(self, written: Written, *, received: int, rejected: Counter[str]) -> None:
        now_ns = time.time_ns()
        drops = {**rejected, "late": written.appended.late, "conflict": written.appended.conflicts}
        with self._metrics.folding() as metrics:
            metrics.receive(received)
            for reason, count in drops.items():
                metrics.drop(count, reason=reason)
            self._tracker.written(written.derived, written.settled, now_ns=now_ns)
            metrics.set_last_commit(now_ns / _NS)
        self._last_commit_s = now_ns / _NS

    def _drop(self, spans: int, reason: str) -> None:
        with self._metrics.folding() as metrics:
            metrics.drop(spans, reason=reason)

    def _look_after(self, *, is_idle: bool) -> None:
        """
        Settles what is over, counts what is due, and checkpoints while nothing else is to be done.
        """
        try:
            if time.monotonic() - self._settled_s >= self._settle_s:
                self._settle_overdue()
            if is_idle and self._store.wal_bytes() > _IDLE_WAL_BYTES:
                self._store.checkpoint()
        except StoreError as error:
            self._trouble_with(error)

    def _trouble_with(self, error: StoreError) -> None:
        """
        Remembers that the store cannot be written to, and says so once: on a full disk every request meets it.
        """
        if str(error) != self._trouble:
            self._trouble = str(error)
            _LOG.warning("%s", error)

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
            self._tracker.tick(time.time_ns())
            metrics.set_open_tasks(open_tasks)

    def _finish(self, request: _Request, outcome: Receipt | BaseException) -> None:
        with self._count:
            self._waiting_requests -= 1
            self._waiting_bytes -= len(request.data)
        if isinstance(outcome, Receipt):
            request.done.set_result(outcome)
        else:
            request.done.set_exception(outcome)

    def _until_free_s(self) -> float:
        """
        How long it takes to write what waits, at the rate of the last transaction.
        """
        expected = self._waiting_bytes / self._bytes_per_s if self._bytes_per_s else _LEAST_RETRY_S
        return min(max(expected, _LEAST_RETRY_S), _MOST_RETRY_S)


def receipt_of(rejected: Counter[str]) -> Receipt:
    """
    What a sender is told of spans that were *rejected*, by reason.
    """
    told = (f"{count} span(s) rejected: {REJECTIONS[reason]}" for reason, count in sorted(rejected.items()))
    return Receipt(rejected.total(), "; ".join(told))
