"""
What `toolspan check --alerts` says of spans is what Prometheus alerts on when it scrapes their metrics.
"""

import json
from pathlib import Path

import pytest

from tests.cli_runner import Cli
from tests.promtool import Moment, complaint
from tests.shown import scrape
from tests.stored import EXAMPLE
from toolspan.cli._loading import load_files
from toolspan.config import Settings
from toolspan.metrics import FAMILIES, Metrics

#: The alert on each target that has one; that on retries per step would need a metric that nobody scrapes.
ALERTS = {
    "retries_p95": "ToolspanRetriesP95",
    "tail": "ToolspanRetryTail",
    "validation_recovery": "ToolspanValidationRecovery",
    "clean_escalations": "ToolspanRetryBeforeEscalation",
    "wasted_seconds": "ToolspanWastedTime",
    "unclassified": "ToolspanUnclassified",
    "cluster": "ToolspanErrorCluster",
}
#: Everything is in every window, and nothing has to wait; one pair of windows, which is the objective itself.
NOW = "pending = 0\nburn = [{long = 3600, short = 600, factor = 1}]\n"

CONFIGS = {
    "defaults": f"[alerts]\n{NOW}",
    "few cases": f"[targets]\nmin_cases = 1\nclean_escalations = 0.5\n[alerts]\n{NOW}",
    "nothing is allowed": (
        "[targets]\nmin_cases = 1\nretries_p95 = 0\nvalidation_recovery = 1.0\nclean_escalations = 1.0\n"
        f"[alerts]\ntail = 0.001\nwasted = 0\nunclassified = 0\ncluster = 0\n{NOW}"
    ),
    "much is allowed": (
        "[targets]\nmin_cases = 1\nretries_p95 = 5\nvalidation_recovery = 0.1\nclean_escalations = 0.1\n"
        f"[alerts]\ntail = 0.9\nwasted = 1000000\nunclassified = 1\ncluster = 1\n{NOW}"
    ),
    "many cases": f"[targets]\nmin_cases = 60\n[alerts]\nwasted = 1\n{NOW}",
}


def series_of(spans: Path) -> dict[str, str]:
    """
    The series that a scraper has of *spans*: a first scrape with zeros, then what was counted.
    """
    metrics = Metrics()
    metrics.count([load_files([str(spans)], Settings())])
    metrics.receive(1000)
    before, after = scrape(metrics), scrape(metrics)
    labels = {family.name: family.labels for family in FAMILIES}
    series: dict[str, str] = {}
    for (name, *values), counted in after.items():
        family = name.removesuffix("_bucket").removesuffix("_sum") if name not in labels else name
        names = [*labels[family], *(["le"] if name.endswith("_bucket") else [])]
        # bounds as a scrape shows them
        shown = [*values[:-1], bound_of(values[-1])] if name.endswith("_bucket") else values
        text = ", ".join(f'{label}="{value}"' for label, value in zip(names, shown, strict=True))
        series[f"{name}{{{text}}}"] = f"{before[name, *values]:g} {counted:.15g}x10"
        if name.endswith("_bucket") and values[-1] == "inf":
            rest = text.rpartition(", ")[0]
            series[f"{family}_count{{{rest}}}"] = f"{before[name, *values]:g} {counted:.15g}x10"
    return series


def bound_of(value: str) -> str:
    return "+Inf" if value == "inf" else str(float(value))


@pytest.mark.parametrize("config", CONFIGS)
def test_check_says_of_spans_what_prometheus_alerts_on(toolspan: Cli, tmp_path: Path, config: str) -> None:
    """
    Tool by tool, by the same file of settings.
    """
    settings = tmp_path / "toolspan.toml"
    settings.write_text(CONFIGS[config])
    rules = tmp_path / "rules.yml"
    rules.write_text(toolspan("alerts", "--config", settings).out)

    checked = json.loads(toolspan("check", EXAMPLE, "--alerts", "--config", settings, "--format", "json").out)

    broken = [
        (each["tool"], ALERTS[each["target"]], each)
        for each in checked["numbers"]
        if each["verdict"] == "broken" and each["target"] in ALERTS
    ]
    fired = tuple((alert, labels_of(tool, alert)) for tool, alert, _ in broken)
    assert "" == complaint(tmp_path, series_of(EXAMPLE), [Moment(3, fired)], rules=rules, without="class")
    assert bool(fired) == (config != "much is allowed")


def labels_of(tool: str, alert: str) -> dict[str, str]:
    return {"tool": tool, **({"window": "1h"} if alert == "ToolspanRetryTail" else {})}


def test_every_limit_has_its_alert(toolspan: Cli) -> None:
    """
    Both judge the same numbers; the steps of a task are in no metric, and a file says nothing of its arrival.
    """
    checked = json.loads(toolspan("check", EXAMPLE, "--alerts", "--format", "json").out)

    without = {"retries_per_step", "silence_seconds", "lost"}
    assert {each["target"] for each in checked["numbers"]} - without == set(ALERTS)
