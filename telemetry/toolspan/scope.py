"""
Which rows count: a window, filters, and what each tool left inside them.

The window is `[since, until)` on the task's end. An open task has no end yet: the end of its last span stands for it
against *since*, and no window with *until* holds it, so that a window of the past never changes while agents work.

The filters on agent, service and environment choose tasks. The filter on tool chooses tools and leaves the tasks
alone: "of 1 200 tasks, this is what `refund` did"; how many of them called it is said beside each number.

Rows are walked once, in their order; what is kept per tool is what the numbers are computed from.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, Literal, NamedTuple

from toolspan.records import Call, Rows, Task, TaskTool

Dimension = Literal["agent", "service", "environment"]
#: What tasks are filtered and grouped by.
DIMENSIONS: Final[tuple[Dimension, ...]] = ("agent", "service", "environment")


class Scope(NamedTuple):
    """
    The part of the rows that is asked for; None where it does not matter, an empty string where it is unknown.
    """

    since_ns: int | None = None
    until_ns: int | None = None
    tool: str | None = None
    agent: str | None = None
    service: str | None = None
    environment: str | None = None

    def holds(self, task: Task) -> bool:
        """
        Whether *task* is inside the window and the filters.
        """
        if self.until_ns is not None and not (task.settled and task.ended_ns < self.until_ns):
            return False
        return (
            (self.since_ns is None or task.ended_ns >= self.since_ns)
            and self.agent in (None, task.agent)
            and self.service in (None, task.service)
            and self.environment in (None, task.environment)
        )


EVERYTHING = Scope()


@dataclass(slots=True)
class ToolRows:
    """
    What one tool left in scope.

    *calls* are the telling ones: failed, unfinished, an answer to a failure, tried more than once, or with something
    to lint; *settled* are those of settled tasks. Of the others, the most by far, only *outcomes* and *durations_ns*
    are kept, so that each row is touched once: a report on a million calls takes 1.7 s, with a dozen passes over the
    scattered rows 5.8. *task_tools* are the sums of settled tasks in which the tool failed; *steps*,
    *retries_when_resolved* (one number per resolved task) and *unresolved_tasks* count all of them.
    """

    outcomes: Counter[str] = field(default_factory=Counter[str])
    durations_ns: list[int] = field(default_factory=list[int])
    calls: list[Call] = field(default_factory=list[Call])
    settled: list[Call] = field(default_factory=list[Call])
    steps: int = 0
    retries_when_resolved: list[int] = field(default_factory=list[int])
    unresolved_tasks: int = 0
    task_tools: list[TaskTool] = field(default_factory=list[TaskTool])


def tasks_in(tasks: Iterable[Task], scope: Scope) -> dict[str, Task]:
    """
    The tasks in *scope* by their id.
    """
    return {task.task_id: task for task in tasks if scope.holds(task)}


def rows_in(rows: Rows, scope: Scope) -> Rows:
    """
    All rows of the tasks in *scope*, whatever tool they belong to.
    """
    tasks = tasks_in(rows.tasks, scope)
    return Rows(
        [call for call in rows.calls if call.task_id in tasks],
        list(tasks.values()),
        [escalation for escalation in rows.escalations if escalation.task_id in tasks],
        [episode for episode in rows.episodes if episode.task_id in tasks],
        [row for row in rows.task_tools if row.task_id in tasks],
    )


def rows_by_tool(rows: Rows, tasks: dict[str, Task], scope: Scope) -> dict[str, ToolRows]:
    """
    What each tool left in *tasks*, the ones in *scope*.
    """
    tools: defaultdict[str, ToolRows] = defaultdict(ToolRows)
    wanted = scope.tool
    for call in rows.calls:
        task, tool, outcome = tasks.get(call.task_id), call.tool, call.outcome
        if task is None or (wanted is not None and tool != wanted):
            continue
        part = tools[tool]
        part.outcomes[outcome] += 1
        part.durations_ns.append(call.ended_ns - call.started_ns)
        if outcome != "ok" or call.follows is not None or _is_laboured(call):
            part.calls.append(call)
            if task.settled:
                part.settled.append(call)
    for row in rows.task_tools:
        if (task := tasks.get(row.task_id)) is None or not task.settled or row.tool not in tools:
            continue
        part = tools[row.tool]
        part.steps += row.steps
        if task.outcome == "resolved":
            part.retries_when_resolved.append(row.retries)
        elif task.outcome == "unresolved":
            part.unresolved_tasks += 1
        if row.streak or row.retries or row.validation_failures or row.episodes:
            part.task_tools.append(row)
    return tools


def _is_laboured(call: Call) -> bool:
    return call.attempts != 1 or call.lint != 0 or call.waited_ms is not None or call.budget_exhausted


def rows_by(rows: Rows, by: Dimension, scope: Scope) -> dict[str, Rows]:
    """
    The calls, tasks and per-tool sums of each agent, service or environment in *scope*; an unknown one is "".
    """
    value_of = attrgetter(by)
    groups: dict[str, Rows] = {}
    home: dict[str, Rows] = {}
    for task in tasks_in(rows.tasks, scope).values():
        group = groups.setdefault(value_of(task), Rows([], [], [], [], []))
        group.tasks.append(task)
        home[task.task_id] = group
    for call in rows.calls:
        if call.task_id in home:
            home[call.task_id].calls.append(call)
    for row in rows.task_tools:
        if row.task_id in home:
            home[row.task_id].task_tools.append(row)
    return groups


def failures_and_answers(calls: Sequence[Call]) -> Iterator[tuple[Call, Call | None]]:
    """
    Each failure among *calls*, and the call that answers it where there is one.
    """
    answers = {(call.task_id, call.tool, call.follows): call for call in calls if call.follows is not None}
    for call in calls:
        if call.outcome == "error":
            yield call, answers.get((call.task_id, call.tool, call.span_id))
