"""
Rule files before Prometheus' own tool: whether they are right, and what fires on given series.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from toolspan.alerts import Links, Thresholds, rule_document
from toolspan.cli.alerts import yaml_of
from toolspan.numbers import DEFAULT_TARGETS

LINKS = Links("http://dashboard.test", "http://runbooks.test")

#: An alert by name, and its labels but `severity`.
Fired = tuple[str, Mapping[str, str]]


class Moment(NamedTuple):
    """
    What fires, *minutes* after the first sample.
    """

    minutes: int
    fired: tuple[Fired, ...] = ()


def require_promtool() -> str:
    """
    The path of promtool; without it a test is skipped, and fails in CI.
    """
    program = shutil.which("promtool")
    if program is None:
        assert not os.environ.get("CI"), "promtool is missing"
        pytest.skip("needs promtool, which comes with Prometheus")
    return program


def write_rules(folder: Path, thresholds: Thresholds | None = None) -> Path:
    """
    The rule file of *thresholds* in *folder*.
    """
    document = rule_document(thresholds or Thresholds(), DEFAULT_TARGETS, links=LINKS)
    path = folder / "rules.yml"
    path.write_text(yaml_of(document), encoding="utf-8")
    return path


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """
    What promtool says.
    """
    command = [require_promtool(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def complaint(
    folder: Path, series: Mapping[str, str], moments: Iterable[Moment], *, rules: Path | None = None, without: str = ""
) -> str:
    """
    What is wrong with *moments* on *series*, whose values come every minute; nothing where exactly those alerts fire.

    By *rules*, else by those of the defaults; a label *without* which alerts are compared is left out.
    """
    dropped = ", ".join(filter(None, ("severity", "__name__", without)))
    tests = [
        {
            "expr": f'max without ({dropped}) (ALERTS{{alertstate="firing"}})',
            "eval_time": f"{moment.minutes}m",
            "exp_samples": [
                {"labels": _labels({"alertname": name, "alertstate": "firing", **labels}), "value": 1}
                for name, labels in moment.fired
            ],
        }
        for moment in moments
    ]
    document = {
        "rule_files": [str(rules or write_rules(folder))],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": tests,
            }
        ],
    }
    return _run(folder, document)


def annotations_complaint(folder: Path, series: Mapping[str, str], expected: Mapping[str, object]) -> str:
    """
    What is wrong with *expected*, an `alert_rule_test` of promtool, on *series*.
    """
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [expected],
    }
    return _run(folder, {"rule_files": [str(write_rules(folder))], "evaluation_interval": "1m", "tests": [test]})


def _run(folder: Path, document: Mapping[str, object]) -> str:
    path = folder / "cases.yml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")  # pyright: ignore[reportUnknownMemberType]  # the stubs leave the width open
    result = promtool("test", "rules", path)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
