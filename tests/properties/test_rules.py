"""
Laws of the user's rules: a book is its rules one after the other, and a wrong rule is found wherever it stands.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolspan.config import load_settings
from toolspan.errors import ConfigError
from toolspan.rules import Condition, EvidenceRule, FailureEvidence, RuleBook
from toolspan.taxonomy import CLASSES

VALUES: dict[Condition, list[str | int]] = {
    Condition.HTTP: [409, 503],
    Condition.GRPC: ["ABORTED", "UNAVAILABLE"],
    Condition.JSONRPC: [-32602, 409],
    Condition.SQLSTATE: ["2", "23", "23505"],
    Condition.ERROR_TYPE: ["SlotTaken", "acme.SlotTaken"],
    Condition.ERROR_CODE: ["CONFLICT", "slot-taken"],
    Condition.MESSAGE: ["taken", "^slot"],
    Condition.RESULT: ["taken", "^sold"],
}

texts = st.sampled_from(["slot taken", "sold out", "taken", ""])
rules = st.sampled_from([(condition, value) for condition, values in VALUES.items() for value in values]).flatmap(
    lambda pair: st.builds(
        EvidenceRule,
        st.just(pair[0]),
        st.just(pair[1]),
        st.sampled_from(CLASSES),
        st.sampled_from(["*", "book_*", "pay"]),
        st.sampled_from([None, "A1", "B2"]),
    )
)
evidence = st.builds(
    FailureEvidence,
    http=st.sampled_from([None, 409, 503]),
    grpc=st.sampled_from([None, "10", "StatusCode.UNAVAILABLE", "Aborted"]),
    jsonrpc=st.sampled_from([None, -32602]),
    sqlstate=st.sampled_from([None, "23505", "24000"]),
    error_types=st.lists(st.sampled_from(["acme.SlotTaken", "SlotTaken", "b.Other"]), max_size=2).map(tuple),
    code=st.sampled_from([None, "CONFLICT", "SLOT_TAKEN"]),
    texts=st.lists(texts, max_size=2).map(tuple),
)
tools = st.sampled_from(["book_slot", "pay", "search"])


@settings(max_examples=100)
@given(st.lists(rules, max_size=6), tools, evidence)
def test_first_rule_that_matches_decides(book: list[EvidenceRule], tool: str, failure: FailureEvidence) -> None:
    """
    A book says what the first of its rules says that says anything when asked alone.
    """
    alone = (RuleBook((rule,)).match_failure(tool, failure) for rule in book)

    assert next((hit for hit in alone if hit is not None), None) == RuleBook(tuple(book)).match_failure(tool, failure)


@settings(max_examples=100)
@given(st.lists(rules, max_size=6), tools, texts)
def test_result_that_fails_is_a_failure_of_the_same_kind(book: list[EvidenceRule], tool: str, text: str) -> None:
    """
    What a rule makes of a result that nothing else calls a failure, it makes of one that something does.
    """
    of_results = RuleBook(tuple(rule for rule in book if rule.condition is Condition.RESULT))

    expected = of_results.match_failure(tool, FailureEvidence(texts=(text,)))
    assert expected == RuleBook(tuple(book)).match_result(tool, text)


NOISE = ["\n", "# [[rule]]\n", "\n\n# class = 'x'\n"]
TOOLS = ['"*"', "'''\n[[rule]]\nclass = 'fatal'\n'''", '"""\\\n  book_*"""', "'#'"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(NOISE), st.sampled_from(TOOLS)), min_size=1, max_size=6), st.data())
def test_wrong_line_is_found(tmp_path: Path, written: list[tuple[str, str]], data: st.DataObject) -> None:
    """
    Whatever stands around a wrong value, the message names its line.
    """
    wrong = data.draw(st.integers(0, len(written) - 1))
    entries = [
        f"{noise}[[rule]]\ntool = {tool}\nhttp = 409\nclass = '{'wrong' if number == wrong else 'fatal'}'\n"
        for number, (noise, tool) in enumerate(written)
    ]
    path = tmp_path / "toolspan.toml"
    path.write_text("".join(entries), encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        load_settings(environ={}, config_path=str(path))

    line = "".join(entries[: wrong + 1]).count("\n")
    assert str(caught.value).startswith(f"{path} line {line}: unknown class 'wrong'; ")
