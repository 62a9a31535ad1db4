"""
A group that has as many spans as one may have: what comes for it is counted and not kept, and everybody else is served.
"""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.facts import run, tool_span
from tests.held import knows_none, read
from tests.stores import Clock
from toolspan.config import Settings
from toolspan.records import SpanFacts
from toolspan.store import AppendResult
from toolspan.store.held import HeldStore
from toolspan.store.intake import intake_of

_MOST = 4


@pytest.fixture
def store(tmp_path: Path) -> Generator[HeldStore]:
    settings = replace(Settings(), task_spans=_MOST)
    opened = HeldStore(tmp_path / "x.duckdb", url="", settings=settings, tell=pytest.fail, clock_ns=Clock())
    yield opened
    opened.close()


def append(store: HeldStore, *spans: SpanFacts) -> AppendResult:
    return store.write(list(spans), knows=knows_none).appended


def calls(trace: int, *spans: int, task_id: str = "") -> list[SpanFacts]:
    """
    A run of *trace*, in the task *task_id* where it is given, and its calls.
    """
    return [run(trace, task_id=task_id), *(tool_span(trace, span, start=span * 10) for span in spans)]


def test_no_more_is_kept_of_it(store: HeldStore) -> None:
    """What comes is counted; what repeats a kept span is a repeat, as before."""
    append(store, *calls(1, 2, 3, 4))

    result = append(store, *calls(1, 4, 5, 6))

    assert (0, 2, 2) == (result.new, result.duplicates, result.overflow)
    assert 3 == len(read(store).calls)
    with store.reading() as connection:
        assert (4 + 4, 2, 2) == tuple(intake_of(connection)[name] for name in ("received", "duplicate", "overflow"))


def test_others_are_served(store: HeldStore) -> None:
    """Also in the very request that brings too much."""
    append(store, *calls(1, 2, 3, 4))

    result = append(store, tool_span(1, 9, start=90), *calls(2, 2))

    assert (2, 1) == (result.new, result.overflow)
    assert 3 + 1 == len(read(store).calls)


def test_a_trace_that_names_its_task_is_part_of_it(store: HeldStore) -> None:
    """One task id for everything is how a group becomes too large."""
    append(store, *calls(1, 2, 3, 4, task_id="all"))

    joining = append(store, *calls(2, 2, task_id="all"))
    other = append(store, *calls(3, 2, task_id="another"))

    assert (0, 2) == (joining.new, joining.overflow)
    assert (2, 0) == (other.new, other.overflow)


def test_it_settles_as_others_do(tmp_path: Path) -> None:
    """With what it has; what is not kept does not keep it open."""
    clock = Clock()
    settings = replace(Settings(), task_spans=_MOST, grace_s=2)
    store = HeldStore(tmp_path / "x.duckdb", url="", settings=settings, tell=pytest.fail, clock_ns=clock)
    append(store, *calls(1, 2, 3, 4))
    clock.pass_s(3)

    settled = store.write([tool_span(1, 9, start=90)], knows=knows_none).settled

    assert 1 == len(settled)
    assert [True] == [task.settled for task in read(store).tasks]
    store.close()


def test_a_query_that_does_not_fit_into_memory_uses_the_disk(store: HeldStore, tmp_path: Path) -> None:
    """And leaves nothing there."""
    with store.reading() as connection:
        connection.execute("set memory_limit = '40MB'")
        ordered = connection.execute("select row_number() over (order by hash(i)) from range(3000000) as numbers(i)")
        found = sum(1 for _ in iter(lambda: ordered.fetchmany(100_000), []))
    store.close()

    assert 30 == found
    assert not list(tmp_path.glob("*.tmp"))
