"""
Groups of rows in, what they add to the counters out: counted per label set first, so that each is added to once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from toolspan.metrics.ledger import Ledger
from toolspan.records import Call, Rows, Task, TaskTool
from toolspan.taxonomy import ErrorClass

# looking up a member of an enum takes 60 ns, a constant 5
_UNCLASSIFIED = ErrorClass.UNCLASSIFIED.value


def class_of(failure: Call) -> str:
    """
    The class in which *failure* is counted.
    """
    return failure.error_class or _UNCLASSIFIED


@dataclass(slots=True)
class ToolSums:
    """
    What tasks that settled for the first time did with one tool.

    *retries* counts by class of the failure and verdict, *wasted_ns* sums by class; *retries_when_resolved* has one
    number for each resolved task.
    """

    retries: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    wasted_ns: Counter[str] = field(default_factory=Counter[str])
    retries_when_resolved: list[int] = field(default_factory=list[int])
    validation_failures: int = 0
    recovered: int = 0
    episodes: int = 0
    escalated: int = 0
    clean: int = 0

    def add(self, row: TaskTool, *, is_resolved: bool) -> None:
        """
        Add what one task did.
        """
        if is_resolved:
            self.retries_when_resolved.append(row.retries)
        self.validation_failures += row.validation_failures
        self.recovered += row.recovered
        self.episodes += row.episodes
        self.escalated += row.escalated
        self.clean += row.clean


@dataclass(slots=True)
class Tally:
    """
    What some groups add: calls by tool, outcomes of tasks, and what these tasks did, by tool.
    """

    calls: defaultdict[str, list[Call]] = field(default_factory=lambda: defaultdict[str, list[Call]](list))
    outcomes: Counter[str] = field(default_factory=Counter[str])
    resettled: int = 0
    tools: defaultdict[str, ToolSums] = field(default_factory=lambda: defaultdict[str, ToolSums](ToolSums))

    def add(self, rows: Rows, tasks: dict[str, Task]) -> None:
        """
        Add *tasks*, by id, which are among those of *rows*.
        """
        self.outcomes.update(task.outcome for task in tasks.values())
        for row in rows.task_tools:
            task = tasks.get(row.task_id)
            if task is not None:
                self.tools[row.tool].add(row, is_resolved=task.outcome == "resolved")
        if any(row.retries for row in rows.task_tools):
            self._add_retries(rows.calls, tasks)

    def _add_retries(self, calls: Iterable[Call], tasks: Collection[str]) -> None:
        """
        Add the retries of *tasks* under the class of what they repeat, which stands in their own task, tool and step.
        """
        failures = {
            (call.task_id, call.tool, call.step, call.span_id): class_of(call)
            for call in calls
            if call.outcome == "error"
        }
        for call in calls:
            if call.follow_up == "retry" and call.follows is not None and call.task_id in tasks:
                error_class = failures.get((call.task_id, call.tool, call.step, call.follows), _UNCLASSIFIED)
                sums = self.tools[call.tool]
                sums.retries[error_class, call.verdict or "allowed"] += 1
                sums.wasted_ns[error_class] += call.wasted_ns


def tally(groups: Iterable[Rows], ledger: Ledger, *, is_due: Callable[[Call], bool]) -> Tally:
    """
    What *groups* add that *ledger* has not counted yet.
    """
    result = Tally()
    for rows in groups:
        taken = ledger.take(rows, is_due=is_due)
        for call in taken.calls:
            result.calls[call.tool].append(call)
        result.resettled += taken.resettled
        if taken.tasks:
            result.add(rows, taken.tasks)
    return result
