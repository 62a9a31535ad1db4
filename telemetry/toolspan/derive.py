"""
The core: the facts of one group of spans in, all rows of it out.

One pure function, so that an agent's process, a collector and a file give the same numbers: the same spans in any
order, delivered once or more, give the same rows. Whoever calls it decides when, and what becomes of the rows.

Measured on CPython 3.11, grouping included: a trace of ten spans, six of them calls of which a quarter failed, takes
29 µs, or 44 where it is not plain; a trace of 10 000 calls, all failed, 5 µs a call.
"""

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter
from typing import Final

from toolspan.derivation.ancestry import Trace, read_traces
from toolspan.derivation.calls import Execution
from toolspan.derivation.episodes import find_episodes
from toolspan.derivation.escalations import Heard, escalating_calls
from toolspan.derivation.lineage import relate
from toolspan.derivation.outcomes import conclude, is_unhandled
from toolspan.derivation.plain import read_plain, rows_of
from toolspan.derivation.rows import EPISODE_ORDER, call_row
from toolspan.derivation.sums import sum_clean, sum_up
from toolspan.derivation.tasks import Frame, Work, find_work, frame_of, measure_unseen
from toolspan.records import Rows, SpanFacts, Task

_CALL_ORDER: Final = attrgetter("started_ns", "trace_id", "span_id")
_TASK_ORDER: Final = attrgetter("started_ns", "task_id")
_ESCALATION_ORDER: Final = attrgetter("at_ns", "trace_id", "span_id", "source")
_TASK_TOOL_ORDER: Final = attrgetter("task_id", "tool")


def derive(spans: Iterable[SpanFacts], *, escalation_tools: Collection[str] = (), settled: bool = True) -> Rows:
    """
    The rows of the tasks of *spans*: calls, tasks and escalations by time, episodes by opening, sums by task and tool.

    Args:
        spans: all spans of one group or more; of spans with one (trace id, span id) the first stays.
        escalation_tools: tools whose call asks a human.
        settled: whether the tasks are settled.
    """
    spans = list(spans)
    plain = read_plain(spans, escalation_tools)
    if plain is not None:
        return rows_of(plain, settled=settled)
    traces = read_traces(spans)
    works = find_work(traces.values())
    unseen = measure_unseen(traces.values(), works)
    rows = Rows([], [], [], [], [])
    for work in works:
        if escalation_tools:
            work.escalations += escalating_calls(work.calls, escalation_tools)
        _add(rows, work, frame_of(work, unseen), traces, settled=settled)
    rows.episodes.sort(key=EPISODE_ORDER)
    rows.task_tools.sort(key=_TASK_TOOL_ORDER)
    if len(works) > 1 or len(traces) > 1:
        rows.calls.sort(key=_CALL_ORDER)
        rows.tasks.sort(key=_TASK_ORDER)
        rows.escalations.sort(key=_ESCALATION_ORDER)
    return rows


def _add(rows: Rows, work: Work, frame: Frame, traces: Mapping[bytes, Trace], *, settled: bool) -> None:
    """
    Add the rows of one task.
    """
    calls, heard = work.calls, Heard(work.escalations)
    streak = _add_tools(rows, calls, heard)
    rows.calls.extend([call_row(call, frame) for call in calls])
    rows.escalations.extend(heard.escalations)
    outcome, source = conclude(work, frame.last, heard, traces)
    rows.tasks.append(
        Task(
            work.task_id,
            frame.trace_id,
            frame.name,
            frame.agent,
            frame.service,
            frame.environment,
            frame.started_ns,
            frame.ended_ns,
            outcome,
            source,
            settled,
            len(calls),
            streak,
            streak > 0 and is_unhandled(outcome, calls, heard),
            frame.last is not None or any(not span.parent_id for span in work.carriers),
        )
    )


def _add_tools(rows: Rows, calls: list[Execution], heard: Heard) -> int:
    """
    Link *calls*, of one task, and add the rows of each tool; gives the longest streak.
    """
    by_tool: dict[str, list[Execution]] = {}
    failed: set[str] = set()
    for call in calls:
        tool = call.tool
        if tool in by_tool:
            by_tool[tool].append(call)
        else:
            by_tool[tool] = [call]
        if call.outcome == "error":
            failed.add(tool)
    starts_ns = [call.started_ns for call in calls] if failed else []
    streak = 0
    for tool, of_tool in by_tool.items():
        if tool in failed:
            relate(of_tool, heard, starts_ns)
            episodes = find_episodes(of_tool, heard)
            sums = sum_up(of_tool, episodes)
            streak = max(streak, sums.streak)
            rows.episodes.extend(episodes)
        else:
            sums = sum_clean(of_tool)
        rows.task_tools.append(sums)
    return streak
