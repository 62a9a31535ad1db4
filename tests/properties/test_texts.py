"""
Laws of reading texts: total, deterministic, bounded, and stable under what clients vary.
"""

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolspan.evidence.exceptions import cause_of, exception_texts, last_component, name_exception
from toolspan.evidence.phrases import find_phrase, words_of
from toolspan.evidence.statuses import name_grpc, name_http, name_http_reason, name_oauth, name_sqlstate
from toolspan.evidence.texts import read_form, read_text
from toolspan.taxonomy import CLASSES, TABLE

DATA = Path(__file__).parent.parent / "data"
PRINTED = [json.loads(line)["text"] for line in (DATA / "error_texts.jsonl").read_text(encoding="utf-8").splitlines()]
CODE = re.compile(r"[A-Z][A-Z0-9_]{0,61}[A-Z0-9]")

# any text at all, with lone surrogates and NUL, and texts made of pieces that mean something
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)
PIECES = st.sampled_from(
    [
        *(
            "404",
            "503",
            "HTTP ",
            "Not Found",
            " (",
            ")",
            ": ",
            "'",
            '"',
            "\n",
            "\\n",
            "status code ",
            "StatusCode.",
            "E",
        ),
        *("TimeoutError", "KeyError", "a.b.", "UNAVAILABLE", "14 ", "rpc error: code = ", " desc = ", "ECONNRESET"),
        *(
            "Traceback (most recent call last):\n",
            "  File x\n",
            "[Errno 2] ",
            "No such file or directory",
            "raised ",
            ">",
        ),
        *("The above exception was the direct cause of the following exception:", "\nCaused by: ", "input_value="),
        *("During handling of the above exception, another exception occurred:", ", input_type=", "SQLSTATE", "23505"),
        *(") when calling", "Throttling", "missing 1 required positional argument", "invalid_grant", "\ud800", "\x00"),
    ]
)
TEXTS = st.one_of(ANY_TEXT, st.lists(PIECES, max_size=30).map("".join), st.sampled_from(PRINTED))


@settings(max_examples=300)
@given(TEXTS)
def test_every_text_is_read_as_one_of_five_classes_or_none(text: str) -> None:
    """Reading never raises, and what it names is valid."""
    for named in (read_text(text), read_form(text)):
        if named is not None:
            assert named.error_class in set(CLASSES)
            assert CODE.fullmatch(named.code)
            assert named.evidence.isprintable()


@given(TEXTS)
def test_a_form_is_what_is_read(text: str) -> None:
    """Only generic types are read beyond forms."""
    form = read_form(text)

    assert form in (None, read_text(text))


@given(TEXTS)
def test_every_trace_is_taken_apart(text: str) -> None:
    """Taking apart never raises, and adds nothing."""
    cause = cause_of(text)

    assert all(part in text for part in exception_texts(text))
    assert cause is None or (cause[0] in text and cause[1] in text)


@given(ANY_TEXT)
def test_every_name_is_looked_up(text: str) -> None:
    """Lookups never raise."""
    names = (name_grpc(text), name_http_reason(text), name_oauth(text), name_sqlstate(text))
    found = name_exception(text)

    assert {str} >= {type(each.code) for each in names if each is not None}
    assert found is None or last_component(text) == last_component(found[0].evidence.partition(":")[2])


@given(st.integers(), st.sampled_from(["status code {}", "HTTP {}", "Error code: {}", "{}, message='x'", "'{} Gone'"]))
def test_a_status_is_read_only_between_400_and_599(status: int, form: str) -> None:
    """Whatever the form, other numbers are no failed status."""
    assume(form != "'{} Gone'" or status == 410)

    assert name_http(status) == read_text(form.format(status))


@given(
    st.sampled_from(PRINTED),
    st.sampled_from(
        ["", "\n", " ", "\n\n", "\nrequest id: 4f1c-404", "\nRetry in 503 ms", "\nsee https://x.test/404/503"]
    ),
)
def test_noise_behind_a_form_changes_nothing(text: str, noise: str) -> None:
    """Ids, times and addresses are no evidence."""
    assume("Traceback" not in text)  # of a trace the last exception counts, which a further line might be

    assert read_text(text) == read_text(text + noise)


@given(st.sampled_from(PRINTED), st.integers(1024, 65535), st.from_regex(r"[a-z]{3,8}/[0-9]{3}", fullmatch=True))
def test_another_address_changes_nothing(text: str, port: int, path: str) -> None:
    """The reading does not depend on where the client called."""
    moved = re.sub(r"https?://[^\s'\"`>)\]}]+?(?=[.]?[\s'\"`>)\]},]|: |$)", f"http://10.0.0.1:{port}/{path}", text)

    assert read_text(text) == read_text(moved)


@given(st.lists(st.from_regex(r"[A-Za-z]{2,9}|[0-9]{1,6}", fullmatch=True), min_size=1, max_size=20))
def test_words_and_numbers_alone_say_nothing(words: list[str]) -> None:
    """Without a client's frame a number is a number."""
    text = " ".join(words)
    assume(not re.search(r"(?i)http|status|code|error|time|E[A-Z]{3}|gone|locked|conflict|forbidden", text))

    assert read_text(text) is None


@pytest.mark.parametrize("expression", [rule.value for rule in TABLE["text"]])
def test_every_match_of_a_listed_phrase_contains_its_words(expression: str) -> None:
    """Searching only where the words are loses nothing."""

    @settings(max_examples=50, deadline=None)  # the first text of an expression takes long to make
    @given(st.from_regex(expression))
    def check(text: str) -> None:
        words = words_of(expression)

        assert any(word in text for word in words)
        assert find_phrase(text) is not None

    check()


HOSTILE = {
    "one letter": "A",
    "digits": "1",
    "statuses": "404 ",
    "forms that name nothing": "HTTP 200 StatusCode.OK rpc error: code = OK desc = ",
    "types that are mentioned": "a.TimeoutError, TimeoutError: ",
    "brackets": "([{<",
    "escapes": "\\n\\'",
    "traces": "Traceback (most recent call last)\n",
    "links": "The above exception was the direct cause of the following exception:\n",
    "contexts": "During handling of the above exception, another exception occurred:\n",
    "errnos": "[Errno 1] EAI_AGAINX ",
    "halves of phrases": "takes from 1 to 2 validation errors timed out after ",
    "inputs": "input_value=",
    "lines": "\n",
    "surrogates": "\ud800",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_the_work_does_not_grow_with_the_text(piece: str) -> None:
    """A megabyte costs what its first and last kilobytes cost, in calls made."""
    # the letter in front keeps one text from the other's place in the cache
    short, long = f"a{piece * (20_000 // len(piece))}", f"b{piece * (1_000_000 // len(piece))}"

    # where the kept ends are cut, a piece more or less may fit in
    assert calls_for(long) <= calls_for(short) * 1.05 + 10


def calls_for(text: str) -> int:
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        read_text(text)
        cause_of(text)
    finally:
        sys.setprofile(None)
    return calls
