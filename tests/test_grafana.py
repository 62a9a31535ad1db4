"""
The dashboard for Grafana asks what Prometheus understands, of metrics that there are.
"""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.promtool import promtool
from toolspan.metrics import FAMILIES, Kind

FOLDER = Path(__file__).parent.parent / "deploy" / "grafana"
DASHBOARD: Any = json.loads((FOLDER / "dashboards" / "toolspan.json").read_text(encoding="utf-8"))
PANELS: list[Any] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS: list[str] = [target["expr"] for panel in PANELS for target in panel["targets"]]

#: What Grafana puts in, by an example.
VARIABLES = {"$__rate_interval": "1m", "$__range": "24h", "$tool": "a|b"}
#: What Prometheus itself has.
_ALERTS = {"ALERTS", "alertname", "alertstate"}


def filled(expression: str) -> str:
    """
    *expression* as Prometheus is sent it.
    """
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def metric_labels() -> dict[str, set[str]]:
    """
    The labels of each series that a scrape shows.
    """
    labels = {family.name: set(family.labels) for family in FAMILIES}
    for family in FAMILIES:
        if family.kind is Kind.HISTOGRAM:
            own = set(family.labels)
            labels |= {f"{family.name}_bucket": own | {"le"}, f"{family.name}_count": own, f"{family.name}_sum": own}
    return labels


def selectors(expression: str) -> Iterator[tuple[str, set[str]]]:
    """
    Each metric of *expression*, and the labels by which it is chosen.
    """
    for name, matchers in re.findall(r"\b(toolspan_\w+|ALERTS)(?:\{([^}]*)\})?", expression):
        yield name, set(re.findall(r"(\w+) *(?:=~|!~|!=|=)", re.sub(r'"[^"]*"', '""', matchers)))


def test_every_expression_is_understood(tmp_path: Path) -> None:
    """
    By Prometheus' own parser.
    """
    rules = [{"record": f"panel:{place}", "expr": filled(each)} for place, each in enumerate(EXPRESSIONS)]
    document = {"groups": [{"name": "dashboard", "rules": rules}]}
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps(document))

    result = promtool("check", "rules", path)

    assert (0, f"{len(rules)} rules found") == (result.returncode, result.stdout.strip().rpartition(": ")[2]), (
        result.stderr
    )


@pytest.mark.parametrize("expression", EXPRESSIONS)
class TestExpression:
    def test_asks_for_metrics_and_labels_that_there_are(self, expression: str) -> None:
        """
        A metric that was renamed leaves an empty panel, which looks like health.
        """
        known = {**metric_labels(), "ALERTS": _ALERTS}
        asked = list(selectors(expression))

        assert asked
        assert [] == [(name, labels) for name, labels in asked if not labels <= known.get(name, set())]

    def test_groups_by_labels_that_its_metrics_have(self, expression: str) -> None:
        """
        A sum by what is not there is one line with no name.
        """
        grouped = {
            label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", expression) for label in labels.split(",")
        }
        common = set[str].intersection(*(metric_labels().get(name, _ALERTS) for name, _ in selectors(expression)))

        assert grouped - {"le"} <= common

    def test_has_no_variable_that_nobody_fills_in(self, expression: str) -> None:
        """
        Those of the dashboard, and Grafana's two.
        """
        assert "$" not in filled(expression)


def test_every_metric_is_shown() -> None:
    """
    What is exposed can be seen.
    """
    text = " ".join(EXPRESSIONS)

    assert [] == [family.name for family in FAMILIES if family.name not in text]


def test_panels_have_names_and_explain_themselves() -> None:
    """
    Each once, with what it shows.
    """
    assert len(PANELS) == len({panel["title"] for panel in PANELS})
    assert all(panel["description"].endswith(".") for panel in PANELS)
    assert len(DASHBOARD["panels"]) == len({panel["id"] for panel in DASHBOARD["panels"]})


def test_panels_do_not_lie_on_one_another() -> None:
    """
    On a grid of 24 columns.
    """
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]

    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert [] == [
        (one, other)
        for one, other in combinations(places, 2)
        if one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    ]


def test_the_datasource_is_that_which_is_provisioned() -> None:
    """
    By its uid, in every panel and query.
    """
    provisioned = yaml.safe_load((FOLDER / "provisioning" / "datasources" / "prometheus.yml").read_text())
    [variable] = [each for each in DASHBOARD["templating"]["list"] if each["type"] == "datasource"]
    used = {each["datasource"]["uid"] for panel in PANELS for each in (panel, *panel["targets"])}

    assert ([variable["current"]["value"]], {"${datasource}"}) == (
        [each["uid"] for each in provisioned["datasources"]],
        used,
    )
