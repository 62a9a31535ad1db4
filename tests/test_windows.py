"""
Times: what people may write, and what documents say.
"""

from datetime import UTC, datetime

import pytest

from toolspan.errors import InputError
from toolspan.windows import LAST_NS, format_time, milliseconds, parse_age, parse_time, parse_window

NOON_S = int(datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp())
NOON = NOON_S * 10**9


class TestParseTime:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-05-04T12:00:00Z", NOON),
            ("2026-05-04t12:00:00z", NOON),
            ("2026-05-04 12:00:00Z", NOON),
            ("2026-05-04T14:00:00+02:00", NOON),
            ("2026-05-04T06:30:00-05:30", NOON),
            ("2026-05-04T12:00:00", NOON),
            ("2026-05-04T12:00", NOON),
            ("2026-05-04", NOON - 12 * 3600 * 10**9),
            ("2026-05-04T12:00:00.000000001Z", NOON + 1),
            ("2026-05-04T12:00:00.5Z", NOON + 500_000_000),
            ("2026-05-04T12:00:00.1234567899Z", NOON + 123_456_789),
            ("2026-05-04T11:59:60Z", NOON),
            ("1970-01-01T00:00:00Z", 0),
            ("2262-04-11T23:47:16.854775807Z", LAST_NS),
        ],
    )
    def test_reads_rfc_3339(self, text: str, expected: int) -> None:
        """
        RFC 3339 to the nanosecond, UTC where it names no zone; a leap second is the one after.
        """
        assert expected == parse_time(text, now_ns=0)

    @pytest.mark.parametrize(
        ("text", "age_s"),
        [("24h", 86_400), ("90m", 5400), ("7d", 604_800), ("1w", 604_800), ("1h30m", 5400), ("1.5h", 5400), ("0s", 0)],
    )
    def test_reads_an_age(self, text: str, age_s: int) -> None:
        """
        An age counts back from now, and its parts add up.
        """
        assert NOON - age_s * 10**9 == parse_time(text, now_ns=NOON)

    def test_an_age_of_more_than_all_time_is_the_beginning(self) -> None:
        """
        What reaches behind 1970 asks for everything.
        """
        assert parse_time("999999999w", now_ns=NOON) == 0

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "yesterday",
            "24",
            "-24h",
            "24 h",
            "h",
            "12:00",
            "2026-5-4",
            "20260504",
            "2026-05-04T12",
            "2026-W19",
            "1e3s",
        ],
    )
    def test_names_both_forms_where_it_reads_neither(self, text: str) -> None:
        """
        The message quotes the text and shows what can be written.
        """
        with pytest.raises(InputError, match=r"give RFC 3339 \(.*\) or an age") as raised:
            parse_time(text, now_ns=NOON)

        assert repr(text) in str(raised.value)

    @pytest.mark.parametrize("text", ["2026-02-30", "2026-05-04T25:00:00Z", "2026-05-04T12:00:00+24:00", "0000-01-01"])
    def test_says_so_where_no_such_time_exists(self, text: str) -> None:
        """
        A day, hour or zone that the calendar has not is named.
        """
        with pytest.raises(InputError, match="There is no time"):
            parse_time(text, now_ns=NOON)

    @pytest.mark.parametrize("text", ["1969-12-31T23:59:59Z", "2262-04-11T23:47:16.854775808Z", "9999-12-31"])
    def test_refuses_what_nanoseconds_cannot_count(self, text: str) -> None:
        """
        Outside 1970…2262 no span can be.
        """
        with pytest.raises(InputError, match="outside 1970"):
            parse_time(text, now_ns=NOON)


class TestParseWindow:
    def test_is_open_where_nothing_is_given(self) -> None:
        """
        No bound is no bound.
        """
        assert parse_window(None, None, now_ns=NOON) == (None, None)

    def test_reads_both_bounds(self) -> None:
        """
        A window may mix both forms.
        """
        assert parse_window("24h", "2026-05-04T12:00:00Z", now_ns=NOON) == (NOON - 86_400 * 10**9, NOON)

    @pytest.mark.parametrize("since", ["2026-05-04T12:00:00Z", "2026-05-05"])
    def test_refuses_a_window_that_holds_no_moment(self, since: str) -> None:
        """
        `[since, until)` with since at or after until is a slip, not a question.
        """
        with pytest.raises(InputError, match="window is empty"):
            parse_window(since, "2026-05-04T12:00:00Z", now_ns=NOON)


def test_a_time_is_written_with_nine_decimals() -> None:
    """
    Texts of times sort as the times do.
    """
    assert format_time(NOON + 1) == "2026-05-04T12:00:00.000000001Z"


@pytest.mark.parametrize(
    ("ns", "expected"), [(0, 0.0), (499, 0.0), (500, 0.001), (1_500_000, 1.5), (12_345_678, 12.346), (10**18, 1e12)]
)
def test_milliseconds_have_three_decimals(ns: int, expected: float) -> None:
    """
    Half a microsecond is rounded up.
    """
    assert expected == milliseconds(ns)


class TestParseAge:
    @pytest.mark.parametrize(("text", "seconds"), [("30d", 2_592_000), ("1h30m", 5400), ("1.5s", 1.5), ("250ms", 0.25)])
    def test_reads_a_number_with_its_unit(self, text: str, seconds: float) -> None:
        """
        Parts add up.
        """
        assert round(seconds * 10**9) == parse_age(text)

    @pytest.mark.parametrize("text", ["", "30", "d", "-1d", "0d", "30 d", "2026-05-04", "1e3d"])
    def test_refuses_what_is_no_age(self, text: str) -> None:
        """
        With the forms there are; an age of nothing would keep nothing.
        """
        with pytest.raises(InputError, match="give a number with its unit"):
            parse_age(text)
