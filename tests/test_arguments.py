"""
Arguments are compared as JSON values, through wrappers, and are unknown where nothing was recorded.
"""

import json
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolspan.arguments import ArgumentHasher, unwrap
from toolspan.evidence.payloads import parse

HASHER = ArgumentHasher(b"a key")


class TestEqualArguments:
    @pytest.mark.parametrize(
        ("left", "right"),
        [
            pytest.param('{"a": 1, "b": 2}', '{"b":2,"a":1}', id="key order and spacing"),
            pytest.param('{"n": 1}', '{"n": 1.0}', id="1 is 1.0"),
            pytest.param('{"n": 100}', '{"n": 1e2}', id="exponent"),
            pytest.param('{"x": {"b": [1, 2.0], "a": null}}', '{"x":{"a":null,"b":[1.0,2]}}', id="nested"),
            pytest.param('{"a": 1}', {"a": 1}, id="text and data"),
            pytest.param('{"a": "é"}', '{"a": "\\u00e9"}', id="escapes"),
            pytest.param("{'room': '12', 'ok': True}", '{"room": "12", "ok": true}', id="python repr"),
            pytest.param('"{\\"a\\": 1}"', '{"a": 1}', id="json in json"),
        ],
    )
    def test_are_hashed_alike(self, left: object, right: object) -> None:
        """Spellings of the same JSON value are the same arguments."""
        assert HASHER.hash(left) == HASHER.hash(right)

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ('{"a": 1}', '{"a": "1"}'),
            ('{"a": true}', '{"a": 1}'),
            ('{"a": [1, 2]}', '{"a": [2, 1]}'),
            ('{"a": 1}', '{"a": 1, "b": null}'),
            ("2026-12-01", "2026-12-02"),
            ('{"n": 9007199254740993}', '{"n": 9007199254740992}'),
        ],
    )
    def test_other_values_are_other_arguments(self, left: str, right: str) -> None:
        """A difference in value is a difference in hash."""
        assert HASHER.hash(left) != HASHER.hash(right)


#: JSON of every kind, as anybody writes it: spaced, escaped or not, with numbers in every form, cut, doubled.
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8) | st.just("\x7f"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)
NUMBERS: Final = st.sampled_from(
    ["-0", "-0.0", "1.", "01", "1e5", "1E400", "1e22", "2e-324", "1.5e-7", "9" * 30, "1" * 5000, "0.1", "NaN", "1e999"]
)


class TestTheShortWay:
    """
    Most arguments are hashed without being looked into; where that is done, it changes nothing.
    """

    @settings(max_examples=300)
    @given(
        st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.booleans(), st.sampled_from(["", "}", " ", "x"])
    )
    def test_hashes_an_object_as_the_long_way(self, value: dict[str, object], is_ascii: bool, tail: str) -> None:
        """Objects as they are dumped, and with something behind them."""
        text = json.dumps(value, ensure_ascii=is_ascii) + tail

        assert HASHER.hash(parse(text)) == HASHER.hash(text)

    @settings(max_examples=200)
    @given(
        NUMBERS, NUMBERS, st.sampled_from(['{"b": %s, "a": %s}', '{"a": %s, "a": %s}', '{"a": {"c": [%s], "b": %s}}'])
    )
    def test_reads_numbers_as_the_long_way(self, one: str, other: str, form: str) -> None:
        """Numbers that are no JSON, too large for any type, or the same as another."""
        text = form % (one, other)

        assert HASHER.hash(parse(text)) == HASHER.hash(text)

    @pytest.mark.parametrize(
        "text",
        ['{"a": "\\ud800"}', '{"a": "\\u00e9"}', '{"a": "\x7f"}', '{"a": "\n"}', '{"a": "\\/\\b"}', "{}", '{"a"'],
    )
    def test_reads_texts_as_the_long_way(self, text: str) -> None:
        """Escapes, and what should have been escaped."""
        assert HASHER.hash(parse(text)) == HASHER.hash(text)

    def test_is_not_taken_for_arguments_of_which_some_are_ignored(self) -> None:
        """A key that is left out is left out of any text."""
        hasher = ArgumentHasher(b"a key", ignored=("id",))

        assert hasher.hash('{"a": 1, "id": 1}') == hasher.hash('{"a": 1, "id": 2}')


class TestWrappers:
    @pytest.mark.parametrize(
        "wrapped",
        [
            pytest.param('{"tool_name": "book", "arguments": {"room": "12"}}', id="mcp by OpenLLMetry"),
            pytest.param('{"kwargs": {"room": "12"}}', id="kwargs"),
            pytest.param('{"args": [], "kwargs": {"room": "12"}}', id="no positional"),
            pytest.param('{"name": "book", "args": {"room": "12"}, "id": "c1", "type": "tool_call"}', id="langchain"),
            pytest.param('{"function": {"name": "book", "arguments": "{\\"room\\": \\"12\\"}"}}', id="openai"),
            pytest.param(
                '{"input_str": "{\'room\': \'12\'}", "metadata": {"step": 4}, "inputs": {"room": "12"},'
                ' "kwargs": {"tool_call_id": "c1"}}',
                id="langchain by OpenLLMetry",
            ),
            pytest.param('{"input_str": "{\'room\': \'12\'}", "metadata": {"step": 5}}', id="only its text"),
        ],
    )
    def test_are_opened(self, wrapped: str) -> None:
        """What a framework puts around arguments is no part of them."""
        assert HASHER.hash('{"room": "12"}') == HASHER.hash(wrapped, tool="book", call_id="c1")

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ('{"id": "1", "input": {"x": 1}}', '{"id": "2", "input": {"x": 1}}'),
            ('{"name": "A", "parameters": {"x": 1}}', '{"name": "B", "parameters": {"x": 1}}'),
            ('{"type": "A", "args": {"x": 1}}', '{"type": "B", "args": {"x": 1}}'),
            ('{"tags": ["a"], "input": {"x": 1}}', '{"tags": ["b"], "input": {"x": 1}}'),
            ('{"metadata": 1, "inputs": {"x": 1}}', '{"metadata": 2, "inputs": {"x": 1}}'),
            ('{"id": 1, "input": "{\\"x\\": 1}"}', '{"id": 2, "input": "{\\"x\\": 1}"}'),
            (
                '{"function": {"arguments": {"x": 1}}, "target": 1}',
                '{"function": {"arguments": {"x": 1}}, "target": 2}',
            ),
            ('{"input_str": "a", "mode": 1}', '{"input_str": "a", "mode": 2}'),
        ],
    )
    def test_an_everyday_signature_is_no_wrapper(self, left: str, right: str) -> None:
        """What stands beside an argument of a wrapper's name counts, unless the span says the same."""
        assert HASHER.hash(left, tool="update", call_id="c1") != HASHER.hash(right, tool="update", call_id="c1")

    def test_a_tools_own_argument_of_a_wrappers_name_is_kept(self) -> None:
        """An argument that happens to be called `input` beside others is the tool's own."""
        arguments = {"input": {"a": 1}, "flag": True}

        assert arguments == unwrap(arguments)

    def test_positional_arguments_count(self) -> None:
        """Positional beside keyword arguments are part of the call."""
        assert HASHER.hash('{"args": [1], "kwargs": {"b": 2}}') != HASHER.hash('{"args": [2], "kwargs": {"b": 2}}')


class TestUnknownArguments:
    @pytest.mark.parametrize(
        "value",
        [None, "", " ", "{}", "[]", "null", "None", '""', "<redacted>", "[REDACTED]", "__REDACTED__", "***", {}],
    )
    def test_have_no_hash(self, value: object) -> None:
        """Empty and redacted arguments say nothing."""
        assert HASHER.hash(value) is None


class TestHash:
    def test_carries_the_id_of_its_key(self) -> None:
        """Hashes of one key begin alike, those of another key differently."""
        other = ArgumentHasher(b"another key")

        ours, theirs = HASHER.hash("x"), other.hash("x")

        assert ours is not None
        assert theirs is not None
        assert (ours[:4], len(ours)) == (HASHER.key_id, 20)
        assert ours[:4] != theirs[:4]

    def test_leaves_ignored_arguments_out(self) -> None:
        """An idempotency key does not make a repeated call another call."""
        hasher = ArgumentHasher(b"k", ignored=["idempotency_key"])

        assert hasher.hash('{"a": 1, "idempotency_key": "x"}') == hasher.hash('{"a": 1, "idempotency_key": "y"}')

    @pytest.mark.parametrize(
        "value", ["\ud800", '{"a": "\\ud800"}', "[" * 9000, "{'" * 9000, '{"a": 1e999}', "NaN", "\0"]
    )
    def test_takes_anything(self, value: str) -> None:
        """No text is beyond it."""
        assert HASHER.hash(value) is not None
