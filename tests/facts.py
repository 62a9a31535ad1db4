"""
Facts of spans for tests: a run, and the calls below it, in milliseconds.
"""

from toolspan.records import CallFacts, EscalationFacts, Judgement, Marks, Role, SpanFacts

MS = 10**6


def trace_id(number: int) -> bytes:
    """
    The trace id that is written as *number*.
    """
    return number.to_bytes(16, "big")


def run(trace: int, *, end: int = 1000, task_id: str = "", outcome: str = "") -> SpanFacts:
    """
    The agent run of *trace*, its span 1.
    """
    return SpanFacts(
        trace_id=trace_id(trace),
        span_id=(1).to_bytes(8, "big"),
        parent_id=b"",
        start_ns=0,
        end_ns=end * MS,
        role=Role.RUN,
        marks=Marks(name="run", agent="planner", task_id=task_id, outcome=outcome),
    )


def tool_span(
    trace: int,
    span: int,
    *,
    start: int,
    tool: str = "search",
    error: tuple[str, str] | None = None,
    args: str | None = "1111000000000000000a",
    task_id: str = "",
) -> SpanFacts:
    """
    A call below the run; it takes 10 ms and fails with the class and code of *error*.
    """
    judgement = Judgement() if error is None else Judgement("error", error[0], error[1], "envelope")
    return SpanFacts(
        trace_id=trace_id(trace),
        span_id=span.to_bytes(8, "big"),
        parent_id=(1).to_bytes(8, "big"),
        start_ns=start * MS,
        end_ns=(start + 10) * MS,
        role=Role.TOOL,
        is_error=error is not None,
        marks=Marks(name=tool, task_id=task_id),
        call=CallFacts(tool=tool, judgement=judgement, args_hash=args),
    )


def escalation(trace: int, span: int, *, at: int, tool: str = "") -> SpanFacts:
    """
    A human is asked; *tool* is empty where the escalation names none.
    """
    return SpanFacts(
        trace_id=trace_id(trace),
        span_id=span.to_bytes(8, "big"),
        parent_id=(1).to_bytes(8, "big"),
        start_ns=at * MS,
        end_ns=at * MS,
        role=Role.ESCALATION,
        marks=Marks(name="ask"),
        escalation=EscalationFacts(source="span", tool=tool),
    )
