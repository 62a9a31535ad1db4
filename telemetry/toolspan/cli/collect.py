"""
`toolspan collect`: the collector, until it is told to end.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolspan.cli._messages import say
from toolspan.cli._options import Command, config_option, debug_option, store_option
from toolspan.cli._text import inert
from toolspan.config import TOKEN_VARIABLE, load_settings
from toolspan.windows import parse_age

if TYPE_CHECKING:
    from toolspan.collector.service import Addresses


def _place(name: str, default: str, what: str) -> Callable[[Command], Command]:
    """
    The option *name*, an address to listen on.
    """
    return click.option(name, metavar="HOST:PORT", default=default, show_default=True, help=f"{what}; off: nowhere.")


@click.command("collect")
@store_option("Write to the store S, which is made where it is not there", is_file=True, extra="collector")
@_place("--otlp-http", "127.0.0.1:4318", "Where OTLP comes in over HTTP")
@_place("--otlp-grpc", "127.0.0.1:4317", "Where OTLP comes in over gRPC")
@_place("--http", "127.0.0.1:9464", "Where metrics and the API are")
@click.option("--retention", metavar="AGE", help="Delete tasks that ended longer ago, such as 30d; else none.")
@click.option("--tls-cert", metavar="FILE", help="Certificate in PEM: TLS on all ports.")
@click.option("--tls-key", metavar="FILE", help="Its key.")
@click.option("--tls-client-ca", metavar="FILE", help="Senders have to show a certificate that one of these signed.")
@click.option("--insecure", is_flag=True, help="Let others than this machine in without a token (TOOLSPAN_TOKEN).")
@config_option
@debug_option
def collect(store: Path, retention: str | None, insecure: bool, config: str | None, **given: str | None) -> None:
    """
    Receive spans over OTLP, keep them in a store, and answer for it.

    Prometheus, programs and the other commands are answered. A span is durable before its sender is told so. One
    collector holds the store; the other commands ask it by --store http://HOST:PORT. Where TOOLSPAN_TOKEN is set, all
    who talk to it have to send it as bearer token.
    """
    from toolspan.collector.access import OFF, check_tls, check_token, parse_endpoint, refuse_public
    from toolspan.collector.service import Places, Plan, serve

    settings = load_settings(environ=os.environ, config_path=config)
    places = Places(
        *(
            parse_endpoint(given[name] or OFF, option=f"--{name.replace('_', '-')}")
            for name in ("otlp_http", "otlp_grpc", "http")
        )
    )
    token = check_token(os.environ.get(TOKEN_VARIABLE))
    refuse_public([place for place in places if place is not None], token=token, is_insecure=insecure)
    plan = Plan(
        store,
        places,
        token,
        check_tls(given["tls_cert"], given["tls_key"], client_ca=given["tls_client_ca"]),
        retention_ns=None if retention is None else parse_age(retention),
    )
    serve(plan, settings, tell=say, announce=lambda found: _announce(store, found))


def _announce(store: Path, addresses: "Addresses") -> None:
    """
    Says where it listens; the last line is the sign that it does.
    """
    click.echo(f"toolspan collects into {inert(str(store))} (process {os.getpid()})")
    if addresses.otlp_http:
        click.echo(f"  OTLP/HTTP  {addresses.otlp_http}")
    if addresses.otlp_grpc:
        click.echo(f"  OTLP/gRPC  {addresses.otlp_grpc}")
    if addresses.http:
        click.echo(f"  metrics    {addresses.http}/metrics")
        click.echo(f"  answers    toolspan report --store {addresses.http}")
    click.echo("Ctrl-C ends it; what was acknowledged is kept.")
    sys.stdout.flush()
