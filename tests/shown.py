"""
What Prometheus would see of metrics, as a table: name and label values to number.
"""

from collections.abc import Iterable
from typing import TypeAlias

from toolspan.metrics import Family, Metrics
from toolspan.records import Rows

Table: TypeAlias = dict[tuple[str, ...], float]


def table_of(families: Iterable[Family]) -> Table:
    """
    Every number of *families*; a histogram's buckets have their bound as last label.
    """
    table: Table = {}
    for definition, points in ((family.definition, family.points) for family in families):
        for point in points:
            if not point.buckets:
                table[definition.name, *point.labels] = point.value
                continue
            table[f"{definition.name}_sum", *point.labels] = point.value
            for bucket in point.buckets:
                table[f"{definition.name}_bucket", *point.labels, f"{bucket.upper:g}"] = bucket.observations
    return table


def scrape(metrics: Metrics, *, now_s: float = 0.0) -> Table:
    """
    What one scrape sees.
    """
    return table_of(metrics.show(now_s))


def counted(metrics: Metrics, *names: str) -> Table:
    """
    What is not 0 once every series was shown; of the families *names* where given, which are written without prefix.
    """
    metrics.show(0.0)
    wanted = {f"toolspan_{name}" for name in names}
    return {key: value for key, value in scrape(metrics).items() if value and (not wanted or key[0] in wanted)}


def unsettled(rows: Rows) -> Rows:
    """
    *rows* before their tasks settled.
    """
    return rows._replace(tasks=[task._replace(settled=False) for task in rows.tasks])
