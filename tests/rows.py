"""
Rows for tests, written as a reader thinks of them: times in milliseconds, span ids as small numbers.
"""

from collections.abc import Sequence

from toolspan.documents import Report, ToolReport
from toolspan.records import Call, Rows, Task, TaskTool

MS = 10**6


def span_id(number: int) -> bytes:
    """
    The span id that is written as *number*.
    """
    return number.to_bytes(8, "big")


def call(span: int, tool: str = "search", *, task: str = "t1", start: int = 0, end: int | None = None) -> Call:
    """
    A call that succeeded; it takes 10 ms where *end* is not given.
    """
    return Call(
        task_id=task,
        trace_id=b"\x01" * 16,
        span_id=span_id(span),
        tool=tool,
        agent="planner",
        service="travel",
        environment="prod",
        started_ns=start * MS,
        ended_ns=(start + 10 if end is None else end) * MS,
        outcome="ok",
        error_class=None,
        code=None,
        evidence="",
        attempts=1,
        waited_ms=None,
        budget_exhausted=False,
        args_hash="4b01000000000000000f",
        field=None,
        retry_after_ms=None,
        lint=0,
        step_id="",
        step=span_id(span).hex(),
        parent_run=b"",
        follows=None,
        follow_up=None,
        presumed=False,
        verdict=None,
        wasted_ns=0,
        next_action=None,
    )


def failed(call_: Call, error_class: str, code: str, *, field: str | None = None, evidence: str = "envelope") -> Call:
    """
    *call_*, failed.
    """
    return call_._replace(outcome="error", error_class=error_class, code=code, field=field, evidence=evidence)


def retry(call_: Call, of: int, verdict: str, *, presumed: bool = False) -> Call:
    """
    *call_* as a retry of the call with the span id *of*.
    """
    return call_._replace(follows=span_id(of), follow_up="retry", verdict=verdict, presumed=presumed)


def rewrite(call_: Call, of: int, *, presumed: bool = False) -> Call:
    """
    *call_* as a rewrite of the call with the span id *of*.
    """
    return call_._replace(follows=span_id(of), follow_up="rewrite", presumed=presumed)


def task(name: str = "t1", outcome: str = "resolved", *, end: int = 1000, agent: str = "planner") -> Task:
    """
    A settled task.
    """
    return Task(
        task_id=name,
        trace_id=b"\x01" * 16,
        name=f"do {name}",
        agent=agent,
        service="travel",
        environment="prod",
        started_ns=0,
        ended_ns=end * MS,
        outcome=outcome,
        outcome_source="status",
        settled=True,
        calls=1,
        streak=0,
        unhandled=False,
    )


def task_tool(task_: str = "t1", tool: str = "search", *, calls: int = 1, steps: int = 1) -> TaskTool:
    """
    What a task did with a tool that never failed.
    """
    return TaskTool(
        task_id=task_,
        tool=tool,
        calls=calls,
        retries=0,
        presumed=0,
        allowed=0,
        early=0,
        over_cap=0,
        wasted=0,
        wasted_ns=0,
        steps=steps,
        validation_failures=0,
        recovered=0,
        accepted=0,
        episodes=0,
        escalated=0,
        clean=0,
        streak=0,
        streak_code=None,
    )


def rows(calls: Sequence[Call] = (), tasks: Sequence[Task] = (), task_tools: Sequence[TaskTool] = ()) -> Rows:
    """
    Rows without escalations and episodes, which no number reads: their sums are in *task_tools*.
    """
    return Rows(list(calls), list(tasks), [], [], list(task_tools))


def tasks_with_retries(retries: Sequence[int]) -> Rows:
    """
    One resolved task for each number, which retried the tool that often.
    """
    ids = [f"t{place}" for place in range(len(retries))]
    return rows(
        [call(place, task=task_id) for place, task_id in enumerate(ids)],
        [task(task_id) for task_id in ids],
        [task_tool(task_id)._replace(retries=count) for task_id, count in zip(ids, retries, strict=True)],
    )


def tool_of(document: Report, name: str = "search") -> ToolReport:
    """
    The part of one tool.
    """
    return document["tools"][name]
