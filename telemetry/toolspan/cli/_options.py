"""
What the commands that read have in common: where rows come from, and which of them are asked for.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Final, NamedTuple

import click

from toolspan.errors import InputError
from toolspan.framing.source import display_name
from toolspan.scope import Dimension, Scope
from toolspan.windows import parse_window

Command = Callable[..., None]


class _Readable(click.Path):
    """
    A file that is there and may be read, or `-`; asked before anything is read, since the others may take minutes.
    """

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, readable=False, allow_dash=True)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """
        *value*, which is refused as the reader would, and not in click's words, which name no remedy.
        """
        path = super().convert(value, param, ctx)
        if path != "-" and not os.access(path, os.R_OK):
            name = display_name(os.fsdecode(path))
            raise InputError(f"Cannot read {name}: permission denied; check its owner and mode (ls -l)")
        return path


#: What tasks are filtered and grouped by.
DIMENSIONS: Final[tuple[Dimension, ...]] = ("agent", "service", "environment")

#: The one place that says which sources this build has.
_NO_STORES: Final = "--store is not in this build, which reads files only; give OTLP files instead."
_NO_SOURCE: Final = "Nothing to read: give OTLP files (JSON lines, .pb, .gz), or - for standard input."


@dataclass(slots=True)
class Flags:
    """
    What holds for the whole run of the program.
    """

    debug: bool = False


def debug_option(command: Command) -> Command:
    """
    `--debug`, accepted before and after the command's name.
    """

    def switch(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value:
            context.ensure_object(Flags).debug = True

    return click.option(
        "--debug", is_flag=True, expose_value=False, is_eager=True, callback=switch, help="Show tracebacks of errors."
    )(command)


class Source(NamedTuple):
    """
    Where rows are read from: OTLP *files* (`-` is standard input), by the settings of *config* or of the environment.
    """

    files: tuple[str, ...]
    config: str | None = None


def source_options(command: Command) -> Command:
    """
    `FILE…`, `--config` and the answer to `--store`; the command gets a *source*.
    """

    @click.argument("files", metavar="[FILE]...", nargs=-1, type=_Readable())
    @click.option("--store", metavar="S", hidden=True)  # until there are stores
    @click.option("--config", metavar="FILE", help="Rules, targets and other settings; else those of TOOLSPAN_CONFIG.")
    @debug_option
    @wraps(command)
    def with_source(files: tuple[str, ...], store: str | None, config: str | None, **rest: object) -> None:
        if store is not None:
            raise InputError(_NO_STORES)
        if not files:
            raise InputError(_NO_SOURCE)
        command(source=Source(files, config), **rest)

    return with_source


def scope_options(command: Command) -> Command:
    """
    The window, the filters and `--by`; the command gets *scope* and *by*.
    """

    @click.option("--since", metavar="T", help="Tasks that ended at T or later: RFC 3339, or an age such as 24h.")
    @click.option("--until", metavar="T", help="Tasks that ended before T.")
    @click.option("--tool", metavar="N", help="Only this tool; the counts of tasks stay.")
    @click.option("--agent", metavar="A", help='Only tasks of this agent; "" for those that name none.')
    @click.option("--service", metavar="S", help="Only tasks of this service.")
    @click.option("--environment", metavar="E", help="Only tasks of this deployment environment.")
    @click.option("--by", type=click.Choice(DIMENSIONS), help="One section for each.")
    @wraps(command)
    def with_scope(
        since: str | None,
        until: str | None,
        tool: str | None,
        agent: str | None,
        service: str | None,
        environment: str | None,
        by: Dimension | None,
        **rest: object,
    ) -> None:
        since_ns, until_ns = parse_window(since, until, now_ns=time.time_ns())
        command(scope=Scope(since_ns, until_ns, tool, agent, service, environment), by=by, **rest)

    return with_scope


def format_option(*formats: str) -> Callable[[Command], Command]:
    """
    `--format`, the first of *formats* where nobody says.
    """
    return click.option(
        "--format",
        "output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How to print it.",
    )
