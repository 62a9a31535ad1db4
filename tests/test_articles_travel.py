"""
A travel agent and its flight search, told of failures by their class, and told of them all alike.

The scene is that of an article on classifying tool errors; the agents here are scripts that do what it says a model
does with either kind of answer.
"""

from collections.abc import Callable, Iterator
from typing import Final, cast

import pytest

import toolspan
from tests.watched import Watched, watched

SOLD_OUT: Final = "W"
SOLD_OUT_HINT: Final = "W is sold out on this route; the lowest fare that is left is M."
Search = Callable[..., dict[str, object]]


def typed_search() -> Search:
    """
    A search that says what kind of failure it met.
    """

    @toolspan.tool
    def search_flights(date: str, fare: str) -> dict[str, str]:
        if not date.startswith("2026-"):
            raise toolspan.ToolError(
                "validation", "DATE_FORMAT", field="date", hint="The date is ISO 8601, as in 2026-05-04."
            )
        if fare == SOLD_OUT:
            raise toolspan.ToolError("business_rule", "NO_SEATS_IN_FARE", hint=SOLD_OUT_HINT)
        return {"flight": "OS 405", "date": date}

    return search_flights


def one_bucket_search() -> Search:
    """
    The same search with one bucket for all that goes wrong.
    """

    @toolspan.tool
    def search_flights(date: str, fare: str) -> dict[str, str]:
        if not date.startswith("2026-") or fare == SOLD_OUT:
            raise RuntimeError("search failed")
        return {"flight": "OS 405", "date": date}

    return search_flights


@pytest.fixture(name="watch")
def _watch() -> Iterator[Watched]:
    with watched() as watch:
        yield watch


def error_of(answer: dict[str, object]) -> dict[str, object]:
    """
    The error of a failing envelope.
    """
    assert answer["ok"] is False
    return cast("dict[str, object]", answer["error"])


def book_by_class(search: Search) -> str:
    """
    An agent that acts on the class; what it tells the traveller.
    """
    arguments = {"date": "May 4th", "fare": "W"}
    error = error_of(search(**arguments))
    if error["class"] == "validation":
        arguments[str(error["field"])] = "2026-05-04"
        error = error_of(search(**arguments))
    if error["class"] == "business_rule":
        return f"That fare is gone. {error['hint']}"
    return "Something else went wrong."


def book_by_retrying(search: Search) -> str:
    """
    An agent that knows failures of one kind only: tries again, then goes on as if all were well.
    """
    for _ in range(3):
        error_of(search(date="May 4th", fare="W"))
    for _ in range(2):
        error_of(search(date="2026-05-04", fare="W"))
    return "Booked: your seat is confirmed."


class TestFiveClasses:
    """
    The search answers with the class of its failure.
    """

    def test_one_rewrite_and_no_retry(self, watch: Watched) -> None:
        """
        The date is rewritten once, the sold-out fare is not asked for again.
        """
        with toolspan.task("book a trip") as task:
            said = book_by_class(typed_search())
            task.resolve()

        tool = watch.numbers.report["tools"]["search_flights"]
        links = [(call.code, call.follow_up) for call in watch.numbers.rows.calls]
        assert f"That fare is gone. {SOLD_OUT_HINT}" == said
        assert [("DATE_FORMAT", None), ("NO_SEATS_IN_FARE", "rewrite")] == links
        assert (2, 0) == (tool["calls"], tool["retries"]["total"])

    def test_the_report_counts_what_happened(self, watch: Watched) -> None:
        """
        A rewrite that was accepted, and stopped by a business rule: no longer a validation failure, and not recovered.
        """
        with toolspan.task("book a trip") as task:
            book_by_class(typed_search())
            task.resolve()

        numbers = watch.numbers
        tool = numbers.report["tools"]["search_flights"]
        assert {"DATE_FORMAT": 1, "NO_SEATS_IN_FARE": 1} == tool["codes"]
        assert (1, 0, 1) == (
            tool["validation_recovery"]["failures"],
            tool["validation_recovery"]["recovered"],
            tool["validation_recovery"]["accepted"],
        )
        assert {"validation": 1, "business_rule": 1} == {name: n for name, n in tool["errors"].items() if n}
        assert 0 == numbers.quality["tasks"]["unhandled"]


class TestOneBucket:
    """
    The search says only that it failed.
    """

    def test_two_retries_then_one_more(self, watch: Watched) -> None:
        """
        The bad date is tried three times, the sold-out fare twice.
        """
        with toolspan.task("book a trip", policy=None) as task:
            book_by_retrying(one_bucket_search())
            task.resolve()

        tool = watch.numbers.report["tools"]["search_flights"]
        verdicts = [(call.follow_up, call.verdict) for call in watch.numbers.rows.calls]
        assert [
            (None, None),
            ("retry", "allowed"),
            ("retry", "over_cap"),
            (None, None),
            ("retry", "allowed"),
        ] == verdicts
        assert (5, 3) == (tool["calls"], tool["retries"]["total"])
        assert (3, 3) == (tool["retries_per_resolved_task"]["max"], tool["retries_per_resolved_task"]["p95"])

    def test_the_invented_confirmation_is_reported(self, watch: Watched) -> None:
        """
        The task says that it is resolved although its last call failed.
        """
        with toolspan.task("book a trip", policy=None) as task:
            said = book_by_retrying(one_bucket_search())
            task.resolve()

        quality = watch.numbers.quality
        assert "Booked: your seat is confirmed." == said
        assert (1, 1, 1.0) == (
            quality["tasks"]["resolved"],
            quality["tasks"]["unhandled"],
            quality["tasks"]["unhandled_share"],
        )
        assert ["search_flights"] == [each["tool"] for each in quality["unhandled_failures"]]
        assert {"unclassified": 5} == {
            name: n for name, n in watch.numbers.report["tools"]["search_flights"]["errors"].items() if n
        }

    def test_the_guard_stops_what_the_prompt_did_not(self, watch: Watched) -> None:
        """
        The same agent under the policy: its identical calls end before the search runs.
        """
        with toolspan.task("book a trip") as task:
            book_by_retrying(typed_search())
            task.resolve()

        tool = watch.numbers.report["tools"]["search_flights"]
        ran = [call for call in watch.numbers.rows.calls if call.outcome != "cancelled"]
        assert (2, 0) == (len(ran), tool["retries"]["total"])
