"""
`calls --explain`: why one call counts as it does.
"""

from collections.abc import Iterator

from toolspan.cli._options import Source
from toolspan.cli._text import inert
from toolspan.records import Call, Rows
from toolspan.windows import format_time, milliseconds


def explain(call: Call, rows: Rows, source: Source) -> str:
    """
    What is known of *call*, and the calls before and after it that it is linked to.

    Its spans can be read again from *source*.
    """
    del source
    linked = {(other.task_id, other.span_id): other for other in rows.calls if other.task_id == call.task_id}
    lines = [*_identity(call), *_ending(call)]
    if call.follows is not None and (call.task_id, call.follows) in linked:
        lines.append(f"answers    {_reference(linked[call.task_id, call.follows])}: {_link(call)}")
    lines.extend(
        f"answered   {_reference(other)}: {_link(other)}" for other in linked.values() if other.follows == call.span_id
    )
    if call.next_action is not None:
        lines.append(f"next       {call.next_action}")
    return "\n".join(lines)


def _identity(call: Call) -> Iterator[str]:
    yield f"call       {inert(call.tool)}, span {call.span_id.hex()} in trace {call.trace_id.hex()}"
    yield f"task       {inert(call.task_id)}, step {inert(call.step_id or call.step)}"
    yield f"time       {format_time(call.started_ns)}, {milliseconds(call.ended_ns - call.started_ns)} ms"
    yield f"arguments  {inert(call.args_hash) if call.args_hash else 'unknown: links of this call are presumed'}"


def _ending(call: Call) -> Iterator[str]:
    named = " ".join(inert(part) for part in (call.error_class, call.code) if part)
    yield f"outcome    {call.outcome}{f', {named}' if named else ''}"
    if call.evidence:
        yield f"evidence   {inert(call.evidence, longest=300)}"


def _link(call: Call) -> str:
    verdict = f", {call.verdict}" if call.verdict else ""
    return f"{call.follow_up}{verdict}{', presumed' if call.presumed else ''}"


def _reference(call: Call) -> str:
    named = f" {inert(call.code)}" if call.code else ""
    return f"{call.span_id.hex()} ({call.outcome}{named})"
