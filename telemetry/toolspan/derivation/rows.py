"""
Calls in the making → rows.
"""

from operator import attrgetter
from typing import Final

from toolspan.derivation.calls import Execution
from toolspan.derivation.tasks import Frame
from toolspan.records import Call

EPISODE_ORDER: Final = attrgetter("opened_ns", "task_id", "tool", "span_id")
#: 0.26 µs, `Call(…)` 0.47, and there is a row for every call.
make_call: Final = Call._make


def call_row(call: Execution, frame: Frame) -> Call:
    """
    The row of *call*. Agent, service and environment are the task's: every number is grouped by those.
    """
    return make_call(
        (
            call.task_id,
            call.trace_id,
            call.span_id,
            call.tool,
            frame.agent,
            frame.service,
            frame.environment,
            call.started_ns,
            call.ended_ns,
            call.outcome,
            call.error_class,
            call.code,
            call.evidence,
            call.attempts,
            call.waited_ms,
            call.budget_exhausted,
            call.args_hash,
            call.field,
            call.retry_after_ms,
            call.lint,
            call.step_id,
            call.step,
            call.parent_run,
            call.follows,
            call.follow_up,
            call.presumed,
            call.verdict,
            call.wasted_ns,
            call.next_action,
        )
    )
