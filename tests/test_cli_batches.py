"""
Spans on their way from input that need not end: how they are gathered, and what happens while nothing comes.
"""

import os
from collections.abc import Iterable

import pytest

from tests.facts import run, tool_span
from toolspan.cli._batches import Batches, Totals
from toolspan.cli._live import LiveInput
from toolspan.records import SpanFacts
from toolspan.store import AppendResult
from toolspan.store.memory import MemoryStore


def _interrupt() -> None:
    raise KeyboardInterrupt


class TestLiveInput:
    def test_calls_back_while_nothing_comes(self) -> None:
        """
        And goes on reading, without having lost anything.
        """
        reader, writer = os.pipe()
        pieces = [b"", b"second", b"first"]
        live = LiveInput(reader, idle_s=0, on_idle=lambda: _feed(writer, pieces.pop()))

        came = [live.read1(100) for _ in range(3)]

        os.close(reader)
        assert ([b"first", b"second", b""], []) == (came, pieces)

    def test_leaves_the_descriptor_open(self) -> None:
        """
        It is the process's, not ours.
        """
        reader, writer = os.pipe()

        LiveInput(reader, idle_s=0, on_idle=_interrupt).close()

        os.write(writer, b"x")
        os.close(writer)
        assert b"x" == os.read(reader, 1)
        os.close(reader)


def _feed(writer: int, piece: bytes) -> None:
    """
    Writes *piece*, or ends the pipe where it is empty.
    """
    if piece:
        os.write(writer, piece)
    else:
        os.close(writer)


class TestBatches:
    @pytest.fixture
    def clock(self) -> list[float]:
        return [0.0]

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    def batches(self, store: MemoryStore, clock: list[float]) -> Batches:
        return Batches(store, most_spans=3, most_s=2.0, clock=lambda: clock[0])

    @staticmethod
    def kept(store: MemoryStore) -> int:
        """
        How many calls *store* has.
        """
        return len(store.rows().calls)

    def test_are_handed_on_when_they_are_large(self, batches: Batches, store: MemoryStore) -> None:
        """
        Not before.
        """
        kept: list[int] = []
        for number in range(1, 4):
            batches.append([tool_span(number, 2, start=0)])
            kept.append(self.kept(store))

        assert ([0, 0, 3], Totals(new=3)) == (kept, batches.totals)

    def test_are_handed_on_when_they_are_old(self, batches: Batches, store: MemoryStore, clock: list[float]) -> None:
        """
        By the age of their first span.
        """
        kept: list[int] = []
        for clock[0] in (10.0, 12.0, 13.0, 14.9, 15.0):
            batches.append([tool_span(round(clock[0] * 10), 2, start=0)] if clock[0] != 14.9 else [])
            kept.append(self.kept(store))

        assert [0, 2, 2, 2, 4] == kept

    def test_count_what_became_of_all_spans(self, batches: Batches) -> None:
        """
        Of those that were handed on.
        """
        span = tool_span(1, 2, start=0)
        batches.append([span, run(1), span])
        batches.append([span._replace(end_ns=77)])

        batches.flush()

        assert Totals(new=2, duplicates=1, conflicts=1) == batches.totals

    def test_that_fail_go_on_waiting(
        self, batches: Batches, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Whoever is interrupted can try again.
        """
        batches.append([run(1), tool_span(1, 2, start=0)])

        def interrupted(_spans: Iterable[SpanFacts], /) -> AppendResult:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(store, "append", interrupted)
            with pytest.raises(KeyboardInterrupt):
                batches.flush()
        batches.settle()

        assert (Totals(new=2), 1) == (batches.totals, self.kept(store))
