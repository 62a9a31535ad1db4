"""
`toolspan calls`: the records, one per call, in order of start.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import click

from toolspan.cli._calls_table import print_calls
from toolspan.cli._csv import write_csv
from toolspan.cli._explain import explain
from toolspan.cli._loading import load, nothing_line
from toolspan.cli._options import Source, format_option, source_options
from toolspan.errors import InputError
from toolspan.records import Call, Rows
from toolspan.scope import Scope
from toolspan.windows import format_time, milliseconds

Value = str | int | float | bool | None

#: The fields of a record and where each comes from; what is not known is None.
FIELDS: Final[Mapping[str, Callable[[Call], Value]]] = {
    "trace_id": lambda call: call.trace_id.hex(),
    "span_id": lambda call: call.span_id.hex(),
    "task_id": lambda call: call.task_id,
    "step_id": lambda call: call.step_id or None,
    "tool": lambda call: call.tool,
    "agent": lambda call: call.agent or None,
    "service": lambda call: call.service or None,
    "started_at": lambda call: format_time(call.started_ns),
    "duration_ms": lambda call: milliseconds(max(0, call.ended_ns - call.started_ns)),
    "outcome": lambda call: call.outcome,
    "class": lambda call: call.error_class,
    "code": lambda call: call.code,
    "evidence": lambda call: call.evidence or None,
    "attempts": lambda call: call.attempts,
    "follows": lambda call: None if call.follows is None else call.follows.hex(),
    "follow_up": lambda call: call.follow_up,
    "presumed": lambda call: call.presumed,
    "verdict": lambda call: call.verdict,
}

#: Fewer are a slip of the hand rather than an id.
_MIN_DIGITS: Final = 4


@click.command("calls")
@source_options
@click.option("--task", metavar="ID", help="Only the calls of this task.")
@click.option("--tool", metavar="N", help="Only the calls of this tool.")
@click.option("--explain", "span", metavar="[TRACE/]SPAN", help="Print the whole chain of evidence of one call.")
@format_option("jsonl", "csv", "table")
def calls(source: Source, task: str | None, tool: str | None, span: str | None, output: str) -> None:
    """
    One record per tool call, in order of start.

    FILE is OTLP as the Collector's file exporter writes it (JSON lines or protobuf, also .gz), or - for standard input.
    """
    rows = load(source).rows
    if span is not None:
        click.echo(explain(find_call(select_calls(rows, task=task, tool=tool), span), rows, source))
        return
    found = select_calls(rows, task=task, tool=tool)
    if output == "jsonl":
        write_jsonl(found)
    elif output == "csv":
        write_csv(sys.stdout, list(FIELDS), ([read(call) for read in FIELDS.values()] for call in found))
    elif found:
        print_calls(found)
    else:
        click.echo(nothing_line(rows, Scope(tool=tool)))


def select_calls(rows: Rows, *, task: str | None, tool: str | None) -> list[Call]:
    """
    The calls of *task* and *tool* (of all where None) in order of start, whatever file or trace they are from.

    Raises:
        InputError: no task has that id.
    """
    if task is not None and not any(row.task_id == task for row in rows.tasks):
        raise InputError(f"No task {task!r} in these spans; toolspan calls without --task shows the ids there are.")
    found = [call for call in rows.calls if task in (None, call.task_id) and tool in (None, call.tool)]
    return sorted(found, key=lambda call: (call.started_ns, call.trace_id, call.span_id))


def find_call(found: Iterable[Call], span: str) -> Call:
    """
    The call whose span id is *span* in hex, or begins with it; `TRACE/SPAN` where several traces have that span id.

    Raises:
        InputError: *span* is no span id, or of no call, or of several.
    """
    trace, slash, wanted = span.lower().rpartition("/")
    wanted = wanted.removeprefix("0x")
    if not _is_start_of_id(wanted) or (slash and not _is_start_of_id(trace)):
        raise InputError(f"{span!r} is no span id: give 16 hex digits, or the first of them (at least 4).")
    matches = [call for call in found if _begins(call, trace, wanted)]
    if not matches:
        raise InputError(f"No call has the span id {span}; toolspan calls lists them, toolspan doctor other spans.")
    if len(matches) == 1:
        return matches[0]
    if len({call.span_id for call in matches}) > 1:
        raise InputError(f"{len(matches)} calls have a span id that begins with {span}; give more digits.")
    example = f"{matches[-1].trace_id.hex()}/{matches[-1].span_id.hex()}"
    raise InputError(f"{len(matches)} calls have the span id {span}; say whose: {example}, or with --task.")


def _is_start_of_id(text: str) -> bool:
    return len(text) >= _MIN_DIGITS and not text.strip("0123456789abcdef")


def _begins(call: Call, trace: str, span: str) -> bool:
    return call.span_id.hex().startswith(span) and call.trace_id.hex().startswith(trace)


def write_jsonl(found: Sequence[Call]) -> None:
    """
    One JSON object per line on standard output.
    """
    encode = json.JSONEncoder(allow_nan=False).encode
    for call in found:
        sys.stdout.write(f"{encode({name: read(call) for name, read in FIELDS.items()})}\n")
