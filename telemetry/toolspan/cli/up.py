"""
`toolspan up`: the collector and the dashboard, until they are told to end.

The collector runs in this process and the dashboard in another. Either ends the other: who sees pages that nothing
feeds, or sends spans that nobody sees, has half of what was asked for.
"""

import os
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from toolspan.cli._messages import say
from toolspan.cli._options import config_option, debug_option, store_option
from toolspan.cli._text import inert
from toolspan.config import TOKEN_VARIABLE, load_settings
from toolspan.errors import InputError, ToolspanError

if TYPE_CHECKING:
    from toolspan.cli._dashboard_process import DashboardProcess
    from toolspan.collector.service import Addresses

_MOST_PORTS: Final = 65_535


@click.command("up")
@store_option("Keep what comes in the store S, which is made where it is not there", is_file=True, extra="collector")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, _MOST_PORTS),
    default=8501,
    show_default=True,
    help="Where the pages are; 0: any port that is free.",
)
@click.option("--otlp-http", metavar="HOST:PORT", default="127.0.0.1:4318", show_default=True, help="OTLP over HTTP.")
@click.option("--otlp-grpc", metavar="HOST:PORT", default="127.0.0.1:4317", show_default=True, help="OTLP over gRPC.")
@click.option("--http", metavar="HOST:PORT", default="127.0.0.1:9464", show_default=True, help="Metrics and the API.")
@click.option(
    "--demo",
    is_flag=False,
    flag_value="both",
    type=click.Choice(["before", "after", "both"]),
    help="Have a made-up travel agent send trips: before its failures had classes, after, or both.",
)
@config_option
@debug_option
def up(store: Path, *, port: int, demo: str | None, config: str | None, **addresses: str) -> None:
    """
    Receive spans and show what they say: collector and dashboard in one.

    Send spans to the addresses that it prints, and open the dashboard. The store is a file beside it, which keeps what
    came; Ctrl-C ends both.
    """
    from toolspan.cli._dashboard_process import DashboardProcess, Site, free_site, require_dashboard
    from toolspan.cli._demo_process import DemoProcess
    from toolspan.collector.access import check_token, parse_endpoint, refuse_public
    from toolspan.collector.service import Places, Plan, serve

    require_dashboard()
    settings = load_settings(environ=os.environ, config_path=config)
    named = [(name, addresses[name]) for name in ("otlp_http", "otlp_grpc", "http")]
    places = Places(*(parse_endpoint(address, option=f"--{name.replace('_', '-')}") for name, address in named))
    if demo is not None and places.otlp_http is None:
        raise InputError("The demo sends its spans to the --otlp-http address, so that cannot be off here.")
    if places.http is None:
        raise InputError("The dashboard asks the collector at its --http address, so that cannot be off here.")
    token = check_token(os.environ.get(TOKEN_VARIABLE))
    refuse_public([place for place in places if place is not None], token=token, is_insecure=False)
    site = free_site(Site("127.0.0.1", port))
    with ExitStack() as stack:
        watch = _Watch()
        stack.callback(watch.ending.set)

        def begin(found: "Addresses") -> None:
            process = stack.enter_context(DashboardProcess(_asked_at(found.http), site, config=config))
            if demo is not None:
                endpoint = _asked_at(found.otlp_http).removesuffix("/v1/traces")
                stack.enter_context(DemoProcess(endpoint, demo))
            stack.callback(watch.ending.set)  # first of all, so that its end is known to be asked for
            threading.Thread(target=watch.run, args=(process, store, found, site.url, demo), daemon=True).start()

        signal.signal(signal.SIGHUP, _as_sigterm)
        serve(Plan(store, places, token), settings, tell=say, announce=begin)
    if watch.fault:
        raise ToolspanError(watch.fault)


class _Watch:
    """
    Waits for the dashboard: until it answers, which is then announced, and until it ends, which ends the rest.
    """

    def __init__(self) -> None:
        self.fault = ""
        self.ending = threading.Event()

    def run(self, process: "DashboardProcess", store: Path, addresses: "Addresses", url: str, demo: str | None) -> None:
        """
        Runs in a thread of its own: meanwhile spans come in.
        """
        try:
            process.await_ready()
            _announce(store, addresses, url, demo)
            status = process.wait()
            fault = f"The dashboard ended by itself, with exit code {status}."
        except ToolspanError as error:
            fault = str(error)
        if not self.ending.is_set():
            self.fault = fault
            os.kill(os.getpid(), signal.SIGTERM)


def _asked_at(url: str) -> str:
    """
    Where the dashboard asks a collector that listens at *url*, which may be everywhere.
    """
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _announce(store: Path, addresses: "Addresses", url: str, demo: str | None) -> None:
    """
    Says where both are; the last line is the sign that they are.
    """
    click.echo(f"toolspan is up, with the store {inert(str(store), longest=1000)} (process {os.getpid()})")
    click.echo(f"  dashboard  {url}")
    if addresses.otlp_http:
        click.echo(f"  OTLP/HTTP  {addresses.otlp_http}")
    if addresses.otlp_grpc:
        click.echo(f"  OTLP/gRPC  {addresses.otlp_grpc}")
    click.echo(f"  metrics    {addresses.http}/metrics")
    if demo is not None:
        click.echo("  demo       made-up trips: service toolspan-demo, environment demo")
    click.echo("Ctrl-C ends both; what was acknowledged is kept.")
    sys.stdout.flush()


def _as_sigterm(number: int, frame: FrameType | None) -> None:
    """
    A terminal that goes away ends both, as `kill` does.
    """
    del number, frame
    os.kill(os.getpid(), signal.SIGTERM)
