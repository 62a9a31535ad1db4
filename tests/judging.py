"""
Judging one span, for tests of classification.
"""

from tests import otlp_builder as build
from toolspan.arguments import ArgumentHasher
from toolspan.otlp import Decoder
from toolspan.recognise import Recogniser
from toolspan.records import Judgement
from toolspan.rules import RuleBook

ENVELOPE = '{"ok": false, "error": {"code": "SLOT_TAKEN", "class": "business_rule", "hint": "x"}}'


def judge(
    values: dict[str, object] | None = None,
    *,
    status: int = 0,
    message: str = "",
    exception: tuple[str, str, str] | None = None,
    rules: RuleBook | None = None,
) -> Judgement:
    """
    The judgement of a tool span, of a cold and of a warm cache alike.
    """
    decoder = Decoder(Recogniser(rules or RuleBook(()), ArgumentHasher(b"key")))
    events: list[dict[str, object]] = []
    if exception is not None:
        kind, text, stack = exception
        events.append(build.event(exception_type=kind, exception_message=text, exception_stacktrace=stack))
    span = build.tool_span(2, "book_room", values, parent=1, status=status, message=message, events=events)
    cold, warm = decoder.decode_json(build.json_line([span, {**span, "spanId": "03" * 8}])).spans
    assert cold.call is not None
    assert warm.call is not None
    assert cold.call.judgement == warm.call.judgement
    return cold.call.judgement


def said(judgement: Judgement) -> tuple[str, str | None, str | None]:
    """
    Outcome, class and code of *judgement*.
    """
    return judgement.outcome, judgement.error_class, judgement.code
