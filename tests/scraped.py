"""
Scrapes as a server makes them, in both text formats, read back as a scraper reads them.
"""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

_OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def text_of(registry: CollectorRegistry, *, is_openmetrics: bool) -> str:
    """
    One scrape, as text.
    """
    encode, _ = choose_encoder(_OPENMETRICS if is_openmetrics else "text/plain")
    return encode(registry).decode("utf-8")


def parse(text: str, *, is_openmetrics: bool) -> list[Metric]:
    """
    The families in *text*.
    """
    if not is_openmetrics:
        return list(text_string_to_metric_families(text))
    families: Iterable[Metric] = openmetrics.text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # the client's modern parser has no types
    return [*families]
