"""
Trips, one after the other, sent as any service sends its spans: OpenTelemetry's SDK and its OTLP exporter.

The resource says what they are: service `toolspan-demo`, environment `demo`. Nobody takes them for his own.
"""

import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from toolspan.demo import after, before
from toolspan.demo.services import Services
from toolspan.demo.trips import Trip, next_trip

SERVICE: Final = "toolspan-demo"
ENVIRONMENT: Final = "demo"
#: Which of the two agents there are.
AGENTS: Final = ("before", "after")
#: How long spans wait for one another; a page that refreshes every few seconds need not wait longer.
_EXPORT_MS: Final = 500


def provider_of(endpoint: str, headers: Mapping[str, str] | None = None) -> TracerProvider:
    """
    A provider whose spans go to the OTLP *endpoint* (http), such as `http://127.0.0.1:4318`.
    """
    resource = Resource({"service.name": SERVICE, "deployment.environment.name": ENVIRONMENT})
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", headers=dict(headers or {}))
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=_EXPORT_MS))
    return provider


def planners(
    agents: tuple[str, ...], chance: Random, sleep: Callable[[float], object] = time.sleep
) -> list[Callable[[Trip], str]]:
    """
    What plans a trip, of each of *agents*; their spans are those of the provider that is set.
    """
    services = Services(chance)
    made: dict[str, Callable[[Trip], str]] = {
        "before": before.Agent(services, trace.get_tracer(SERVICE), sleep).plan,
        "after": after.Agent(services, sleep).plan,
    }
    return [made[agent] for agent in agents]


def send_trips(
    agents: tuple[str, ...],
    *,
    per_second: float,
    seed: int | None = None,
    is_over: Callable[[float], bool],
) -> int:
    """
    Has *agents* plan trips, so many *per_second* each, until *is_over* (which is asked to wait some seconds) says so;
    how many they planned.
    """
    chance = Random(seed)  # noqa: S311 - made-up trips
    plans = planners(agents, chance)
    trips = 0
    while True:
        trip = next_trip(chance)
        for plan in plans:
            plan(trip)
            trips += 1
        if is_over(1 / per_second):
            return trips
