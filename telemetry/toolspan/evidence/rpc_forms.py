"""
gRPC, AWS, JSON-RPC and SQLSTATE codes as clients print them.

Like HTTP's (`http_forms`), a code is read only inside the frame of a client that prints it. Names of AWS errors are
plain words (`Throttling`, `SlowDown`), so they count in boto's frame alone; names of gRPC codes with an underscore
are nobody else's words, those without (`INTERNAL`, `ABORTED`) need the frame. OK, CANCELLED and UNKNOWN name nothing,
and the search goes on behind them.
"""

import re
from collections.abc import Callable
from typing import Final

from toolspan.evidence.statuses import Named, name_grpc, name_jsonrpc, name_rule, name_sqlstate, rules_of
from toolspan.taxonomy import TABLE

_AWS: Final = rules_of("aws")
_GRPC_NUMBERS: Final = {
    name: number for number, _, name in (rule.value.partition(" ") for rule in TABLE.get("grpc", ()))
}
_NAMES: Final = "|".join(sorted(_GRPC_NUMBERS, key=len, reverse=True))

# `An error occurred (ThrottlingException) when calling the …`
_BOTO: Final = re.compile(r"\(([A-Za-z][\w.]{0,80})\) when calling\b")
# Python: `status = StatusCode.UNAVAILABLE`; .NET: `Status(StatusCode="Unavailable", …`, `StatusCode=Unavailable`
_STATUS_CODE: Final = re.compile(r"\bStatusCode(?:\.|=\"?)([A-Za-z_]{2,30})\b")
# Go: `rpc error: code = Unavailable desc = …`
_GO: Final = re.compile(r"\bcode = ([A-Z][A-Za-z]{1,30}) desc = ")
# tonic: `status: Unavailable, message: "…`, `Status { code: Unavailable, message: "…`
_TONIC: Final = re.compile(r"\b(?:status|code): ([A-Z][A-Za-z]{1,30}), message: \"")
# grpc-java's Status: `Status{code=UNAVAILABLE, description=…`
_JAVA_STATUS: Final = re.compile(r"\bStatus\{code=([A-Z_]{2,30}), ")
# Node: `14 UNAVAILABLE: …`; google-genai: `429 RESOURCE_EXHAUSTED. {…}`; Java: `UNAVAILABLE: io exception` at the
# beginning or behind the exception's type, and `StatusRuntimeException: UNAVAILABLE` without a description
_NAME: Final = re.compile(rf"(?:{_NAMES})(?=:|\. \{{|[ \t]*$)", re.MULTILINE)
_NUMBER_BEFORE: Final = re.compile(r"(?<![\w.-])(\d{1,3}) \Z")
_JAVA_EXCEPTIONS: Final = ("StatusRuntimeException: ", "StatusException: ")
_BEFORE_NAME: Final = (*_JAVA_EXCEPTIONS, "Error: ", "Exception: ", "error: ")
# connect-es: `ConnectError: [not_found] …`
_CONNECT: Final = re.compile(r"\bConnectError: \[([a-z_]{2,30})\] ")
# Ruby: `14:failed to connect …. debug_error_string:{…`
_RUBY: Final = re.compile(r"\A(?:GRPC::\w+: )?(\d{1,2}):")
# the MCP SDK for TypeScript: `MCP error -32602: …`
_JSONRPC: Final = re.compile(r"\b(?:MCP|JSON-?RPC) error:? (-\d{5})\b")
# Go's pgx: `(SQLSTATE 23505)`; PHP's PDO: `SQLSTATE[23505]: …`; Java: `SQLSTATE: 23505`
_SQLSTATE: Final = re.compile(r"\bSQLSTATE(?:\[|[:=]? ?)([0-9A-Z]{5})\b")


def find_code(text: str) -> tuple[int, Named] | None:
    """
    Where the first code of such a protocol stands in *text*, and what it names.
    """
    found = [first for mark, form, name in _FORMS if mark in text and (first := _search(form, text, name)) is not None]
    if _NAME.search(text) and (first := _find_name(text)) is not None:
        found.append(first)
    return min(found) if found else None


def _search(form: re.Pattern[str], text: str, name: Callable[[str], Named | None]) -> tuple[int, Named] | None:
    for match in form.finditer(text):
        named = name(match[1])
        if named is not None:
            return match.start(), named
    return None


def _find_name(text: str) -> tuple[int, Named] | None:
    for match in _NAME.finditer(text):
        start, end = match.span()
        named = name_grpc(match[0])
        if named is not None and _is_framed(text, start, end, match[0]):
            return start, named
    return None


def _is_framed(text: str, start: int, end: int, name: str) -> bool:
    number = _NUMBER_BEFORE.search(text[max(0, start - 5) : start])
    if number is not None:
        return number[1] == _GRPC_NUMBERS[name] or (len(number[1]) == 3 and text.startswith(". {", end))
    if start and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
        return False
    if not text.startswith(":", end):
        return text.endswith(_JAVA_EXCEPTIONS, 0, start)
    return "_" in name or start == 0 or text.endswith(_BEFORE_NAME, 0, start)


def _name_aws(name: str) -> Named | None:
    rule = _AWS.get(name)
    return name_rule(rule, f"aws:{name}") if rule else None


#: Each form with a mark that every text with it contains: seven substring searches are cheaper than one expression.
_FORMS: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], Named | None]], ...]] = (
    (") when calling", _BOTO, _name_aws),
    ("StatusCode", _STATUS_CODE, name_grpc),
    ("code = ", _GO, name_grpc),
    (', message: "', _TONIC, name_grpc),
    ("Status{code=", _JAVA_STATUS, name_grpc),
    ("ConnectError: [", _CONNECT, lambda name: name_grpc(name.upper())),
    ("debug_error_string:{", _RUBY, name_grpc),
    ("-32", _JSONRPC, lambda code: name_jsonrpc(int(code))),
    ("SQLSTATE", _SQLSTATE, name_sqlstate),
)
