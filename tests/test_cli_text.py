"""
How values are written for people.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspan.cli._text import counted, duration, inert, number, one_line, percent, percent_below


@given(st.text(), st.integers(1, 100))
def test_an_inert_name_acts_on_nothing(name: str, longest: int) -> None:
    """
    Printable, on one line, in any encoding that has its letters.
    """
    shown = inert(name, longest=longest)

    assert shown.isprintable()
    assert shown.encode("utf-8").decode("utf-8") == shown


@given(st.from_regex(r"[a-z_]{1,80}", fullmatch=True))
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    """
    Only what acts is changed.
    """
    assert name == inert(name)


def test_a_long_name_is_cut() -> None:
    """
    With a mark that something is missing.
    """
    assert f"{'x' * 79}…" == inert("x" * 1_000_000)


def test_a_message_is_one_line() -> None:
    """
    Whatever it quotes.
    """
    assert "a b\\x1b c" == one_line("a\n  b\x1b\tc\n")


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "0 %"), (0.001, "<1 %"), (0.005, "1 %"), (0.314, "31 %"), (0.994, "99 %"), (0.996, ">99 %"), (1.0, "100 %")],
)
def test_a_percentage_is_never_nothing_or_all_by_rounding(share: float, expected: str) -> None:
    """
    0 % means none, 100 % means all.
    """
    assert expected == percent(share)


@pytest.mark.parametrize(("share", "expected"), [(0.31, "31 %"), (0.796, "79.6 %"), (0.7999, "79.9 %")])
def test_a_share_below_its_target_reads_so(share: float, expected: str) -> None:
    """
    One decimal where whole percents would be equal.
    """
    assert expected == percent_below(share, 0.8)


@pytest.mark.parametrize(("value", "expected"), [(0.0, "0"), (0.825, "0.82"), (1.5, "1.5"), (3.0, "3"), (120.0, "120")])
def test_a_number_has_no_trailing_zeros(value: float, expected: str) -> None:
    """
    Two decimals at most.
    """
    assert expected == number(value)


@pytest.mark.parametrize(
    ("ms", "expected"),
    [(0.0, "0 ms"), (12.5, "12.5 ms"), (1500.0, "1.5 s"), (150_000.0, "2.5 min"), (9_000_000.0, "2.5 h")],
)
def test_a_duration_is_in_the_unit_one_would_say(ms: float, expected: str) -> None:
    """
    From milliseconds to hours.
    """
    assert expected == duration(ms)


@pytest.mark.parametrize(
    ("count", "noun", "expected"),
    [
        (1, "task", "1 task"),
        (0, "task", "0 tasks"),
        (1200, "retry", "1,200 retries"),
        (2, "early retry", "2 early retries"),
    ],
)
def test_a_noun_follows_its_count(count: int, noun: str, expected: str) -> None:
    """
    Plural where it is not one.
    """
    assert expected == counted(count, noun)
