"""
What to change in a tool, by what recurs: for the person who owns it, and is not the one on call.

A class tells who or what must change before a call can succeed; these are the changes that make an agent see it.
"""

from collections.abc import Mapping
from typing import Final

from toolspan.taxonomy import ErrorClass

#: After failures of a class were retried: what the tool should say or do instead.
AFTER_RETRIES: Final[Mapping[str, str]] = {
    ErrorClass.TRANSIENT: (
        "Retry inside the tool, with back-off and a deadline, and return `retry_after_ms`; the agent then retries once"
        " or not at all."
    ),
    ErrorClass.VALIDATION: (
        "Return `retryable: false`, the `field` that is wrong and a `hint` with a value that would be accepted: the"
        " agent repeats a call when it cannot see what to change."
    ),
    ErrorClass.PERMISSION: (
        "Return class `permission` with `retryable: false` and a `hint` that says who can allow it, and tell the agent"
        " to stop calling the tool and escalate."
    ),
    ErrorClass.BUSINESS_RULE: (
        "Return class `business_rule` with `retryable: false`, the rule and what is possible instead in `hint`: it"
        " is an answer to explain, not an outage to sit out."
    ),
    ErrorClass.FATAL: (
        "Return class `fatal` with `retryable: false`: no call of the agent can help, so it should report what"
        " succeeded and stop."
    ),
    ErrorClass.UNCLASSIFIED: (
        "Give these failures a class: return the envelope, or add a rule for their evidence (page Quality of errors)."
    ),
}
RULE_AS_TRANSIENT: Final = (
    "Stop calling it transient: the same call never succeeds later. Return class `business_rule` with"
    " `retryable: false` and what to do instead in `hint`."
)
REPAIR: Final = (
    "Say in the description of {what} which form is accepted, with an example, and return that example in the `hint`"
    " of the error, so that the next call can be right."
)
REPAIR_UNNAMED: Final = (
    "Name the `field` that is wrong in the error and give a `hint` with a value that would be accepted; without them"
    " the agent guesses."
)
ESCALATE_AT_ONCE: Final = (
    "Say in the error that no retry helps (`retryable: false`) and whom to ask; let the agent's instructions name the"
    " escalation as the only next step."
)
ESCALATE_AT_ALL: Final = (
    "Give the agent a way to ask a human (an approval step, a handoff) and say in the `hint` that this is the next"
    " step; where it exists, record it as an escalation."
)
