"""
What commands have in common: where rows come from, which of them are asked for, how the answer is printed.
"""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from toolspan.cli._stores import DEFAULT_STORE, STORE_VARIABLE, find_store, require_file, require_packages
from toolspan.errors import InputError
from toolspan.framing.source import display_name
from toolspan.scope import DIMENSIONS, Scope
from toolspan.windows import parse_window

if TYPE_CHECKING:
    from toolspan.remote import Collector

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


_FORMS: Final = "OTLP files (JSON lines, .pb, .gz), or - for standard input"


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
    Where rows are read from: OTLP *files* (`-` is standard input) or a *store*, a file or a collector, by the settings
    of *config* or of the environment.
    """

    files: tuple[str, ...]
    store: "Path | Collector | None" = None
    config: str | None = None


def source_options(command: Command) -> Command:
    """
    `FILE…` or `--store`, and `--config`; the command gets a *source*.
    """

    @click.argument("files", metavar="[FILE]...", nargs=-1, type=_Readable())
    @click.option("--store", metavar="S", help=_store_help("Read the store S instead of files"))
    @config_option
    @debug_option
    @wraps(command)
    def with_source(files: tuple[str, ...], store: str | None, config: str | None, **rest: object) -> None:
        if files and store is not None:
            raise InputError("Give either files or --store; toolspan ingest FILE --store S adds files to a store.")
        found = None if files else find_store(store, environ=os.environ)
        if isinstance(found, Path):
            if not _is_named(store) and not os.path.lexists(found):
                raise InputError(f"No {DEFAULT_STORE} is here: give {_FORMS}, or a store by --store.")
            require_packages()
        command(source=Source(files, found, config), **rest)

    return with_source


def _is_named(store: str | None) -> bool:
    """
    Whether somebody said which store, here or in the environment.
    """
    return store is not None or bool(os.environ.get(STORE_VARIABLE))


def input_options(command: Command) -> Command:
    """
    `FILE…`; the command gets *files*, at least one.
    """

    @click.argument("files", metavar="FILE...", nargs=-1, type=_Readable())
    @wraps(command)
    def with_files(files: tuple[str, ...], **rest: object) -> None:
        if not files:
            raise InputError(f"Nothing to read: give {_FORMS}.")
        command(files=files, **rest)

    return with_files


def store_option(what: str, *, is_file: bool = False, extra: str = "duckdb") -> Callable[[Command], Command]:
    """
    `--store`, which says *what* is done with it; the command gets the *store*, a path or a collector: where it
    *is_file*, a path. For a file *extra* has to be installed.
    """

    def decorate(command: Command) -> Command:
        @click.option("--store", metavar="S", help=_store_help(what, is_file=is_file))
        @wraps(command)
        def with_store(store: str | None, **rest: object) -> None:
            found = find_store(store, environ=os.environ)
            if is_file:
                require_file(found)
            if isinstance(found, Path):
                require_packages(extra)
            command(store=found, **rest)

        return with_store

    return decorate


def _store_help(what: str, *, is_file: bool = False) -> str:
    kinds = "a DuckDB file" if is_file else "a DuckDB file, or the address of a collector (http://HOST:PORT)"
    return f"{what}: {kinds}; else that of {STORE_VARIABLE}, else ./{DEFAULT_STORE}."


def config_option(command: Command) -> Command:
    """
    `--config`.
    """
    return click.option(
        "--config", metavar="FILE", help="Rules, targets and other settings; else those of TOOLSPAN_CONFIG."
    )(command)


def scope_options(command: Command) -> Command:
    """
    The window and the filters; the command gets a *scope*.
    """

    @click.option("--since", metavar="T", help="Tasks that ended at T or later: RFC 3339, or an age such as 24h.")
    @click.option("--until", metavar="T", help="Tasks that ended before T.")
    @click.option("--tool", metavar="N", help="Only this tool; the counts of tasks stay.")
    @click.option("--agent", metavar="A", help='Only tasks of this agent; "" for those that name none.')
    @click.option("--service", metavar="S", help="Only tasks of this service.")
    @click.option("--environment", metavar="E", help="Only tasks of this deployment environment.")
    @wraps(command)
    def with_scope(
        since: str | None,
        until: str | None,
        tool: str | None,
        agent: str | None,
        service: str | None,
        environment: str | None,
        **rest: object,
    ) -> None:
        since_ns, until_ns = parse_window(since, until, now_ns=time.time_ns())
        command(scope=Scope(since_ns, until_ns, tool, agent, service, environment), **rest)

    return with_scope


def by_option(command: Command) -> Command:
    """
    `--by`.
    """
    return click.option("--by", type=click.Choice(DIMENSIONS), help="One section for each.")(command)


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


class _Share(click.FloatRange):
    """
    A number from 0 to 1; click's own range lets in what is no number at all.
    """

    name = "number"

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """
        *value* as a number.
        """
        share = float(super().convert(value, param, ctx))
        return self.fail(f"{value} is not in the range 0<=x<=1.", param, ctx) if math.isnan(share) else share


class _Count(click.IntRange):
    """
    A whole number.
    """

    name = "whole number"


def share_option(name: str, what: str) -> Callable[[Command], Command]:
    """
    The option *name*, a share.
    """
    return click.option(name, metavar="X", type=_Share(), help=what)


def count_option(name: str, what: str, *, least: int) -> Callable[[Command], Command]:
    """
    The option *name*, a whole number of at *least* so much.
    """
    return click.option(name, metavar="N", type=_Count(min=least), help=what)
