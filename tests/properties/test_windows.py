"""
Laws of times.
"""

from hypothesis import given
from hypothesis import strategies as st

from toolspan.errors import InputError
from toolspan.windows import LAST_NS, format_time, parse_time


@given(st.integers(0, LAST_NS))
def test_what_is_written_is_read_back(ns: int) -> None:
    """
    Every time survives being written and read.
    """
    assert ns == parse_time(format_time(ns), now_ns=0)


@given(st.lists(st.integers(0, LAST_NS), min_size=2))
def test_texts_sort_as_times_do(times: list[int]) -> None:
    """
    The texts of times can be compared in their place.
    """
    assert [format_time(ns) for ns in sorted(times)] == sorted(format_time(ns) for ns in times)


@given(st.text(max_size=40) | st.from_regex(r"[0-9TtZz:+. hmswd-]{1,40}", fullmatch=True))
def test_any_text_is_a_time_or_an_input_error(text: str) -> None:
    """
    Nothing that can be typed makes a traceback.
    """
    try:
        ns = parse_time(text, now_ns=LAST_NS)
    except InputError:
        return

    assert 0 <= ns <= LAST_NS
