"""
The ten points of the audit: what each asks of a tool, what it protects from, and what to do where it fails.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class Verdict(StrEnum):
    """
    What became of a point: `unjudged` where it could not be tried, or does not concern the tool.
    """

    PASSED = "passed"
    FAILED = "failed"
    UNJUDGED = "unjudged"


class Point(NamedTuple):
    """
    One thing that is asked of every tool.

    Args:
        number: its place in the list, from 1.
        name: a word for it.
        asks: what holds of a tool that passes.
        protects_from: what happens where it does not.
        fix: what to change in the tool.
    """

    number: int
    name: str
    asks: str
    protects_from: str
    fix: str


ENVELOPE: Final = Point(
    1,
    "envelope",
    "answers every call with the typed envelope",
    "an agent that takes an exception's text, or None, for an answer",
    "Decorate it with @toolspan.tool, or return success() or failure() on every way out.",
)
CLASSES: Final = Point(
    2,
    "classes",
    "names the class of each failure, and a code that stays the same",
    "an agent that takes the wrong way out: it retries what it should rewrite, or gives up on what would pass",
    "Raise ToolError(class, CODE) where the tool knows what failed, or add a rule for the exception.",
)
RETRYABLE: Final = Point(
    3,
    "retryable",
    "says `retryable` of transient failures and of nothing else",
    "calls that are repeated although their first answer was final",
    "Leave `retryable` out, it follows from the class; give what cannot pass unchanged a permanent class.",
)
WAIT: Final = Point(
    4,
    "wait",
    "says how long to wait after a transient failure",
    "an overloaded service that is asked again at once, by every agent",
    "Pass Retry-After on: let the client's exception leave the tool, or give ToolError a retry_after_ms.",
)
FIELD: Final = Point(
    5,
    "field",
    "names the argument that was refused, and what it should have been",
    "a model that rewrites the wrong argument, or the right one by guess",
    "Raise ToolError('validation', CODE, field='items[0].sku', hint=…) with a path into the tool's own arguments.",
)
HINT: Final = Point(
    6,
    "hint",
    "says what is missing after a refusal, and what is allowed in its place",
    "a dead end: neither the model nor the person behind it knows what to do next",
    "Give permission and business_rule failures a hint: whom to ask, or the rule and the nearest alternatives.",
)
SAFE: Final = Point(
    7,
    "safe",
    "shows the model no stack trace, secret or host",
    "credentials in a transcript, and upstream texts that give the model orders",
    "Return no exception or response text; what people should read goes into `message`.",
)
BUDGET: Final = Point(
    8,
    "budget",
    "retries transport failures itself, nothing else, and within a deadline",
    "a model that spends a turn on every lost packet, and a user who waits for retries that cannot help",
    "Declare the budget: @toolspan.tool(retry=toolspan.Retry(attempts=3, deadline=2.0)).",
)
WRITES: Final = Point(
    9,
    "writes",
    "looks a write up before it decides that the write failed",
    "the second payment, booking or mail after a timeout whose first had worked",
    "Give it a parameter idempotency_key to send along, and declare @toolspan.tool(write=toolspan.Write(read_back=…)).",
)
FAULTS: Final = Point(
    10,
    "faults",
    "keeps to all of this under every injected fault",
    "the failure that nobody had tried, found by a customer",
    "Repeat it in a test with toolspan.faults, then raise a ToolError where the tool goes wrong.",
)

POINTS: Final = (ENVELOPE, CLASSES, RETRYABLE, WAIT, FIELD, HINT, SAFE, BUDGET, WRITES, FAULTS)


class Complaint(NamedTuple):
    """
    What a tool does wrong, and *where*: under which fault; empty where it is so always.
    """

    said: str
    where: str = ""


class Reason(NamedTuple):
    """
    What a tool does wrong, and all the *places* where.
    """

    said: str
    places: tuple[str, ...] = ()


class Finding(NamedTuple):
    """
    What became of a point of one tool, and why.
    """

    tool: str
    point: Point
    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
