"""
Facts of spans for tests: times in milliseconds, spans and traces named by short texts.
"""

from collections.abc import Iterable
from typing import Final

from toolspan.records import Call, CallFacts, EscalationFacts, Judgement, Marks, Role, SpanFacts

MS: Final = 1_000_000
OK: Final = Judgement()
#: Arguments, by the key with which they were hashed.
A: Final = "k1k1a"
B: Final = "k1k1b"
FOREIGN: Final = "k2k2a"


def span_id(name: str) -> bytes:
    """
    The id of the span called *name*; ids are in the order of names of one length.
    """
    return name.encode().rjust(8, b"\0")


def trace_id(name: str) -> bytes:
    """
    The id of the trace called *name*.
    """
    return name.encode().rjust(16, b"\0")


def run_task(name: str, *, trace: str = "t") -> str:
    """
    The id of the task that the agent run called *name* is.
    """
    return f"{trace_id(trace).hex()}-{span_id(name).hex()}"


def trace_task(trace: str = "t") -> str:
    """
    The id of the task that a trace is.
    """
    return trace_id(trace).hex()


def failed(error_class: str | None = None, code: str | None = None, *, evidence: str = "text") -> Judgement:
    """
    A failure of a class, with a code of the same name where none is given.
    """
    return Judgement("error", error_class, code or (error_class and error_class.upper()), evidence)


def other(
    name: str,
    above: str = "",
    at: tuple[int, int] = (0, 1000),
    *,
    trace: str = "t",
    is_error: bool = False,
    http_status: int = 0,
    marks: Marks | None = None,
) -> SpanFacts:
    """
    A span that is neither tool, run nor escalation.
    """
    start, end = at
    parent_id = span_id(above) if above else b""
    facts = SpanFacts(trace_id(trace), span_id(name), parent_id, start * MS, end * MS, Role.OTHER, is_error)
    return facts._replace(marks=marks or (None if above else Marks(name)), http_status=http_status)


def run(
    name: str = "run",
    above: str = "",
    at: tuple[int, int] = (0, 1000),
    *,
    trace: str = "t",
    is_error: bool = False,
    waits: bool = False,
    marks: Marks | None = None,
) -> SpanFacts:
    """
    An agent run; it may end waiting for a human.
    """
    facts = other(name, above, at, trace=trace, is_error=is_error, marks=marks or Marks(name, "planner"))
    return facts._replace(role=Role.RUN, escalation=EscalationFacts("run") if waits else None)


def tool(
    name: str,
    above: str = "run",
    at: tuple[int, int] = (0, 10),
    ending: Judgement = OK,
    *,
    tool: str = "s",
    args: str | None = A,
    call_id: str = "",
    side: str = "",
    request_id: str = "",
    attempts: int | None = None,
    waited_ms: int | None = None,
    is_exhausted: bool = False,
    trace: str = "t",
    marks: Marks | None = None,
) -> SpanFacts:
    """
    A tool span.
    """
    facts = other(name, above, at, trace=trace, is_error=ending.outcome == "error", marks=marks or Marks())
    call = CallFacts(tool, ending, call_id, args, side, request_id, attempts, waited_ms, is_exhausted)
    return facts._replace(role=Role.TOOL, call=call)


def escalation(
    name: str, above: str = "run", at: int = 0, *, tool: str = "", source: str = "span", trace: str = "t"
) -> SpanFacts:
    """
    A human is asked.
    """
    facts = other(name, above, (at, at), trace=trace, marks=Marks(name))
    return facts._replace(role=Role.ESCALATION, escalation=EscalationFacts(source, tool))


def names(calls: Iterable[Call]) -> list[str]:
    """
    The names of the spans of *calls*.
    """
    return [call.span_id.lstrip(b"\0").decode() for call in calls]
