"""
The rows of a plain trace: one agent run and the tools that it called, none within another, and nobody was asked.

Most traces are plain, and their rows follow from one walk over the spans: no places, no units, no merging, and calls
of tools that did not fail become rows at once. That takes 60 % of the time of the general way, to which everything
else is left; of a plain trace both give the same rows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from toolspan.derivation.ancestry import run_task_id
from toolspan.derivation.calls import Execution
from toolspan.derivation.endings import judge_unit
from toolspan.derivation.episodes import find_episodes
from toolspan.derivation.escalations import Heard
from toolspan.derivation.lineage import relate
from toolspan.derivation.outcomes import is_unhandled
from toolspan.derivation.rows import EPISODE_ORDER, call_row, make_call
from toolspan.derivation.sums import sum_up, sums_of_clean
from toolspan.derivation.tasks import Frame
from toolspan.records import Call, CallFacts, Episode, Marks, Role, Rows, SpanFacts, Task, TaskTool

_RUN: Final = int(Role.RUN)
_NO_MARKS: Final = Marks()
_NOBODY: Final = Heard(())

#: Start, span id, end, call, span: in this order calls are compared, and no two have one span id.
_Begun: TypeAlias = tuple[int, bytes, int, CallFacts, SpanFacts]


class PlainTrace(NamedTuple):
    """
    Its run, the calls in order, and the tools of which one failed.
    """

    run: SpanFacts
    calls: list[_Begun]
    failed: set[str]


def read_plain(spans: Sequence[SpanFacts], escalation_tools: Collection[str]) -> PlainTrace | None:
    """
    *spans* as a plain trace; None where they are none.
    """
    run: SpanFacts | None = None
    by_id: dict[bytes, SpanFacts] = {}
    calls: list[_Begun] = []
    parents: set[bytes] = set()
    first_id = spans[0].trace_id if spans else b""
    known: Marks | None = None
    for span in spans:
        trace_id, span_id, parent_id, start_ns, end_ns, role, _, marks, call, escalation, http_status = span
        if trace_id != first_id or escalation is not None or http_status:
            return None
        by_id[span_id] = span
        # spans that say the same share one record
        if marks is not known and marks is not None:
            if marks.task_id or marks.step_id or marks.outcome:
                return None
            known = marks
        if role == _RUN:
            if run is not None or call is not None:
                return None
            run = span
        elif call is not None:
            calls.append((start_ns, span_id, end_ns, call, span))
            parents.add(parent_id)
    if run is None or len(by_id) < len(spans) or not _are_within(run, parents, by_id):
        return None
    failed = _failed_tools(calls, escalation_tools)
    if failed is None:
        return None
    calls.sort()
    return PlainTrace(run, calls, failed)


def _are_within(run: SpanFacts, parents: Iterable[bytes], spans: Mapping[bytes, SpanFacts]) -> bool:
    """
    Whether all *parents* are *run* or lie below it, with no call in between, and nothing runs in a circle.
    """
    known = {run.span_id}
    above: set[bytes] = set()
    span = spans.get(run.parent_id)
    while span is not None:
        if span.span_id in above:
            return False
        above.add(span.span_id)
        span = spans.get(span.parent_id)
    for parent_id in parents:
        path: set[bytes] = set()
        above_id = parent_id
        while above_id not in known:
            span = spans.get(above_id)
            if span is None or span.call is not None or above_id in path:
                return False
            path.add(above_id)
            above_id = span.parent_id
        known |= path
    return True


def _failed_tools(calls: Iterable[_Begun], escalation_tools: Collection[str]) -> set[str] | None:
    """
    The tools of which one of *calls* failed; None where a call is more than that, or where two may be one.
    """
    failed: set[str] = set()
    ids: set[str] = set()
    for _, _, _, call, _ in calls:
        tool, judgement, call_id, _, side, _, _, _, _ = call
        outcome = judgement.outcome
        if side == "server" or call_id in ids or tool in escalation_tools or outcome not in ("ok", "error"):
            return None
        if call_id:
            ids.add(call_id)
        if outcome == "error":
            failed.add(tool)
    return failed


def rows_of(trace: PlainTrace, *, settled: bool) -> Rows:
    """
    The rows of a plain *trace*.
    """
    run, begun, failed = trace
    task_id, frame = run_task_id(run), _frame_of(run, begun)
    executions = [_execution(each, run, task_id) for each in begun if each[3].tool in failed] if failed else []
    sums, episodes = _link(executions, [each[0] for each in begun] if failed else [])
    streak = max([row.streak for row in sums], default=0)
    calls, clean = _call_rows(trace, iter(executions), frame, task_id)
    # every call of a tool that did not fail is a step of its own
    sums += [sums_of_clean(task_id, tool, count, steps=count) for tool, count in clean.items()]
    outcome = "unresolved" if run.is_error else "resolved"
    task = Task(
        task_id,
        run.trace_id,
        frame.name,
        frame.agent,
        frame.service,
        frame.environment,
        run.start_ns,
        run.end_ns,
        outcome,
        "status",
        settled,
        len(calls),
        streak,
        streak > 0 and is_unhandled(outcome, calls, _NOBODY),
    )
    # by task, which is one, and tool
    sums.sort()
    if len(episodes) > 1:
        episodes.sort(key=EPISODE_ORDER)
    return Rows(calls, [task], [], episodes, sums)


def _frame_of(run: SpanFacts, begun: Sequence[_Begun]) -> Frame:
    """
    What *run* says of the task, or its first call where that says nothing.
    """
    name, agent, service, environment, _, _, _ = run.marks or _NO_MARKS
    if begun and not (agent and service and environment):
        first = begun[0][4].marks or _NO_MARKS
        agent, service, environment = agent or first.agent, service or first.service, environment or first.environment
    return Frame(run.trace_id, name, agent, service, environment, run.start_ns, run.end_ns, run)


def _execution(begun: _Begun, run: SpanFacts, task_id: str) -> Execution:
    """
    A call of a tool that failed.
    """
    start_ns, span_id, end_ns, call, span = begun
    tool, judgement, call_id, args_hash, _, _, attempts, waited_ms, is_exhausted = call
    if judgement.outcome == "error" and judgement.error_class is None:
        judgement = judge_unit(((span, call),), {})
    outcome, error_class, code, evidence, _, _, field, retry_after_ms, lint = judgement
    if outcome == "ok":
        # a class here is what the span would name if another span of its call had failed
        error_class, code, evidence, field, retry_after_ms = None, None, "", None, None
    return Execution(
        span.trace_id,
        span_id,
        start_ns,
        end_ns,
        tool,
        outcome,
        error_class,
        code,
        evidence,
        field,
        retry_after_ms,
        lint,
        1 if attempts is None else attempts,
        waited_ms,
        is_exhausted,
        args_hash,
        call_id,
        task_id,
        "",
        run.span_id,
        _NO_MARKS,
        (),
        span_id.hex(),
    )


def _link(executions: Iterable[Execution], starts_ns: Sequence[int]) -> tuple[list[TaskTool], list[Episode]]:
    """
    Link *executions*, of tools that failed; gives the sums and the episodes of each tool.
    """
    by_tool: dict[str, list[Execution]] = {}
    for execution in executions:
        by_tool.setdefault(execution.tool, []).append(execution)
    sums: list[TaskTool] = []
    episodes: list[Episode] = []
    for of_tool in by_tool.values():
        relate(of_tool, _NOBODY, starts_ns)
        found = find_episodes(of_tool, _NOBODY)
        sums.append(sum_up(of_tool, found))
        episodes += found
    return sums, episodes


def _call_rows(
    trace: PlainTrace, executions: Iterator[Execution], frame: Frame, task_id: str
) -> tuple[list[Call], dict[str, int]]:
    """
    The rows of all calls, *executions* being those of the tools that failed, and how many calls each other tool has.
    """
    run_id, trace_id, failed = trace.run.span_id, trace.run.trace_id, trace.failed
    agent, service, environment = frame.agent, frame.service, frame.environment
    rows: list[Call] = []
    clean: dict[str, int] = {}
    for start_ns, span_id, end_ns, call, _ in trace.calls:
        tool, judgement, _, args_hash, _, _, attempts, waited_ms, is_exhausted = call
        if tool in failed:
            rows.append(call_row(next(executions), frame))
            continue
        if attempts is None:
            attempts = 1
        clean[tool] = clean.get(tool, 0) + 1
        # fmt: off
        rows.append(make_call((
            task_id, trace_id, span_id, tool, agent, service, environment, start_ns, end_ns, "ok", None, None, "",
            attempts, waited_ms, is_exhausted, args_hash, None, None, judgement.lint, "", span_id.hex(), run_id,
            None, None, False, None, 0, None,
        )))
        # fmt: on
    return rows, clean
