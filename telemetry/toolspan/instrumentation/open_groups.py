"""
The groups that a process works at, in its memory: facts in, changes out, for whoever counts and has no store.

What `store.held` says of a transaction this says of a batch, by the same rules: a group is derived again with every
span that comes, and settles when all its tasks' spans have come and nothing since for the grace period, or nothing for
much longer. Settled groups are kept as long as there is room, since late spans still belong to them; beyond that a late
span begins a group of its own.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

from toolspan.changes import Derived, Settled
from toolspan.derive import derive
from toolspan.groups import split_groups, traces_named_by
from toolspan.records import Rows, SpanFacts
from toolspan.store.sifting import sift

#: A trace id or a task id.
_Key: TypeAlias = bytes | str


class Patience(NamedTuple):
    """
    How long to wait for spans: *grace_ns* after all tasks' spans have come, *timeout_ns* else.
    """

    grace_ns: int
    timeout_ns: int


class Arrived(NamedTuple):
    """
    What a batch changed: the groups it *derived*; how many spans repeat a kept one, or have its identity and other
    content.
    """

    derived: list[Derived]
    duplicates: int
    conflicts: int


@dataclass(slots=True, eq=False)
class _Group:
    """
    The spans of a group by id, in their traces; its rows, and when the last of them came.

    *keys* are what another span may have in common with it: its traces, the task ids, and the traces that these name.
    """

    spans: dict[bytes, dict[bytes, SpanFacts]]
    keys: set[_Key]
    rows: Rows
    arrived_ns: int

    @property
    def size(self) -> int:
        """
        How many spans it has.
        """
        return sum(map(len, self.spans.values()))

    @property
    def traces(self) -> frozenset[bytes]:
        """
        The traces of its spans.
        """
        return frozenset(self.spans)

    @property
    def is_seen(self) -> bool:
        """
        Whether the spans of all its tasks have come.
        """
        return all(task.seen for task in self.rows.tasks)


class OpenGroups:
    """
    Keeps at most *most_spans*, or one group where that has more; a call of one of *escalation_tools* asks a human.
    """

    def __init__(self, *, patience: Patience, most_spans: int, escalation_tools: Collection[str] = ()) -> None:
        self._patience = patience
        self._most_spans = most_spans
        self._escalation_tools = escalation_tools
        # both: touched longest ago first
        self._open: OrderedDict[_Group, None] = OrderedDict()
        self._settled: OrderedDict[_Group, None] = OrderedDict()
        self._of: dict[_Key, _Group] = {}
        self._size = 0

    def add(self, spans: Iterable[SpanFacts], *, now_ns: int) -> Arrived:
        """
        Keeps the *spans* that are new, and derives the groups they belong to.
        """
        batch = list(spans)
        kept = self._load(batch)
        sifted = sift(batch, kept)
        touched = {span.trace_id for span in sifted.new}
        groups = split_groups(chain.from_iterable(trace.values() for trace in kept.values()))
        derived = [
            self._replace(members, now_ns)
            for members in groups
            if not touched.isdisjoint(span.trace_id for span in members)
        ]
        return Arrived(derived, sifted.duplicates, sifted.conflicts)

    def settle(self, *, now_ns: int, is_over: bool = False) -> list[Settled]:
        """
        The groups that are over by now; where the input *is_over*, no more is expected of those that are complete.
        """
        due: list[_Group] = []
        for group in self._open:
            patience_ns = self._patience.timeout_ns
            if group.is_seen:
                patience_ns = 0 if is_over else self._patience.grace_ns
            if now_ns - group.arrived_ns >= patience_ns:
                due.append(group)
        for group in due:
            del self._open[group]
            self._settled[group] = None
        return [Settled(group.traces, None) for group in (*due, *self._shrink())]

    def open_tasks(self) -> int:
        """
        How many tasks have not settled.
        """
        return sum(len(group.rows.tasks) for group in self._open)

    def _load(self, batch: Iterable[SpanFacts]) -> dict[bytes, dict[bytes, SpanFacts]]:
        """
        The spans that are kept of every group that *batch* may touch.
        """
        found = dict.fromkeys(self._of[key] for key in _keys(batch) if key in self._of)
        return {trace: dict(spans) for group in found for trace, spans in group.spans.items()}

    def _replace(self, members: list[SpanFacts], now_ns: int) -> Derived:
        """
        Derives the group of *members*, and puts it in the place of those that it is made of.
        """
        keys = _keys(members)
        old = dict.fromkeys(self._of[key] for key in keys if key in self._of)
        # what settled was counted, and whoever counts has forgotten it
        before = tuple(_as_settled(group.rows) for group in old if group in self._settled)
        for group in old:
            self._remove(group)
        rows = derive(members, escalation_tools=self._escalation_tools, settled=False)
        spans: dict[bytes, dict[bytes, SpanFacts]] = {}
        for span in members:
            spans.setdefault(span.trace_id, {})[span.span_id] = span
        group = _Group(spans, keys, rows, now_ns)
        self._open[group] = None
        self._size += group.size
        self._of.update(dict.fromkeys(keys, group))
        return Derived(group.traces, rows, before)

    def _shrink(self) -> list[_Group]:
        """
        Lets go of groups until there is room, of settled ones first; gives the ones that were open.
        """
        while self._size > self._most_spans and self._settled:
            self._remove(next(iter(self._settled)))
        ended: list[_Group] = []
        while self._size > self._most_spans and len(self._open) > 1:
            ended.append(next(iter(self._open)))
            self._remove(ended[-1])
        return ended

    def _remove(self, group: _Group) -> None:
        self._open.pop(group, None)
        self._settled.pop(group, None)
        self._size -= group.size
        for key in group.keys:
            if self._of.get(key) is group:
                del self._of[key]


def _keys(spans: Iterable[SpanFacts]) -> set[_Key]:
    """
    What joins *spans* to others.
    """
    keys: set[_Key] = set()
    for span in spans:
        keys.add(span.trace_id)
        if span.marks is not None and span.marks.task_id:
            keys.add(span.marks.task_id)
            keys.update(traces_named_by(span.marks.task_id, span.trace_id))
    return keys


def _as_settled(rows: Rows) -> Rows:
    return rows._replace(tasks=[task._replace(settled=True) for task in rows.tasks])
