"""
Failures as others write them, in both directions: what the formats have in common.

A foreign document says less than an envelope, or says it wrongly, and its texts are an upstream's. So reading one never
fails over a rule: what does not belong to its class is left out, a hint that its class needs and that nobody gave is
ours, and a given one is cleaned. Writing one looks up the table the other way round: of the statuses that mean the
failure's class, that of its code, else the one given for the class; so that whoever reads the status finds the class.
"""

from collections.abc import Mapping
from typing import Final

from toolspan.envelopes.envelope import Failure, clean_hint, failure
from toolspan.evidence.error_documents import to_code
from toolspan.evidence.statuses import Named
from toolspan.taxonomy import TABLE, UNCLASSIFIED_CODE, ErrorClass
from toolspan.tools.failures import HINTS

_NEED_HINTS: Final = (ErrorClass.PERMISSION, ErrorClass.BUSINESS_RULE)


def foreign_failure(
    named: Named | None,
    *,
    code: object = None,
    hint: object = None,
    field: object = None,
    retry_after_ms: int | None = None,
    message: object = None,
) -> Failure:
    """
    The failure that a document tells of: its class is *named* by it, or nothing is; what it says beside is taken where
    it has a use. Never raises.
    """
    said = message if isinstance(message, str) and message else None
    own_code = to_code(code)
    if named is None:
        # the code that it had is for people now
        told = said if own_code in (None, UNCLASSIFIED_CODE) else f"{own_code}: {said}" if said else own_code
        return failure(ErrorClass.FATAL, UNCLASSIFIED_CODE, hint=_hint(ErrorClass.FATAL, hint), message=told)
    error_class = ErrorClass(named.error_class)
    return failure(
        error_class,
        _code(error_class, own_code or named.code),
        hint=_hint(error_class, hint),
        field=field if error_class is ErrorClass.VALIDATION and isinstance(field, str) else None,
        retry_after_ms=retry_after_ms if error_class is ErrorClass.TRANSIENT else None,
        message=said,
    )


def _code(error_class: ErrorClass, code: str) -> str:
    """
    *code*; where it says that no class is known and there is one, the name of that.
    """
    return error_class.upper() if code == UNCLASSIFIED_CODE and error_class is not ErrorClass.FATAL else code


def _hint(error_class: ErrorClass, hint: object) -> str | None:
    cleaned = clean_hint(hint) if isinstance(hint, str) else ""
    return cleaned or (HINTS[error_class] if error_class in _NEED_HINTS else None)


def statuses_by_code(kind: str) -> Mapping[tuple[ErrorClass, str], str]:
    """
    Class and code → the first status of *kind* in the table that means them.
    """
    found: dict[tuple[ErrorClass, str], str] = {}
    for rule in TABLE[kind]:
        found.setdefault((rule.error_class, rule.code), rule.value)
    return found
