"""
`toolspan prune`: old tasks out of a store.
"""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolspan.cli._options import debug_option, format_option, store_option
from toolspan.cli._stores import open_store, require_store
from toolspan.cli._text import counted, inert
from toolspan.config import Settings
from toolspan.errors import InputError
from toolspan.windows import format_time, parse_time

if TYPE_CHECKING:
    from toolspan.remote import Collector


@click.command("prune")
@click.option(
    "--before", metavar="T", required=True, help="Tasks that ended before T: RFC 3339, or an age such as 90d."
)
@store_option("Delete from the store S")
@format_option("table", "json")
@debug_option
def prune(before: str, store: "Path | Collector", output: str) -> None:
    """
    Delete old tasks from a store.

    A task goes with all that is known of it, and nobody is asked again; snapshot makes a copy first. The numbers of
    later tasks stay as they are.
    """
    now_ns = time.time_ns()
    before_ns = parse_time(before, now_ns=now_ns)
    if before_ns > now_ns:
        raise InputError(f"{before!r} is still to come, so nothing would be left; give a time that has passed.")
    if isinstance(store, Path):
        require_store(store)
        deleted = open_store(store, purpose="toolspan prune", settings=Settings()).prune(before_ns)
    else:
        deleted = store.prune(before_ns)
    if output == "json":
        click.echo(json.dumps({"tasks": deleted.tasks, "calls": deleted.calls}))
    else:
        gone = f"{counted(deleted.tasks, 'task')} with {counted(deleted.calls, 'call')}"
        until = f"{format_time(before_ns)[:19]}Z"
        click.echo(f"{gone} deleted from {inert(str(store))}: those that ended before {until}.")
