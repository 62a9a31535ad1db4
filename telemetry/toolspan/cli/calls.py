"""
`toolspan calls`: the records, one per call, in order of start.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import click

from toolspan.call_records import FIELDS
from toolspan.cli._calls_table import latest_of, print_calls
from toolspan.cli._csv import write_csv
from toolspan.cli._explain import explain, explain_stored
from toolspan.cli._messages import say
from toolspan.cli._names import nothing_line
from toolspan.cli._options import Source, format_option, scope_options, source_options
from toolspan.cli._output import PATIENCE_S, Output, PatientOutput
from toolspan.cli._reading import CallKey, Reading, reading
from toolspan.errors import InputError
from toolspan.records import Call
from toolspan.scope import Scope

#: Fewer are a slip of the hand rather than an id.
_MIN_DIGITS: Final = 4
_PURPOSE: Final = "toolspan calls"


@click.command("calls")
@source_options
@click.option("--task", metavar="ID", help="Only the calls of this task.")
@scope_options
@click.option("--explain", "span", metavar="[TRACE/]SPAN", help="Print the whole chain of evidence of one call.")
@format_option("jsonl", "csv", "table")
def calls(source: Source, scope: Scope, task: str | None, span: str | None, output: str) -> None:
    """
    One record per tool call, in order of start.

    FILE is OTLP as the Collector's file exporter writes it (JSON lines or protobuf, also .gz), or - for standard input.
    """
    if span is not None:
        click.echo(_explained(source, span, scope=scope, task=task))
    elif output == "table":
        _print_table(source, scope=scope, task=task)
    else:
        stream = PatientOutput(sys.stdout, patience_s=PATIENCE_S if isinstance(source.store, Path) else None)
        with reading(source, purpose=_PURPOSE) as (asked, _):
            found = _select(asked, scope=scope, task=task)
            first = next(found, None)
            nothing = nothing_line(asked.names(), scope) if first is None else ""
            shown = found if first is None else chain([first], found)
            if output == "jsonl":
                write_jsonl(stream, shown)
            else:
                write_csv(stream, list(FIELDS), ([read(call) for read in FIELDS.values()] for call in shown))
        stream.finish()
        if nothing:
            say(nothing)  # the output stays what programs read


def write_jsonl(stream: Output, found: Iterable[Call]) -> None:
    """
    One JSON object per line.
    """
    encode = json.JSONEncoder(allow_nan=False).encode
    for call in found:
        stream.write(f"{encode({name: read(call) for name, read in FIELDS.items()})}\n")


def find_call(found: Iterable[CallKey], span: str) -> CallKey:
    """
    The one of *found*, whose span ids begin with *span*, that is meant: `TRACE/SPAN` where several traces have it.

    Raises:
        InputError: it is none, or several.
    """
    trace, wanted = _parts(span)
    matches = [call for call in found if _begins(call, trace, wanted)]
    if not matches:
        raise InputError(f"No call has the span id {span}; toolspan calls lists them, toolspan doctor other spans.")
    if len(matches) == 1:
        return matches[0]
    if len({call.span_id for call in matches}) > 1:
        raise InputError(f"{len(matches)} calls have a span id that begins with {span}; give more digits.")
    example = f"{matches[-1].trace_id.hex()}/{matches[-1].span_id.hex()}"
    raise InputError(f"{len(matches)} calls have the span id {span}; say whose: {example}, or with --task.")


def _begins(call: CallKey, trace: str, span: str) -> bool:
    return call.span_id.hex().startswith(span) and call.trace_id.hex().startswith(trace)


def _select(asked: Reading, *, scope: Scope, task: str | None) -> Iterator[Call]:
    """
    The calls in *scope* and of *task*.
    """
    _require_task(asked, task)
    return asked.calls(scope=scope, task_id=task)


def _require_task(asked: Reading, task: str | None) -> None:
    """
    Raises:
        InputError: no task has that id: it was copied, and an empty answer would hide that it is of something else.
    """
    if task is not None and not asked.has_task(task):
        raise InputError(f"No task {task!r} here; toolspan calls without --task shows the ids there are.")


def _print_table(source: Source, *, scope: Scope, task: str | None) -> None:
    with reading(source, purpose=_PURPOSE) as (asked, _):
        latest = latest_of(_select(asked, scope=scope, task=task))
        nothing = "" if latest.total else nothing_line(asked.names(), scope)
    if nothing:
        click.echo(nothing)
    else:
        print_calls(latest)


def _explained(source: Source, span: str, *, scope: Scope, task: str | None) -> str:
    _, wanted = _parts(span)
    with reading(source, purpose=_PURPOSE) as (asked, _):
        _require_task(asked, task)
        found = [call for call in asked.find_calls(wanted) if task in (None, call.task_id)]
        key = find_call([call for call in found if scope.tool in (None, call.tool)], span)
        of_task = list(asked.calls(task_id=key.task_id))
        kept = asked.spans_of(key)
    call = next(each for each in of_task if (each.trace_id, each.span_id) == (key.trace_id, key.span_id))
    return explain(call, of_task, source) if source.store is None else explain_stored(call, of_task, kept)


def _parts(span: str) -> tuple[str, str]:
    """
    The beginnings of a trace id and of a span id that *span* names, in hex.

    Raises:
        InputError: it is no span id.
    """
    trace, slash, wanted = span.lower().rpartition("/")
    wanted = wanted.removeprefix("0x")
    if not _is_start_of_id(wanted) or (slash and not _is_start_of_id(trace)):
        raise InputError(f"{span!r} is no span id: give 16 hex digits, or the first of them (at least 4).")
    return trace, wanted


def _is_start_of_id(text: str) -> bool:
    return len(text) >= _MIN_DIGITS and not text.strip("0123456789abcdef")
