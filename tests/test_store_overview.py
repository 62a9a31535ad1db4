"""
What a store is asked beside its numbers: which names there are, where a call is, what came last.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.facts import run, tool_span, trace_id
from tests.stores import Clock, open_store
from toolspan.store.examining import latest_groups
from toolspan.store.opening import OpenFile
from toolspan.store.overview import FoundCall, KnownNames, find_calls, has_task, known_names


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OpenFile]:
    """
    A store with two tasks, the second of which came later and has an id.
    """
    clock = Clock()
    store = open_store(tmp_path / "x.duckdb", clock=clock)
    store.append([run(1), tool_span(1, 0x1234, start=0, tool="book")])
    clock.pass_s(60)
    store.append([run(2, task_id="trip"), tool_span(2, 0xAB34, start=0), tool_span(2, 0xABCD, start=20)])
    with store.reading() as opened:
        yield opened


def test_names_are_those_of_calls_and_tasks(file: OpenFile) -> None:
    """What is not known is the empty string, which can be asked for, too."""
    names = known_names(file.connection)

    assert (
        KnownNames(3, frozenset({"book", "search"}), frozenset({"planner"}), frozenset({""}), frozenset({""})) == names
    )


def test_of_an_empty_store_there_are_no_names(tmp_path: Path) -> None:
    """It was made, and nothing came."""
    store = open_store(tmp_path / "x.duckdb")
    store.hash_key()

    with store.reading() as file:
        assert KnownNames(0, frozenset(), frozenset(), frozenset(), frozenset()) == known_names(file.connection)


@pytest.mark.parametrize(("task_id", "there"), [("trip", True), ("tri", False)])
def test_a_task_is_there_by_its_whole_id(file: OpenFile, task_id: str, there: bool) -> None:
    """Part of one is none."""
    assert there == has_task(file.connection, task_id)


@pytest.mark.parametrize(
    ("span", "found"),
    [
        ("000000000000ab", [0xAB34, 0xABCD]),
        ("000000000000abcd", [0xABCD]),
        ("0000000000001234", [0x1234]),
        ("0000", [0x1234, 0xAB34, 0xABCD]),
        ("ffff", []),
        ("000000000000abcd0", []),
    ],
)
def test_calls_are_found_by_the_beginning_of_their_id(file: OpenFile, span: str, found: list[int]) -> None:
    """In order of start, with all that it takes to find them again."""
    assert found == [int.from_bytes(call.span_id, "big") for call in find_calls(file.connection, span)]


def test_a_call_is_found_with_its_task(file: OpenFile) -> None:
    """By which its rows are read."""
    assert [FoundCall(trace_id(2), (0xABCD).to_bytes(8, "big"), "search", "trip")] == find_calls(
        file.connection, "000000000000abcd"
    )


@pytest.mark.parametrize(("most_spans", "traces"), [(1, [2]), (3, [2]), (4, [1, 2])])
def test_what_came_last_is_loaded_first(file: OpenFile, most_spans: int, traces: list[int]) -> None:
    """Whole groups, until there are enough spans."""
    groups = latest_groups(file.connection, most_spans=most_spans)

    assert [trace_id(number) for number in traces] == [group[0].trace_id for group in groups]
