"""
`doctor --store`: what came into a store, what of it counts, and what weakens that.

A store keeps what decided, not the spans: which framework wrote them, what they lack and whether they were sampled is
known from the file that was ingested alone. That is said, and nothing is guessed. Clocks and parents are looked at in
the spans that came last, since those of months would take minutes and cannot be mended any more.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.cli._doctor_scope import filter_findings, unit_findings
from toolspan.cli._reading import Reading, StoreReading
from toolspan.cli._remote import RemoteReading
from toolspan.cli._store_findings import Looked, findings_of, last_arrival, sums_of
from toolspan.cli._stores import open_store
from toolspan.cli._text import counted, percent
from toolspan.config import Settings
from toolspan.derive import derive
from toolspan.diagnosis import Diagnosis, Examined, Finding, Severity, diagnose
from toolspan.groups import split_groups
from toolspan.records import Rows, SpanFacts
from toolspan.scope import Scope
from toolspan.survey import Survey, measure
from toolspan.windows import format_time, milliseconds

if TYPE_CHECKING:
    from toolspan.remote import Collector
    from toolspan.store.facts import StoreFacts

#: What the shape of spans tells; whatever else `diagnose` finds rests on what a store does not keep.
_OF_SHAPE: Final = frozenset({"top_of_trace", "missing_parents", "clock"})


class Seen(NamedTuple):
    """
    What a store shows: its *facts*, how many tasks are *waiting* to be settled, the groups to which spans came last,
    and what is wrong with what was asked for.
    """

    facts: "StoreFacts"
    waiting: int
    groups: list[list[SpanFacts]]
    filtered: list[Finding]


def examine_store(
    store: "Path | Collector", settings: Settings, *, scope: Scope, now_ns: int
) -> tuple[Looked, Diagnosis]:
    """
    What is in *store*, and what is wrong with it for someone who asked for the rows in *scope*.
    """
    told: list[str] = []
    if isinstance(store, Path):
        facts, waiting, groups, filtered = _see_file(store, settings, scope=scope, tell=told.append)
    else:
        facts, waiting, groups, filtered = _see_collector(store, settings, scope=scope)
    looked = Looked(store, facts, waiting, measure(groups), sum(map(len, groups)))
    of_shape = diagnose(Examined(Survey(), looked.shape, _rows(groups, settings))).findings
    found = [
        *findings_of(looked, told=told, now_ns=now_ns),
        *filtered,
        *unit_findings(facts.first_start_ns),
        *(finding for finding in of_shape if finding.key in _OF_SHAPE),
    ]
    ordered = [finding for severity in Severity for finding in found if finding.severity == severity]
    return looked, Diagnosis(_verdict(facts, ordered), ordered)


def _see_file(path: Path, settings: Settings, *, scope: Scope, tell: Callable[[str], None]) -> Seen:
    store = open_store(path, purpose="toolspan doctor", settings=settings, tell=tell)
    # after the store is open: where its packages are missing, that says which to install
    from toolspan.store.examining import LATEST_SPANS, examine, latest_groups

    with store.reading() as file:
        facts = examine(file.connection)
        groups = latest_groups(file.connection, most_spans=LATEST_SPANS)
        filtered = _filtered(StoreReading(file), facts, settings, scope)
        return Seen(facts, store.waiting_in(file), groups, filtered)


def _see_collector(collector: "Collector", settings: Settings, *, scope: Scope) -> Seen:
    facts, waiting = collector.facts()
    groups = split_groups(collector.spans())
    return Seen(facts, waiting, groups, _filtered(RemoteReading(collector), facts, settings, scope))


def _filtered(reading: Reading, facts: "StoreFacts", settings: Settings, scope: Scope) -> list[Finding]:
    return list(
        filter_findings(
            scope,
            reading.names(),
            ends_ns=(facts.first_end_ns, facts.last_end_ns),
            has_calls=lambda part: bool(reading.report(scope=part, targets=settings.targets)["tools"]),
        )
    )


def _rows(groups: list[list[SpanFacts]], settings: Settings) -> Rows:
    """
    The calls and tasks that *groups* make.
    """
    rows = Rows([], [], [], [], [])
    for group in groups:
        derived = derive(group, escalation_tools=settings.escalation_tools, settled=True)
        rows.calls.extend(derived.calls)
        rows.tasks.extend(derived.tasks)
    return rows


def _verdict(facts: "StoreFacts", ordered: list[Finding]) -> str:
    calls = sums_of(facts).calls
    if not calls or any(finding.severity == Severity.BLOCKS for finding in ordered):
        none = f"None of the {counted(calls, 'call')} is shown" if calls else "No tool calls found"
        return ". ".join([none, *(f"{finding.title}." for finding in ordered[:1])])
    weak = sum(finding.severity == Severity.WEAKENS for finding in ordered)
    found = f"{counted(calls, 'call')} of {counted(len(facts.tools), 'tool')} in {counted(facts.tasks, 'task')}"
    words = {0: "nothing weakens", 1: "one thing weakens"}.get(weak, f"{weak} things weaken")
    return f"{found}; {words} the numbers."


def stored_line(looked: Looked) -> str:
    """
    What was looked at, in words, and what a store cannot tell.
    """
    facts = looked.facts
    parts = (_of_arrival(facts), ", ".join(_of_rows(facts)), _of_clocks(looked))
    known = "; ".join(part for part in parts if part)
    return f"{known}. A store does not know of sampling, results and frameworks: toolspan doctor FILE does."


def _of_arrival(facts: "StoreFacts") -> str:
    file = f"schema {facts.schema}, {counted(facts.commits, 'commit')}"
    received, repeats = (facts.intake.get(reason, 0) for reason in ("received", "duplicate"))
    if not received:
        return file
    return f"{file}, the last span came {last_arrival(facts)}; of {received:,} spans that came {repeats:,} were repeats"


def _of_rows(facts: "StoreFacts") -> Iterator[str]:
    """
    What the rows tell; nothing where there are none.
    """
    calls, unknown, failures, unclassified = sums_of(facts)
    if calls:
        yield f"arguments known in {calls - unknown:,} of {counted(calls, 'call')}"
    if failures:
        yield f"{percent(unclassified / failures)} of the failures unclassified"
    if facts.tasks:
        yield f"the span found of {facts.tasks - facts.unseen_tasks:,} of {counted(facts.tasks, 'task')}"
        yield f"{facts.open_tasks:,} of them open"


def _of_clocks(looked: Looked) -> str:
    """
    How far apart the clocks are; empty where no span is kept to tell it.
    """
    if not looked.spans:
        return ""
    shape = looked.shape
    skew = f"clocks {milliseconds(shape.early_ns):,} ms apart" if shape.early else "clocks agree"
    return f"in the last {counted(looked.spans, 'span')} {skew}"


def stored_document(looked: Looked, diagnosis: Diagnosis) -> dict[str, object]:
    """
    The document of `doctor --format json`.
    """
    facts, shape = looked.facts, looked.shape
    calls, unknown, failures, unclassified = sums_of(facts)
    return {
        "verdict": diagnosis.verdict,
        "store": {
            "path": str(looked.path),
            "exists": True,
            "schema": facts.schema,
            "commits": facts.commits,
            "last_arrival": format_time(facts.last_arrival_ns) if facts.last_arrival_ns else None,
            "is_last_arrival_exact": facts.is_last_arrival_exact,
            "intake": dict(facts.intake),
        },
        "spans": facts.spans,
        "traces": facts.traces,
        "tools": list(facts.tools),
        "checked": {
            "calls": calls,
            "arguments_known": calls - unknown,
            "tasks": facts.tasks,
            "task_spans_found": facts.tasks - facts.unseen_tasks,
            "open_tasks": facts.open_tasks,
            "waiting_tasks": looked.waiting,
            "clock_skew_ms": milliseconds(shape.early_ns),
            "failures": failures,
            "unclassified": unclassified,
        },
        "findings": [finding._asdict() for finding in diagnosis.findings],
    }


def missing_document(path: Path, diagnosis: Diagnosis) -> dict[str, object]:
    """
    The document where there is no store.
    """
    return {
        "verdict": diagnosis.verdict,
        "store": {"path": str(path), "exists": False},
        "findings": [finding._asdict() for finding in diagnosis.findings],
    }
