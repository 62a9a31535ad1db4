"""
Random groups of spans: trees, forests, circles, missing parents, overlapping times, traces joined by task ids.
"""

from typing import Final

from hypothesis import strategies as st

from toolspan.records import CallFacts, EscalationFacts, Judgement, Marks, Role, SpanFacts

#: Short against the millisecond in which a run ends with its task's span, so that both cases come up.
TICK_NS: Final = 400_000

_JUDGEMENTS: Final = (
    Judgement(),
    Judgement(),
    Judgement("ok", "fatal", "LATENT", "text"),
    Judgement("ok", says_ok=True),
    Judgement("error", "transient", "UNAVAILABLE", "http:503", retry_after_ms=2),
    Judgement("error", "transient", "TIMEOUT", "text"),
    Judgement("error", "validation", "BAD_DATE", "envelope", field="date", lint=1),
    Judgement("error", "permission", "DENIED", "envelope"),
    Judgement("error", "business_rule", "CONFLICT", "envelope", says_ok=True),
    Judgement("error", evidence="status"),
    Judgement("error", evidence="exception", model_retry=True),
    Judgement("cancelled", evidence="cancellation"),
    Judgement("cancelled", code="REJECTED", evidence="rejection"),
    Judgement("deferred", evidence="deferral"),
)
_OTHERS_MARKS: Final = (None, None, Marks(task_id="t1"), Marks(task_id="t2"), Marks(step_id="s1"), Marks(step_id="s2"))
_TOOL_MARKS: Final = (Marks(agent="a"), None, Marks(step_id="s1"), Marks(task_id="t1"), Marks(agent="b", service="s"))
_RUN_MARKS: Final = (
    Marks(name="run", agent="a"),
    Marks(name="run", task_id="t1"),
    Marks(name="run", step_id="s1", outcome="resolved"),
    Marks(name="run", environment="prod", outcome="nonsense"),
)

#: Hashes of arguments: two of one key, one of another.
_A: Final = f"1111{'a' * 16}"
_B: Final = f"1111{'b' * 16}"
_ARGS: Final = (None, _A, _B, f"2222{'a' * 16}")
_SPAN_IDS: Final = st.integers(1, 12).map(lambda number: number.to_bytes(8, "big"))
_PARENT_IDS: Final = st.integers(0, 14).map(lambda number: number.to_bytes(8, "big") if number else b"")
_TRACE_IDS: Final = st.sampled_from((b"\1" * 16, b"\1" * 16, b"\2" * 16))
_OTHERS: Final = st.tuples(st.sampled_from(_OTHERS_MARKS), st.sampled_from((0, 0, 404, 503)))
_ESCALATIONS: Final = st.sampled_from(
    (EscalationFacts("span", reason="?"), EscalationFacts("span", "pay"), EscalationFacts("elicitation"))
)


def calls(
    args: tuple[str | None, ...], call_ids: tuple[str, ...], sides: tuple[str, ...]
) -> st.SearchStrategy[CallFacts]:
    """
    What tool spans say of their calls.
    """
    return st.builds(
        CallFacts,
        tool=st.sampled_from(("pay", "book")),
        judgement=st.sampled_from(_JUDGEMENTS),
        call_id=st.sampled_from(call_ids),
        args_hash=st.sampled_from(args),
        side=st.sampled_from(sides),
        request_id=st.sampled_from(("", "1", "2")),
        attempts=st.sampled_from((None, 2)),
        waited_ms=st.sampled_from((None, 5)),
    )


@st.composite
def spans(draw: st.DrawFn, call: st.SearchStrategy[CallFacts]) -> SpanFacts:
    """
    One span; its id may be that of another.
    """
    start = draw(st.integers(0, 24))
    role = draw(st.sampled_from((Role.TOOL, Role.TOOL, Role.TOOL, Role.RUN, Role.OTHER, Role.ESCALATION)))
    facts = SpanFacts(
        draw(_TRACE_IDS),
        draw(_SPAN_IDS),
        draw(_PARENT_IDS),
        start * TICK_NS,
        (start + draw(st.integers(0, 6))) * TICK_NS,
        role,
        is_error=draw(st.booleans()),
    )
    if role == Role.TOOL:
        return facts._replace(call=draw(call), marks=draw(st.sampled_from(_TOOL_MARKS)))
    if role == Role.RUN:
        waits = draw(st.sampled_from((None, None, EscalationFacts("run"))))
        return facts._replace(marks=draw(st.sampled_from(_RUN_MARKS)), escalation=waits)
    if role == Role.ESCALATION:
        return facts._replace(marks=Marks(name="ask"), escalation=draw(_ESCALATIONS))
    marks, status = draw(_OTHERS)
    return facts._replace(marks=marks, http_status=status)


@st.composite
def lone_runs(draw: st.DrawFn) -> list[SpanFacts]:
    """
    One agent run and what lies directly below it: the shape in which calls answer one another most.
    """
    run = SpanFacts(b"\1" * 16, b"\xff" * 8, b"", 0, 40 * TICK_NS, Role.RUN, draw(st.booleans()), Marks("run", "a"))
    call = calls(
        draw(st.sampled_from(((_A,), (None, _A, _B), _ARGS))),
        ("",),
        ("",),
    )
    below = draw(st.lists(spans(call), min_size=2, max_size=12, unique_by=lambda span: span.span_id))
    return [run, *(span._replace(trace_id=run.trace_id, parent_id=run.span_id) for span in below)]


def groups(
    *,
    args: tuple[str | None, ...] = _ARGS,
    call_ids: tuple[str, ...] = ("", "", "c1", "c2"),
    sides: tuple[str, ...] = ("", "client", "server"),
) -> st.SearchStrategy[list[SpanFacts]]:
    """
    Spans of one group or more, each span id once.
    """
    return st.lists(spans(calls(args, call_ids, sides)), max_size=12, unique_by=lambda span: span.span_id)
