"""
The user's rules: evidence of a failed call, or text of a result, that means a class and a code.

The built-in table cannot know that 409 from `book_*` is a sold-out slot, or that a tool says "Error:" and returns
normally. A rule knows; the first in the file that matches wins over everything the table says.

Patterns are the user's own, and Python's `re` backtracks: a pattern such as `(a+)+b` takes exponential time on
thirty characters, which nothing here can prevent. What can be bounded is the text: only the first 1,024 characters
are searched. There a pattern of cubic time (`.*x.*y`) needs 0.2 s at worst, on four times as much 10 s; and
messages have said by then what they have to say.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import translate
from types import MappingProxyType
from typing import NamedTuple

from toolspan.errors import ConfigError
from toolspan.evidence.error_documents import to_code
from toolspan.evidence.exceptions import last_component, name_exception
from toolspan.evidence.statuses import Named, name_grpc, name_http, name_jsonrpc, name_sqlstate
from toolspan.taxonomy import ErrorClass

#: How much of a text a pattern sees; see above.
MAX_SEARCHED_CHARS = 1024

#: gRPC's status codes by number.
# fmt: off
GRPC_CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)
# fmt: on
_GRPC_BY_FOLDED: Mapping[str, str] = MappingProxyType(
    {key: name for number, name in enumerate(GRPC_CODES) for key in (str(number), name.replace("_", ""))}
)

#: Tools whose rules are remembered: tool names come from spans, so their number is anybody's.
_MAX_TOOLS = 1024


class Condition(StrEnum):
    """
    What a rule looks at; the values are the keys of a `[[rule]]`.
    """

    HTTP = "http"
    GRPC = "grpc"
    JSONRPC = "jsonrpc"
    SQLSTATE = "sqlstate"
    ERROR_TYPE = "error_type"
    ERROR_CODE = "error_code"
    MESSAGE = "message"
    RESULT = "result"


class EvidenceRule(NamedTuple):
    """
    Where a call is of a tool that the glob *tool* matches and *condition* holds for *value*, it is a failure of
    *error_class*, with *code* and *field* where they are given. *line* is where the rule stands.
    """

    condition: Condition
    value: str | int
    error_class: ErrorClass
    tool: str = "*"
    code: str | None = None
    field: str | None = None
    line: int = 0


class FailureEvidence(NamedTuple):
    """
    What a failed call shows.

    *grpc* is a name, however it is written (`ABORTED`, `StatusCode.ABORTED`, `Aborted`), or a number as text.
    *error_types* are full names (`acme.SlotTaken`). *code* is what an error in the result calls itself. *texts* are
    the messages and the texts of the result.
    """

    http: int | None = None
    grpc: str | None = None
    jsonrpc: int | None = None
    sqlstate: str | None = None
    error_types: tuple[str, ...] = ()
    code: str | None = None
    texts: tuple[str, ...] = ()


class RuleHit(NamedTuple):
    """
    What the rule on *line* says of a call; *field* is None where it says nothing of one.

    *code* is the rule's own, else the table's for what the rule looks at, else the error's own, else the class in
    capitals.
    """

    error_class: ErrorClass
    code: str
    field: str | None
    line: int

    @property
    def named(self) -> Named:
        """
        The class and code as any evidence names them.
        """
        return Named(self.error_class.value, self.code, f"rule:{self.line}")


class _Entry(NamedTuple):
    """
    A rule ready to be applied.

    *searches* is the pattern of a rule about results, else None. *has_code* where the hit's code is more than the
    name of its class.
    """

    covers: Callable[[str], object]
    matches: Callable[[FailureEvidence], bool]
    searches: Callable[[str], bool] | None
    hit: RuleHit
    has_code: bool


@dataclass(frozen=True, slots=True)
class RuleBook:
    """
    The user's rules in their order.

    Raises:
        ConfigError: A pattern is no regular expression.
    """

    rules: tuple[EvidenceRule, ...] = ()
    _entries: tuple[_Entry, ...] = field(init=False, repr=False, compare=False)
    _by_tool: dict[str, tuple[_Entry, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, tuple[_Entry, ...]]
    )

    def __post_init__(self) -> None:
        """
        Compiles the patterns.
        """
        object.__setattr__(self, "_entries", tuple(_entry(rule) for rule in self.rules))

    def __reduce__(self) -> tuple[type["RuleBook"], tuple[tuple[EvidenceRule, ...]]]:
        """
        The rules as they were given, for another process, which compiles the patterns itself.
        """
        return RuleBook, (self.rules,)

    @property
    def is_empty(self) -> bool:
        """
        There are no rules.
        """
        return not self.rules

    @property
    def has_result_rules(self) -> bool:
        """
        Some rule can turn a call into a failure that nothing else calls one.
        """
        return any(entry.searches is not None for entry in self._entries)

    def match_failure(self, tool: str, evidence: FailureEvidence) -> RuleHit | None:
        """
        What the first rule says that matches *evidence* of a failed call of *tool*.

        A rule about results matches here, too: the texts of the result are among those of the evidence.
        """
        for entry in self._covering(tool):
            if entry.matches(evidence):
                own_code = None if entry.has_code else to_code(evidence.code)
                return entry.hit._replace(code=own_code) if own_code else entry.hit
        return None

    def match_result(self, tool: str, text: str) -> RuleHit | None:
        """
        What the first rule about results says that matches *text*, a result of *tool*: the call failed.
        """
        for entry in self._covering(tool):
            if entry.searches is not None and entry.searches(text):
                return entry.hit
        return None

    def _covering(self, tool: str) -> tuple[_Entry, ...]:
        entries = self._by_tool.get(tool)
        if entries is None:
            if len(self._by_tool) >= _MAX_TOOLS:
                self._by_tool.clear()
            entries = tuple(entry for entry in self._entries if entry.covers(tool))
            self._by_tool[tool] = entries
        return entries


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """
    *pattern* compiled.

    Raises:
        ConfigError: It is no regular expression.
    """
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"is no regular expression: {error}") from None


def grpc_name(status: str) -> str | None:
    """
    The name of a gRPC status given as name or number; None for what is neither.
    """
    return _GRPC_BY_FOLDED.get(status.rpartition(".")[2].replace("_", "").upper())


def _entry(rule: EvidenceRule) -> _Entry:
    searches = None
    if rule.condition in (Condition.MESSAGE, Condition.RESULT):
        searches = _searching(compile_pattern(str(rule.value)))
    code = rule.code or _table_code(rule)
    hit = RuleHit(rule.error_class, code or rule.error_class.value.upper(), rule.field, rule.line)
    covers = re.compile(translate(rule.tool)).match
    of_results = searches if rule.condition is Condition.RESULT else None
    return _Entry(covers, _matching(rule, searches), of_results, hit, code is not None)


def _table_code(rule: EvidenceRule) -> str | None:
    """
    The code that the table has for what *rule* looks at.
    """
    value = str(rule.value)
    named: Named | None = None
    match rule.condition:
        case Condition.ERROR_CODE:
            return to_code(value)
        case Condition.HTTP:
            named = name_http(int(value))
        case Condition.GRPC:
            named = name_grpc(value)
        case Condition.JSONRPC:
            named = name_jsonrpc(int(value))
        case Condition.SQLSTATE:
            named = name_sqlstate(value.ljust(5, "0"))  # a class of states is its "no subclass" state
        case Condition.ERROR_TYPE:
            named, _ = name_exception(value) or (None, False)
        case _:
            return None
    return named.code if named else None


def _searching(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.search(text, 0, MAX_SEARCHED_CHARS) is not None


def _matching(rule: EvidenceRule, searches: Callable[[str], bool] | None) -> Callable[[FailureEvidence], bool]:
    value = rule.value
    if searches is not None:
        return lambda evidence: any(map(searches, evidence.texts))
    match rule.condition:
        case Condition.HTTP:
            return lambda evidence: evidence.http == value
        case Condition.JSONRPC:
            return lambda evidence: evidence.jsonrpc == value
        case Condition.GRPC:
            status = grpc_name(str(value))
            return lambda evidence: evidence.grpc is not None and grpc_name(evidence.grpc) == status
        case Condition.SQLSTATE:
            return lambda evidence: evidence.sqlstate is not None and evidence.sqlstate.startswith(str(value))
        case Condition.ERROR_CODE:
            code = to_code(value)
            return lambda evidence: evidence.code is not None and to_code(evidence.code) == code
        case _:
            return lambda evidence: any(_is_type(name, str(value)) for name in evidence.error_types)


def _is_type(name: str, wanted: str) -> bool:
    """
    *name* is the type *wanted*, which without a dot is its last component.
    """
    return name == wanted or ("." not in wanted and last_component(name) == wanted)
