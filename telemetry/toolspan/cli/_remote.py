"""
A collector that is asked as a store is: the same questions, the same answers.
"""

from collections.abc import Iterator

from toolspan.cli._names import Names
from toolspan.cli._reading import Arrivals, CallKey, arrivals_of
from toolspan.documents import GroupedQuality, GroupedReport, Quality, Report
from toolspan.numbers import Targets
from toolspan.records import Call, SpanFacts
from toolspan.remote import Collector
from toolspan.scope import EVERYTHING, Dimension, Scope


class RemoteReading:
    """
    What a collector answers.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def report(self, *, scope: Scope, targets: Targets) -> Report:
        """
        The document of `report`, judged by our *targets*.
        """
        document: Report = self._collector.document("report", scope=scope, **targets._asdict())
        return document

    def report_by(self, by: Dimension, *, scope: Scope, targets: Targets) -> GroupedReport:
        """
        The document of `report --by`.
        """
        document: GroupedReport = self._collector.document("report", scope=scope, by=by, **targets._asdict())
        return document

    def quality(self, *, scope: Scope) -> Quality:
        """
        The document of `quality`.
        """
        document: Quality = self._collector.document("quality", scope=scope)
        return document

    def quality_by(self, by: Dimension, *, scope: Scope) -> GroupedQuality:
        """
        The document of `quality --by`.
        """
        document: GroupedQuality = self._collector.document("quality", scope=scope, by=by)
        return document

    def calls(self, *, scope: Scope = EVERYTHING, task_id: str | None = None) -> Iterator[Call]:
        """
        The calls in *scope*, a page at a time.
        """
        return self._collector.calls(scope, task_id=task_id)

    def has_task(self, task_id: str) -> bool:
        """
        Whether there is a task of that id.
        """
        return self._collector.has_task(task_id)

    def find_calls(self, span: str) -> list[CallKey]:
        """
        The calls whose span id begins with *span*.
        """
        return [
            CallKey(call.trace_id, call.span_id, call.tool, call.task_id)
            for call in self._collector.calls(EVERYTHING, span=span)
        ]

    def spans_of(self, call: CallKey) -> list[SpanFacts]:
        """
        What is kept of the spans of the group of *call*.
        """
        return self._collector.spans(call.trace_id)

    def names(self) -> Names:
        """
        The names in the store.
        """
        found = self._collector.names()
        values = {name: frozenset(found[f"{name}s"]) for name in ("agent", "service", "environment")}
        no_calls = f"toolspan doctor --store {self._collector} says what came and what did not."
        return Names(int(found["calls"]), frozenset(found["tools"]), values, no_calls)

    def arrivals(self, *, since_ns: int | None, until_ns: int | None) -> Arrivals | None:
        """
        What came into the store.
        """
        facts, _ = self._collector.facts(since_ns=since_ns, until_ns=until_ns)
        return arrivals_of(facts)
