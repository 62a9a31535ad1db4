"""
A configuration file: TOML in, checked values out, and for anything wrong one line that says which line.

A typing error in a rule would otherwise show as a wrong number, weeks later; so an unknown key is an error, and
its message names what was probably meant.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from toolspan.config_tables import (
    AlertsTable,
    ArgumentsTable,
    BurnEntry,
    CollectorTable,
    MetricsTable,
    Name,
    SettleTable,
    StoreTable,
    Strict,
    TargetsTable,
    problem_of,
)
from toolspan.errors import ConfigError
from toolspan.evidence.error_documents import to_code
from toolspan.evidence.payloads import is_array, is_object
from toolspan.positions import Place, key_lines
from toolspan.rules import GRPC_CODES, Condition, EvidenceRule, RuleBook, compile_pattern, grpc_name
from toolspan.taxonomy import CLASSES, CODE_FORM, REJECTED_CODE, UNCLASSIFIED_CODE, ErrorClass

_RESERVED_CODES = frozenset({UNCLASSIFIED_CODE, REJECTED_CODE})
_SQLSTATE = re.compile(r"[0-9A-Z]{1,5}")

#: The keys of a rule that are conditions; `exception` is what many call the type of an error.
_CONDITIONS: Mapping[str, Condition] = {
    **{str(condition): condition for condition in Condition},
    "exception": Condition.ERROR_TYPE,
}

_TOO_LARGE = "this integer needs more than 64 bits; write a smaller one"
#: More than Python reads, outside of texts and comments.
_MANY_DIGITS = re.compile(r"""^[^\n#"']*?(?P<digits>\d(?:_?\d){4300})""", re.MULTILINE)

#: What to do about `tomllib`'s problems, by how they begin.
_SYNTAX_REMEDIES: Mapping[str, str] = {
    "Invalid value": "; put text in quotes",
    "Illegal character '\\n'": "; end the text with its quote",
}


def _one_of(value: str, choices: Iterable[str]) -> str:
    """
    The remedy for an unknown *value*: the choice that was probably meant, else all of them.
    """
    names = [str(choice) for choice in choices]
    close = difflib.get_close_matches(value, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(names)}"


class RuleEntry(Strict):
    """
    A `[[rule]]`.
    """

    tool: Name = "*"
    http: Annotated[int, Field(ge=100, le=599)] | None = None
    grpc: str | int | None = None
    jsonrpc: int | None = None
    sqlstate: str | None = None
    error_type: Name | None = None
    exception: Name | None = None
    error_code: Name | None = None
    message: Name | None = None
    result: Name | None = None
    error_class: str = Field(alias="class")
    code: str | None = None
    field: Name | None = None

    @field_validator("error_class")
    @classmethod
    def _check_class(cls, value: str) -> str:
        if value not in CLASSES:
            raise problem_of(f"unknown class {value!r}; {_one_of(value, CLASSES)}")
        return value

    @field_validator("code")
    @classmethod
    def _check_code(cls, value: str) -> str:
        if not CODE_FORM.fullmatch(value):
            meant = to_code(value)
            remedy = f"did you mean {meant!r}?" if meant else "write it like 'SLOT_TAKEN'"
            raise problem_of(f"code {value!r} is not in capitals, digits and underscores (2 to 63 of them); {remedy}")
        if value in _RESERVED_CODES:
            raise problem_of(f"code {value!r} has a meaning of its own; choose another")
        return value

    @field_validator("message", "result")
    @classmethod
    def _check_pattern(cls, value: str) -> str:
        try:
            compile_pattern(value)
        except ConfigError as error:
            raise problem_of(f"{value!r} {error}") from None
        return value

    @field_validator("error_code")
    @classmethod
    def _check_error_code(cls, value: str) -> str:
        if to_code(value) is None:
            raise problem_of(f"error_code {value!r} can be no code; write it like 'SLOT_TAKEN'")
        return value

    @field_validator("grpc")
    @classmethod
    def _check_grpc(cls, value: str | int) -> str:
        name = grpc_name(str(value))
        if name is None:
            raise problem_of(f"unknown gRPC status {value!r}; {_one_of(str(value).upper(), GRPC_CODES)}")
        return name

    @field_validator("sqlstate")
    @classmethod
    def _check_sqlstate(cls, value: str) -> str:
        if not _SQLSTATE.fullmatch(value):
            raise problem_of(f"sqlstate {value!r} is no beginning of an SQLSTATE; write one to five of 0-9 and A-Z")
        return value

    @model_validator(mode="after")
    def _check_conditions(self) -> Self:
        given = [name for name in _CONDITIONS if name in self.model_fields_set]
        if not given:
            hint = "; to match the code of an error, write error_code" if self.code else ""
            raise problem_of(f"this rule has no condition; give one of {', '.join(_CONDITIONS)}{hint}")
        if len(given) > 1:
            raise problem_of(f"this rule has {len(given)} conditions ({', '.join(given)}); make a rule of each")
        if self.field is not None and self.error_class != ErrorClass.VALIDATION:
            raise problem_of(
                f"field is for class 'validation' only, and this rule has {self.error_class!r}; remove one"
            )
        return self

    def to_rule(self, line: int) -> EvidenceRule:
        """
        The rule that stands on *line*.
        """
        name = next(name for name in _CONDITIONS if name in self.model_fields_set)
        condition = _CONDITIONS[name]
        value: str | int = getattr(self, name)
        return EvidenceRule(condition, value, ErrorClass(self.error_class), self.tool, self.code, self.field, line)


class ConfigFile(Strict):
    """
    A whole file; what it does not say has its default.
    """

    rule: list[RuleEntry] = Field(default_factory=list[RuleEntry])
    escalation_tools: list[Name] = Field(default_factory=list[Name])
    arguments: ArgumentsTable = ArgumentsTable()
    settle: SettleTable = SettleTable()
    store: StoreTable = StoreTable()
    metrics: MetricsTable = MetricsTable()
    collector: CollectorTable = CollectorTable()
    targets: TargetsTable = TargetsTable()
    alerts: AlertsTable = AlertsTable()


def read_config(path: str) -> tuple[ConfigFile, RuleBook]:
    """
    What the file *path* says, and its rules ready to be applied.

    Raises:
        ConfigError: It cannot be read, is no TOML, or says something wrong.
    """
    text = _read_text(path)
    try:
        document = tomllib.loads(text)
        lines = key_lines(text)
        too_large = next(_large_integers(document), None)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax_message(path, text, str(error))) from None
    except ValueError:
        # Python reads no integer of more than 4300 digits, and `tomllib` lets that out as it is.
        line = _line_of_digits(text)
        raise ConfigError(f"{path}{f' line {line}' if line else ''}: {_TOO_LARGE}") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply; write it with [tables]") from None
    if too_large is not None:
        raise ConfigError(f"{path} line {_line(lines, too_large)}: {_TOO_LARGE}")
    try:
        config = ConfigFile.model_validate(document)
    except ValidationError as error:
        raise ConfigError(_message(path, lines, error.errors(include_url=False))) from None
    rules = (entry.to_rule(lines["rule", number]) for number, entry in enumerate(config.rule))
    return config, RuleBook(tuple(rules))


def _read_text(path: str) -> str:
    try:
        # Some editors start a file with a byte-order mark, which TOML does not know.
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"No configuration file {path}; check --config and TOOLSPAN_CONFIG") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"Cannot read the configuration file {path}: {reason.lower()}") from None


def _syntax_message(path: str, text: str, problem: str) -> str:
    """
    `tomllib`'s *problem*, which ends in its place, with the place in front.
    """
    what, _, place = problem.rpartition(" (at ")
    found = re.match(r"line (\d+)", place)
    line = int(found[1]) if found else text.count("\n", 0, len(text.rstrip())) + 1
    remedy = next((remedy for start, remedy in _SYNTAX_REMEDIES.items() if what.startswith(start)), "")
    return f"{path} line {line}: {what[:1].lower()}{what[1:]}{remedy}"


def _message(path: str, lines: Mapping[Place, int], problems: list[ErrorDetails]) -> str:
    """
    The first of *problems* in the order of the file, and how many others there are.
    """
    said = ((_line(lines, problem["loc"]), _phrase(problem)) for problem in problems)
    placed = sorted(said, key=lambda item: item[0])
    line, phrase = placed[0]
    others = f" (and {len(placed) - 1} more)" if len(placed) > 1 else ""
    return f"{path} line {line}: {phrase}{others}"


def _large_integers(value: object, place: Place = ()) -> Iterator[Place]:
    """
    Where in *value* integers stand that TOML does not promise; no setting needs one, and Python prints not all of them.
    """
    if is_object(value):
        for key, inner in value.items():
            yield from _large_integers(inner, (*place, key))
    elif is_array(value):
        for number, inner in enumerate(value):
            yield from _large_integers(inner, (*place, number))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield place


def _line_of_digits(text: str) -> int | None:
    """
    The line of the integer that is too long to be read; None where a quotation mark or a comment stands before it.
    """
    found = _MANY_DIGITS.search(text)
    return text.count("\n", 0, found.start("digits")) + 1 if found else None


def _line(lines: Mapping[Place, int], place: Place) -> int:
    """
    The line of what is at *place*, else of what it is in.
    """
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _phrase(problem: ErrorDetails) -> str:
    place, kind, value = problem["loc"], problem["type"], problem["input"]
    key = next((str(part) for part in reversed(place) if isinstance(part, str)), "")
    if kind == "toolspan":
        return problem["msg"]
    if kind == "extra_forbidden":
        return f"unknown key {key!r}; {_one_of(key, _known_keys(place))}"
    if kind == "missing" and "burn" in place:
        return f"this burn has no {key}; give one in seconds" if key != "factor" else "this burn has no factor"
    if kind == "missing":
        return f"this rule has no {key}; give one of {', '.join(CLASSES)}"
    if place == ("rule",):
        return "a rule starts with [[rule]], in two pairs of brackets"
    return f"{key} {problem['msg'].removeprefix('Input ')}, not {value!r}"


def _known_keys(place: Place) -> list[str]:
    """
    The keys that could stand in *place*.
    """
    tables: dict[str | int, type[BaseModel]] = {
        "rule": RuleEntry,
        "arguments": ArgumentsTable,
        "settle": SettleTable,
        "store": StoreTable,
        "metrics": MetricsTable,
        "collector": CollectorTable,
        "targets": TargetsTable,
        "alerts": BurnEntry if "burn" in place[:-1] else AlertsTable,
    }
    model = tables[place[0]] if len(place) > 1 else ConfigFile
    return [info.alias or name for name, info in model.model_fields.items()]
