"""
What is audited: the tools in an object, or in a module, by name.
"""

import re
import sys
from collections.abc import Callable, Iterable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from toolspan.errors import InputError
from toolspan.evidence.payloads import is_array, is_object
from toolspan.tools.tool import Tool, tool_of

#: First words of names of tools that change nothing. What is not among them is not run unless asked for.
_READING: Final = frozenset((
    "count", "describe", "fetch", "find", "get", "list", "look", "lookup", "read", "retrieve", "search", "show", "view",
))  # fmt: skip
#: First words of names of tools that surely change something.
_WRITING: Final = frozenset((
    "add", "approve", "book", "cancel", "charge", "close", "create", "delete", "edit", "grant", "insert", "issue",
    "order", "patch", "pay", "post", "publish", "purchase", "put", "refund", "remove", "rename", "reserve", "revoke",
    "schedule", "send", "set", "submit", "transfer", "update", "upload", "upsert", "write",
))  # fmt: skip
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
#: Where frameworks keep the function that their tool objects wrap.
_WRAPPED: Final = ("func", "coroutine", "function", "fn")


class Kind(StrEnum):
    """
    What a tool does to the world, as far as it says.
    """

    READ = "read"
    WRITE = "write"
    UNKNOWN = "unknown"


class Subject(NamedTuple):
    """
    A tool to be audited: its *name*, the *function* that agents call, the `Tool` in it (None where it is a plain
    function), its *kind*.
    """

    name: str
    function: Callable[..., object]
    tool: Tool | None
    kind: Kind


def load(target: str) -> object:
    """
    The object that `MODULE:OBJECT` (or `MODULE`) names; the current directory is looked at, too.
    """
    module_name, _, path = target.partition(":")
    if not all(part.isidentifier() for part in module_name.split(".")) or module_name.endswith(".py"):
        raise InputError(f"{target!r} names no module; give MODULE:OBJECT, as in my_agent.tools:search_flights.")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: object = import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything while it is imported, also SystemExit
        raise InputError(f"Cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    for name in filter(None, path.split(".")):
        if not hasattr(found, name):
            raise InputError(f"{module_name!r} has no {path!r}; name a tool, a function, or a list of them.")
        found = getattr(found, name)
    return found


def find_subjects(found: object, *, name: str = "", reading: Iterable[str] = ()) -> list[Subject]:
    """
    The tools in *found*: a tool, a function, a list or dict of them, or a module with tools.

    Args:
        name: what to call a function that has no name of its own.
        reading: names of tools that change nothing, whatever they are called.
    """
    known = frozenset(reading)
    subjects = list(_subjects(found, name, known))
    if not subjects:
        raise InputError(f"No tool in {name or repr(found)}; name a function, or decorate one with @toolspan.tool.")
    unknown = known - {subject.name for subject in subjects}
    if unknown:
        names = ", ".join(subject.name for subject in subjects)
        raise InputError(f"No tool {min(unknown)!r} in {name or repr(found)}; there are {names}.")
    return subjects


def _subjects(found: object, name: str, reading: frozenset[str]) -> Iterable[Subject]:
    if isinstance(found, ModuleType):
        # a tool that is there by two names is one
        tools = {id(tool): value for value in vars(found).values() if (tool := _tool_in(value)) is not None}
        for value in tools.values():
            yield from _subjects(value, name, reading)
    elif is_object(found):
        for key, value in found.items():
            yield from _subjects(value, str(key), reading)
    elif is_array(found):
        for value in found:
            yield from _subjects(value, name, reading)
    else:
        function = _function_in(found)
        if function is not None:
            tool = _tool_in(function)
            own = tool.name if tool is not None else str(getattr(function, "__name__", name))
            is_write = tool is not None and tool.write is not None
            yield Subject(own, function, tool, _kind_of(own, reading, is_write=is_write))


def _tool_in(found: object) -> Tool | None:
    return None if isinstance(found, type | ModuleType) else tool_of(found)


def _function_in(found: object) -> Callable[..., object] | None:
    """
    What is called of *found*: itself, or the function that an object of a framework holds.
    """
    if isinstance(found, type):
        return None
    if isinstance(found, Tool):
        return found.function
    for attribute in () if tool_of(found) is not None else _WRAPPED:
        inner: Callable[..., object] | None = getattr(found, attribute, None)
        if callable(inner):
            return inner
    return found if callable(found) else None


def _kind_of(name: str, reading: frozenset[str], *, is_write: bool) -> Kind:
    if is_write:
        return Kind.WRITE
    word = next(iter(_WORD.findall(name)), "").lower()
    if name in reading or word in _READING:
        return Kind.READ
    return Kind.WRITE if word in _WRITING else Kind.UNKNOWN
