"""
The attribute names that are not a convention's own: toolspan's tags and OpenTelemetry's general ones.

What a convention of agent frameworks calls its tool, call id, arguments or result is in `conventions.py`.
"""

from typing import Final

# toolspan's own: set by `@tool`, `task()`, `step()`, `escalate()`, or derived by the span processor
KIND: Final = "toolspan.kind"
TASK_ID: Final = "toolspan.task.id"
TASK_OUTCOME: Final = "toolspan.task.outcome"
STEP_ID: Final = "toolspan.step.id"
ESCALATION_TOOL: Final = "toolspan.escalation.tool"
ESCALATION_REASON: Final = "toolspan.escalation.reason"
ERROR_CLASS: Final = "toolspan.error.class"
ERROR_CODE: Final = "toolspan.error.code"
ERROR_FIELD: Final = "toolspan.error.field"
ERROR_RETRY_AFTER_MS: Final = "toolspan.error.retry_after_ms"
CALL_OUTCOME: Final = "toolspan.call.outcome"
CALL_ATTEMPTS: Final = "toolspan.call.attempts"
CALL_WAITED_MS: Final = "toolspan.call.waited_ms"
CALL_BUDGET_EXHAUSTED: Final = "toolspan.call.budget_exhausted"
CALL_ARGS_HASH: Final = "toolspan.call.args_hash"
#: Written, never read: links are always derived.
CALL_FOLLOWS: Final = "toolspan.call.follows"
CALL_FOLLOW_UP: Final = "toolspan.call.follow_up"
#: Written, never read: the code with which the guard stopped a call before its tool ran.
CALL_STOPPED: Final = "toolspan.call.stopped"
TAGGED: Final = "toolspan.tagged"

#: An event on the span of a `@tool`: an attempt that failed. Written, never read.
ATTEMPT_EVENT: Final = "toolspan.attempt"
ATTEMPT_NUMBER: Final = "toolspan.attempt.number"
ATTEMPT_LIMIT: Final = "toolspan.attempt.limit"
ATTEMPT_PAUSE_MS: Final = "toolspan.attempt.pause_ms"

#: Every attribute of ours that is read.
OWN: Final = (
    KIND,
    TASK_ID,
    TASK_OUTCOME,
    STEP_ID,
    ESCALATION_TOOL,
    ESCALATION_REASON,
    ERROR_CLASS,
    ERROR_CODE,
    ERROR_FIELD,
    ERROR_RETRY_AFTER_MS,
    CALL_OUTCOME,
    CALL_ATTEMPTS,
    CALL_WAITED_MS,
    CALL_BUDGET_EXHAUSTED,
    CALL_ARGS_HASH,
    TAGGED,
)

#: values of `toolspan.kind`
KIND_TASK: Final = "task"
KIND_ESCALATION: Final = "escalation"
#: value of `toolspan.tagged` where the tags were derived, not stated by the tool
TAGGED_BY_PROCESSOR: Final = "processor"

# OpenTelemetry, general (https://opentelemetry.io/docs/specs/semconv/)
ERROR_TYPE: Final = "error.type"
EXCEPTION_EVENT: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"
HTTP_STATUS: Final = ("http.response.status_code", "http.status_code")
GRPC_STATUS: Final = ("rpc.grpc.status_code",)
RPC_STATUS: Final = ("rpc.response.status_code", "rpc.jsonrpc.error_code")
SQLSTATE: Final = ("db.response.status_code",)
RETRY_AFTER_HEADER: Final = "http.response.header.retry-after"

# span kinds and status codes of OTLP (opentelemetry/proto/trace/v1/trace.proto)
KIND_SERVER: Final = 2
KIND_CLIENT: Final = 3
STATUS_OK: Final = 1
STATUS_ERROR: Final = 2
