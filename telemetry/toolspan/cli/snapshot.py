"""
`toolspan snapshot`: a store as another file.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolspan.cli._options import debug_option, store_option
from toolspan.cli._stores import open_store
from toolspan.cli._text import inert
from toolspan.config import Settings
from toolspan.errors import InputError

if TYPE_CHECKING:
    from toolspan.remote import Collector


@click.command("snapshot")
@click.argument("target", metavar="FILE", type=click.Path(path_type=Path))
@store_option("Copy the store S")
@debug_option
def snapshot(target: Path, store: "Path | Collector") -> None:
    """
    Copy a store to a file while it is in use.

    The copy is the store as it was at one moment, a store itself, and there only when it is whole; a FILE that is there
    already is left as it is.
    """
    name, folder = inert(str(target)), inert(str(target.parent))
    if name == "-":
        raise InputError("A store is no stream: give the path of a file to copy it to.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {name}: there is no folder {folder}; create it (mkdir -p), or name another.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"Cannot write {name}: permission denied in {folder}; name a file elsewhere.")
    if isinstance(store, Path):
        open_store(store, purpose="toolspan snapshot", settings=Settings()).snapshot(target)
    else:
        store.snapshot(target)
    click.echo(f"{inert(str(store))} copied to {name}.")
