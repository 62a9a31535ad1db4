"""
What waits for a thread of its own to be handed on: to a store, to counters, to an exporter.

Whoever adds to it is the agent, which waits for nothing: one look at a length and one append. What comes while too
much waits is lost, and counted. The thread hands on a batch at a time. A destination that is in trouble gets the same
batch again later, while the agent goes on and the backlog fills up; one batch that fails for a reason that nobody
foresaw is halved until the item that is to blame is found, and only that one is lost.

**Time.** Waiting is bounded everywhere, by a clock that never goes back: the SDK's own `force_flush` ignores its
timeout, and here a store may hang. A thread that does not come back in time is left behind, for it ends with the
process.

**The end of the interpreter.** DuckDB refuses whatever needs Python in any thread but the main one once its own exit
handler has run, which is before that of a tracer provider that was made before DuckDB was imported. So at the end, a
destination that *ends_inline* is handed what waits by who closes.

**Forks.** The thread does not exist in a child, which begins with nothing: what waited is the parent's to hand on. The
child's thread starts with its first item, since many children never have one.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition, Event, Lock, Thread, main_thread
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from toolspan.errors import StoreBusyError, ToolspanError
from toolspan.instrumentation import forks
from toolspan.instrumentation.losses import Faults, Losses

_LOG: Final = logging.getLogger("toolspan")
_Item = TypeVar("_Item")
_Taken_contra = TypeVar("_Taken_contra", contravariant=True)

#: How long a destination in trouble is left alone: doubled each time, from the first to the second of these.
_FIRST_REST_S: Final = 1.0
_LONGEST_REST_S: Final = 30.0
#: How long a fork waits for a batch that is being written: 30 ms as a rule, on a machine that does other things half a
#: second. A child of a fork in the middle of it could never use the store. Of one that hangs, a single fork waits.
_FORK_WAIT_S: Final = 5.0


class Destination(Protocol[_Taken_contra]):
    """
    Where items are handed on to; for one thread.
    """

    def take(self, items: Sequence[_Taken_contra], /) -> None:
        """
        Keeps *items*.

        Raises:
            ToolspanError: not now; the same items come again later.
        """
        ...

    def look_after(self) -> None:
        """
        Does what is due without new items.

        Raises:
            ToolspanError: not now.
        """
        ...

    def finish(self) -> None:
        """
        Completes what was taken: somebody asks for it now, or nothing more will come.

        Raises:
            ToolspanError: not now.
        """
        ...


class Limits(NamedTuple):
    """
    How many items may wait, how many are handed on *at_once*, and how long they gather (*every_s*).
    """

    items: int = 16_384
    at_once: int = 4_096
    every_s: float = 1.0


class Backlog(Generic[_Item]):
    """
    Items on their way to *destination*.

    Args:
        name: of the thread, and before the reasons of *losses*: `queue_full`, `shutdown`.
        clock: in seconds, never goes back.
    """

    def __init__(
        self,
        destination: Destination[_Item],
        *,
        losses: Losses,
        faults: Faults,
        name: str = "",
        limits: Limits = Limits(),  # noqa: B008 - immutable
        ends_inline: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._destination = destination
        self._losses = losses
        self._faults = faults
        self._name = name
        self._limits = limits
        self._ends_inline = ends_inline
        self._clock = clock
        self._trouble = ""
        self._is_closed = False
        self._is_fork_awaited = False
        self._begin()
        forks.register(self)

    def _begin(self) -> None:
        """
        The state of a process that has nothing to hand on.
        """
        self._items: deque[_Item] = deque()
        self._in_hand: list[_Item] = []
        self._thread: Thread | None = None
        self._starting = Lock()
        self._busy = Lock()
        self._hurry = Event()
        self._asked = self._done = self._passes = 0
        self._hangs_since: int | None = None
        self._is_well, self._is_busy = True, False
        self._changed = Condition(Lock())

    def put(self, item: _Item) -> None:
        """
        Adds *item*, or counts it as lost; never waits.
        """
        waiting = len(self._items) + len(self._in_hand)
        if self._is_closed or waiting >= self._limits.items:
            self._losses.add(self._reason("shutdown" if self._is_closed else "queue_full"))
            return
        self._items.append(item)
        if self._thread is None:
            self._start()
        elif waiting >= self._limits.at_once and self._is_well and not self._hurry.is_set():
            self._hurry.set()

    def flush(self, timeout_s: float) -> bool:
        """
        Waits until what was added is handed on and completed; whether that was done within *timeout_s*.
        """
        if self._thread is None:
            # nothing came, or no thread could be started
            return not self._items or self._work(is_asked=True)
        if self._ends_inline and _is_interpreter_ending():
            return self._flush_inline(timeout_s)
        with self._changed:
            self._asked += 1
            asked = self._asked
            self._hurry.set()
            self._changed.wait_for(lambda: self._done >= asked, max(timeout_s, 0))
            return self._done >= asked and self._is_well

    def close(self, timeout_s: float) -> bool:
        """
        As `flush`, and takes nothing more; what is left then is lost.
        """
        if self._is_closed:
            return True
        deadline_s = self._clock() + timeout_s
        while not self.flush(deadline_s - self._clock()) and self._is_busy and self._clock() < deadline_s:
            # others use it: the next time they may not
            pass
        self._is_closed = True
        self._hurry.set()
        left = self._drop_all()
        self._losses.add(self._reason("shutdown"), left)
        return not left

    def _flush_inline(self, timeout_s: float) -> bool:
        if timeout_s <= 0 or not self._busy.acquire(timeout=timeout_s):
            return False
        try:
            return self._work(is_asked=True)
        finally:
            self._busy.release()

    def before_fork(self) -> None:
        """
        Waits a moment for a batch that is being written: of a file that is open at a fork, the child can never use one.
        """
        timeout_s = 0 if self._hangs_since == self._passes else _FORK_WAIT_S
        self._is_fork_awaited = self._busy.acquire(timeout=timeout_s)
        self._hangs_since = None if self._is_fork_awaited else self._passes

    def after_fork(self, *, is_child: bool) -> None:
        """
        In a child, begins anew.
        """
        if is_child:
            self._trouble = ""
            self._begin()
        elif self._is_fork_awaited:
            self._busy.release()

    def _reason(self, reason: str) -> str:
        return f"{self._name}_{reason}" if self._name else reason

    def _start(self) -> None:
        # at the end of the interpreter none can be started: who closes hands on what waits
        with self._starting, suppress(RuntimeError):
            if self._thread is None:
                thread = Thread(target=self._run, args=(self._items,), name=f"toolspan {self._name}", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self, items: "deque[_Item]") -> None:
        rest_s = 0.0
        while items is self._items and not self._is_closed:
            self._hurry.wait(max(self._limits.every_s, rest_s))
            self._hurry.clear()
            with self._changed:
                asked = self._asked
            with self._busy:
                is_well = self._work(is_asked=asked > self._done)
            self._passes += 1
            rest_s = 0.0 if is_well else min(max(rest_s * 2, _FIRST_REST_S), _LONGEST_REST_S)
            self._losses.tell()
            with self._changed:
                self._done, self._is_well = asked, is_well
                self._changed.notify_all()

    def _work(self, *, is_asked: bool) -> bool:
        """
        Hands on all that waits; whether the destination took it.
        """
        try:
            # what comes meanwhile is the next pass's: a call with each write of the store would keep this one for ever
            left = len(self._items) + len(self._in_hand)
            while left > 0 and self._gather():
                left -= len(self._in_hand)
                self._hand_on(len(self._in_hand))
            if is_asked:
                self._destination.finish()
            else:
                self._destination.look_after()
        except ToolspanError as error:
            self._is_busy = isinstance(error, StoreBusyError)
            self._tell_trouble(str(error))
            return False
        except Exception as error:  # noqa: BLE001 - the thread of somebody else's process must not end
            self._faults.caught(f"the thread that hands on ({self._name or 'store'})", error)
            return False
        if self._trouble:
            self._trouble = ""
            _LOG.info("toolspan: what waited is handed on again.")
        return True

    def _gather(self) -> bool:
        """
        Takes a batch in hand, unless there is one; whether there is one now.
        """
        items, batch = self._items, self._in_hand
        while items and len(batch) < self._limits.at_once:
            batch.append(items.popleft())
        return bool(batch)

    def _hand_on(self, count: int) -> None:
        """
        Hands on the first *count* items in hand, which are in hand no more then.
        """
        try:
            self._destination.take(self._in_hand[:count])
        except ToolspanError:
            raise
        except Exception as error:  # noqa: BLE001 - one item must not cost the others
            if count > 1:
                self._hand_on(count // 2)
                self._hand_on(count - count // 2)
                return
            self._losses.add("fault")
            self._faults.caught(f"what hands on ({self._name or 'store'})", error)
        del self._in_hand[:count]

    def _drop_all(self) -> int:
        left = len(self._in_hand) + len(self._items)
        self._items.clear()
        return left

    def _tell_trouble(self, text: str) -> None:
        """
        Says once what the trouble is: on a full disk every batch meets it.
        """
        if text != self._trouble:
            self._trouble = text
            _LOG.warning("toolspan: %s Meanwhile spans wait, as far as there is room.", text)


def _is_interpreter_ending() -> bool:
    """
    Whether the program is over and exit handlers run.
    """
    return not main_thread().is_alive()
