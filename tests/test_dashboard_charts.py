"""
Charts, tables and what they are made of: rows in, a picture out.
"""

from html.parser import HTMLParser
from typing import Any

import altair as alt
import pytest

from tests.rows import call, failed, retry, rewrite
from toolspan.config_file import read_config
from toolspan.taxonomy import ErrorClass
from toolspan_dashboard import charts, spread, tables
from toolspan_dashboard.ready_rules import rule_for
from toolspan_queries.page_rows import RetriesOverTime

HOUR_NS = 3600 * 10**9


def of_hour(hour: int, counts: dict[int, int]) -> list[RetriesOverTime]:
    """
    Tasks that ended in *hour*, by how often they retried.
    """
    return [RetriesOverTime("", "search", hour * HOUR_NS, HOUR_NS, retries, tasks) for retries, tasks in counts.items()]


def drawn(chart: alt.Chart | alt.LayerChart) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """
    A chart as the browser gets it, and the rows of each of its layers.
    """
    document: dict[str, Any] = chart.to_dict()
    layers: list[dict[str, Any]] = document.get("layer", [document])
    return document, [document["datasets"][layer["data"]["name"]] for layer in layers]


class TestSpread:
    def test_takes_the_smallest_value_that_is_enough(self) -> None:
        """
        Of 100 tasks, 95 did not retry, four once, one five times.
        """
        [part] = spread.over_time(of_hour(1, {0: 95, 1: 4, 5: 1}))

        assert {"p50": 0, "p95": 0, "p99": 1, "max": 5} == part.values

    def test_of_everything_adds_the_hours(self) -> None:
        """
        In order of retries.
        """
        assert {0: 3, 2: 1} == spread.distribution([*of_hour(1, {2: 1, 0: 1}), *of_hour(2, {0: 2})])


class TestCharts:
    def test_show_the_zone_that_was_asked_for(self) -> None:
        """
        Vega knows the browser's own and UTC only: midnight UTC is one o'clock in a winter of Berlin.
        """
        chart, [values] = drawn(charts.retries_over_time(spread.over_time(of_hour(0, {0: 1})), zone="Europe/Berlin"))

        assert "1970-01-01T01:00:00Z" == values[0]["at"]
        assert "Task ended (Europe/Berlin)" == chart["encoding"]["x"]["title"]

    def test_mark_the_tail(self) -> None:
        """
        More than one retry.
        """
        _, [values] = drawn(charts.retries_distribution({0: 7, 1: 2, 2: 1}))

        parts = {row["retries"]: row["part"] for row in values}
        assert {0: "up to one retry", 1: "up to one retry", 2: "tail: more than one retry"} == parts

    def test_draw_which_call_answered_which(self) -> None:
        """
        A line from the end of a failure to the start of what answers it, told apart by what it came to.
        """
        calls = [
            failed(call(1, end=10), "validation", "FORMAT"),
            rewrite(call(2, start=20, end=40), of=1),
            failed(call(3, start=50, end=60), "business_rule", "SOLD_OUT"),
            retry(failed(call(4, start=70, end=80), "business_rule", "SOLD_OUT"), of=3, verdict="wasted"),
        ]

        _, [bars, lines] = drawn(charts.timeline(calls, started_ns=0))

        links = [(row["from"], row["to"], row["kind"]) for row in lines]
        assert [(10, 20, "rewrite"), (60, 70, "retry in vain")] == links
        assert [
            "1. search · FORMAT",
            "2. search · ok · rewrite",
            "3. search · SOLD_OUT",
            "4. search · SOLD_OUT · retry, wasted",
        ] == [row["call"] for row in bars]

    def test_draw_so_many_calls_and_no_more(self) -> None:
        """
        A run away agent's task has thousands; the table has the others.
        """
        calls = [call(place + 1, start=place * 10) for place in range(charts.MOST_DRAWN + 1)]

        _, [bars, _] = drawn(charts.timeline(calls, started_ns=0))

        assert charts.MOST_DRAWN == len(bars)

    def test_keep_a_short_call_visible(self) -> None:
        """
        It would be thinner than a line.
        """
        calls = [call(1, start=0, end=0), call(2, start=0, end=60_000)]

        _, [bars, _] = drawn(charts.timeline(calls, started_ns=0))

        assert bars[0]["end"] > 0


class _Parsed(HTMLParser):
    """
    The tags and the attributes of some HTML.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """
        Notes them.
        """
        self.tags.append(tag)
        self.attributes |= dict(attrs)


EVIL = "\"><img src=x onerror=alert(1)><script>'"


class TestTables:
    @pytest.mark.parametrize(
        "cell",
        [
            tables.text(EVIL, note=EVIL),
            tables.figure(EVIL),
            tables.link(EVIL, "tool", {"tool": EVIL}),
            tables.spark([1, 2], what=EVIL),
        ],
    )
    def test_hold_names_that_are_text_and_nothing_else(self, cell: tables.Cell) -> None:
        """
        In cells, captions, headings and addresses.
        """
        parsed = _Parsed(tables.table(EVIL, [EVIL], [[cell]], key=EVIL))

        assert set(parsed.tags) <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "a", "span"}
        assert not {"onerror", "src"} & set(parsed.attributes)

    def test_say_what_colours_show(self) -> None:
        """
        To who cannot see them.
        """
        cell = tables.mix({"transient": 1, "validation": 3, "fatal": 0})

        assert 'aria-label="transient 25 %, validation 75 %"' in cell.html
        assert "75 % validation" == cell.note

    def test_say_where_there_is_nothing(self) -> None:
        """
        An empty picture would be taken for a small number.
        """
        assert "none" in tables.spark([0, 0], what="Damage").html
        assert "none" in tables.mix({"transient": 0}).html


class TestReadyRules:
    @pytest.mark.parametrize(
        ("evidence", "condition"),
        [
            ("exception:RuntimeError", 'error_type = "RuntimeError"'),
            ("http:418", "http = 418"),
            ("grpc:ABORTED", 'grpc = "ABORTED"'),
            ("jsonrpc:-32001", "jsonrpc = -32001"),
            ("sqlstate:P0001", 'sqlstate = "P0001"'),
            ("status", "message = "),
            ("", "message = "),
        ],
    )
    def test_can_be_pasted(self, tmp_path: Any, evidence: str, condition: str) -> None:
        """
        The configuration takes it as it is, whatever the tool is called.
        """
        rule = rule_for('book*"\n[x]', evidence)
        path = tmp_path / "toolspan.toml"
        path.write_text(rule, encoding="utf-8")

        read_config(str(path))

        assert condition in rule

    def test_leave_the_class_to_a_person(self) -> None:
        """
        With the ones there are beside it.
        """
        rule = rule_for("book", "http:418")

        assert all(str(each) in rule for each in ErrorClass if each != ErrorClass.UNCLASSIFIED)
        assert 'code = "HTTP_418"' in rule
