"""
Error objects inside a result: our envelope, and the error documents that others define.

The envelope states class and code itself. A google.rpc.Status (AIP-193), an RFC 9457 problem, an OAuth error
(RFC 6749) and a JSON-RPC error name them through the table; they are read of failed calls only, for a tool may
well return one as its data.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

from toolspan.evidence.payloads import is_array, is_object
from toolspan.evidence.statuses import Named, name_grpc, name_http, name_http_reason, name_jsonrpc, name_oauth
from toolspan.lint import LintFlag
from toolspan.taxonomy import CLASSES, CODE_FORM, UNCLASSIFIED_CODE

MAX_CODE_CHARS: Final = 63
MAX_HINT_CHARS: Final = 300
MAX_FIELD_CHARS: Final = 200
#: A day: a longer wait is no retry any more, and a number that large is most likely a unit mixed up.
MAX_RETRY_AFTER_MS: Final = 86_400_000
#: A stack trace shows itself within its first lines.
_MAX_TRACE_CHARS: Final = 4096

#: google.rpc's names of statuses.
_STATUS: Final = re.compile(r"[A-Z][A-Z_]+")
_MAX_URI_CHARS: Final = 2048

_CLASS_NAMES: Final = frozenset(str(error_class) for error_class in CLASSES)
_JSONRPC_RANGE: Final = range(-32768, -31999)
_STACK_TRACE: Final = re.compile(r"Traceback \(most recent call last\)|^\s+at \S+\(.*:\d+\)", re.MULTILINE)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAP: Final = re.compile(r"[^A-Z0-9]+")
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")


class EnvelopeReading(NamedTuple):
    """
    What an envelope states; *named* is None where it states no class.
    """

    named: Named | None
    field: str | None
    retry_after_ms: int | None
    lint: int


def to_code(text: object) -> str | None:
    """
    *text* as a code: upper snake case, cut to 63 characters; None where nothing valid is left.
    """
    if not isinstance(text, str):
        return None
    if CODE_FORM.fullmatch(text):
        return text
    snake = _GAP.sub("_", _HUMP.sub("_", text[:200]).upper()).lstrip("_0123456789")
    code = snake[:MAX_CODE_CHARS].rstrip("_")
    return code if CODE_FORM.fullmatch(code) else None


def to_class(text: object) -> str | None:
    """
    The class that *text* names; None where it is none of the five.
    """
    if not isinstance(text, str):
        return None
    name = text.strip().lower().replace("-", "_").replace(" ", "_")
    return name if name in _CLASS_NAMES else None


def state(error_class: str | None, code: object, evidence: str) -> Named | None:
    """
    A class that somebody stated, with its code; code `UNCLASSIFIED` says that the tool itself could name none.
    """
    if error_class is None:
        return None
    # a class without a usable code: its own name is the only stable one left
    valid = to_code(code) or error_class.upper()
    return Named("unclassified" if valid == UNCLASSIFIED_CODE else error_class, valid, evidence)


def to_retry_after(value: object) -> int | None:
    """
    A wait in ms; None where it is unreadable, negative or absurd.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MAX_RETRY_AFTER_MS else None


def read_envelope(envelope: Mapping[str, object]) -> EnvelopeReading:
    """
    What *envelope*, an object with `ok`, states of its error.
    """
    error = envelope.get("error")
    if not is_object(error):
        return EnvelopeReading(None, None, None, int(LintFlag.ERROR_MISSING))
    error_class = to_class(error.get("class"))
    named = state(error_class, error.get("code"), "envelope")
    field = error.get("field")
    # encoded and back: a lone surrogate in somebody's JSON must not reach a column
    field = field[:MAX_FIELD_CHARS].encode("utf-8", "replace").decode() if isinstance(field, str) and field else None
    retry_after = to_retry_after(error.get("retry_after_ms"))
    return EnvelopeReading(named, field, retry_after, _lint(envelope, error, error_class))


def _lint(envelope: Mapping[str, object], error: Mapping[str, object], error_class: str | None) -> int:
    code, hint, field = error.get("code"), error.get("hint"), error.get("field")
    wait, retryable = error.get("retry_after_ms"), error.get("retryable")
    hint_text = hint if isinstance(hint, str) else ""
    contradicts = isinstance(retryable, bool) and retryable != (error_class == "transient")
    broken = {
        LintFlag.ERROR_BESIDE_OK: envelope.get("ok") is True,
        LintFlag.CODE_INVALID: not isinstance(code, str) or not CODE_FORM.fullmatch(code),
        LintFlag.CLASS_UNKNOWN: error_class is None or error.get("class") != error_class,
        LintFlag.RETRYABLE_CONTRADICTS_CLASS: error_class is not None and contradicts,
        LintFlag.FIELD_MISSING: error_class == "validation" and not field,
        LintFlag.FIELD_NOT_VALIDATION: error_class not in ("validation", None) and bool(field),
        LintFlag.HINT_MISSING: error_class in ("permission", "business_rule") and not hint_text.strip(),
        LintFlag.HINT_TOO_LONG: len(hint_text) > MAX_HINT_CHARS,
        LintFlag.STACK_TRACE_IN_HINT: _STACK_TRACE.search(hint_text[:_MAX_TRACE_CHARS]) is not None,
        LintFlag.RETRY_AFTER_NOT_TRANSIENT: error_class not in ("transient", None) and wait is not None,
        LintFlag.RETRY_AFTER_INVALID: wait is not None and to_retry_after(wait) is None,
    }
    return sum(int(flag) for flag, is_broken in broken.items() if is_broken)


def name_document(document: Mapping[str, object]) -> Named | None:
    """
    The class that *document* names, if it is an error document.
    """
    return _name_status(document) or _name_problem(document) or _name_oauth(document)


def name_jsonrpc_document(document: Mapping[str, object]) -> Named | None:
    """
    The class that a JSON-RPC error object (`{"code": -32602, "message": …}`) names.
    """
    code = document.get("code")
    if isinstance(code, int) and code in _JSONRPC_RANGE:
        return name_jsonrpc(code)
    return None


def retry_after_of(document: Mapping[str, object]) -> int | None:
    """
    The wait in ms that a google.rpc.RetryInfo in *document* asks for.
    """
    info = _detail(document.get("details"), "RetryInfo")
    delay = _DURATION.fullmatch(str(info.get("retryDelay", ""))) if info is not None else None
    return to_retry_after(round(float(delay[1]) * 1000)) if delay else None


def _name_status(document: Mapping[str, object]) -> Named | None:
    status, number, details = document.get("status"), document.get("code"), document.get("details")
    # a status alone is anybody's data; beside a number or details, and in capitals, it is google.rpc's
    if not isinstance(number, int) and not is_array(details):
        return None
    info = _detail(details, "ErrorInfo")
    named = name_grpc(status) if isinstance(status, str) and _STATUS.fullmatch(status) else None
    if named is None and info is not None:
        named = name_http(number) if isinstance(number, int) else None
    if named is None:
        return None
    reason = to_code(info.get("reason")) if info is not None else None
    return Named(named.error_class, reason or named.code, f"aip193:{named.code}")


def _detail(details: object, kind: str) -> Mapping[str, object] | None:
    if is_array(details):
        for detail in details[:16]:
            if is_object(detail) and str(detail.get("@type", "")).endswith(f"google.rpc.{kind}"):
                return detail
    return None


def _name_problem(document: Mapping[str, object]) -> Named | None:
    status, kind = document.get("status"), document.get("type")
    if isinstance(status, bool) or not isinstance(status, int):
        return None
    named = name_http(status)
    if named is None or not _is_problem(document, named):
        return None
    code = None
    if isinstance(kind, str) and kind != "about:blank":
        path = unquote(kind[:_MAX_URI_CHARS].partition("?")[0]).rstrip("/#")
        code = to_code(re.split(r"[/#:]", path)[-1])
    return Named(named.error_class, code or named.code, f"rfc9457:{status}")


def _is_problem(document: Mapping[str, object], named: Named) -> bool:
    """
    Whether an object with an HTTP *status* is a problem: it has a URI as type, or a title that a problem would have.

    Many objects have a `status`, a `title` or a `type` of their own.
    """
    kind, title = document.get("type"), document.get("title")
    if isinstance(kind, str) and (":" in kind or "/" in kind):
        return True
    if not isinstance(title, str):
        return False
    of_title = name_http_reason(title)
    is_reason = of_title is not None and of_title.evidence == named.evidence
    return is_reason or isinstance(document.get("detail"), str)


def _name_oauth(document: Mapping[str, object]) -> Named | None:
    error = document.get("error")
    return name_oauth(error) if isinstance(error, str) else None
