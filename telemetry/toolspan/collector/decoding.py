"""
Requests → facts of spans, in processes of their own where that is worth it.

To decode and classify is a third of the collector's work, all of it Python's, and needs nothing but the request: so on
a machine with several cores it is done beside the writer. A request of a few spans is decoded at once, for a process
costs the machine 80 MB; the first large one starts them. What comes back is msgpack: 0.3 µs a span to write and 2 to
read, where decoding takes 7.
"""

import logging
import os
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import Final

import msgspec

from toolspan.config import Settings
from toolspan.errors import InputError, UnavailableError
from toolspan.otlp import Decoded, Decoder
from toolspan.pipeline import make_decoder
from toolspan.records import SpanFacts

_LOG: Final = logging.getLogger(__name__)
#: About forty spans, half a millisecond of work.
_SMALL_BYTES: Final = 32 * 2**10
_RETRY_S: Final = 1.0

#: What is called with the spans of a request, or with what is wrong with it.
Done = Callable[[Decoded | Exception], None]

#: Spans on their way from one process to another.
encode: Final = msgspec.msgpack.Encoder().encode
read_spans: Final = msgspec.msgpack.Decoder(list[SpanFacts]).decode


class Decoding:
    """
    Decodes with *settings*, whose key is that of the store; large requests in as many *processes*, in none where that
    is 0.
    """

    def __init__(self, settings: Settings, *, processes: int) -> None:
        self._settings = settings
        self._processes = processes
        self._decoder = make_decoder(settings)
        self._pool: ProcessPoolExecutor | None = None

    def decode(self, data: bytes, *, is_json: bool, done: Done) -> None:
        """
        Decodes *data* and calls *done*, now or later, in this thread or another.
        """
        if not self._processes or len(data) <= _SMALL_BYTES:
            try:
                decoded = self._decoder.decode(data, is_json=is_json)
            except InputError as error:
                done(error.with_traceback(None))  # its frames hold the request, and the sender's answer holds it
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one request must not stop the others
                done(error)
            else:
                done(decoded)
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._processes, get_context("spawn"), initializer=_begin, initargs=(self._settings,)
            )
        try:
            self._pool.submit(_decode, data, is_json).add_done_callback(partial(_receive, done))
        except BrokenExecutor:
            self._pool = None  # the next large request starts others
            _LOG.exception("A process that decodes has ended")
            done(_broken())
        except Exception as error:  # noqa: BLE001 - as above
            done(error)

    def close(self) -> None:
        """
        Returns when all that was given is done.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=True)


def _broken() -> UnavailableError:
    return UnavailableError("A process that decodes has ended; send the request again.", retry_after_s=_RETRY_S)


def _receive(done: Done, future: "Future[tuple[bytes, Counter[str]]]") -> None:
    try:
        spans, rejected = future.result()
        decoded = Decoded(read_spans(spans), rejected)
    except BrokenExecutor:
        done(_broken())
    except Exception as error:  # noqa: BLE001 - as in `decode`; what is raised here, nobody would be told
        done(error)
    else:
        done(decoded)


# Below: in a process that decodes.

_decoder: Decoder | None = None


def _begin(settings: Settings) -> None:
    """
    Prepares to decode, and to end with the collector, however that ends.
    """
    global _decoder  # noqa: PLW0603 - the state of a process whose only work this is
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the collector's, which still needs this one
    Thread(target=_end_with_parent, daemon=True).start()
    _decoder = make_decoder(settings)


def _end_with_parent() -> None:
    """
    Ends this process when the collector does. By itself it would wait for work for ever, with the collector's standard
    output open: it holds both ends of the pipe from which that comes.
    """
    parent = parent_process()
    assert parent is not None  # noqa: S101 - this is a child
    wait([parent.sentinel])
    os._exit(1)


def _decode(data: bytes, is_json: bool) -> tuple[bytes, Counter[str]]:
    assert _decoder is not None  # noqa: S101 - `_begin` ran
    spans, rejected = _decoder.decode(data, is_json=is_json)
    return encode(spans), rejected
