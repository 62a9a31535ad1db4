"""
Growth: deriving takes time in proportion to the spans, whatever shape an agent in a loop or a sender of nonsense
gives them.

Counted are the steps of the interpreter: they are the same on every machine and in every run.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Final

import pytest

from tests.span_facts import escalation, failed, run, tool
from toolspan.derive import derive
from toolspan.records import Marks, SpanFacts

if TYPE_CHECKING:
    from _typeshed import TraceFunction

DENIED = failed("permission", "DENIED")
DOWN = failed("transient", "UNAVAILABLE")
INVALID = failed("validation", "BAD_DATE")
#: Later than all that starts below.
END = 10**6


def name(number: int, kind: str = "") -> str:
    """
    A name of a span, one per *number* and *kind*.
    """
    return f"{kind}{number:05}"


def asked_after_each(count: int, *, named: bool) -> list[SpanFacts]:
    """
    As many tools, each denied once, and a human asked after each.
    """
    return [
        span
        for n in range(count)
        for span in (
            tool(name(n), at=(10 * n, 10 * n + 5), ending=DENIED, tool=name(n)),
            escalation(name(n, "e"), at=10 * n + 6, tool=name(n) if named else ""),
        )
    ]


def nested(count: int, *, tools: int = 1, ids: int = 1) -> list[SpanFacts]:
    """
    Spans each within the one before, of as many *tools* and task *ids*.
    """
    return [
        tool(
            name(n),
            name(n - 1) if n else "run",
            at=(n, END - n),
            tool=name(n % tools),
            marks=Marks(task_id=name(n % ids)),
        )
        for n in range(count)
    ]


def nested_clients(count: int) -> list[SpanFacts]:
    """
    Clients each within the one before, and as many servers beside them.
    """
    clients = [tool(name(n, "c"), name(n - 1, "c") if n else "run", (n, END), side="client") for n in range(count)]
    return [*clients, *(tool(name(n, "s"), at=(count + n, END), side="server") for n in range(count))]


def nested_servers(count: int) -> list[SpanFacts]:
    """
    Spans each within the one before, with a client and its server in each.
    """
    return [
        span
        for n in range(count)
        for above in [name(n - 1) if n else "run"]
        for span in (
            tool(name(n), above, at=(3 * n, END)),
            tool(name(n, "c"), above, at=(3 * n + 1, END), side="client"),
            tool(name(n, "s"), above, at=(3 * n + 2, END), side="server"),
        )
    ]


def passed_on(count: int) -> list[SpanFacts]:
    """
    A request that every server passes on to the next, whose clock is behind its own.
    """
    return [
        span
        for n in range(count)
        for span in (
            tool(name(n, "c"), name(n - 1, "s") if n else "run", at=(END - 2 * n - 1, END), side="client"),
            tool(name(n, "s"), at=(END - 2 * n, END), side="server"),
        )
    ]


def overlapping_failures(count: int) -> list[SpanFacts]:
    """
    Failures that all last to the end and that any call could answer, after a short one that none does.
    """
    short = tool("short", at=(0, 1), ending=DOWN)
    return [short, *(tool(name(n), at=(n + 2, END), ending=INVALID, args=f"k1k1{n}") for n in range(count))]


def failures_of_many_keys(count: int) -> list[SpanFacts]:
    """
    Failures that overlap, each with arguments hashed with a key of its own, and as many calls of one key after them.
    """
    failures = [tool(name(n), at=(n, END), ending=DOWN, args=f"{n:04}a") for n in range(count)]
    return [*failures, *(tool(name(n, "x"), at=(END + n, END + n), ending=DOWN, args=f"0000{n}") for n in range(count))]


def steps(spans: list[SpanFacts]) -> int:
    """
    How many steps the interpreter takes to derive *spans*, below one agent run.
    """
    taken = 0

    def count(frame: FrameType, event: str, _: object) -> "TraceFunction":
        nonlocal taken
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        taken += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        derive([run(), *spans])
    finally:
        sys.settrace(before)
    return taken


SHAPES: Final[dict[str, Callable[[int], list[SpanFacts]]]] = {
    "asked of none": lambda count: asked_after_each(count, named=False),
    "asked of each": lambda count: asked_after_each(count, named=True),
    "nested": nested,
    "nested tools": lambda count: nested(count, tools=count),
    "nested tasks": lambda count: nested(count, ids=count),
    "nested clients": nested_clients,
    "nested servers": nested_servers,
    "passed on": passed_on,
    "overlapping failures": overlapping_failures,
    "many keys": failures_of_many_keys,
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_work_grows_with_the_spans(shape: Callable[[int], list[SpanFacts]]) -> None:
    """
    Four times as many spans take less than six times as many steps; sixteen times would be every span with every other.
    """
    assert steps(shape(400)) < 6 * steps(shape(100))
