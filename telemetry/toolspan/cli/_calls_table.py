"""
`calls --format table`: the calls of each task, as the agent made them.
"""

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from toolspan.cli._tables import Column, open_console, print_lines, print_table
from toolspan.cli._text import inert
from toolspan.records import Call
from toolspan.windows import format_time, milliseconds

_COLUMNS = (
    Column("started"),
    Column("span"),
    Column("tool", is_name=True),
    Column("outcome", is_name=True),
    Column("ms"),
    Column("answer", is_name=True),
)
#: Laying out a row takes 0.1 ms, and nobody reads further; the other formats have all.
_MOST_CALLS = 500
_STYLES = {"error": "red", "cancelled": "dim", "deferred": "yellow"}


def print_calls(found: Sequence[Call]) -> None:
    """
    The last of the calls *found*, by task in order of each task's first call.
    """
    console = open_console()
    shown = found[-_MOST_CALLS:]
    first = {call.task_id: place for place, call in reversed(list(enumerate(shown)))}
    by_task = sorted(shown, key=lambda call: first[call.task_id])
    for task_id, of_task in groupby(by_task, key=lambda call: call.task_id):
        members = list(of_task)
        if first[task_id]:
            console.print()
        day = format_time(members[0].started_ns)[:10]
        console.print(Text(f"task {inert(task_id)}{_named(members[0].agent)}, {day}", style="bold"))
        print_table(console, _COLUMNS, [_row(call) for call in members])
    if len(shown) < len(found):
        print_lines(console, [f"The last {len(shown):,} of {len(found):,} calls; --format jsonl has all."])


def _named(agent: str) -> str:
    return f", agent {inert(agent)}" if agent else ""


def _row(call: Call) -> list[str | Text]:
    named = " ".join(inert(part) for part in (call.error_class, call.code) if part)
    answer = " ".join(part for part in ("presumed" if call.presumed else "", call.verdict, call.follow_up) if part)
    return [
        format_time(call.started_ns)[11:23],
        call.span_id.hex(),
        inert(call.tool),
        Text(named or call.outcome, style=_STYLES.get(call.outcome, "")),
        f"{milliseconds(max(0, call.ended_ns - call.started_ns)):,.0f}",
        answer,
    ]
