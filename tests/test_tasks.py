"""
Tasks: to which one a call belongs, which there are, and what their spans say.
"""

import pytest

from tests.span_facts import MS, escalation, names, other, run, run_task, tool, trace_id, trace_task
from toolspan.derive import derive
from toolspan.records import Marks, SpanFacts, Task


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


def homes(*spans: SpanFacts) -> list[str]:
    """
    The task of each call.
    """
    return [call.task_id for call in derive(spans).calls]


def concluded(*spans: SpanFacts) -> tuple[str, str]:
    """
    How the one task of spans ended, and what says so.
    """
    task = only(*spans)
    return task.outcome, task.outcome_source


class TestBelonging:
    """
    Which task a call belongs to.
    """

    def test_the_outermost_run_is_the_task(self) -> None:
        """
        An agent run inside an agent run is no task of its own.
        """
        spans = (other("root"), run("r", "root"), other("x", "r"), run("s", "x"), tool("a", "s"))

        assert homes(*spans) == [run_task("r")]
        assert list(tasks(*spans)) == [run_task("r")]

    def test_runs_side_by_side_are_tasks_apart(self) -> None:
        """
        A trace may hold several tasks, and calls beside them belong to the trace.
        """
        spans = (other("root"), run("r", "root"), run("s", "root"), tool("a", "r"), tool("b", "s"), tool("c", "root"))

        assert homes(*spans) == [run_task("r"), run_task("s"), trace_task()]

    def test_the_nearest_task_id_wins(self) -> None:
        """
        On the call's span or an ancestor, above a run or below it.
        """
        spans = (
            other("x", marks=Marks(task_id="t1")),
            run("r", "x"),
            tool("a", "r"),
            other("y", "r", marks=Marks(task_id="t2")),
            tool("b", "y"),
            tool("c", "y", marks=Marks(task_id="t3")),
        )

        assert homes(*spans) == ["t1", "t2", "t3"]

    def test_a_broken_chain_joins_the_only_run(self) -> None:
        """
        Where the trace has one outermost run, a call whose parent never came is that one's, by whatever id it goes.
        """
        plain = (run(), run("s", "run"), tool("a", "lost"))
        named = (run("run", marks=Marks(task_id="t1")), tool("a", "lost"))

        assert (homes(*plain), homes(*named)) == ([run_task("run")], ["t1"])

    def test_a_broken_chain_among_several_runs_is_the_traces(self) -> None:
        """
        Nothing tells to which of them it belongs.
        """
        assert homes(run("r"), run("s"), tool("a", "lost")) == [trace_task()]

    def test_a_broken_chain_below_a_run_is_that_runs(self) -> None:
        """
        The run is an ancestor, whatever is missing above it.
        """
        assert homes(run("r", "lost"), run("s"), tool("a", "r")) == [run_task("r")]

    def test_a_chain_to_the_top_is_not_broken(self) -> None:
        """
        A call beside the only run belongs to the trace, not to that run.
        """
        assert homes(run("r"), tool("a", "")) == [trace_task()]

    def test_a_circle_is_a_broken_chain(self) -> None:
        """
        Spans that are their own ancestors are cut at the one that started first.
        """
        circle = (other("x", "z", (5, 9)), other("y", "x", (1, 9)), other("z", "y", (3, 9)))

        assert homes(run(), *circle, tool("a", "z")) == [run_task("run")]
        assert homes(run(), tool("a", "a")) == [run_task("run")]

    @pytest.mark.parametrize("turn", range(3))
    def test_a_circle_is_cut_at_one_place_whoever_asks(self, turn: int) -> None:
        """
        The span that started first is the outermost of a circle, whatever came first.
        """
        circle = [run("x", "z", (5, 9)), tool("y", "x", (1, 9)), tool("z", "y", (3, 9))]
        call = derive([*circle[turn:], *circle[:turn]]).calls[0]

        assert (names([call]), call.parent_run) == (["y"], b"")

    def test_a_deep_chain_is_climbed(self) -> None:
        """
        Ten thousand spans above a call are no obstacle.
        """
        chain = [other(str(depth), str(depth - 1) if depth else "run") for depth in range(10_000)]

        assert homes(run(), *reversed(chain), tool("a", "9999")) == [run_task("run")]

    def test_a_step_is_that_of_the_nearest_ancestor_inside_the_task(self) -> None:
        """
        A step above the task's run is none of its steps; that of the run itself is.
        """
        spans = (
            other("x", marks=Marks("x", step_id="outside")),
            run("r", "x"),
            tool("a", "r"),
            run("s", "x", marks=Marks(step_id="s0")),
            other("y", "s", marks=Marks(step_id="s1")),
            tool("b", "s"),
            tool("c", "y"),
            tool("d", "y", marks=Marks(step_id="s2")),
            tool("e", "x"),
        )

        assert [call.step_id for call in derive(spans).calls] == ["", "s0", "s1", "s2", "outside"]

    def test_a_task_that_is_named_again_goes_on_in_its_step(self) -> None:
        """
        Below another task, the id that is further up leads back to the step that held there.
        """
        spans = (
            other("x", marks=Marks(task_id="t1", step_id="s1")),
            other("y", "x", marks=Marks(task_id="t2", step_id="s2")),
            tool("a", "y", marks=Marks(task_id="t1")),
        )

        assert [(call.task_id, call.step_id) for call in derive(spans).calls] == [("t1", "s1")]
        assert tasks(*spans)["t1"].started_ns == 0


class TestExistence:
    """
    Which tasks there are.
    """

    def test_a_run_without_calls_is_a_task(self) -> None:
        """
        A trace with neither run nor call is none.
        """
        assert list(tasks(run(), other("x", trace="u"), escalation("e", "", trace="v"))) == [run_task("run")]

    def test_a_task_id_is_a_task(self) -> None:
        """
        Whoever names a task has one, with or without calls.
        """
        task = only(other("x", "lost", (5, 9), marks=Marks(task_id="t1")))

        assert (task.task_id, task.calls, task.outcome) == ("t1", 0, "resolved")

    def test_an_escalation_beside_a_run_belongs_to_the_trace(self) -> None:
        """
        A human was asked, though not within the run.
        """
        found = tasks(other("root"), run("r", "root"), escalation("e", "root"))

        assert {name: task.outcome for name, task in found.items()} == {
            run_task("r"): "resolved",
            trace_task(): "escalated",
        }

    def test_an_escalation_whose_chain_is_broken_joins_the_only_run(self) -> None:
        """
        An escalation belongs to the task found for its span as for a call.
        """
        assert concluded(run(), escalation("e", "lost")) == ("escalated", "escalation")


class TestFrame:
    """
    What the spans of a task say of it.
    """

    def test_a_run_tells_of_its_task(self) -> None:
        """
        Name, agent, service, environment and time are the run's.
        """
        spans = (
            run("r", at=(5, 90), marks=Marks("invoke", "planner", "web", "prod")),
            tool("a", "r", marks=Marks(agent="x")),
        )
        task = only(*spans)

        assert (task.name, task.agent, task.service, task.environment) == ("invoke", "planner", "web", "prod")
        assert (task.trace_id, task.started_ns, task.ended_ns) == (trace_id("t"), 5 * MS, 90 * MS)

    def test_what_it_does_not_say_its_first_call_does(self) -> None:
        """
        Each of agent, service and environment by itself; the name is the task's own.
        """
        spans = (
            run("r", marks=Marks("invoke", service="web")),
            tool("b", "r", (5, 9), marks=Marks("no", "late", "no", "no")),
            tool("a", "r", (1, 2), marks=Marks("no", "early", "no", "prod")),
        )
        task = only(*spans)

        assert (task.name, task.agent, task.service, task.environment) == ("invoke", "early", "web", "prod")

    def test_calls_carry_what_their_task_says(self) -> None:
        """
        Numbers are grouped by the task's agent, service and environment, so those stand on every call.
        """
        spans = (run("r", marks=Marks("invoke", "planner", "web", "prod")), tool("a", "r", marks=Marks(agent="x")))
        (call,) = derive(spans).calls

        assert (call.agent, call.service, call.environment) == ("planner", "web", "prod")

    def test_a_task_in_several_traces_lasts_from_first_to_last(self) -> None:
        """
        It starts with the first and ends with the last of its topmost spans, whose status counts.
        """
        spans = (
            run("r", at=(10, 20), trace="u", is_error=True, marks=Marks("second", task_id="t1")),
            run("r", at=(0, 15), marks=Marks("first", task_id="t1")),
            other("x", "r", (0, 99), marks=Marks(task_id="t1")),
        )
        task = only(*spans)

        assert (task.name, task.trace_id, task.outcome) == ("first", trace_id("t"), "unresolved")
        assert (task.started_ns, task.ended_ns) == (0, 20 * MS)

    def test_the_first_of_its_spans_names_a_task(self) -> None:
        """
        First by start, whichever ends first; the later ones say what it leaves open.
        """
        spans = (
            run("r", at=(10, 20), trace="t", marks=Marks("second", "late", "web", task_id="t1")),
            run("r", at=(0, 30), trace="u", marks=Marks("first", "early", task_id="t1")),
        )
        task = only(*spans)

        assert (task.name, task.agent, task.service, task.trace_id) == ("first", "early", "web", trace_id("u"))

    def test_the_first_call_places_a_task_that_only_calls_name(self) -> None:
        """
        Its trace is that of the tool span that carries its id first.
        """
        spans = (
            tool("a", "", (30, 40), trace="t", marks=Marks(task_id="t1")),
            tool("b", "", (10, 90), trace="u", marks=Marks(task_id="t1")),
        )

        assert only(*spans).trace_id == trace_id("u")

    def test_a_trace_without_root_lasts_as_long_as_its_spans(self) -> None:
        """
        From the first start to the last end of all that was seen.
        """
        task = only(other("x", "lost", (3, 70)), tool("a", "x", (5, 20)), other("y", "a", (2, 9)))

        assert (task.started_ns, task.ended_ns, task.outcome) == (2 * MS, 70 * MS, "unknown")

    def test_a_trace_whose_spans_were_not_seen_lasts_as_long_as_what_belongs_to_it(self) -> None:
        """
        What belongs to other tasks of the trace is theirs.
        """
        spans = (run("r", at=(0, 10)), run("q", at=(0, 100)), tool("a", "lost", (5, 8)))
        task = tasks(*spans)[trace_task()]

        assert (task.started_ns, task.ended_ns) == (5 * MS, 8 * MS)

    def test_a_task_that_only_calls_name_lasts_as_long_as_what_is_below(self) -> None:
        """
        The task's span was never seen; its calls, and what lies below them, tell when it was.
        """
        spans = (
            other("root", at=(0, 500)),
            tool("b", "root", (30, 40), marks=Marks(task_id="t1")),
            tool("a", "root", (10, 20), marks=Marks(task_id="t1")),
            other("x", "b", (35, 60)),
        )
        task = only(*spans)

        assert (task.started_ns, task.ended_ns, task.outcome_source) == (10 * MS, 60 * MS, "unseen")
        assert task.trace_id == trace_id("t")
