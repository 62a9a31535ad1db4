"""
What could not be read, for people: each reason once per file, with how often and where first.

A file that is no OTLP at all has the same problem in every line, and a line of message for each would hide the one
that differs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolspan.cli._text import sentence
from toolspan.framing.source import display_name

#: Reasons are some twenty; a directory of foreign files has one in each.
_MOST_REASONS: Final = 10
#: A reason may quote a number, so a damaged file could have millions of different ones.
_MOST_KEPT: Final = 1000
_REJECTED_SPANS: Final = re.compile(r"(\d+) span\(s\) rejected: (.*)")


@dataclass(slots=True)
class _Seen:
    first: str
    times: int = 0
    spans: int = 0


class Problems:
    """
    Problems of reading *files*, gathered by file and reason.
    """

    def __init__(self, files: Iterable[str]) -> None:
        # the longest first: one name may begin another
        self._names = sorted({display_name(path) for path in files}, key=len, reverse=True)
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._others = 0

    def __call__(self, line: str) -> None:
        """
        One more problem, as `read_files` tells it: `FILE PLACE: DETAIL`.
        """
        name = next((name for name in self._names if line.startswith((f"{name}:", f"{name} "))), "")
        place, _, detail = line.removeprefix(name).partition(": ")
        spans = _REJECTED_SPANS.fullmatch(detail)
        key = (name, detail if spans is None else spans[2])
        if key not in self._seen and len(self._seen) >= _MOST_KEPT:
            self._others += 1
            return
        seen = self._seen.setdefault(key, _Seen(place.strip()))
        seen.times += 1
        seen.spans += 0 if spans is None else int(spans[1])

    def lines(self) -> list[str]:
        """
        A sentence for each reason of each file, in the order in which they came; where they are many, how many more.
        """
        told = [_tell(name, detail, seen) for (name, detail), seen in self._seen.items()]
        more = len(told) - _MOST_REASONS + self._others
        return told if more <= 0 else [*told[:_MOST_REASONS], f"And {more:,} more like these."]


def _tell(name: str, detail: str, seen: _Seen) -> str:
    if seen.spans:
        detail = f"{seen.spans:,} {'span' if seen.spans == 1 else 'spans'} rejected: {detail}"
    if seen.times == 1:
        return sentence(f"{' '.join(part for part in (name, seen.first) if part)}: {detail}")
    return sentence(f"{name}: {detail} ({seen.times:,} times, first in {seen.first})")
