"""
Real spans of real frameworks: every call found, once, with its tool, outcome and class.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_cases import DATA, rows_of
from toolspan.records import Call

PAIRS = sorted((DATA / "corpus").glob("*.expect.jsonl"))


class Pair(NamedTuple):
    """
    What happened and what was found in one file.
    """

    expectations: list[dict[str, str | None]]
    calls: dict[tuple[str, str], Call]


@pytest.fixture(scope="module", params=PAIRS, ids=[path.name.removesuffix(".expect.jsonl") for path in PAIRS])
def pair(request: pytest.FixtureRequest) -> Pair:
    path: Path = request.param
    rows = rows_of(path.with_name(path.name.replace(".expect.jsonl", ".otlp.jsonl.gz")))
    calls = {(call.trace_id.hex(), call.span_id.hex()): call for call in rows.calls}
    assert len(calls) == len(rows.calls)
    expectations = [json.loads(line) for line in path.read_text().splitlines()]
    return Pair([row for row in expectations if row["span_id"] is not None], calls)


def scored(pair: Pair) -> list[tuple[dict[str, str | None], Call]]:
    return [
        (row, pair.calls[str(row["trace_id"]), str(row["span_id"])])
        for row in pair.expectations
        if row["outcome"] not in ("extra", "other") and not str(row["outcome"]).endswith("invisible")
    ]


def test_every_call_is_found_once_and_nothing_else(pair: Pair) -> None:
    """The calls are those that happened; spans of the same call are none of their own."""
    expected = {(row["trace_id"], row["span_id"]) for row in pair.expectations}

    assert expected == set(pair.calls)


def test_tools_and_outcomes_are_right(pair: Pair) -> None:
    """Whatever the spans show of tool and outcome is read."""
    wrong = [(row, call) for row, call in scored(pair) if (row["tool"], row["outcome"]) != (call.tool, call.outcome)]

    assert wrong == []


def test_classes_are_right(pair: Pair) -> None:
    """A failure has the class of what truly happened, where its spans tell."""
    wrong = [
        (row, call)
        for row, call in scored(pair)
        if row["class"] and row["outcome"] == "error" and row["class"] != call.error_class
    ]

    assert wrong == []
