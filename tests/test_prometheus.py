"""
What a scrape reads, in both text formats.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from threading import Thread

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from tests.rows import call, failed, rows, span_id, task, task_tool
from tests.scraped import parse, text_of
from toolspan.metrics import FAMILIES, Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.records import Rows

#: Everything that a name can do to a line.
EVIL = 'a"b\\c\nd\x00e\ud800f\r\u2028{g="h"} 1'


def groups() -> list[Rows]:
    """
    A task that has something for every family.
    """
    calls = [
        failed(call(1, end=7)._replace(started_ns=0), "transient", "UNAVAILABLE"),
        call(2, start=1_000, end=3_500),
        failed(call(3, EVIL), "fatal", EVIL),
    ]
    sums = task_tool()._replace(
        retries=1, allowed=1, validation_failures=2, recovered=1, episodes=2, escalated=1, clean=1
    )
    retried = calls[1]._replace(follows=span_id(1), follow_up="retry", verdict="allowed", step=calls[0].step)
    return [rows([calls[0], retried, calls[2]], [task()], [sums, task_tool(tool=EVIL)])]


def registered(metrics: Metrics, *, clock: Callable[[], float] = lambda: 0.0) -> CollectorRegistry:
    """
    A registry that shows *metrics*.
    """
    registry = CollectorRegistry()
    registry.register(MetricsCollector(metrics, clock=clock))
    return registry


def scraped_twice() -> tuple[str, str]:
    """
    The second scrape of `groups()` in the classic format and in OpenMetrics.
    """
    metrics = Metrics()
    metrics.count(groups())
    registry = registered(metrics)
    text_of(registry, is_openmetrics=False)
    return text_of(registry, is_openmetrics=False), text_of(registry, is_openmetrics=True)


def by_name(families: Iterable[Metric]) -> dict[str, Metric]:
    """
    Families under the names that our definitions give them.
    """
    return {f"{family.name}_total" if family.type == "counter" else family.name: family for family in families}


def test_both_formats_parse_and_hold_the_same_samples() -> None:
    """
    Whatever the names are made of.
    """
    text, openmetrics = scraped_twice()

    classic, modern = (
        [(one.name, one.labels, one.value) for family in families for one in family.samples]
        for families in (parse(text, is_openmetrics=False), parse(openmetrics, is_openmetrics=True))
    )
    assert classic == modern
    assert ("toolspan_calls_total", {"tool": 'a"b\\c�d�e�f��{g="h"} 1', "outcome": "error"}, 1) in modern
    assert ("toolspan_wasted_seconds_total", {"tool": "search", "class": "fatal"}, 0) in modern


def test_families_come_with_type_help_and_unit() -> None:
    """
    As defined; OpenMetrics wants the unit at the end of the name.
    """
    families = by_name(parse(scraped_twice()[1], is_openmetrics=True))

    assert {one.name: (one.kind.value, one.help, one.unit) for one in FAMILIES} == {
        name: (family.type, family.documentation, family.unit) for name, family in families.items()
    }


def test_buckets_are_cumulative_and_end_with_all() -> None:
    """
    A duration counts in the bucket whose bound it meets.
    """
    samples = by_name(parse(scraped_twice()[0], is_openmetrics=False))["toolspan_call_duration_seconds"].samples

    of_search = [
        (one.name.rpartition("_")[2], one.labels.get("le"), one.value)
        for one in samples
        if one.labels["tool"] == "search"
    ]
    assert of_search == [
        *(("bucket", le, 1) for le in ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1.0", "2.0")),
        *(("bucket", le, 2) for le in ("5.0", "10.0", "30.0", "60.0", "120.0", "300.0", "+Inf")),
        ("count", None, 2),
        ("sum", None, 2.507),
    ]


def test_openmetrics_shows_an_example_of_durations_and_errors() -> None:
    """
    The trace to look at; the classic format has no place for it.
    """
    text, openmetrics = scraped_twice()
    families = by_name(parse(openmetrics, is_openmetrics=True))

    examples = {
        (one.name, one.labels.get("le") or one.labels.get("code")): one.exemplar
        for name in ("toolspan_call_duration_seconds", "toolspan_errors_total")
        for one in families[name].samples
        if one.labels["tool"] == "search" and one.exemplar
    }
    ids = {number: {"trace_id": "01" * 16, "span_id": span_id(number).hex()} for number in (1, 2)}
    assert {key: (one.labels, one.value, float(one.timestamp or 0)) for key, one in examples.items()} == {
        ("toolspan_call_duration_seconds_bucket", "0.01"): (ids[1], 0.007, 0.007),
        ("toolspan_call_duration_seconds_bucket", "5.0"): (ids[2], 2.5, 3.5),
        ("toolspan_errors_total", "UNAVAILABLE"): (ids[1], 1, 0.007),
    }
    assert "trace_id" not in text


def test_a_first_scrape_shows_zeros_alone() -> None:
    """
    The second one what was counted; registering is no scrape.
    """
    metrics = Metrics()
    metrics.count(groups())
    registry = registered(metrics)

    first, second = (text_of(registry, is_openmetrics=False) for _ in range(2))

    assert {"0.0"} == set(re.findall(r"^toolspan_.* (\S+)$", first, re.MULTILINE))
    assert 'toolspan_calls_total{outcome="ok",tool="search"} 1.0' in second


def test_the_clock_is_the_one_that_is_given() -> None:
    """
    A series that is held is 0 until its time is over.
    """
    metrics, times = Metrics(hold_s=30), iter((100.0, 129.0, 130.0))
    metrics.receive(7)
    registry = registered(metrics, clock=lambda: next(times))

    seen = [registry.get_sample_value("toolspan_spans_received_total") for _ in range(3)]

    assert [0, 0, 7] == seen


def test_folding_and_scraping_keep_out_of_each_other() -> None:
    """
    A scrape waits while rows are folded.
    """
    collector = MetricsCollector(Metrics())
    scraped: list[Metric] = []
    scrape = Thread(target=lambda: scraped.extend(collector.collect()))

    with collector.folding() as metrics:
        scrape.start()
        metrics.set_open_tasks(1)
        scrape.join(0.01)  # ends at once where nothing keeps it out
        before = list(scraped)
        metrics.set_open_tasks(2)
    scrape.join()

    [gauge] = [family for family in scraped if family.name == "toolspan_open_tasks"]
    assert ([], [2]) == (before, [one.value for one in gauge.samples])


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_has_nothing_to_say() -> None:
    """
    Prometheus' own check of names, types and help texts.
    """
    text, _ = scraped_twice()

    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)

    assert (0, "") == (checked.returncode, checked.stderr)
