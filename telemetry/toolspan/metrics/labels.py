"""
Label values that no name can harm, and a bounded number of them.

A name comes from a model, a tool or another service. One lone surrogate makes a whole scrape fail, a NUL ends the
scraper's reading, and a series, once shown, stays in memory here and in Prometheus. So names are cleaned and cut, and
the first to come get the places that there are; whatever comes later is counted under `_other`. A place is never
taken back: a series that moved to `_other` would look like a counter that fell.
"""

import re
from typing import Final

from toolspan.metrics.families import ERRORS, OTHER, Key
from toolspan.taxonomy import ErrorClass

#: The longest name that MCP and the model providers let a tool have. Counted in code points, so that a cut never
#: splits a character; at most 512 bytes then, a quarter of what hosted Prometheus services accept as a label's value.
MAX_LABEL_CHARS: Final = 128

#: What no reader of the format expects inside a line: control characters, line separators; and what is no UTF-8.
_HARMFUL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
#: An empty value would be no label at all.
_UNKNOWN: Final = "_unknown"


def clean(value: str) -> str:
    """
    *value* as a label can show it.
    """
    return _HARMFUL.sub(_REPLACEMENT, value[:MAX_LABEL_CHARS]) or _UNKNOWN


class Places:
    """
    The values of one label that have a place of their own, first come, first served.
    """

    __slots__ = ("_limit", "_taken")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken: set[str] = set()

    def find(self, value: str) -> str:
        """
        The label's value for *value*: itself, cleaned, or `_other`.
        """
        label = clean(value)
        if label in self._taken:
            return label
        if label == OTHER or len(self._taken) >= self._limit:
            return OTHER
        self._taken.add(label)
        return label


class ErrorPlaces:
    """
    The series of errors: for each tool one per class, for what has no place of its own, and one per code.

    *tools* and *codes* of each may have a place, *series* is how many there may be in all. Rules ask for classes and
    for no code, so codes leave room for the classes of tools that come later: half as many as there may be. Should
    that not do, errors of a tool are counted under the tool `_other`, whose classes always have room.
    """

    __slots__ = ("_codes", "_free", "_max_codes", "_max_tools", "_taken")

    def __init__(self, *, tools: int, codes: int, series: int) -> None:
        self._max_tools = tools
        self._max_codes = codes
        self._free = series - len(ErrorClass)
        self._codes: dict[str, Places] = {OTHER: Places(codes)}
        self._taken: set[Key] = set()

    def bring(self, tool: str) -> list[Key]:
        """
        The series that *tool*, new so far, has before any of its codes.
        """
        keys = list(ERRORS.keys(tool))
        if tool != OTHER:
            if self._free < len(keys):
                return []
            self._free -= len(keys)
            self._codes[tool] = Places(self._max_codes)
        self._taken.update(keys)
        return keys

    def find(self, tool: str, error_class: str, code: str) -> Key:
        """
        The series in which an error of *tool*, which was brought, is counted.
        """
        codes = self._codes.get(tool)
        if codes is None:
            return OTHER, error_class, OTHER
        key = tool, error_class, codes.find(code)
        if key not in self._taken:
            if self._free <= self._reserved():
                return tool, error_class, OTHER
            self._free -= 1
            self._taken.add(key)
        return key

    def _reserved(self) -> int:
        """
        How many series the classes of tools may take that come later.
        """
        later = self._max_tools - len(self._codes) + 1  # of which `_other` is none
        return len(ErrorClass) * min(later, self._max_tools // 2)
