"""
How long a service asks to wait, in every spelling, and what is no wait.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspan.tools.retry_after import retry_after_ms

#: Sun, 03 May 2026 22:00:00 GMT
NOW_S = 1_777_845_600.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "30"}, 30_000),
        ({"RETRY-AFTER": "0.5"}, 500),
        ({"retry-after": "-5"}, 0),
        ({"Retry-After": "Sun, 03 May 2026 22:00:10 GMT"}, 10_000),
        ({"Retry-After": "Sun, 03 May 2026 21:00:00 GMT"}, 0),
        ({"Retry-After": "Sunday, 03-May-26 22:00:10 GMT"}, 10_000),
        ({"Retry-After": "Sun, 03 May 2026 23:00:10 GMT", "Date": "Sun, 03 May 2026 23:00:00 GMT"}, 10_000),
        ({"Retry-After": "99999999"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Sun, 99 May 2026 22:00:10 GMT"}, None),
        ({"RateLimit": '"default";r=0;t=30'}, 30_000),
        ({"RateLimit": '"default";r=5;t=30'}, None),
        ({"RateLimit-Reset": "12"}, 12_000),
        ({"Retry-After": "1", "RateLimit-Reset": "12"}, 1_000),
        ({"Content-Type": "text/plain"}, None),
        ({}, None),
    ],
)
def test_is_read(headers: dict[str, str], expected: int | None) -> None:
    """Seconds, dates against the response's own clock, then the RateLimit fields."""
    assert expected == retry_after_ms(headers, now_s=NOW_S)


@given(st.dictionaries(st.sampled_from(["Retry-After", "RateLimit", "RateLimit-Reset", "Date"]), st.text()))
def test_anything_is_a_wait_or_none(headers: dict[str, str]) -> None:
    """It comes from anybody, and a wait is not worth a failure."""
    wait = retry_after_ms(headers, now_s=NOW_S)

    assert wait is None or 0 <= wait <= 86_400_000
