"""
What waits to be handed on, and how much of it is lost when that goes wrong.
"""

import logging
from collections.abc import Callable, Sequence
from threading import Event

import pytest

from toolspan.errors import StoreBusyError
from toolspan.instrumentation.backlog import Backlog, Limits
from toolspan.instrumentation.losses import Faults, Losses

#: Longer than any test takes: nothing happens unless somebody asks.
NEVER_S = 3600.0
SOON_S = 20.0


class Taking:
    """
    A destination that keeps what it is given, unless it is told to do something else first.
    """

    def __init__(self, before: Callable[[Sequence[int]], None] = lambda _: None) -> None:
        self.before = before
        self.taken: list[int] = []
        self.finished = 0
        self.looked_after = Event()

    def take(self, items: Sequence[int], /) -> None:
        self.before(items)
        self.taken.extend(items)

    def look_after(self) -> None:
        self.looked_after.set()

    def finish(self) -> None:
        self.finished += 1


def backlog_to(
    destination: Taking,
    *,
    losses: Losses | None = None,
    faults: Faults | None = None,
    limits: Limits = Limits(items=10, at_once=4, every_s=NEVER_S),  # noqa: B008 - immutable
) -> Backlog[int]:
    return Backlog(destination, losses=losses or Losses(), faults=faults or Faults(), name="test", limits=limits)


class TestHandingOn:
    """
    A thread of its own.
    """

    def test_what_is_added_is_handed_on_in_order_and_completed(self) -> None:
        """When somebody asks for it."""
        destination = Taking()
        backlog = backlog_to(destination)
        for item in range(7):
            backlog.put(item)

        assert (True, list(range(7)), 1) == (backlog.flush(SOON_S), destination.taken, destination.finished)

    def test_a_batch_is_handed_on_by_itself(self) -> None:
        """Before the queue is full."""
        handed = Event()
        destination = Taking(lambda _: handed.set())
        backlog = backlog_to(destination)
        for item in range(5):
            backlog.put(item)

        assert handed.wait(SOON_S)

    def test_what_is_due_is_done_without_new_items(self) -> None:
        """Once there was one: a process that has no spans has no thread."""
        destination = Taking()
        backlog = backlog_to(destination, limits=Limits(every_s=0.001))
        backlog.put(1)

        assert destination.looked_after.wait(SOON_S)

    def test_what_comes_meanwhile_keeps_nobody_waiting(self) -> None:
        """A call with each write of the store would make a flush, a fork and the end of the process wait for ever."""
        destination = Taking()
        backlog = backlog_to(destination)

        def go_on(items: Sequence[int]) -> None:
            backlog.put(items[-1] + 1)

        def stop(items: Sequence[int]) -> None:
            del items

        destination.before = go_on
        backlog.put(1)

        assert backlog.flush(SOON_S)

        destination.before = stop
        assert backlog.close(SOON_S)
        assert list(range(1, len(destination.taken) + 1)) == destination.taken

    def test_nothing_to_hand_on_is_no_work(self) -> None:
        """Nobody waits for a thread that was never started."""
        destination = Taking()
        backlog = backlog_to(destination)

        assert (True, True, 0) == (backlog.flush(SOON_S), backlog.close(SOON_S), destination.finished)


class TestBounds:
    """
    Memory and time.
    """

    def test_what_comes_while_too_much_waits_is_lost_and_counted(self) -> None:
        """The destination hangs: what is in hand counts, too."""
        started, going_on, losses = Event(), Event(), Losses()

        def hang(_: Sequence[int]) -> None:
            started.set()
            going_on.wait(SOON_S)

        backlog = backlog_to(Taking(hang), losses=losses)
        for item in range(5):
            backlog.put(item)
        assert started.wait(SOON_S)
        for item in range(20):
            backlog.put(item)
        counts = losses.counts()
        going_on.set()

        assert {"test_queue_full": 15} == counts

    def test_no_wait_is_longer_than_it_may_be(self) -> None:
        """A destination that hangs is left behind; what it has in hand is lost, as far as anybody knows."""
        going_on, losses = Event(), Losses()

        def hang(_: Sequence[int]) -> None:
            going_on.wait(SOON_S)

        backlog = backlog_to(Taking(hang), losses=losses)
        for item in range(6):
            backlog.put(item)
        results = backlog.flush(0.01), backlog.close(0.01)
        counts = losses.counts()
        going_on.set()

        assert ((False, False), {"test_shutdown": 6}) == (results, counts)

    def test_a_full_queue_is_handed_on_at_the_end(self) -> None:
        """As far as there is time."""
        destination, losses = Taking(), Losses()
        backlog = backlog_to(destination, losses=losses, limits=Limits(items=10, at_once=100, every_s=NEVER_S))
        for item in range(10):
            backlog.put(item)

        assert (True, list(range(10)), {}) == (backlog.close(SOON_S), destination.taken, losses.counts())

    def test_what_comes_after_the_end_is_lost_and_counted(self) -> None:
        """A span may end after the provider was shut down."""
        losses = Losses()
        backlog = backlog_to(Taking(), losses=losses)
        backlog.close(SOON_S)
        backlog.put(1)

        assert {"test_shutdown": 1} == losses.counts()


class TestForks:
    """
    What a fork waits for, told as the process would tell it.
    """

    def test_of_a_destination_that_hangs_one_fork_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The next ones go on at once, until it has come back."""
        monkeypatch.setattr("toolspan.instrumentation.backlog._FORK_WAIT_S", 0.01)
        started, going_on = Event(), Event()

        def hang(_: Sequence[int]) -> None:
            started.set()
            going_on.wait(SOON_S)

        destination = Taking(hang)
        backlog = backlog_to(destination)
        for item in range(5):
            backlog.put(item)
        assert started.wait(SOON_S)
        backlog.before_fork()
        backlog.after_fork(is_child=False)
        monkeypatch.setattr("toolspan.instrumentation.backlog._FORK_WAIT_S", NEVER_S)
        backlog.before_fork()
        backlog.after_fork(is_child=False)
        going_on.set()

        assert (True, list(range(5))) == (backlog.flush(SOON_S), destination.taken)

    def test_a_child_begins_with_nothing(self) -> None:
        """What waits is its parent's to hand on."""
        destination = Taking()
        backlog = backlog_to(destination)
        backlog.put(1)
        backlog.before_fork()
        backlog.after_fork(is_child=True)
        backlog.put(2)

        assert (True, 2) == (backlog.flush(SOON_S), destination.taken[-1])
        assert destination.taken.count(1) <= 1


class TestTrouble:
    """
    A destination that does not take what it is given.
    """

    def test_what_was_not_taken_comes_again(self, caplog: pytest.LogCaptureFixture) -> None:
        """Once each, in order; the trouble is said once, also when it lasts."""
        troubles = [StoreBusyError("busy."), StoreBusyError("busy.")]

        def refuse(_: Sequence[int]) -> None:
            if troubles:
                raise troubles.pop()

        destination, losses = Taking(refuse), Losses()
        backlog = backlog_to(destination, losses=losses)
        with caplog.at_level(logging.INFO, "toolspan"):
            for item in range(3):
                backlog.put(item)
            flushed = [backlog.flush(SOON_S) for _ in range(3)]

        assert ([False, False, True], [0, 1, 2], {}, ["WARNING", "INFO"]) == (
            flushed,
            destination.taken,
            losses.counts(),
            [record.levelname for record in caplog.records],
        )

    def test_one_item_that_is_a_fault_costs_itself(self) -> None:
        """The others of its batch are handed on."""

        def choke(items: Sequence[int]) -> None:
            if 2 in items:
                raise ZeroDivisionError

        destination, losses, faults = Taking(choke), Losses(), Faults()
        backlog = backlog_to(destination, losses=losses, faults=faults)
        for item in range(4):
            backlog.put(item)

        assert (True, [0, 1, 3], {"fault": 1}, 1) == (
            backlog.flush(SOON_S),
            destination.taken,
            losses.counts(),
            faults.count,
        )

    def test_a_fault_in_what_completes_does_not_end_the_thread(self) -> None:
        """The next flush finds it alive."""
        destination, faults = Taking(), Faults()
        finish, destination.finish = destination.finish, _fail  # type: ignore[method-assign]  # for a moment
        backlog = backlog_to(destination, faults=faults)
        backlog.put(1)
        first = backlog.flush(SOON_S)
        destination.finish = finish  # type: ignore[method-assign]  # as it was
        backlog.put(2)

        assert (False, True, [1, 2], 1) == (first, backlog.flush(SOON_S), destination.taken, faults.count)

    def test_a_thread_that_cannot_be_started_is_done_without(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """At the end of the interpreter there are no new threads; what waits is handed on by who closes."""

        def refuse(_: object) -> None:
            raise RuntimeError("can't create new thread at interpreter shutdown")

        destination = Taking()
        backlog = backlog_to(destination)
        monkeypatch.setattr("threading.Thread.start", refuse)
        backlog.put(1)

        assert (True, [1]) == (backlog.close(SOON_S), destination.taken)


def _fail() -> None:
    raise ZeroDivisionError


class TestLosses:
    """
    How people hear of losses.
    """

    def test_each_reason_is_said_once_and_all_at_the_end(self, caplog: pytest.LogCaptureFixture) -> None:
        """A line for each span would be a loss of its own."""
        losses = Losses()
        with caplog.at_level(logging.WARNING, "toolspan"):
            for _ in range(3):
                losses.add("queue_full", 2)
                losses.tell()
            losses.tell_all()

        first, last = [record.getMessage() for record in caplog.records]

        assert first.startswith("toolspan: 2 spans came while too many waited to be written to the store (queue_full);")
        assert last.startswith("toolspan lost spans in this process: 6 spans came while too many waited")

    def test_nothing_lost_is_nothing_said(self, caplog: pytest.LogCaptureFixture) -> None:
        """At the end of a process where all went well."""
        with caplog.at_level(logging.WARNING, "toolspan"):
            Losses().tell_all()

        assert [] == caplog.records
