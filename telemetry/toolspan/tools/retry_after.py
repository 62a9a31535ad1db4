"""
How long a service asks to wait, in the headers of its response.

`Retry-After` (RFC 9110, 10.2.3) is seconds or a date; a date is read against the response's own `Date`, since clocks
differ. Where it is absent, the IETF's RateLimit fields say when there is quota again: `RateLimit: "default";r=0;t=30`,
in older drafts `RateLimit-Reset: 30`. What is negative or past is 0, what cannot be read or is more than a day is
nothing.
"""

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from toolspan.evidence.error_documents import MAX_RETRY_AFTER_MS

_SECONDS: Final = re.compile(r"[+-]?\d{1,12}(?:\.\d{1,9})?")
_RATE_LIMIT: Final = re.compile(r";\s*t\s*=\s*(\d{1,9})")
_REMAINING: Final = re.compile(r";\s*r\s*=\s*(\d{1,9})")
_MS: Final = 1000
_MAX_CHARS: Final = 256


def retry_after_ms(headers: Mapping[str, object], *, now_s: float) -> int | None:
    """
    The wait in ms that *headers* (names in any case) ask for at *now_s*, Unix time; None where they ask for none.
    """
    try:
        found = {str(name).lower(): str(value)[:_MAX_CHARS].strip() for name, value in headers.items()}
    except Exception:  # noqa: BLE001 - whatever a client calls headers; a wait is not worth a failure
        return None
    asked = found.get("retry-after")
    if asked:
        return _of_seconds(asked) if _SECONDS.fullmatch(asked) else _of_date(asked, found.get("date"), now_s)
    limit = found.get("ratelimit", "")
    reset, remaining = _RATE_LIMIT.search(limit), _REMAINING.search(limit)
    if reset and (remaining is None or int(remaining[1]) == 0):
        return _of_seconds(reset[1])
    older = found.get("ratelimit-reset", "")
    return _of_seconds(older) if _SECONDS.fullmatch(older) else None


def _of_seconds(text: str) -> int | None:
    wait_ms = max(0, round(float(text) * _MS))
    return wait_ms if wait_ms <= MAX_RETRY_AFTER_MS else None


def _of_date(text: str, sent: str | None, now_s: float) -> int | None:
    until = _timestamp(text)
    if until is None:
        return None
    since = _timestamp(sent) if sent else None
    return _of_seconds(repr(max(0.0, until - (now_s if since is None else since))))


def _timestamp(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
