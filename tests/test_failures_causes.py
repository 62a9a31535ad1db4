"""
Exceptions around exceptions: which of them says what happened, and what is the framework's and not the tool's.
"""

import asyncio
import concurrent.futures

import grpc
import httpx
import pytest

from tests.toolbox import Bench
from toolspan import Write
from toolspan.classify import Classifier
from toolspan.rules import RuleBook
from toolspan.tools.failures import Explained, Explainer
from toolspan.tools.tool import tool
from toolspan.tools.writes import Committed

SLOW = httpx.ReadTimeout("The read operation timed out")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def explained(error: BaseException) -> Explained:
    """
    What *error* means.
    """
    return Explainer(Classifier(RuleBook()), wall_clock=lambda: 0.0).of_exception(error, "book")


def named(error: BaseException) -> tuple[str, str]:
    """
    Class and code of *error*.
    """
    failed = explained(error).failure
    assert failed is not None
    return failed.error.error_class.value, failed.error.code


def caused(outer: Exception, inner: BaseException) -> Exception:
    """
    *outer*, raised from *inner*.
    """
    outer.__cause__ = inner
    return outer


class TestGroups:
    """
    What a task group raises.
    """

    def test_one_in_a_group_is_what_happened(self) -> None:
        """However deep it lies."""
        assert ("transient", "TIMEOUT") == named(ExceptionGroup("a", [ExceptionGroup("b", [SLOW])]))

    def test_several_of_one_class_are_of_that_class(self) -> None:
        """The first gives the code."""
        group = ExceptionGroup("a", [SLOW, httpx.ConnectError("[Errno 111] Connection refused")])

        assert ("transient", "TIMEOUT") == named(group)

    @pytest.mark.parametrize("other", [RuntimeError("?"), ValueError("409 Conflict")])
    def test_several_of_different_classes_name_none(self, other: Exception) -> None:
        """What is true of one is not true of both: a retry may do the other again."""
        assert ("fatal", "UNCLASSIFIED") == named(ExceptionGroup("a", [SLOW, other]))

    def test_more_than_are_looked_at_name_none(self) -> None:
        """The rest may be anything."""
        assert ("fatal", "UNCLASSIFIED") == named(ExceptionGroup("a", [SLOW] * 1000))

    def test_a_group_without_end_is_unclassified(self) -> None:
        """And nothing is raised."""
        group: ExceptionGroup[Exception] = ExceptionGroup("a", [SLOW, SLOW])
        for _ in range(2000):
            group = ExceptionGroup("a", [group, SLOW])

        assert ("fatal", "UNCLASSIFIED") == named(group)


class TestFrameworks:
    """
    Exceptions that are for the framework around a tool.
    """

    def test_one_that_is_the_cause_is_over(self) -> None:
        """What was raised from a cancellation is a failure; a timeout is made of one."""
        assert ("fatal", "UNCLASSIFIED") == named(caused(RuntimeError("?"), asyncio.CancelledError()))
        assert ("transient", "TIMEOUT") == named(caused(TimeoutError("timed out"), asyncio.CancelledError()))

    def test_one_inside_a_wrapper_goes_on(self) -> None:
        """A wrapper says nothing of its own."""

        class ToolException(Exception):  # noqa: N818 - as LangChain calls it
            pass

        found = explained(caused(ToolException("?"), concurrent.futures.CancelledError()))

        assert (None, "cancelled") == (found.failure, found.outcome)

    def test_a_subclass_is_one(self) -> None:
        """A span has one name of a type, the exception has its bases."""

        class GraphInterrupt(Exception):  # noqa: N818 - as LangGraph calls it
            pass

        class NeedsApproval(GraphInterrupt):
            pass

        found = explained(NeedsApproval("?"))

        assert (None, "deferred") == (found.failure, found.outcome)

    def test_an_upstream_that_cancelled_is_answered(self, bench: Bench) -> None:
        """The call ends cancelled, and the model is told to stop: nothing is raised into the framework."""

        class StubError(grpc.RpcError):
            def code(self) -> grpc.StatusCode:
                return grpc.StatusCode.CANCELLED

        @tool
        def get() -> object:
            raise StubError

        answer = get()

        assert answer["ok"] is False
        assert "cancelled" == bench.calls[0].outcome


class TestOddObjects:
    """
    Exceptions whose own code fails.
    """

    @pytest.mark.parametrize("name", ["response", "status_code", "headers", "code", "orig", "sqlstate"])
    def test_a_property_that_fails_costs_no_other_evidence(self, name: str) -> None:
        """The text still names the class."""

        def fail(_: object) -> object:
            raise ZeroDivisionError

        odd = type("Odd", (Exception,), {name: property(fail)})

        assert ("transient", "UNAVAILABLE") == named(odd("503 Service Unavailable"))


class TestWordsForModels:
    """
    An exception that is made to tell the model something.
    """

    def test_a_model_retry_says_what_to_change(self) -> None:
        """In its author's words, as far as they may be shown."""

        class ModelRetry(Exception):  # noqa: N818 - as pydantic-ai calls it
            pass

        failed = explained(ModelRetry("Give the date as 2026-05-04.\nSee https://db-1.internal/x")).failure

        assert failed is not None
        assert ("MODEL_RETRY", "Give the date as 2026-05-04. See [address]") == (failed.error.code, failed.error.hint)


class TestWrites:
    """
    A write that failed for an unknown reason.
    """

    def test_is_looked_up_too(self, bench: Bench) -> None:
        """It may have been done; that it was is a success."""

        @tool(write=Write(read_back=lambda _: Committed("paid", "op-1")))
        def pay() -> object:
            raise RuntimeError("?")

        answer = pay()

        assert (True, "paid") == (answer["ok"], answer["data"])
        assert "ok" == bench.tags["toolspan.call.outcome"]

    def test_stays_unclassified_where_nobody_can_tell(self, bench: Bench) -> None:
        """A failure without a class is none of those after which it is known that it may have been done."""

        @tool(write=Write())
        def pay() -> object:
            raise RuntimeError("?")

        pay()

        assert "UNCLASSIFIED" == bench.tags["toolspan.error.code"]
