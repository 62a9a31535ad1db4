"""
Class and code of what a protocol states: HTTP, gRPC, JSON-RPC, OAuth and SQLSTATE values, looked up in the table.

A value that the table does not know names nothing, so that the search for evidence goes on. HTTP has two rows (`4xx`,
`5xx`) for the codes without a row of their own.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final, NamedTuple

from toolspan.taxonomy import TABLE, ErrorClass, Rule


class Named(NamedTuple):
    """
    A class that evidence names.

    *error_class* is one of the five, never `unclassified`. *evidence* says what named it (`http:503`,
    `grpc:UNAVAILABLE`, `exception:httpx.ReadTimeout`); it holds values of the table and protocol numbers, never text
    of a payload.
    """

    error_class: str
    code: str
    evidence: str


def name_rule(rule: Rule, evidence: str) -> Named | None:
    """
    What a row of the table names; a row of class `unclassified` names nothing.
    """
    if rule.error_class is ErrorClass.UNCLASSIFIED:
        return None
    return Named(rule.error_class.value, rule.code, evidence)


def rules_of(kind: str) -> dict[str, Rule]:
    """
    The rows of one *kind* of evidence by value.
    """
    return {rule.value: rule for rule in TABLE.get(kind, ())}


def _phrases() -> dict[int, tuple[str, ...]]:
    # Python's own phrases changed with 3.13 (413, 418, 422); Go, Node, nginx, Apache, Google and Cloudflare have theirs
    variants = {
        401: ("Authorization Required",),
        408: ("Request Timeout", "Request Time-out"),
        413: ("Payload Too Large", "Request Entity Too Large", "Content Too Large"),
        414: ("URI Too Long", "Request-URI Too Long", "Request-URI Too Large"),
        416: ("Range Not Satisfiable", "Requested Range Not Satisfiable"),
        418: ("I'm a teapot", "I'm a Teapot"),
        422: ("Unprocessable Entity", "Unprocessable Content"),
        499: ("Client Closed Request",),
        500: ("Server Error",),
        502: ("Bad gateway",),
        503: ("Service Temporarily Unavailable",),
        504: ("Gateway Time-out", "Gateway time-out"),
        509: ("Bandwidth Limit Exceeded",),
        520: ("Web server is returning an unknown error",),
        521: ("Web Server Is Down", "Web server is down"),
        522: ("Connection Timed Out", "Connection timed out"),
        523: ("Origin Is Unreachable", "Origin is unreachable"),
        524: ("A Timeout Occurred", "A timeout occurred"),
        525: ("SSL Handshake Failed", "SSL handshake failed"),
        526: ("Invalid SSL Certificate", "Invalid SSL certificate"),
        529: ("Site is overloaded",),
    }
    standard = {int(status): (status.phrase,) for status in HTTPStatus if status >= 400}
    codes = sorted(standard.keys() | variants.keys())
    return {code: tuple(dict.fromkeys((*standard.get(code, ()), *variants.get(code, ())))) for code in codes}


#: What stands behind the number of a failed HTTP answer: `404 Not Found`.
REASON_PHRASES: Final[Mapping[int, tuple[str, ...]]] = MappingProxyType(_phrases())


def _http_names() -> dict[int, Named]:
    rules = rules_of("http")
    names: dict[int, Named] = {}
    for status in range(400, 600):
        rule = rules.get(str(status)) or rules.get(f"{status // 100}xx")
        named = name_rule(rule, f"http:{status}") if rule else None
        if named:
            names[status] = named
    return names


def _grpc_names() -> dict[str, Named]:
    names: dict[str, Named] = {}
    for rule in TABLE.get("grpc", ()):
        number, _, name = rule.value.partition(" ")
        named = name_rule(rule, f"grpc:{name}")
        if named:
            # Go, .NET and Rust print `DeadlineExceeded`
            names |= dict.fromkeys((number, name, name.title().replace("_", "")), named)
    return names


def _folded(reason: str) -> str:
    return _NO_LETTER.sub("", reason).lower()


_NO_LETTER: Final = re.compile("[^A-Za-z]+")
_HTTP: Final = _http_names()
_GRPC: Final = _grpc_names()
_JSONRPC: Final = rules_of("jsonrpc")
_OAUTH: Final = rules_of("oauth")
_SQLSTATE: Final = rules_of("sqlstate")
_SQLSTATE_FORM: Final = re.compile("[0-9A-Z]{5}")
_HTTP_OF_REASON: Final = {_folded(phrase): code for code, phrases in REASON_PHRASES.items() for phrase in phrases}


def name_http(status: int) -> Named | None:
    """
    What an HTTP *status* names; None below 400 and above 599.
    """
    return _HTTP.get(status)


def name_http_reason(reason: str) -> Named | None:
    """
    What the name of an HTTP status names, however it is written: `Not Found`, `NotFound`, `NOT_FOUND`.
    """
    status = _HTTP_OF_REASON.get(_folded(reason[:60]))
    return None if status is None else name_http(status)


def name_grpc(value: int | str) -> Named | None:
    """
    What a gRPC status names, given as number, name or `StatusCode.NAME`; OK, CANCELLED and UNKNOWN name nothing.
    """
    return _GRPC.get(str(int(value)) if isinstance(value, int) else value.rpartition(".")[2].strip())


def name_jsonrpc(code: int) -> Named | None:
    """
    What a JSON-RPC error *code* names; codes outside the table, such as those of vendors, name nothing.
    """
    rule = _JSONRPC.get(str(code))
    return name_rule(rule, f"jsonrpc:{code}") if rule else None


def name_oauth(error: str) -> Named | None:
    """
    What the `error` of an OAuth answer names.
    """
    rule = _OAUTH.get(error)
    return name_rule(rule, f"oauth:{error}") if rule else None


def name_sqlstate(state: str) -> Named | None:
    """
    What a five-character SQLSTATE names; of the table's prefixes the longest decides.
    """
    if not _SQLSTATE_FORM.fullmatch(state):
        return None
    for length in range(5, 0, -1):
        rule = _SQLSTATE.get(state[:length])
        if rule:
            return name_rule(rule, f"sqlstate:{state}")
    return None
