"""
Names that come from models and tools: harmless, and a bounded number of them.
"""

from collections.abc import Iterable

import pytest

from tests.rows import call, failed, rows, task, task_tool
from tests.shown import Table, counted, scrape
from toolspan.metrics import Limits, Metrics
from toolspan.metrics.labels import MAX_LABEL_CHARS, clean
from toolspan.records import Call, Rows

SMALL = Limits(tools=2, codes_per_tool=2, error_series=100)


def group(calls: Iterable[Call]) -> Rows:
    """
    The rows of one settled task.
    """
    return rows(list(calls), [task()])


def coded(span: int, tool: str, code: str) -> Call:
    """
    A call of *tool* that failed with *code*.
    """
    return failed(call(span, tool), "fatal", code)


def errors_of(table: Table) -> Table:
    """
    The series of errors.
    """
    return {key: value for key, value in table.items() if key[0] == "toolspan_errors_total"}


class TestClean:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("search_flights", "search_flights"),
            ("größe 検索 🛫", "größe 検索 🛫"),
            ('a"b\\c{d}', 'a"b\\c{d}'),
            ("lone \ud800 surrogate", "lone � surrogate"),
            ("a\x00b\nc\rd\te\x85f\u2028g", "a�b�c�d�e�f�g"),
            ("", "_unknown"),
            ("x" * MAX_LABEL_CHARS, "x" * MAX_LABEL_CHARS),
            ("x" * (MAX_LABEL_CHARS + 1), "x" * MAX_LABEL_CHARS),
            ("🛫" * (MAX_LABEL_CHARS + 1), "🛫" * MAX_LABEL_CHARS),
        ],
    )
    def test_what_could_break_a_scrape_is_replaced(self, value: str, expected: str) -> None:
        """
        And what is too long is cut between characters; quotes and backslashes are the format's to escape.
        """
        assert expected == clean(value)
        assert clean(value).encode("utf-8").decode("utf-8") == expected

    def test_a_cleaned_name_is_one_series_everywhere(self) -> None:
        """
        Calls and tasks of it meet under the same label.
        """
        metrics = Metrics()

        metrics.count([rows([call(1, "a\nb")], [task()], [task_tool(tool="a\nb")._replace(episodes=1)])])

        assert counted(metrics, "calls_total", "permission_episodes_total") == {
            ("toolspan_calls_total", "a�b", "ok"): 1,
            ("toolspan_permission_episodes_total", "a�b"): 1,
        }


class TestTools:
    def test_the_first_to_come_have_places_and_the_rest_share_one(self) -> None:
        """
        What was put there is counted, call by call; a tool with a place keeps it.
        """
        metrics = Metrics(limits=SMALL)

        metrics.count([group([call(1, "a"), call(2, "b"), call(3, "c"), call(4, "d"), call(5, "c"), call(6, "a")])])

        assert counted(metrics, "calls_total", "label_overflow_total") == {
            ("toolspan_calls_total", "a", "ok"): 2,
            ("toolspan_calls_total", "b", "ok"): 1,
            ("toolspan_calls_total", "_other", "ok"): 3,
            ("toolspan_label_overflow_total", "tool"): 3,
        }

    def test_what_tasks_did_with_a_tool_without_a_place_is_shared_too(self) -> None:
        """
        Its sums add up under the same label.
        """
        metrics = Metrics(limits=SMALL)
        tools = ("a", "b", "c", "d")
        sums = [task_tool(tool=tool)._replace(episodes=1) for tool in tools]

        metrics.count([rows([call(span, tool) for span, tool in enumerate(tools)], [task()], sums)])

        assert counted(metrics, "permission_episodes_total")["toolspan_permission_episodes_total", "_other"] == 2

    def test_a_tool_that_is_called_other_takes_no_place(self) -> None:
        """
        And is no overflow: it is what its label says.
        """
        metrics = Metrics(limits=SMALL)

        metrics.count([group([call(1, "_other"), call(2, "a"), call(3, "b")])])

        assert counted(metrics, "calls_total", "label_overflow_total") == {
            ("toolspan_calls_total", tool, "ok"): 1 for tool in ("_other", "a", "b")
        }

    def test_a_thousand_invented_tools_cost_no_more_than_one(self) -> None:
        """
        Beyond the limit, neither series nor memory grow.
        """
        metrics = Metrics(limits=SMALL)
        metrics.count([group(call(span, f"tool {span}") for span in range(3))])
        before = scrape(metrics).keys()

        metrics.count([group([call(span, f"tool {span}") for span in range(1000)])])

        assert before == scrape(metrics).keys()
        assert counted(metrics, "label_overflow_total") == {("toolspan_label_overflow_total", "tool"): 998}

    def test_by_default_two_hundred_tools_have_a_place(self) -> None:
        """
        As the settings say.
        """
        metrics = Metrics()

        metrics.count([group(call(span, f"tool {span}") for span in range(250))])

        tools = {key[1] for key in counted(metrics, "calls_total")}
        assert (201, True) == (len(tools), "_other" in tools)


class TestCodes:
    def test_each_tool_has_so_many_codes(self) -> None:
        """
        The rest keep their class; one code in two classes is one code.
        """
        metrics = Metrics(limits=SMALL)
        codes = [coded(span, "a", f"C{span}") for span in range(1, 5)]
        twice = failed(call(9, "a"), "transient", "C2")

        metrics.count([group([*codes, twice, coded(10, "b", "C4")])])

        assert counted(metrics, "errors_total", "label_overflow_total") == {
            ("toolspan_errors_total", "a", "fatal", "C1"): 1,
            ("toolspan_errors_total", "a", "fatal", "C2"): 1,
            ("toolspan_errors_total", "a", "transient", "C2"): 1,
            ("toolspan_errors_total", "a", "fatal", "_other"): 2,
            ("toolspan_errors_total", "b", "fatal", "C4"): 1,
            ("toolspan_label_overflow_total", "code"): 2,
        }

    def test_tools_without_a_place_share_their_codes(self) -> None:
        """
        `_other` is a tool like others there.
        """
        metrics = Metrics(limits=SMALL)

        metrics.count(
            [group([call(1, "a"), call(2, "b"), *(coded(span, f"t{span}", f"C{span}") for span in (3, 4, 5))])]
        )

        assert counted(metrics, "errors_total", "label_overflow_total") == {
            ("toolspan_errors_total", "_other", "fatal", "C3"): 1,
            ("toolspan_errors_total", "_other", "fatal", "C4"): 1,
            ("toolspan_errors_total", "_other", "fatal", "_other"): 1,
            ("toolspan_label_overflow_total", "tool"): 3,
            ("toolspan_label_overflow_total", "code"): 1,
        }

    def test_when_all_error_series_are_taken_codes_share_one(self) -> None:
        """
        Room for two tools with six classes, those of `_other`, and one code.
        """
        metrics = Metrics(limits=Limits(tools=2, error_series=19))

        metrics.count([group([coded(1, "a", "C1"), coded(2, "a", "C2"), coded(3, "b", "C1")])])

        assert len(errors_of(scrape(metrics))) == 13
        assert errors_of(counted(metrics)) == {
            ("toolspan_errors_total", "a", "fatal", "C1"): 1,
            ("toolspan_errors_total", "a", "fatal", "_other"): 1,
            ("toolspan_errors_total", "b", "fatal", "_other"): 1,
        }

    def test_codes_leave_room_for_the_classes_of_tools_that_come_later(self) -> None:
        """
        For half as many as there may be: two of four here, so that the first tool gets one code of the series left.
        """
        metrics = Metrics(limits=Limits(tools=4, error_series=25))
        first = [coded(1, "a", "C1"), coded(2, "a", "C2")]
        metrics.count([group(first)])

        metrics.count([group([*first, coded(3, "b", "C1"), coded(4, "c", "C1")])])

        assert errors_of(counted(metrics)) == {
            ("toolspan_errors_total", "a", "fatal", "C1"): 1,
            ("toolspan_errors_total", "a", "fatal", "_other"): 1,
            ("toolspan_errors_total", "b", "fatal", "_other"): 1,
            ("toolspan_errors_total", "c", "fatal", "_other"): 1,
        }

    def test_tools_that_come_together_have_classes_before_any_has_codes(self) -> None:
        """
        Room for four tools, `_other` and one code.
        """
        metrics = Metrics(limits=Limits(tools=4, error_series=31))
        codes = [coded(span, "a", f"C{span}") for span in range(1, 6)]

        metrics.count([group([*codes, *(coded(span, f"t{span}", "C1") for span in (6, 7, 8))])])

        assert errors_of(counted(metrics)) == {
            ("toolspan_errors_total", "a", "fatal", "C1"): 1,
            ("toolspan_errors_total", "a", "fatal", "_other"): 4,
            **{("toolspan_errors_total", f"t{span}", "fatal", "_other"): 1 for span in (6, 7, 8)},
        }

    def test_a_code_that_is_called_other_is_no_overflow(self) -> None:
        """
        It is what its label says.
        """
        metrics = Metrics()

        metrics.count([group([coded(1, "a", "_other")])])

        assert counted(metrics, "errors_total", "label_overflow_total") == {
            ("toolspan_errors_total", "a", "fatal", "_other"): 1
        }

    def test_a_tool_for_whose_classes_there_is_no_room_has_its_errors_under_other(self) -> None:
        """
        Its calls have a place of their own; the series of errors are no more than they may be.
        """
        metrics = Metrics(limits=Limits(tools=2, error_series=14))

        metrics.count([group([coded(1, "a", "C1"), coded(2, "b", "C1")])])

        assert len(errors_of(scrape(metrics))) <= 14
        assert counted(metrics, "calls_total", "errors_total", "label_overflow_total") == {
            ("toolspan_calls_total", "a", "error"): 1,
            ("toolspan_calls_total", "b", "error"): 1,
            ("toolspan_errors_total", "a", "fatal", "_other"): 1,
            ("toolspan_errors_total", "_other", "fatal", "_other"): 1,
            ("toolspan_label_overflow_total", "tool"): 1,
            ("toolspan_label_overflow_total", "code"): 2,
        }

    def test_by_default_there_are_two_thousand_error_series(self) -> None:
        """
        Of 250 tools with 20 codes each, and of one with 150, all errors are there, in so many series.
        """
        metrics = Metrics()
        wide = [coded(span, f"tool {span % 250}", f"C{span // 250}") for span in range(5000)]
        deep = [coded(6000 + span, "tool 0", f"D{span}") for span in range(150)]

        metrics.count([group([*deep, *wide])])

        errors = errors_of(scrape(metrics))
        assert len(errors) <= 2000
        assert len([key for key in errors if key[1] == "tool 0" and key[3] != "_other"]) == 100
        assert sum(errors_of(counted(metrics)).values()) == 5150


def test_reasons_are_bounded_too() -> None:
    """
    They are ours, but an error's text may end up there.
    """
    metrics = Metrics()

    for place in range(30):
        metrics.drop(2, reason=f"reason {place}")
    metrics.drop(1, reason="_other")

    table = counted(metrics)
    assert table["toolspan_spans_dropped_total", "_other"] == 21
    assert table["toolspan_label_overflow_total", "reason"] == 20
