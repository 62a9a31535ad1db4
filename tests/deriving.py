"""
The calls that facts of spans make, for tests of how spans become calls.
"""

from tests.span_facts import run
from toolspan.derive import derive
from toolspan.records import Call, SpanFacts


def calls(*spans: SpanFacts) -> list[Call]:
    """
    The calls below an agent run.
    """
    return derive([run(), *spans]).calls


def only(*spans: SpanFacts) -> Call:
    """
    The one call below an agent run.
    """
    (call,) = calls(*spans)
    return call


def said(call: Call) -> tuple[str, str | None, str | None, str]:
    """
    How a call ended.
    """
    return call.outcome, call.error_class, call.code, call.evidence
