"""
What the guard says when it stops a call: a code, the class that tells the agent what to do, a hint for its next step.

The texts are written here and complete; nothing of what a tool or a document said is put into them.
"""

from typing import Final, NamedTuple

from toolspan.taxonomy import ErrorClass


class Refusal(NamedTuple):
    """
    Why a call was stopped before its tool ran. *retry_after_ms* and *field* are those of an envelope.
    """

    code: str
    error_class: ErrorClass
    hint: str
    retry_after_ms: int | None = None
    field: str | None = None


IDENTICAL_CALL: Final = Refusal(
    "IDENTICAL_CALL",
    ErrorClass.VALIDATION,
    "The call was not made: these very arguments were found invalid before. Change the argument at fault, then call"
    " once more.",
)
REWRITE_LIMIT: Final = Refusal(
    "REWRITE_LIMIT",
    ErrorClass.BUSINESS_RULE,
    "The call was not made: the arguments were rewritten as often as is allowed and are still invalid. Ask for what is"
    " missing, or go on without this tool.",
)
RETRY_LIMIT: Final = Refusal(
    "RETRY_LIMIT",
    ErrorClass.BUSINESS_RULE,
    "The call was not made: it failed and was repeated as often as is allowed in this step. Go on without it, or say"
    " that it cannot be done now.",
)
RETRY_TOO_EARLY: Final = Refusal(
    "RETRY_TOO_EARLY",
    ErrorClass.TRANSIENT,
    "The call was not made: the tool asked for a longer wait. Repeat the same call after retry_after_ms.",
)
ESCALATION_REQUIRED: Final = Refusal(
    "ESCALATION_REQUIRED",
    ErrorClass.PERMISSION,
    "The call was not made: this tool was denied, and no human was asked since. Stop calling it and escalate; after"
    " that it may be called once.",
)
RULE_UNCHANGED: Final = Refusal(
    "RULE_UNCHANGED",
    ErrorClass.BUSINESS_RULE,
    "The call was not made: the same call broke a rule before, and it would again. Explain the rule, or choose one of"
    " the alternatives that were offered.",
)
CAUSE_UNKNOWN: Final = Refusal(
    "CAUSE_UNKNOWN",
    ErrorClass.FATAL,
    "The call was not made: the same call failed before and nobody can tell why. Report it; do not repeat it.",
)
TOOL_ABANDONED: Final = Refusal(
    "TOOL_ABANDONED",
    ErrorClass.FATAL,
    "The call was not made: this tool is broken and stays so until a developer mends it. Abandon the plan and report"
    " what succeeded.",
)
CALL_LIMIT: Final = Refusal(
    "CALL_LIMIT",
    ErrorClass.FATAL,
    "The call was not made: this task has used up the calls that it may make. Stop, and report what succeeded.",
)
COST_LIMIT: Final = Refusal(
    "COST_LIMIT",
    ErrorClass.FATAL,
    "The call was not made: it would cost more than this task may spend. Stop, and report what succeeded.",
)
REPEATED_STATE: Final = Refusal(
    "REPEATED_STATE",
    ErrorClass.FATAL,
    "The call was not made: this task comes back to where it was and makes no progress. Stop, and report what"
    " succeeded.",
)

ALL: Final = (
    IDENTICAL_CALL,
    REWRITE_LIMIT,
    RETRY_LIMIT,
    RETRY_TOO_EARLY,
    ESCALATION_REQUIRED,
    RULE_UNCHANGED,
    CAUSE_UNKNOWN,
    TOOL_ABANDONED,
    CALL_LIMIT,
    COST_LIMIT,
    REPEATED_STATE,
)
