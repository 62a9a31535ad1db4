"""
Outcomes: how a task ended, and where a human was asked.
"""

import pytest

from tests.span_facts import MS, escalation, failed, other, run, run_task, span_id, tool
from toolspan.derive import derive
from toolspan.records import Judgement, Marks, SpanFacts, Task

DEFERRED = Judgement("deferred", evidence="deferral")


def tasks(*spans: SpanFacts) -> dict[str, Task]:
    """
    The tasks of spans by id.
    """
    return {task.task_id: task for task in derive(spans).tasks}


def only(*spans: SpanFacts, escalation_tools: tuple[str, ...] = ()) -> Task:
    """
    The one task of spans.
    """
    (task,) = derive(spans, escalation_tools=escalation_tools).tasks
    return task


def concluded(*spans: SpanFacts) -> tuple[str, str]:
    """
    How the one task of spans ended, and what says so.
    """
    task = only(*spans)
    return task.outcome, task.outcome_source


class TestOutcome:
    """
    How a task ended.
    """

    def test_the_status_of_the_tasks_span_is_the_fallback(self) -> None:
        """
        ERROR is unresolved, everything else resolved.
        """
        assert concluded(run()) == ("resolved", "status")
        assert concluded(run(is_error=True)) == ("unresolved", "status")

    def test_a_tool_at_the_top_says_nothing(self) -> None:
        """
        A tool span is never its task's span.
        """
        assert concluded(tool("a", "")) == ("unknown", "unseen")

    def test_a_root_that_is_no_run_stands_for_its_trace(self) -> None:
        """
        Without an agent run the trace is the task and its root the span.
        """
        assert concluded(other("root", is_error=True), tool("a", "root")) == ("unresolved", "status")

    @pytest.mark.parametrize(("end", "outcome"), [(999, "unresolved"), (1001, "unresolved"), (998, "resolved")])
    def test_a_run_that_ends_with_the_tasks_span_counts(self, end: int, outcome: str) -> None:
        """
        Within a millisecond, and directly below: frameworks mark the inner span and leave the outer one unset.
        """
        inner = run("s", "x", (0, end), is_error=True)

        assert only(run(), other("x", "run"), inner).outcome == outcome
        assert only(run(), run("x", "run", (0, 10)), inner).outcome == "resolved"

    def test_the_tasks_attribute_wins(self) -> None:
        """
        Over an escalation and the status.
        """
        spans = (run(is_error=True, marks=Marks(outcome="resolved")), escalation("e"))

        assert concluded(*spans) == ("resolved", "attribute")

    def test_without_one_the_span_that_ended_last_tells(self) -> None:
        """
        Any span of the task may say how it ended; the task's own goes first; nonsense says nothing.
        """
        early = other("x", "run", (0, 10), marks=Marks(outcome="resolved"))
        late = other("y", "run", (0, 20), marks=Marks(outcome="unresolved"))
        last = other("z", "run", (0, 30), marks=Marks(outcome="fine"))
        after = other("w", "run", (0, 2000), marks=Marks(outcome="resolved"))

        assert concluded(run(), early, late, last) == ("unresolved", "attribute")
        assert concluded(run(marks=Marks(outcome="escalated")), early, after) == ("escalated", "attribute")

    def test_an_outcome_outside_of_every_task_is_nobodys(self) -> None:
        """
        A span beside the run says nothing of the run's task.
        """
        assert concluded(other("root"), run("r", "root"), other("x", "root", marks=Marks(outcome="unresolved"))) == (
            "resolved",
            "status",
        )

    def test_an_escalation_leaves_the_task_with_a_human(self) -> None:
        """
        Until a call of the escalated tool ends `ok` after it.
        """
        refused = tool("a", at=(0, 10), ending=failed("permission"))
        asked = escalation("e", at=20, tool="s")

        assert concluded(run(), refused, asked, tool("b", at=(30, 40), tool="other")) == ("escalated", "escalation")
        assert concluded(run(), refused, asked, tool("b", at=(15, 20))) == ("escalated", "escalation")
        assert concluded(run(), refused, asked, tool("b", at=(15, 21))) == ("resolved", "status")

    def test_any_success_of_the_tool_after_the_escalation_counts(self) -> None:
        """
        The one that ended last decides, whichever started last.
        """
        asked = escalation("e", at=30, tool="s")
        before, across, after = tool("a", at=(10, 20)), tool("b", at=(5, 50)), tool("c", at=(40, 60))

        assert only(run(), asked, before, across).outcome == "resolved"
        assert only(run(), asked, before, after).outcome == "resolved"
        assert only(run(), asked, before).outcome == "escalated"

    def test_an_escalation_without_tool_is_answered_by_any_call(self) -> None:
        """
        Where it names none, any success after it counts; every escalation needs one.
        """
        answered = tool("b", at=(30, 40), tool="other")

        assert only(run(), escalation("e", at=20), answered).outcome == "resolved"
        assert only(run(), escalation("e", at=20), answered, escalation("f", at=50)).outcome == "escalated"

    def test_an_escalation_counts_where_no_task_span_was_seen(self) -> None:
        """
        It stands before the status.
        """
        assert concluded(tool("a", "lost", ending=DEFERRED)) == ("escalated", "escalation")

    def test_a_call_that_asks_a_human_is_no_success_after_it(self) -> None:
        """
        That the human was reached does not resolve the task; another success does.
        """
        asks = tool("a", at=(0, 10), tool="ask_human")
        again = tool("b", at=(20, 30), tool="ask_human")

        assert only(run(), asks, escalation_tools=("ask_human",)).outcome == "escalated"
        assert only(run(), asks, again, escalation_tools=("ask_human",)).outcome == "escalated"
        assert only(run(), asks, tool("c", at=(5, 11)), escalation_tools=("ask_human",)).outcome == "resolved"
        assert only(run(), asks).outcome == "resolved"


class TestEscalations:
    """
    Where a human was asked.
    """

    def test_each_source_has_its_time_and_tool(self) -> None:
        """
        A span asks at its start, a deferred span and a run that ends waiting at their end.
        """
        spans = (
            run(at=(0, 100), waits=True),
            tool("a", at=(10, 20), ending=DEFERRED, tool="pay"),
            escalation("b", at=30, tool="refund"),
            tool("c", at=(40, 60), tool="mail"),
            run("r", "c", (41, 59)),
            escalation("d", "r", at=50, source="elicitation"),
            tool("e", at=(70, 80), tool="ask_human"),
            escalation("f", at=90, source="elicitation"),
        )
        rows = derive(spans, escalation_tools=("ask_human",))

        assert [(one.at_ns // MS, one.tool, one.source, one.span_id.lstrip(b"\0")) for one in rows.escalations] == [
            (20, "pay", "deferred", b"a"),
            (30, "refund", "span", b"b"),
            (50, "mail", "elicitation", b"d"),
            (70, "", "tool", b"e"),
            (90, "", "elicitation", b"f"),
            (100, "", "run", b"run"),
        ]
        assert {one.task_id for one in rows.escalations} == {run_task("run")}

    def test_every_deferred_span_escalates_whatever_its_call_became(self) -> None:
        """
        A pause was one, though the call went on and succeeded.
        """
        spans = (
            run(),
            tool("a", at=(0, 10), ending=DEFERRED, call_id="c"),
            tool("b", "a", at=(1, 9), ending=DEFERRED),
            tool("d", at=(20, 30), call_id="c"),
        )
        rows = derive(spans)

        assert [call.outcome for call in rows.calls] == ["ok"]
        assert [one.span_id for one in rows.escalations] == [span_id("b"), span_id("a")]
        assert rows.tasks[0].outcome == "resolved"
