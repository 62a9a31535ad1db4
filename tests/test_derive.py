"""
Deriving: the rows of a group as a whole.
"""

import pytest

from tests.span_facts import MS, A, escalation, failed, names, other, run, run_task, span_id, tool, trace_id
from toolspan.derive import derive
from toolspan.records import Call, Escalation, Judgement, Marks, Rows, SpanFacts, Task, TaskTool

DOWN = failed("transient", "UNAVAILABLE")


def test_no_spans_make_no_rows() -> None:
    """
    Nothing in, nothing out.
    """
    assert derive(()) == Rows([], [], [], [], [])


def test_a_whole_task_as_rows() -> None:
    """
    Every column of every row of a run in which one call is retried and a human is asked.
    """
    marks = Marks("", "helper", "mail", "dev")
    spans = [
        run(at=(0, 100), marks=Marks("invoke_agent planner", "planner", "web", "prod")),
        other("step", "run", (5, 90), marks=Marks(step_id="find")),
        tool("a", "step", (10, 20), Judgement("error", "transient", "UNAVAILABLE", "http:503", lint=2), marks=marks),
        tool("b", "step", (30, 40), attempts=2, marks=marks),
        escalation("e", at=50, tool="pay"),
        tool("c", "run", (60, 70), tool="pay", args=None, marks=marks),
    ]
    task_id, t = run_task("run"), trace_id("t")
    first = Call(
        task_id=task_id,
        trace_id=t,
        span_id=span_id("a"),
        tool="s",
        agent="planner",
        service="web",
        environment="prod",
        started_ns=10 * MS,
        ended_ns=20 * MS,
        outcome="error",
        error_class="transient",
        code="UNAVAILABLE",
        evidence="http:503",
        attempts=1,
        waited_ms=None,
        budget_exhausted=False,
        args_hash=A,
        field=None,
        retry_after_ms=None,
        lint=2,
        step_id="find",
        step="find",
        parent_run=span_id("run"),
        follows=None,
        follow_up=None,
        presumed=False,
        verdict=None,
        wasted_ns=0,
        next_action="retry",
    )
    plain = first._replace(outcome="ok", error_class=None, code=None, evidence="", lint=0, next_action=None)
    second = plain._replace(
        span_id=span_id("b"),
        started_ns=30 * MS,
        ended_ns=40 * MS,
        attempts=2,
        follows=span_id("a"),
        follow_up="retry",
        verdict="allowed",
    )
    third = plain._replace(
        span_id=span_id("c"),
        tool="pay",
        started_ns=60 * MS,
        ended_ns=70 * MS,
        args_hash=None,
        step_id="",
        step=span_id("c").hex(),
    )
    task = Task(
        task_id=task_id,
        trace_id=t,
        name="invoke_agent planner",
        agent="planner",
        service="web",
        environment="prod",
        started_ns=0,
        ended_ns=100 * MS,
        outcome="resolved",
        outcome_source="status",
        settled=False,
        calls=3,
        streak=1,
        unhandled=False,
    )

    assert derive(spans, settled=False) == Rows(
        calls=[first, second, third],
        tasks=[task],
        escalations=[Escalation(task_id, t, span_id("e"), 50 * MS, "pay", "", "span")],
        episodes=[],
        task_tools=[
            TaskTool(task_id, "pay", 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, None),
            TaskTool(task_id, "s", 2, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, "UNAVAILABLE"),
        ],
    )


def test_traces_that_nothing_joins_are_tasks_apart() -> None:
    """
    Several groups at once are several tasks: a failure in one is not answered in another.
    """
    spans = [
        run(trace="u"),
        tool("b", at=(20, 30), trace="u"),
        run(trace="t"),
        tool("a", at=(0, 10), ending=DOWN),
    ]
    rows = derive(spans)

    assert [(names([call]), call.follows, call.next_action) for call in rows.calls] == [
        (["a"], None, "nothing"),
        (["b"], None, None),
    ]
    assert [task.task_id for task in rows.tasks] == [run_task("run"), run_task("run", trace="u")]


def test_traces_that_a_task_id_joins_are_one_task() -> None:
    """
    A failure in one trace is answered in another.
    """
    marks = Marks(task_id="t1")
    spans = [
        run(trace="t", marks=marks),
        tool("a", at=(0, 10), ending=DOWN),
        run(trace="u", marks=marks),
        tool("b", at=(20, 30), trace="u"),
    ]
    rows = derive(spans)

    assert [(call.trace_id, call.follows) for call in rows.calls] == [
        (trace_id("t"), None),
        (trace_id("u"), span_id("a")),
    ]
    assert [(task.task_id, task.calls) for task in rows.tasks] == [("t1", 2)]


def test_span_ids_may_repeat_across_the_traces_of_a_task() -> None:
    """
    Two calls with one span id in two traces stay two calls, in two steps.
    """
    marks = Marks(task_id="t1")
    spans = [
        span
        for trace in ("t", "u")
        for span in (
            run(trace=trace, marks=marks),
            tool("a", at=(0, 10), ending=DOWN, args=trace * 5, trace=trace),
            tool("b", at=(20, 30), args=trace * 5, trace=trace),
        )
    ]
    rows = derive(spans)

    assert [call.verdict for call in rows.calls] == [None, None, "allowed", "allowed"]
    assert rows.task_tools[0].steps == 2


def test_rows_stand_in_a_fixed_order() -> None:
    """
    Calls and escalations by time, tasks by start, sums by task and tool.
    """
    spans = [
        run("r", at=(5, 90)),
        run("s", at=(1, 90)),
        tool("z", "r", (10, 20), tool="b"),
        tool("y", "s", (10, 20), tool="c"),
        tool("x", "r", (30, 40), tool="a"),
        escalation("f", "r", at=60),
        escalation("e", "s", at=50),
    ]
    rows = derive(spans)

    assert names(rows.calls) == ["y", "z", "x"]
    assert [task.started_ns // MS for task in rows.tasks] == [1, 5]
    assert [one.at_ns // MS for one in rows.escalations] == [50, 60]
    assert [(sums.task_id, sums.tool) for sums in rows.task_tools] == [
        (run_task("r"), "a"),
        (run_task("r"), "b"),
        (run_task("s"), "c"),
    ]


def test_a_task_is_as_settled_as_its_caller_says() -> None:
    """
    When a task settles is not decided here.
    """
    assert [derive([run()], settled=settled).tasks[0].settled for settled in (True, False)] == [True, False]


def test_the_longest_streak_of_any_tool_is_the_tasks() -> None:
    """
    Streaks are per tool; calls of other tools in between do not break them.
    """
    spans = [
        run(),
        tool("a", at=(0, 1), ending=DOWN),
        tool("b", at=(2, 3), tool="other"),
        tool("c", at=(4, 5), ending=DOWN),
        tool("d", at=(6, 7), ending=DOWN, tool="other"),
    ]

    assert derive(spans).tasks[0].streak == 2


class TestUnhandled:
    """
    A task that says resolved over a failure.
    """

    @pytest.mark.parametrize(
        ("error_class", "is_unhandled"),
        [("transient", True), ("fatal", True), (None, True), ("business_rule", False)],
    )
    def test_a_last_call_that_failed_is_unhandled(self, error_class: str | None, *, is_unhandled: bool) -> None:
        """
        Last by end, of whatever tool; what a business rule forbids may be the answer.
        """
        spans = [
            run(),
            tool("a", at=(0, 90), ending=failed(error_class)),
            tool("b", at=(50, 80), tool="other"),
        ]

        assert derive(spans).tasks[0].unhandled is is_unhandled

    def test_a_human_who_was_told_handles_it(self) -> None:
        """
        At or after the end of the call, whatever the tool; before it, the human heard of something else.
        """
        spans = [run(marks=Marks(outcome="resolved")), tool("a", at=(0, 90), ending=failed("fatal"))]

        assert not derive([*spans, escalation("e", at=90, tool="other")]).tasks[0].unhandled
        assert derive([*spans, escalation("e", at=89)]).tasks[0].unhandled

    def test_only_a_resolved_task_passes_over_a_failure(self) -> None:
        """
        One that is unresolved or unknown says so; one whose last call succeeded has nothing to pass over.
        """
        failure = tool("a", at=(0, 90), ending=failed("fatal"))

        assert not derive([run(is_error=True), failure]).tasks[0].unhandled
        assert not derive([failure]).tasks[0].unhandled
        assert not derive([run(), failure, tool("b", at=(0, 91))]).tasks[0].unhandled
        assert not derive([run()]).tasks[0].unhandled


#: A run of an agent that has no name, above a failure, a retry of it and a call of another tool.
PLAIN = (
    run(at=(0, 100), marks=Marks("run")),
    tool("a", at=(10, 20), ending=DOWN, marks=Marks(agent="own")),
    tool("b", at=(30, 40)),
    tool("c", at=(50, 60), tool="pay", call_id="c1"),
)


@pytest.mark.parametrize(
    "spans",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param((PLAIN[0], PLAIN[3], PLAIN[2], PLAIN[1]), id="in another order"),
        pytest.param((*PLAIN, PLAIN[1]), id="delivered twice"),
        pytest.param((*PLAIN, other("o", "run"), tool("d", "o", (60, 70))), id="a call further down"),
        pytest.param((*PLAIN, tool("d", "gone", (60, 70))), id="a call below what never came"),
        pytest.param((*PLAIN, tool("d", "a", (12, 14))), id="a call within a call"),
        pytest.param((*PLAIN, other("o", "a"), tool("d", "o", (12, 14))), id="a call further within a call"),
        pytest.param((*PLAIN, tool("d", at=(60, 70), tool="pay", call_id="c1")), id="one call traced twice"),
        pytest.param((*PLAIN, tool("d", at=(51, 59), tool="pay", side="server")), id="a server's call"),
        pytest.param((*PLAIN, tool("d", tool="pay", ending=Judgement("cancelled", code="REJECTED"))), id="cancelled"),
        pytest.param((*PLAIN, tool("d", at=(60, 70), ending=Judgement("deferred"))), id="deferred"),
        pytest.param((*PLAIN, tool("d", at=(60, 70), ending=failed())), id="a failure without class"),
        pytest.param((*PLAIN, tool("d", at=(60, 70), ending=Judgement("ok", "fatal", "LATENT"))), id="a latent class"),
        pytest.param((*PLAIN, tool("d", ending=failed()), other("h", "d", http_status=503)), id="a failed request"),
        pytest.param((*PLAIN, escalation("e", at=25)), id="an escalation"),
        pytest.param((*PLAIN, run("inner", "run", (60, 90), is_error=True)), id="a run within the run"),
        pytest.param((*PLAIN, other("o", "run", marks=Marks(step_id="s")), tool("d", "o")), id="a step"),
        pytest.param((*PLAIN, other("o", "run", marks=Marks(task_id="t")), tool("d", "o")), id="a task of its own"),
        pytest.param((*PLAIN, other("o", "run", marks=Marks(outcome="unresolved"))), id="an outcome"),
        pytest.param((run(above="root", at=(0, 100)), other("root"), *PLAIN[1:]), id="a span above the run"),
        pytest.param((run(above="gone", at=(0, 100), is_error=True), *PLAIN[1:]), id="a run that failed, cut off"),
        pytest.param((run(above="o", at=(5, 100)), other("o", "run"), tool("d", "o"), *PLAIN[1:]), id="a circle"),
        pytest.param((run(above="p"), other("p", "q"), other("q", "p"), *PLAIN[1:]), id="a circle above"),
        pytest.param((*PLAIN, other("p", "q"), other("q", "p"), tool("d", "p")), id="a call below a circle"),
        pytest.param((*PLAIN, tool("d", at=(60, 70), ending=failed("permission")), tool("f")), id="an episode"),
        pytest.param(PLAIN[1:], id="no run"),
        pytest.param(PLAIN[:1], id="no call"),
    ],
)
def test_a_trace_beside_another_has_the_rows_it_has_alone(spans: tuple[SpanFacts, ...]) -> None:
    """
    A plain trace is derived in a shorter way, but not beside another; both ways give the same rows.
    """
    beside = other("beside", "gone", trace="u")

    assert derive([*spans, beside]) == derive(spans)
    assert derive([*spans, beside], escalation_tools=("pay",)) == derive(spans, escalation_tools=("pay",))
