"""
The orders in which spans are compared. Both are total, so that the order of arrival never shows in a row.
"""

from toolspan.records import SpanFacts


def by_start(span: SpanFacts) -> tuple[int, bytes, bytes]:
    """
    The order in which spans started, ties by span id, then by trace id.
    """
    return span.start_ns, span.span_id, span.trace_id


def by_end(span: SpanFacts) -> tuple[int, int, bytes, bytes]:
    """
    The order in which spans ended, ties by start, then by span id and trace id.
    """
    return span.end_ns, span.start_ns, span.span_id, span.trace_id
