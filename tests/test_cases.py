"""
Small traces with the right numbers: each case is one sentence of the definitions.
"""

import json
from pathlib import Path

import pytest

from toolspan.config import load_settings
from toolspan.evidence.payloads import is_object
from toolspan.numbers import report
from toolspan.pipeline import make_decoder, read_files
from toolspan.records import Rows
from toolspan.store.memory import MemoryStore

DATA = Path(__file__).parent / "data"
CASES = sorted((DATA / "cases").glob("*.expect.json"))


def rows_of(path: Path) -> Rows:
    """
    The rows of a file of spans.
    """
    store = MemoryStore()
    read_files([str(path)], decoder=make_decoder(load_settings(environ={})), store=store)
    store.settle()
    return store.rows()


def missing(expected: object, actual: object, where: str = "") -> list[str]:
    """
    What of *expected* is not in *actual*; floats within 1e-9.
    """
    if is_object(expected):
        return [
            line
            for key, value in expected.items()
            for line in (
                missing(value, actual[key], f"{where}.{key}")
                if is_object(actual) and key in actual
                else [f"{where}.{key}: missing"]
            )
        ]
    if isinstance(expected, float) and isinstance(actual, int | float):
        return [] if abs(expected - actual) <= 1e-9 else [f"{where}: {expected} != {actual}"]
    return (
        []
        if expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
        else [f"{where}: {expected!r} != {actual!r}"]
    )


@pytest.mark.parametrize("expectation", CASES, ids=[path.name.removesuffix(".expect.json") for path in CASES])
def test_a_case_has_the_right_numbers(expectation: Path) -> None:
    """The report contains every value that the case expects."""
    expected = json.loads(expectation.read_text())["expect"]
    spans = expectation.with_name(expectation.name.replace(".expect.json", ".otlp.jsonl"))

    document = json.loads(json.dumps(report(rows_of(spans))))

    assert missing(expected, document) == []


def test_there_are_cases() -> None:
    """An empty folder would prove nothing."""
    assert len(CASES) >= 50


CLASSIFY = [json.loads(line) for line in (DATA / "cases" / "classify.expect.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def classified() -> dict[str, tuple[str, str | None, str | None]]:
    rows = rows_of(DATA / "cases" / "classify.otlp.jsonl")
    return {call.span_id.hex(): (call.outcome, call.error_class, call.code) for call in rows.calls}


@pytest.mark.parametrize("expected", CLASSIFY, ids=[form["case"] for form in CLASSIFY])
def test_a_form_of_evidence_is_classified(
    expected: dict[str, str], classified: dict[str, tuple[str, str | None, str | None]]
) -> None:
    """Outcome, class and code of a failure as a client prints it."""
    assert (expected["outcome"], expected["class"], expected["code"]) == classified[expected["span_id"]]
