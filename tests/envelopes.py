"""
Envelopes for tests, of every class and with whatever a class may carry.
"""

from hypothesis import strategies as st

from toolspan.envelopes.envelope import Failure, Receipt, Success, failure, success
from toolspan.envelopes.hints import clean_hint
from toolspan.taxonomy import CLASSES, TABLE, UNCLASSIFIED_CODE, ErrorClass

#: Codes of the table, which stand for statuses of their own, and any others.
CODES = st.sampled_from(sorted({rule.code for kind in ("http", "grpc") for rule in TABLE[kind]})) | st.from_regex(
    r"[A-Z][A-Z0-9_]{0,61}[A-Z0-9]", fullmatch=True
)
FIELDS = st.sampled_from(("date", "items[2].sku", "guest_count", 'a["b c"].d', "x[0][1]"))
TEXTS = st.text(max_size=60) | st.sampled_from(("", "Slot 14:00 is taken. Free: 11:30.", "größer", "\ud800"))
#: As a model may see them, since a foreign format is read with care.
HINTS = st.text(max_size=60).map(clean_hint) | st.sampled_from(("Slot 14:00 is taken. Free: 11:30.", "größer", "50 %"))
WAITS = st.none() | st.integers(0, 86_400_000)


@st.composite
def failures(draw: st.DrawFn, *, messages: bool = True) -> Failure:
    """
    Failures that keep every rule.
    """
    code = draw(CODES)
    error_class = ErrorClass.FATAL if code == UNCLASSIFIED_CODE else draw(st.sampled_from(CLASSES))
    is_validation, is_transient = error_class is ErrorClass.VALIDATION, error_class is ErrorClass.TRANSIENT
    hint = draw(HINTS)
    if error_class in (ErrorClass.PERMISSION, ErrorClass.BUSINESS_RULE):
        hint = hint or "Ask the owner."
    return failure(
        error_class,
        code,
        hint=hint,
        field=draw(st.none() | FIELDS) if is_validation else None,
        retry_after_ms=draw(WAITS) if is_transient else None,
        message=draw(st.none() | TEXTS) if messages else None,
    )


def json_values() -> st.SearchStrategy[object]:
    """
    What JSON can hold, without numbers that it only holds nearly.
    """
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts
    return st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@st.composite
def successes(draw: st.DrawFn) -> Success:
    """
    Successes with any data, some with a receipt.
    """
    ids = st.none() | st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
    attempts = st.none() | st.integers(1, 9)
    receipt = st.builds(Receipt, operation_id=ids, idempotency_key=ids, attempts=attempts)
    return success(draw(json_values()), receipt=draw(st.none() | receipt))
