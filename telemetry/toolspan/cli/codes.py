"""
`toolspan codes`: whether the codes of tools still mean what the project's registry says they mean.

The registry is a file that a project commits. `check` compares it with what was seen in spans and with an older state
of itself; `update` adds what was seen and is not in it.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Final

import click

from toolspan.cli._json_texts import read_text
from toolspan.cli._options import Source, debug_option, format_option, scope_options, source_options
from toolspan.cli._reading import reading
from toolspan.cli._stores import DEFAULT_STORE, STORE_VARIABLE
from toolspan.cli._text import counted, inert, one_line
from toolspan.envelopes.codes import (
    DEFAULT_REGISTRY,
    CodeChange,
    Registry,
    SeenCode,
    compare_registries,
    compare_seen,
    format_registry,
    parse_registry,
    with_seen,
)
from toolspan.errors import InputError
from toolspan.framing.source import display_name
from toolspan.scope import Scope

_FAILED: Final = 1
_SAID: Final = {
    "added": "is new, class {after}",
    "removed": "is gone; it had class {before}",
    "class": "has class {before} and now {after}",
    "meaning": "meant {before!r} and now {after!r}",
    "unregistered": "is not registered; it was seen with class {after}",
    "two_classes": "is not registered, and was seen with the classes {after}",
}


def _seen_options(command: Callable[..., None]) -> Callable[..., None]:
    """
    The options of what reads spans; with `--against` there need be none, and *source* is None then.
    """
    with_source = source_options(command)

    @wraps(with_source)
    def with_any(files: tuple[str, ...], store: str | None, config: str | None, **rest: object) -> None:
        is_named = bool(files or store is not None or os.environ.get(STORE_VARIABLE) or os.path.lexists(DEFAULT_STORE))
        if not is_named and rest.get("against") is not None:
            command(source=None, **rest)
        else:
            with_source(files=files, store=store, config=config, **rest)

    return with_any


def _registry_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--registry", metavar="FILE", default=DEFAULT_REGISTRY, show_default=True, help="The registry of codes."
    )(command)


@click.group("codes", invoke_without_command=True)
@debug_option
@click.pass_context
def codes(context: click.Context) -> None:
    """
    Whether the codes of errors still mean what they meant.

    The registry of a project, a file that it commits, has a line for each code of each tool: its class and meaning.
    """
    if context.invoked_subcommand is None:
        # click would print all of its help as the error
        raise click.UsageError("Missing command: check or update.", context)


@codes.command("check")
@_seen_options
@scope_options
@_registry_option
@click.option("--against", metavar="OLD", help="An older state of the registry, - for standard input.")
@click.option("--strict", is_flag=True, help="Exit 1 also where a code was seen that is not registered.")
@format_option("text", "json")
def check(source: Source | None, scope: Scope, registry: str, against: str | None, strict: bool, output: str) -> None:
    """
    Exit 1 where a code has another class or meaning than it had, or is gone; a new one is said.

    Compares what spans show with the registry, and with --against the registry with what it was: git show
    main:toolspan-codes.csv | toolspan codes check --against -
    """
    now = _read_registry(registry)
    changes = [] if against is None else compare_registries(_read_registry(against), now)
    seen = [] if source is None else _seen(source, scope)
    changes += compare_seen(now, seen)
    is_kept = not any(change.is_breaking or (strict and change.kind == "unregistered") for change in changes)
    if output == "json":
        document = {
            "registry": registry,
            "kept": is_kept,
            "registered": len(now.entries),
            "seen": len(seen),
            "changes": [{**change._asdict(), "breaking": change.is_breaking} for change in changes],
        }
        click.echo(json.dumps(document, indent=2))
    else:
        for line in change_lines(changes, registry=now, name=display_name(registry)):
            click.echo(line)
    if not is_kept:
        raise click.exceptions.Exit(_FAILED)


@codes.command("update")
@source_options
@scope_options
@_registry_option
def update(source: Source, scope: Scope, registry: str) -> None:
    """
    Add the codes that were seen and are not in the registry; nothing in it changes.

    Exit 1 where a code was seen with another class than it has there, or with two: that is for people to settle.
    """
    path = Path(registry)
    before = _read_registry(registry) if path.exists() else Registry({})
    seen = _seen(source, scope)
    after = with_seen(before, seen)
    if after != before:
        _write(path, format_registry(after))
    added = len(after.entries) - len(before.entries)
    unsettled = [change for change in compare_seen(after, seen) if change.is_breaking]
    for change in unsettled:
        click.echo(_line(change, name=display_name(registry)))
    what = " Write down what they mean." if added else ""
    click.echo(f"{counted(added, 'code')} added to {display_name(registry)}.{what}")
    if unsettled:
        raise click.exceptions.Exit(_FAILED)


def _read_registry(file: str) -> Registry:
    if file == DEFAULT_REGISTRY and not Path(file).exists():
        raise InputError(f"No {file} is here: toolspan codes update makes it from spans, or name one by --registry.")
    return parse_registry(read_text(file), name=display_name(file))


def _write(path: Path, text: str) -> None:
    """
    Puts *text* in the place of the file *path* at once: half a registry would look like codes that are gone.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _seen(source: Source, scope: Scope) -> list[SeenCode]:
    """
    The codes of the failed calls of *source*.
    """
    with reading(source, purpose="toolspan codes") as (asked, _):
        found = Counter(
            (call.tool, call.code, call.error_class)
            for call in asked.calls(scope=scope)
            if call.outcome == "error" and call.code is not None and call.error_class is not None
        )
    return [SeenCode(*key, calls) for key, calls in sorted(found.items())]


def change_lines(changes: Sequence[CodeChange], *, registry: Registry, name: str) -> Iterator[str]:
    """
    A line for each of *changes*, what breaks first, and how many codes there are.
    """
    for change in sorted(changes, key=lambda change: not change.is_breaking):
        yield _line(change, name=name)
    broken = sum(change.is_breaking for change in changes)
    blank = sum(not entry.meaning for entry in registry.entries.values())
    meaning = f"; {blank:,} without a meaning" if blank else ""
    verdict = counted(broken, "breaking change") if broken else "no breaking change"
    yield f"{counted(len(registry.entries), 'registered code')}, {verdict}{meaning}."


def _line(change: CodeChange, *, name: str) -> str:
    """
    *change* in words, with its place in the file *name* where it has one.
    """
    place = f"{name}:{change.line}: " if change.line and change.kind != "removed" else ""
    said = one_line(_SAID[change.kind].format(before=change.before, after=change.after))
    return f"{'! ' if change.is_breaking else ''}{place}{inert(change.tool)} {inert(change.code)} {said}."
