"""
Laws of counting: whatever the batches, the totals are those of the rows, and what was shown never falls.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from tests import rows as made
from tests.scraped import parse, text_of
from tests.shown import Table, counted, scrape
from tests.span_trees import groups, lone_runs
from toolspan.derive import derive
from toolspan.groups import split_groups
from toolspan.metrics import Limits, Metrics
from toolspan.numbers import report
from toolspan.prometheus import MetricsCollector
from toolspan.records import Call, Rows, SpanFacts, Task, extend
from toolspan.windows import milliseconds

#: Every example is up to four forests of 12 spans.
laws = settings(max_examples=50, deadline=None)
#: Those that look at every bucket, or write and parse scrapes.
slow_laws = settings(max_examples=25, deadline=None)
RANDOM = st.randoms(use_true_random=False)


def apart(spans: list[SpanFacts], place: int) -> list[SpanFacts]:
    """
    *spans* with trace ids and task ids that no other place has.
    """
    return [
        span._replace(
            trace_id=bytes([place]) + span.trace_id[1:],
            marks=span.marks and span.marks._replace(task_id=span.marks.task_id and f"{place}-{span.marks.task_id}"),
        )
        for span in spans
    ]


def forests() -> st.SearchStrategy[list[SpanFacts]]:
    """
    Spans of several groups.
    """
    several = st.lists(groups() | lone_runs(), min_size=1, max_size=4)
    return several.map(lambda parts: [span for place, part in enumerate(parts) for span in apart(part, place)])


def derived(spans: Iterable[SpanFacts], *, settled: bool = True) -> list[Rows]:
    """
    The rows of each group.
    """
    return [derive(group, escalation_tools=("book",), settled=settled) for group in split_groups(spans)]


def merged(parts: Iterable[Rows]) -> Rows:
    """
    The rows of all groups.
    """
    whole = Rows([], [], [], [], [])
    for part in parts:
        extend(whole, part)
    return whole


def samples_of(families: Iterable[Metric]) -> Iterator[Sample]:
    """
    All samples, family by family.
    """
    return chain.from_iterable(family.samples for family in families)


def by_chance(random: Random) -> Callable[[Call], bool]:
    """
    Calls are due or not, as it happens.
    """
    return lambda _: random.random() < 0.5


def literal(rows: Rows) -> Table:
    """
    Every total but those of histograms' buckets, read off *rows* one by one; what is 0 is left out.
    """
    totals: defaultdict[tuple[str, ...], float] = defaultdict(float)
    tasks: dict[str, Task] = {task.task_id: task for task in rows.tasks}
    for task in rows.tasks:
        totals["toolspan_tasks_total", task.outcome] += 1
    for call in rows.calls:
        totals["toolspan_calls_total", call.tool, call.outcome] += 1
        totals["toolspan_attempts_total", call.tool] += call.attempts
        totals["toolspan_call_duration_seconds_sum", call.tool] += (call.ended_ns - call.started_ns) / 1e9
        if call.outcome == "error":
            totals["toolspan_errors_total", call.tool, call.error_class or "", call.code or ""] += 1
        totals["toolspan_validation_failures_total", call.tool] += call.error_class == "validation"
        for failure in rows.calls:
            if (failure.task_id, failure.tool, failure.span_id) != (call.task_id, call.tool, call.follows):
                continue
            if call.follow_up == "retry":
                totals["toolspan_retries_total", call.tool, failure.error_class or "", call.verdict or ""] += 1
                totals["toolspan_wasted_seconds_total", call.tool, failure.error_class or ""] += call.wasted_ns / 1e9
                if tasks[call.task_id].outcome == "resolved":
                    totals["toolspan_retries_per_resolved_task_sum", call.tool] += 1
            elif call.outcome == "ok":
                totals["toolspan_validation_recoveries_total", call.tool] += 1
    for episode in rows.episodes:
        totals["toolspan_permission_episodes_total", episode.tool] += 1
        if episode.closed_ns is not None:
            totals["toolspan_escalations_total", episode.tool, "true" if episode.retries else "false"] += 1
    return rounded(totals)


def rounded(table: Table) -> Table:
    """
    *table* without zeros and without the last digits, in which sums of floats differ.
    """
    return {key: round(value, 9) for key, value in table.items() if value}


def without_buckets(table: Table) -> Table:
    """
    *table* without the buckets of histograms.
    """
    return {key: value for key, value in table.items() if not key[0].endswith("_bucket")}


def count_in_parts(metrics: Metrics, spans: list[SpanFacts], random: Random) -> None:
    """
    Groups in any order and batches, some derived before while they were open.
    """
    open_, settled = derived(spans, settled=False), derived(spans)
    early = [rows for rows in open_ for _ in range(random.randrange(3))]
    random.shuffle(early)
    random.shuffle(settled)
    for rows in early:
        metrics.count([rows], is_due=by_chance(random))
    while settled:
        size = random.randint(1, len(settled))
        metrics.count(settled[:size], is_due=by_chance(random))
        del settled[:size]


@laws
@given(forests(), RANDOM)
def test_totals_are_those_of_the_rows_whatever_the_batches(spans: list[SpanFacts], random: Random) -> None:
    """
    Each call and each task is counted once, also where it comes several times before its task settles.
    """
    metrics = Metrics()

    count_in_parts(metrics, spans, random)

    assert literal(merged(derived(spans))) == rounded(without_buckets(counted(metrics)))


@slow_laws
@given(forests(), RANDOM)
def test_buckets_hold_what_the_rows_hold(spans: list[SpanFacts], random: Random) -> None:
    """
    Each observation is in all buckets whose bound it does not exceed.
    """
    metrics, rows = Metrics(), merged(derived(spans))

    count_in_parts(metrics, spans, random)

    resolved = {task.task_id for task in rows.tasks if task.outcome == "resolved"}
    observed = [
        *(("call_duration_seconds", call.tool, (call.ended_ns - call.started_ns) / 1e9) for call in rows.calls),
        *(("retries_per_resolved_task", row.tool, row.retries) for row in rows.task_tools if row.task_id in resolved),
    ]
    metrics.show(0)
    for (name, *labels), count in scrape(metrics).items():
        if name.endswith("_bucket"):
            tool, bound = labels
            within = [value for of, by, value in observed if name == f"toolspan_{of}_bucket" and by == tool]
            assert sum(value <= float(bound) for value in within) == count


@laws
@given(forests(), RANDOM)
def test_prometheus_and_report_give_the_same_numbers(spans: list[SpanFacts], random: Random) -> None:
    """
    Where both have them.
    """
    metrics, document = Metrics(), report(merged(derived(spans)))

    count_in_parts(metrics, spans, random)

    table = Counter(counted(metrics))
    assert document["tasks"]["total"] == sum(value for key, value in table.items() if key[0] == "toolspan_tasks_total")
    for tool, numbers in document["tools"].items():
        sums: Counter[tuple[str, ...]] = Counter()
        for (name, *labels), value in table.items():
            if labels and labels[0] == tool:
                sums[name,] += value
                for label in labels[1:]:
                    sums[name, label] += value
        retries, recovery, escalations = numbers["retries"], numbers["validation_recovery"], numbers["escalations"]
        assert numbers["calls"] == sums["toolspan_calls_total",]
        assert numbers["ok"] == sums["toolspan_calls_total", "ok"]
        assert numbers["cancelled"] == sums["toolspan_calls_total", "cancelled"]
        assert numbers["deferred"] == sums["toolspan_calls_total", "deferred"]
        for error_class, errors in numbers["errors"].items():
            assert errors == sums["toolspan_errors_total", error_class]
        for code, errors in numbers["codes"].items():
            assert errors == sums["toolspan_errors_total", code]
        assert numbers["attempts"]["total"] == sums["toolspan_attempts_total",]
        assert retries["total"] == sums["toolspan_retries_total",]
        assert retries["allowed"] == sums["toolspan_retries_total", "allowed"]
        assert retries["early"] == sums["toolspan_retries_total", "early"]
        assert retries["over_cap"] == sums["toolspan_retries_total", "over_cap"]
        assert retries["wasted"] == sums["toolspan_retries_total", "wasted"]
        assert retries["wasted_ms"] == milliseconds(round(sums["toolspan_wasted_seconds_total",] * 1e9))
        per_task = numbers["retries_per_resolved_task"]
        assert per_task["retries"] == sums["toolspan_retries_per_resolved_task_sum",]
        assert per_task["resolved_tasks"] == sums["toolspan_retries_per_resolved_task_bucket", "inf"]
        assert recovery["failures"] == sums["toolspan_validation_failures_total",]
        assert recovery["recovered"] == sums["toolspan_validation_recoveries_total",]
        assert escalations["episodes"] == sums["toolspan_permission_episodes_total",]
        assert escalations["without_prior_retry"] == sums["toolspan_escalations_total", "false"]
        assert escalations["escalated"] == sums["toolspan_escalations_total",]


@laws
@given(forests(), RANDOM)
def test_a_group_that_grows_loses_no_call_and_counts_no_task_twice(spans: list[SpanFacts], random: Random) -> None:
    """
    Its spans come one by one, calls are counted in between, and ids change as outer spans arrive.

    A call may have counted in parts before it was known that they are one; never more often than it has spans.
    """
    metrics, seen = Metrics(), list[SpanFacts]()
    random.shuffle(spans)

    for span in spans:
        seen.append(span)
        metrics.count(derived(seen, settled=False), is_due=by_chance(random))
    metrics.count(derived(spans))

    of_tasks = ("tasks_total", "retries_total", "permission_episodes_total", "validation_failures_total")
    assert literal(merged(derived(spans))).items() >= counted(metrics, *of_tasks).items()
    tool_spans = Counter(span.call.tool for span in spans if span.call is not None)
    calls = Counter(call.tool for rows in derived(spans) for call in rows.calls)
    totals: Counter[str] = Counter()
    for (_, tool, _), value in counted(metrics, "calls_total").items():
        totals[tool] += int(value)
    assert calls <= totals <= tool_spans


@slow_laws
@given(forests(), RANDOM)
def test_no_counter_falls_and_each_series_begins_at_zero(spans: list[SpanFacts], random: Random) -> None:
    """
    From one scrape to the next, in both formats, whatever settles or settles again in between.
    """
    metrics, last = Metrics(), dict[tuple[str, ...], float]()
    registry = CollectorRegistry()
    registry.register(MetricsCollector(metrics))

    for start in range(0, len(spans) + 1, 4):
        settled = random.random() < 0.5
        metrics.count(derived(spans[: start + 4], settled=settled), is_due=by_chance(random))
        is_openmetrics = random.random() < 0.5
        families = parse(text_of(registry, is_openmetrics=is_openmetrics), is_openmetrics=is_openmetrics)
        for sample in samples_of(family for family in families if family.type != "gauge"):
            key = sample.name, *sample.labels.values()
            assert sample.value == 0 or last[key] <= sample.value
            assert last.get(key, 0) <= sample.value
            last[key] = sample.value


NAMES = st.text(st.characters(), max_size=3)  # lone surrogates too


@laws
@given(
    st.lists(st.tuples(NAMES, st.none() | NAMES), max_size=40),
    st.builds(Limits, st.integers(0, 4), st.integers(0, 3), st.integers(0, 60)),
    RANDOM,
)
def test_limits_bound_series_and_lose_nothing(
    named: list[tuple[str, str | None]], limits: Limits, random: Random
) -> None:
    """
    Whatever tools and codes are called, every call and every error is in some series, and scrapes can be read.
    """
    calls = [
        made.call(place, tool) if code is None else made.failed(made.call(place, tool), "fatal", code)
        for place, (tool, code) in enumerate(named)
    ]
    metrics, end = Metrics(limits=limits), 0
    registry = CollectorRegistry()
    registry.register(MetricsCollector(metrics))

    while end < len(calls):
        end += random.randint(1, 10)
        metrics.count([made.rows(calls[:end])])

    shown = scrape(metrics)
    tools = {key[1] for key in shown if key[0] == "toolspan_calls_total"}
    assert len(tools - {"_other"}) <= limits.tools
    assert sum(key[0] == "toolspan_errors_total" for key in shown) <= max(limits.error_series, 6)
    assert len(calls) == sum(counted(metrics, "calls_total").values())
    assert sum(code is not None for _, code in named) == sum(counted(metrics, "errors_total").values())
    for is_openmetrics in (True, False):
        families = parse(text_of(registry, is_openmetrics=is_openmetrics), is_openmetrics=is_openmetrics)
        read = [sample.labels["tool"] for sample in samples_of(families) if sample.name == "toolspan_attempts_total"]
        assert tools == set(read)
