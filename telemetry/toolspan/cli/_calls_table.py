"""
`calls --format table`: the calls of each task, as the agent made them.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

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
_MOST_CALLS: Final = 500
_STYLES = {"error": "red", "cancelled": "dim", "deferred": "yellow"}


class Latest(NamedTuple):
    """
    The *calls* that are shown, in order of start, the last of *total*.
    """

    calls: Sequence[Call]
    total: int


def latest_of(found: Iterable[Call]) -> Latest:
    """
    What the table shows of the calls *found*, which need not all be in memory.
    """
    numbered: deque[tuple[int, Call]] = deque(enumerate(found, 1), maxlen=_MOST_CALLS)
    return Latest([call for _, call in numbered], numbered[-1][0] if numbered else 0)


def print_calls(latest: Latest) -> None:
    """
    The *latest* calls, by task in order of each task's first call.
    """
    console = open_console()
    shown = latest.calls
    first = {call.task_id: place for place, call in reversed(list(enumerate(shown)))}
    by_task = sorted(shown, key=lambda call: first[call.task_id])
    for task_id, of_task in groupby(by_task, key=lambda call: call.task_id):
        members = list(of_task)
        if first[task_id]:
            console.print()
        day = format_time(members[0].started_ns)[:10]
        console.print(Text(f"task {inert(task_id)}{_named(members[0].agent)}, {day}", style="bold"))
        print_table(console, _COLUMNS, [_row(call) for call in members])
    if len(shown) < latest.total:
        print_lines(console, [f"The last {len(shown):,} of {latest.total:,} calls; --format jsonl has all."])


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
