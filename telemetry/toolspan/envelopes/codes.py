"""
The registry of codes: what each code of each tool means, in a file that a project commits.

People write alerts, programs and prompts on a code, so it never changes its class or meaning. A new code breaks nobody;
one that means something else, or is gone, does. The file is CSV with a line per code, sorted: it reads as a table, a
difference shows the codes that changed, and two branches that add codes merge.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from toolspan.envelopes.envelope_rules import broken_rule
from toolspan.errors import InputError
from toolspan.evidence.error_documents import to_class
from toolspan.lint import LintFlag
from toolspan.taxonomy import CODE_FORM, REJECTED_CODE, UNCLASSIFIED_CODE

#: Where a project has it.
DEFAULT_REGISTRY: Final = "toolspan-codes.csv"
_COLUMNS: Final = ("tool", "code", "class", "meaning")
#: They have a meaning that no tool can change.
_RESERVED: Final = frozenset((UNCLASSIFIED_CODE, REJECTED_CODE))

Kind = Literal["added", "class", "meaning", "removed", "unregistered", "two_classes"]
#: What fails a check.
BREAKING: Final[frozenset[Kind]] = frozenset(("class", "meaning", "removed", "two_classes"))


class CodeKey(NamedTuple):
    """
    A code of a tool.
    """

    tool: str
    code: str


class CodeEntry(NamedTuple):
    """
    What a code means; *line* is where it stands, 0 where it stands nowhere yet.
    """

    error_class: str
    meaning: str = ""
    line: int = 0


class SeenCode(NamedTuple):
    """
    How often a tool failed with a code and a class.
    """

    tool: str
    code: str
    error_class: str
    calls: int


class CodeChange(NamedTuple):
    """
    Something that differs: *before* and *after* are classes or meanings.
    """

    kind: Kind
    tool: str
    code: str
    before: str
    after: str
    line: int = 0

    @property
    def is_breaking(self) -> bool:
        """
        It fails a check.
        """
        return self.kind in BREAKING


@dataclass(frozen=True, slots=True)
class Registry:
    """
    The codes that are registered.
    """

    entries: Mapping[CodeKey, CodeEntry]

    def tools(self) -> frozenset[str]:
        """
        The tools that have a code.
        """
        return frozenset(key.tool for key in self.entries)


def parse_registry(text: str, *, name: str) -> Registry:
    """
    The registry that *text*, a file called *name*, holds.

    Raises:
        InputError: a line of it is wrong; the message names the first.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    entries: dict[CodeKey, CodeEntry] = {}
    try:
        header = tuple(next(reader, ()))
        if header not in (_COLUMNS, ()):
            raise InputError(f"{name} line 1: a registry of codes begins with {','.join(_COLUMNS)}")
        for row in reader:
            if row:
                key, entry = _read_row(row, reader.line_num, name)
                if key in entries:
                    first = entries[key].line
                    raise InputError(
                        f"{name} line {entry.line}: {key.tool} has {key.code} on line {first} already; remove one"
                    )
                entries[key] = entry
    except csv.Error as error:
        raise InputError(f"{name} line {reader.line_num}: {error}; see that every quotation mark is closed") from None
    return Registry(entries)


def _read_row(row: list[str], line: int, name: str) -> tuple[CodeKey, CodeEntry]:
    if len(row) != len(_COLUMNS):
        raise InputError(
            f"{name} line {line}: {len(row)} values where {','.join(_COLUMNS)} are; quote a meaning with commas"
        )
    tool, code, error_class, meaning = (value.strip() for value in row)
    problem = None
    if not tool:
        problem = "the tool is missing"
    elif code in _RESERVED:
        problem = f"code {code!r} has a meaning of its own; remove the line"
    elif not CODE_FORM.fullmatch(code):
        problem = " ".join(broken_rule(LintFlag.CODE_INVALID, {"code": code}))
    elif error_class != to_class(error_class):
        problem = " ".join(broken_rule(LintFlag.CLASS_UNKNOWN, {"class": error_class}))
    if problem is not None:
        raise InputError(f"{name} line {line}: {problem}")
    return CodeKey(tool, code), CodeEntry(error_class, " ".join(meaning.split()), line)


def format_registry(registry: Registry) -> str:
    """
    The text of *registry*, sorted by tool and code.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for key, entry in sorted(registry.entries.items()):
        writer.writerow((*key, entry.error_class, entry.meaning))
    return out.getvalue()


def compare_registries(old: Registry, new: Registry) -> list[CodeChange]:
    """
    What changed from *old* to *new*. A meaning that is written down for the first time is no change of it.
    """
    changes: list[CodeChange] = []
    for key, before in old.entries.items():
        after = new.entries.get(key)
        if after is None:
            changes.append(CodeChange("removed", *key, before.error_class, "", before.line))
            continue
        if before.error_class != after.error_class:
            changes.append(CodeChange("class", *key, before.error_class, after.error_class, after.line))
        if before.meaning and before.meaning != after.meaning:
            changes.append(CodeChange("meaning", *key, before.meaning, after.meaning, after.line))
    added = (item for item in new.entries.items() if item[0] not in old.entries)
    changes += (CodeChange("added", *key, "", entry.error_class, entry.line) for key, entry in added)
    return sorted(changes, key=lambda change: (change.tool, change.code, change.kind))


def compare_seen(registry: Registry, seen: Iterable[SeenCode]) -> list[CodeChange]:
    """
    Where what was *seen* is not what *registry* says.
    """
    return sorted(_differences(registry, seen), key=lambda change: (change.tool, change.code, change.kind))


def _differences(registry: Registry, seen: Iterable[SeenCode]) -> Iterator[CodeChange]:
    classes: dict[CodeKey, list[str]] = {}
    for each in seen:
        if to_class(each.error_class) and each.code not in _RESERVED:
            classes.setdefault(CodeKey(each.tool, each.code), []).append(each.error_class)
    for key, found in classes.items():
        entry = registry.entries.get(key)
        if entry is not None:
            for other in sorted(set(found) - {entry.error_class}):
                yield CodeChange("class", *key, entry.error_class, other, entry.line)
        elif len(set(found)) > 1:
            yield CodeChange("two_classes", *key, "", ", ".join(sorted(set(found))))
        else:
            yield CodeChange("unregistered", *key, "", found[0])


def with_seen(registry: Registry, seen: Iterable[SeenCode]) -> Registry:
    """
    *registry* with the codes that were *seen* and that it does not have, without a meaning; nothing in it changes, and
    a code that was seen with two classes is left out.
    """
    new = {
        CodeKey(change.tool, change.code): CodeEntry(change.after)
        for change in compare_seen(registry, seen)
        if change.kind == "unregistered"
    }
    return Registry({**registry.entries, **new})
