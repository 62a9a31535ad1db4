"""
The numbers as Prometheus counts them: a fold over rows as they are written, without a server and without its client.
"""

from toolspan.metrics.families import FAMILIES, Bucket, Definition, Exemplar, Family, Kind, Point
from toolspan.metrics.fold import DEFAULT_LIMITS, Limits, Metrics

__all__ = [
    "DEFAULT_LIMITS",
    "FAMILIES",
    "Bucket",
    "Definition",
    "Exemplar",
    "Family",
    "Kind",
    "Limits",
    "Metrics",
    "Point",
]
