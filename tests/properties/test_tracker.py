"""
Laws of tracking: whatever the batches, and however often groups are forgotten, each call and task counts once.
"""

from collections import defaultdict
from random import Random

from hypothesis import given, settings

from tests.properties.test_metrics import RANDOM, derived, forests, literal, merged, rounded, without_buckets
from tests.shown import counted
from toolspan.changes import Derived, Settled
from toolspan.derive import derive
from toolspan.groups import split_groups
from toolspan.metrics import Metrics
from toolspan.records import Rows, SpanFacts
from toolspan.tracker import Tracker

_GRACE_NS = 10**9
laws = settings(max_examples=50, deadline=None)


class Writer:
    """
    Writes to a store that keeps everything in memory, and lets *tracker* know what changed.

    *settlements* counts tasks each time that they settle.
    """

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.now_ns = 0
        self.settlements = 0
        self._spans: list[SpanFacts] = []
        self._settled: set[frozenset[bytes]] = set()

    def append(self, spans: list[SpanFacts]) -> None:
        """
        New *spans*, in one transaction.
        """
        old = self._groups()
        self._spans += spans
        changes: list[Derived] = []
        for traces, rows in self._groups(are_open=True).items():
            if any(span.trace_id in traces for span in spans):
                parts = [(known, before) for known, before in old.items() if known <= traces]
                self._settled -= {known for known, _ in parts}
                unknown = tuple(before for known, before in parts if not self.tracker.knows(known))
                changes.append(Derived(traces, rows, unknown))
        self.tracker.written(changes, [], now_ns=self.now_ns)

    def settle(self) -> None:
        """
        All groups that are open are over.
        """
        ended = {traces: rows for traces, rows in self._groups().items() if traces not in self._settled}
        self._settled |= ended.keys()
        self.settlements += sum(len(rows.tasks) for rows in ended.values())
        settled = [Settled(each, None if self.tracker.knows(each) else rows) for each, rows in ended.items()]
        self.tracker.written([], settled, now_ns=self.now_ns)

    def pass_ns(self, duration_ns: int) -> None:
        """
        Time goes by, and the tracker looks at the clock.
        """
        self.now_ns += duration_ns
        self.tracker.tick(self.now_ns)

    def _groups(self, *, are_open: bool = False) -> dict[frozenset[bytes], Rows]:
        found: dict[frozenset[bytes], Rows] = {}
        for group in split_groups(sorted(self._spans)):
            traces = frozenset(span.trace_id for span in group)
            found[traces] = derive(group, escalation_tools=("book",), settled=not are_open and traces in self._settled)
        return found


def batches(spans: list[SpanFacts], random: Random) -> list[list[SpanFacts]]:
    """
    *spans* in any order, some at a time.
    """
    waiting = list(spans)
    random.shuffle(waiting)
    parts: list[list[SpanFacts]] = []
    while waiting:
        size = random.randint(1, len(waiting))
        parts.append(waiting[:size])
        del waiting[:size]
    return parts


@laws
@given(forests(), RANDOM)
def test_totals_are_those_of_report_where_nothing_came_late(spans: list[SpanFacts], random: Random) -> None:
    """
    All spans within a grace period: whatever the batches, the totals are those of the rows in the end.
    """
    metrics = Metrics()
    writer = Writer(Tracker(metrics, grace_ns=_GRACE_NS, most=10_000))

    for part in batches(spans, random):
        writer.append(part)
        writer.pass_ns(random.choice([0, 1, 10]))
    writer.pass_ns(_GRACE_NS + random.choice([0, _GRACE_NS]))
    writer.settle()

    assert literal(merged(derived(spans))) == rounded(without_buckets(counted(metrics)))


@laws
@given(forests(), RANDOM)
def test_restarts_count_nothing_twice(spans: list[SpanFacts], random: Random) -> None:
    """
    A process after the other, each of which counts what was due before it ended: together they count what one would.
    """
    groups = [list(group) for group in split_groups(sorted(spans))]
    random.shuffle(groups)
    processes = [Metrics()]
    writer = Writer(Tracker(processes[0], grace_ns=_GRACE_NS, most=10_000))
    for group in groups:
        writer.append(group)
        writer.pass_ns(_GRACE_NS)
        if random.random() < 0.5:
            processes.append(Metrics())
            writer.tracker = Tracker(processes[-1], grace_ns=_GRACE_NS, most=10_000)
        if random.random() < 0.5:
            writer.settle()
    writer.settle()

    together: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for metrics in processes:
        for key, value in counted(metrics).items():
            together[key] += value
    assert literal(merged(derived(spans))) == rounded(without_buckets(together))


@laws
@given(forests(), RANDOM)
def test_every_settlement_is_the_first_or_another_one(spans: list[SpanFacts], random: Random) -> None:
    """
    Groups settle at any time and wake up again, and many are let go of: of a task one counts, the others do as such.
    """
    metrics = Metrics()
    writer = Writer(Tracker(metrics, grace_ns=_GRACE_NS, most=random.choice([1, 5, 10_000])))
    for part in batches(spans, random):
        writer.append(part)
        writer.pass_ns(random.choice([0, _GRACE_NS, 5 * _GRACE_NS]))
        if random.random() < 0.5:
            writer.settle()
    writer.settle()

    totals = counted(metrics)
    tasks = sum(value for key, value in totals.items() if key[0] == "toolspan_tasks_total")
    assert writer.settlements == tasks + totals.get(("toolspan_resettled_tasks_total",), 0)
