"""
What the URL asks for, and how values are written on a page.
"""

import pytest

from toolspan.errors import InputError
from toolspan.scope import Scope
from toolspan_dashboard.view import clock, view_of
from toolspan_dashboard.words import duration, inert, markup, md, percent_below

SECOND_NS = 10**9
#: 2026-05-04T10:00:00Z
NOW_NS = 1_777_888_800 * SECOND_NS
HOUR_NS = 3600 * SECOND_NS


class TestView:
    def test_is_of_the_last_day_where_nobody_says(self) -> None:
        """
        And of all agents, services and environments.
        """
        assert Scope(since_ns=NOW_NS - 24 * HOUR_NS) == view_of({}, zone="UTC", now_ns=NOW_NS).scope

    @pytest.mark.parametrize(("chosen", "hours"), [("1h", 1), ("7d", 168), ("90m", 1.5)])
    def test_takes_any_age(self, chosen: str, hours: float) -> None:
        """
        Those that are offered, and those that were typed.
        """
        scope = view_of({"range": chosen}, zone="UTC", now_ns=NOW_NS).scope

        assert NOW_NS - hours * HOUR_NS == scope.since_ns

    def test_moves_on_in_steps(self) -> None:
        """
        Who looks again a moment later asks the same, and is answered from memory.
        """
        later = view_of({}, zone="UTC", now_ns=NOW_NS + SECOND_NS)

        assert view_of({}, zone="UTC", now_ns=NOW_NS).scope == later.scope

    def test_reads_a_time_without_a_zone_in_the_one_that_is_chosen(self) -> None:
        """
        Ten in Berlin is eight in UTC.
        """
        choices = {"range": "custom", "since": "2026-05-04T10:00", "until": "2026-05-04T10:00:00Z"}

        scope = view_of(choices, zone="Europe/Berlin", now_ns=NOW_NS).scope

        assert (NOW_NS - 2 * HOUR_NS, NOW_NS) == (scope.since_ns, scope.until_ns)

    def test_filters_what_is_unknown(self) -> None:
        """
        Which the store knows as an empty text.
        """
        scope = view_of({"agent": "(unknown)", "service": "travel"}, zone="UTC", now_ns=NOW_NS).scope

        assert ("", "travel", None) == (scope.agent, scope.service, scope.environment)

    @pytest.mark.parametrize(
        "choices",
        [
            {"range": "soon"},
            {"range": "custom", "since": "yesterday"},
            {"range": "custom", "since": "1h", "until": "2h"},
        ],
    )
    def test_says_what_it_cannot_read(self, choices: dict[str, str]) -> None:
        """
        In the words of the command line.
        """
        with pytest.raises(InputError, match=r"Cannot read the time|The window is empty"):
            view_of(choices, zone="UTC", now_ns=NOW_NS)

    def test_takes_an_unknown_zone_for_utc(self) -> None:
        """
        A browser may name one that this machine does not have.
        """
        assert "2026-05-04 10:00" == clock(NOW_NS, "Atlantis/Capital") == clock(NOW_NS, "UTC")

    def test_is_a_link(self) -> None:
        """
        The filters of now and what is added; what is empty is left out.
        """
        view = view_of({"range": "7d", "agent": "planner"}, zone="UTC", now_ns=NOW_NS)

        assert {"range": "7d", "tool": "book"} == view.link(tool="book", agent="")


class TestWords:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("search_flights", r"search\_flights"),
            ("<b>*x*</b>", r"\<b\>\*x\*\<\/b\>"),
            (":material/home: $x$", r"\:material\/home\: \$x\$"),
            ("a\u202eb\n", r"a\\u202eb\\n"),
        ],
    )
    def test_of_data_stand_in_markdown_as_they_are(self, name: str, expected: str) -> None:
        """
        Neither HTML nor emphasis nor an icon comes of them.
        """
        assert expected == md(name)

    def test_of_data_stand_in_html_as_they_are(self) -> None:
        """
        Also inside an attribute.
        """
        assert "&lt;img src=&quot;x&quot;&gt;&#x27;" == markup('<img src="x">\'')

    def test_that_are_long_are_cut(self) -> None:
        """
        Names come from models.
        """
        assert 80 == len(inert("x" * 500))

    def test_never_round_a_miss_to_a_hit(self) -> None:
        """
        79.9 % is below 80 %.
        """
        assert "79.9 %" == percent_below(0.7996, 0.8)

    @pytest.mark.parametrize(
        ("ms", "expected"),
        [(0, "0 ms"), (999, "999 ms"), (1500, "1.5 s"), (150_000, "2.5 min"), (9_000_000, "2.5 h"), (3e8, "3.5 days")],
    )
    def test_say_a_time_in_its_unit(self, ms: float, expected: str) -> None:
        """
        As a person would.
        """
        assert expected == duration(ms)
