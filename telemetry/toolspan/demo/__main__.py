"""
`python -m toolspan.demo`: made-up trips for a collector, until it is told to end.
"""

import os
import signal
from threading import Event
from types import FrameType

import click
from opentelemetry import trace

from toolspan.config import TOKEN_VARIABLE
from toolspan.demo.traffic import AGENTS, ENVIRONMENT, SERVICE, provider_of, send_trips


@click.command()
@click.option("--endpoint", metavar="URL", default="http://127.0.0.1:4318", show_default=True, help="OTLP over HTTP.")
@click.option("--agent", type=click.Choice([*AGENTS, "both"]), default="both", show_default=True, help="Which agent.")
@click.option(
    "--per-second", type=click.FloatRange(0.01, 100), default=2.0, show_default=True, help="Trips of each agent."
)
@click.option("--seed", type=int, help="The same trips again.")
def main(endpoint: str, agent: str, per_second: float, seed: int | None) -> None:
    """
    Send the spans of made-up trips to a collector.

    They are of the service toolspan-demo in the environment demo. The agent "before" has one bucket for all that fails
    and retries; the agent "after" has tools that name the class, and does what that asks for.
    """
    token = os.environ.get(TOKEN_VARIABLE)
    provider = provider_of(endpoint, {"authorization": f"Bearer {token}"} if token else None)
    trace.set_tracer_provider(provider)
    ending = Event()

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        ending.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    click.echo(f"Demo: made-up trips of the service {SERVICE}, environment {ENVIRONMENT}, for {endpoint}")
    trips = send_trips(AGENTS if agent == "both" else (agent,), per_second=per_second, seed=seed, is_over=ending.wait)
    provider.shutdown()
    click.echo(f"Demo: ended after {trips:,} trips")


if __name__ == "__main__":
    main()
