"""
`toolspan dashboard`: the pages, until it is told to end.
"""

import os
import re
import sys
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

import click

from toolspan.cli._ending import told_to_end
from toolspan.cli._options import config_option, debug_option, store_option
from toolspan.cli._text import inert
from toolspan.config import load_settings
from toolspan.errors import InputError, ToolspanError

if TYPE_CHECKING:
    from pathlib import Path

    from toolspan.remote import Collector

_PATH: Final = re.compile(r"[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)*")
_MOST_PORTS: Final = 65_535


@click.command("dashboard")
@store_option("Show the store S")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, _MOST_PORTS),
    default=8501,
    show_default=True,
    help="Where the pages are; 0: any port that is free.",
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--path", metavar="PATH", default="", help="Below this path, for a proxy that passes it on.")
@click.option("--login", is_flag=True, help="Ask for a login: the provider is in Streamlit's secrets.toml, [auth].")
@click.option("--insecure", is_flag=True, help="Let others than this machine in without a login.")
@config_option
@debug_option
def dashboard(
    store: "Path | Collector", port: int, host: str, path: str, *, login: bool, insecure: bool, config: str | None
) -> None:
    """
    Show in a browser which tool is hurting, why, and what to change.

    A file is read while agents write to it; a collector is asked over HTTP (TOOLSPAN_TOKEN is sent to it). The pages
    are for this machine only: to show them to others, put a proxy that asks for a login in front, or give --login.
    """
    from toolspan.cli._dashboard_process import DashboardProcess, Site, free_site, require_dashboard

    require_dashboard()
    load_settings(environ=os.environ, config_path=config)  # what is wrong with it is said here and not on a page
    refuse_public(host, is_safe=login or insecure)
    site = free_site(Site(host, port, read_path(path)))
    status = 0
    with told_to_end() as ending, DashboardProcess(str(store), site, config=config, needs_login=login) as process:
        process.await_ready()
        click.echo(f"toolspan shows {inert(str(store), longest=1000)}")
        click.echo(f"  dashboard  {site.url}")
        click.echo("Ctrl-C ends it.")
        sys.stdout.flush()
        status = process.wait()
    if not ending.is_told:
        raise ToolspanError(f"The dashboard ended by itself, with exit code {status}.")


def refuse_public(host: str, *, is_safe: bool) -> None:
    """
    Passes where only this machine can come in, or *is_safe* says that others may.

    Raises:
        InputError: anybody could look.
    """
    try:
        is_loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError as error:
        raise InputError(
            f"{host!r} is no address to listen on: give one of this machine's, such as 127.0.0.1."
        ) from error
    if not is_loopback and not is_safe:
        raise InputError(
            f"Whoever reaches {host} could see the pages: put a proxy that asks for a login in front of 127.0.0.1, give"
            " --login, or say --insecure where the network is trusted."
        )


def read_path(text: str) -> str:
    """
    The path that *text* is, without slashes around it.

    Raises:
        InputError: it is none that a proxy could pass on.
    """
    path = text.strip("/")
    if path and not _PATH.fullmatch(path):
        raise InputError(f"{text!r} is no path: give one such as /toolspan.")
    return path
