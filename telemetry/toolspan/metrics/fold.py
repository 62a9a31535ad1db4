"""
Rows in, Prometheus' families out: a fold over groups as they are derived, in memory, from the start of the process.

**When to count.** Whoever writes hands over all rows of a group each time that it derives it, and says which calls are
due: those whose last span arrived a grace period ago. A call counts then, a deferred one and every other of a task when
the task first settles, which the rows say. So there is one verb and not two, and it needs whole groups: that a counted
call is missing from its group says that it has become part of another (see `ledger`).

**Once.** What was counted is remembered until the writer *forgets* the group, within a limit. A task that settles
again changes `toolspan_resettled_tasks_total` alone; a call that only now came with it is a call like any other and
counts. After a restart everything starts at 0 and a call that an earlier process counted must not count again:
the writer *recalls* the rows that the store held before a group's new spans came. The same goes for a group that was
forgotten and wakes up.

**Labels.** Names are bounded in number and length (see `labels`); what is shown first is 0 (see `series`).

Nothing here is safe between threads: whoever folds and scrapes in two of them shares a lock.

Measured on CPython 3.11, groups of six calls of twenty tools, a quarter failed, each handed over once when it settles:
4 µs a call with all that its task counts where a hundred groups come at a time, 9 where ten do, 18 where one does.
Half of the 4 is for knowing that the call was not counted before. A call itself is 0.4 µs, in four families, since
its batch is counted first and each label set added to once; `labels().inc()` of the client takes 1.5 for each.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Final, NamedTuple

from toolspan.metrics import families
from toolspan.metrics.families import OTHER, Definition, Family, Key, Kind, Point
from toolspan.metrics.labels import ErrorPlaces, Places
from toolspan.metrics.ledger import Ledger
from toolspan.metrics.series import Counters, Histograms, exemplar_of
from toolspan.metrics.tally import ToolSums, class_of, tally
from toolspan.records import Call, Rows
from toolspan.taxonomy import UNCLASSIFIED_CODE

#: Reasons are ours, not a model's: a handful. This is for the one who passes an error's text by mistake.
_MAX_REASONS: Final = 20


class Limits(NamedTuple):
    """
    How much is kept in memory, and shown.

    *tools* that have series of their own (75 each, and one per code), *codes_per_tool* likewise, *error_series* in
    all. *remembered* traces, calls and tasks are known to have been counted; with 200 000 that takes 45 MB.
    """

    tools: int = 200
    codes_per_tool: int = 100
    error_series: int = 2_000
    remembered: int = 200_000


DEFAULT_LIMITS: Final = Limits()


def _always(_: Call) -> bool:
    return True


class Metrics:
    """
    What has been counted since the process started.

    *hold_s* is for more than one scraper: how long a series stays 0 after it was first shown (see `series`).
    """

    def __init__(self, *, limits: Limits = DEFAULT_LIMITS, hold_s: float = 0.0) -> None:
        self._ledger = Ledger(limits.remembered)
        self._tools = Places(limits.tools)
        self._errors = ErrorPlaces(tools=limits.tools, codes=limits.codes_per_tool, series=limits.error_series)
        self._reasons = Places(_MAX_REASONS)
        self._brought: set[str] = set()
        self._counters = {
            definition: Counters(definition, hold_s=hold_s)
            for definition in families.FAMILIES
            if definition.kind is Kind.COUNTER
        }
        self._histograms = {
            definition: Histograms(definition, hold_s=hold_s)
            for definition in families.FAMILIES
            if definition.kind is Kind.HISTOGRAM
        }
        self._gauges: dict[Definition, float] = {families.OPEN_TASKS: 0.0, families.LAST_COMMIT: 0.0}
        for definition, counters in self._counters.items():
            if not definition.is_per_tool:
                counters.bring(definition.keys())

    def count(self, groups: Iterable[Rows], *, is_due: Callable[[Call], bool] = _always) -> None:
        """
        Counts calls of *groups* that are due or belong to a settled task, and tasks that settled, each once.

        Args:
            groups: all rows of each group, as derived now.
            is_due: whether nothing of a call arrived for a grace period; asked of calls that were not counted yet.
        """
        counted = tally(groups, self._ledger, is_due=is_due)
        # all tools first: their classes go before anybody's codes
        for tool, calls in [(self._tool(tool, calls=len(calls)), calls) for tool, calls in counted.calls.items()]:
            self._add_calls(tool, calls)
        for outcome, tasks in counted.outcomes.items():
            self._add(families.TASKS, (outcome,), tasks)
        self._add(families.RESETTLED, (), counted.resettled)
        for tool, sums in counted.tools.items():
            self._add_sums(self._tool(tool), sums)

    def recall(self, groups: Iterable[Rows]) -> None:
        """
        Takes what `count` would count of *groups* for counted already: rows of before a restart, or before `forget`.
        """
        for rows in groups:
            self._ledger.take(rows, is_due=_always)

    def forget(self, traces: Iterable[bytes]) -> None:
        """
        Frees what is remembered of *traces*, of which no rows will come any more, or only after a `recall`.
        """
        self._ledger.forget(traces)

    def forget_nothing_else(self) -> None:
        """
        Forgets, from now on, nothing but what `forget` names: for whoever bounds what there is to be remembered.
        """
        self._ledger.limit = None

    def receive(self, spans: int) -> None:
        """
        Counts *spans* that arrived.
        """
        self._add(families.RECEIVED, (), spans)

    def drop(self, spans: int, *, reason: str) -> None:
        """
        Counts *spans* that arrived and were not kept.
        """
        label = self._reasons.find(reason)
        self._add(families.DROPPED, (label,), spans)
        if label == OTHER != reason:
            self._add(families.OVERFLOW, ("reason",), spans)

    def set_open_tasks(self, tasks: int) -> None:
        """
        Says how many tasks are open now.
        """
        self._gauges[families.OPEN_TASKS] = tasks

    def set_last_commit(self, at_s: float) -> None:
        """
        Says when spans were last made durable, in seconds since 1970.
        """
        if isfinite(at_s):
            self._gauges[families.LAST_COMMIT] = at_s

    def show(self, now_s: float) -> list[Family]:
        """
        All families as one scrape at *now_s* is to see them; a series that no scrape saw before is 0.

        *now_s* is of a clock that never goes back, and matters only beside *hold_s*.
        """
        return [self._show(definition, now_s) for definition in families.FAMILIES]

    def _show(self, definition: Definition, now_s: float) -> Family:
        if definition.kind is Kind.COUNTER:
            return self._counters[definition].show(now_s)
        if definition.kind is Kind.HISTOGRAM:
            return self._histograms[definition].show(now_s)
        return Family(definition, [Point((), self._gauges[definition])])

    def _add(self, definition: Definition, key: Key, amount: int) -> None:
        if amount:
            self._counters[definition].add(key, amount)

    def _tool(self, name: str, *, calls: int = 0) -> str:
        """
        The label of the tool *name*, whose series all exist from now on; *calls* of it are about to be counted.
        """
        tool = self._tools.find(name)
        if tool not in self._brought:
            self._brought.add(tool)
            self._bring(tool)
        if tool == OTHER != name:
            self._add(families.OVERFLOW, ("tool",), calls)
        return tool

    def _bring(self, tool: str) -> None:
        for definition, counters in self._counters.items():
            if definition is families.ERRORS:
                counters.bring(self._errors.bring(tool))
            elif definition.is_per_tool:
                counters.bring(definition.keys(tool))
        for definition, histograms in self._histograms.items():
            histograms.bring(definition.keys(tool))

    def _add_calls(self, tool: str, calls: Sequence[Call]) -> None:
        for outcome, count in Counter([call.outcome for call in calls]).items():
            self._add(families.CALLS, (tool, outcome), count)
        self._add(families.ATTEMPTS, (tool,), sum([call.attempts for call in calls]))
        # clocks of two processes may disagree
        durations_ns = [max(0, call.ended_ns - call.started_ns) for call in calls]
        self._histograms[families.DURATION].observe((tool,), durations_ns, examples=calls)
        failures = [call for call in calls if call.outcome == "error"]
        if failures:
            self._add_errors(tool, failures)

    def _add_errors(self, tool: str, failures: Sequence[Call]) -> None:
        kinds = [(class_of(call), call.code or UNCLASSIFIED_CODE) for call in failures]
        examples = dict(zip(kinds, failures, strict=True))
        for (error_class, code), count in Counter(kinds).items():
            key = self._errors.find(tool, error_class, code)
            example = exemplar_of(examples[error_class, code], 1)
            self._counters[families.ERRORS].add(key, count, exemplar=example)
            if key[0] == OTHER != tool:
                self._add(families.OVERFLOW, ("tool",), count)
            if key[2] == OTHER != code:
                self._add(families.OVERFLOW, ("code",), count)

    def _add_sums(self, tool: str, sums: ToolSums) -> None:
        for (error_class, verdict), count in sums.retries.items():
            self._add(families.RETRIES, (tool, error_class, verdict), count)
        for error_class, wasted_ns in sums.wasted_ns.items():
            self._add(families.WASTED, (tool, error_class), wasted_ns)
        if sums.retries_when_resolved:
            self._histograms[families.RETRIES_PER_TASK].observe((tool,), sums.retries_when_resolved)
        self._add(families.VALIDATION_FAILURES, (tool,), sums.validation_failures)
        self._add(families.VALIDATION_RECOVERIES, (tool,), sums.recovered)
        self._add(families.EPISODES, (tool,), sums.episodes)
        self._add(families.ESCALATIONS, (tool, "false"), sums.clean)
        self._add(families.ESCALATIONS, (tool, "true"), sums.escalated - sums.clean)
