"""
A call as a record that programs read, and back.

The first fields are those of `toolspan calls`; the others are what else is kept of a call, so that a record holds all
of it: whoever got it over a wire has the call itself again.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolspan.records import Call
from toolspan.windows import format_time, milliseconds, parse_time

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
#: What else is kept of a call.
MORE_FIELDS: Final[Mapping[str, Callable[[Call], Value]]] = {
    "environment": lambda call: call.environment or None,
    "ended_at": lambda call: format_time(call.ended_ns),
    "waited_ms": lambda call: call.waited_ms,
    "budget_exhausted": lambda call: call.budget_exhausted,
    "args_hash": lambda call: call.args_hash,
    "field": lambda call: call.field,
    "retry_after_ms": lambda call: call.retry_after_ms,
    "lint": lambda call: call.lint,
    "step": lambda call: call.step,
    "parent_run": lambda call: call.parent_run.hex() or None,
    "wasted_ns": lambda call: call.wasted_ns,
    "next_action": lambda call: call.next_action,
}


def whole_record(call: Call) -> dict[str, Value]:
    """
    All that is kept of *call*.
    """
    return {name: read(call) for fields in (FIELDS, MORE_FIELDS) for name, read in fields.items()}


def call_of(record: Mapping[str, Any]) -> Call:
    """
    The call that `whole_record` made *record* of.

    Raises:
        KeyError, TypeError, ValueError, InputError: it is no such record.
    """
    follows = record["follows"]
    return Call(
        task_id=record["task_id"],
        trace_id=bytes.fromhex(record["trace_id"]),
        span_id=bytes.fromhex(record["span_id"]),
        tool=record["tool"],
        agent=record["agent"] or "",
        service=record["service"] or "",
        environment=record["environment"] or "",
        started_ns=parse_time(record["started_at"], now_ns=0),
        ended_ns=parse_time(record["ended_at"], now_ns=0),
        outcome=record["outcome"],
        error_class=record["class"],
        code=record["code"],
        evidence=record["evidence"] or "",
        attempts=record["attempts"],
        waited_ms=record["waited_ms"],
        budget_exhausted=record["budget_exhausted"],
        args_hash=record["args_hash"],
        field=record["field"],
        retry_after_ms=record["retry_after_ms"],
        lint=record["lint"],
        step_id=record["step_id"] or "",
        step=record["step"],
        parent_run=bytes.fromhex(record["parent_run"] or ""),
        follows=None if follows is None else bytes.fromhex(follows),
        follow_up=record["follow_up"],
        presumed=record["presumed"],
        verdict=record["verdict"],
        wasted_ns=record["wasted_ns"],
        next_action=record["next_action"],
    )
