"""
A place to hand requests in that keeps them in memory, for tests of receivers.
"""

from collections import Counter
from concurrent.futures import Future
from queue import SimpleQueue

from toolspan.collector.inlet import Receipt
from toolspan.collector.writing import receipt_of
from toolspan.config import Settings
from toolspan.errors import InputError
from toolspan.pipeline import make_decoder
from toolspan.records import SpanFacts


class MemoryInlet:
    """
    Decodes what is submitted and remembers it; fails as it is told.

    *failures* are raised by the next submits, *faults* end their futures. While it *holds*, what is submitted waits in
    *held* for whoever ends its future.
    """

    def __init__(self) -> None:
        self._decoder = make_decoder(Settings())
        self.forget()

    def forget(self) -> None:
        """
        As if nothing had been submitted or told.
        """
        self.failures: list[Exception] = []
        self.faults: list[Exception] = []
        self.holds = False
        self.held: SimpleQueue[Future[Receipt]] = SimpleQueue()
        self.spans: list[SpanFacts] = []
        self.rejected: Counter[str] = Counter()

    def submit(self, data: bytes, *, is_json: bool) -> "Future[Receipt]":
        """
        As `Inlet.submit`.
        """
        if self.failures:
            raise self.failures.pop(0)
        done: Future[Receipt] = Future()
        if self.faults:
            done.set_exception(self.faults.pop(0))
            return done
        try:
            decoded = self._decoder.decode(data, is_json=is_json)
        except InputError as error:
            done.set_exception(error)
            return done
        self.spans += decoded.spans
        self.rejected += decoded.rejected
        if self.holds:
            self.held.put(done)
        else:
            done.set_result(receipt_of(decoded.rejected))
        return done
