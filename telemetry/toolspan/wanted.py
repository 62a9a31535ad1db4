"""
Which attributes are read at all: whatever decodes spans need not look at others.
"""

from typing import Final

from toolspan import attributes as attr
from toolspan import conventions as conv

#: Every attribute that recognition or classification reads of a span.
WANTED: Final = frozenset(
    (
        *(name for name, _ in conv.gate()),
        *attr.OWN,
        attr.ERROR_TYPE,
        attr.RETRY_AFTER_HEADER,
        *attr.HTTP_STATUS,
        *attr.GRPC_STATUS,
        *attr.RPC_STATUS,
        *attr.SQLSTATE,
        *conv.TOOL_NAME,
        *conv.CALL_ID,
        *conv.ARGUMENTS,
        *conv.RESULT,
        *conv.DEFERRALS,
        *conv.AGENT,
        *conv.FINISH_REASONS,
        *(flag.attribute for flag in conv.FAILURE_FLAGS),
        conv.REQUEST_ID,
        conv.OUTPUT_MESSAGES,
        conv.FINAL_RESULT,
        conv.TRACELOOP_ENTITY,
    )
)
#: Every attribute that they read of a span event.
EVENT_WANTED: Final = frozenset(
    (
        attr.EXCEPTION_TYPE,
        attr.EXCEPTION_MESSAGE,
        attr.EXCEPTION_STACKTRACE,
        *(name for content in (*conv.ARGUMENT_EVENTS, *conv.RESULT_EVENTS) for name in content.attributes),
        *conv.FINISH_REASONS,
        conv.OUTPUT_MESSAGES,
    )
)
#: Attributes that make any span carry marks.
MARKING: Final = frozenset(name for name, _ in conv.gate() if name.startswith("toolspan."))
#: Attributes by which an agent run says how it ended; looked for at once, most runs have none.
ENDING: Final = frozenset((*conv.FINISH_REASONS, conv.OUTPUT_MESSAGES, conv.FINAL_RESULT))
