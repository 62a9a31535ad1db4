"""
How values are written on the pages.

Names of tools, codes, fields and tasks come from clients and models. On a page they stand in Markdown or in HTML of our
own, and in both they are text and nothing else.
"""

import html
import re
from math import floor
from typing import Final

#: Longer than any name a model can be asked to call; providers allow 64 characters.
_LONGEST_NAME: Final = 80
_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")

#: Stands where there are no cases: neither 0 nor 1.
NOTHING: Final = "-"
#: What a person reads for a class.
CLASS_NAMES: Final = {
    "transient": "transient",
    "validation": "validation",
    "permission": "permission",
    "business_rule": "business rule",
    "fatal": "fatal",
    "unclassified": "unclassified",
}


def inert(name: str, *, longest: int = _LONGEST_NAME) -> str:
    """
    *name* with what is not printable written as its escape (control and bidirectional characters, lone surrogates), cut
    after *longest* characters.
    """
    text = name if len(name) <= longest else f"{name[: longest - 1]}…"
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode() for char in text
    )


def md(name: str, *, longest: int = _LONGEST_NAME) -> str:
    """
    *name* as Markdown that shows exactly it: any ASCII punctuation may stand behind a backslash.
    """
    return _PUNCTUATION.sub(r"\\\1", inert(name, longest=longest))


def markup(name: str, *, longest: int = _LONGEST_NAME) -> str:
    """
    *name* as HTML that shows exactly it, also inside an attribute.
    """
    return html.escape(inert(name, longest=longest), quote=True)


def percent(share: float) -> str:
    """
    *share* in whole percent, but never 0 % of something or 100 % of less than all.
    """
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{floor(share * 100 + 0.5)} %"


def percent_below(share: float, target: float) -> str:
    """
    *share*, which is below *target*, so that it reads as below it: 79.9 % where whole percents would both be 80.
    """
    whole = percent(share)
    return whole if whole != percent(target) else f"{floor(share * 1000) / 10:.1f} %"


def number(value: float) -> str:
    """
    *value* with two decimals at most and no trailing zeros: 0.82, 1.5, 3.
    """
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def duration(ms: float) -> str:
    """
    *ms* in the unit in which a person would say it.
    """
    if ms < 1000:
        return f"{number(ms)} ms"
    if ms < 120_000:
        return f"{ms / 1000:.1f} s"
    if ms < 7_200_000:
        return f"{ms / 60_000:.1f} min"
    if ms < 172_800_000:
        return f"{ms / 3_600_000:.1f} h"
    return f"{ms / 86_400_000:,.1f} days"


def counted(count: int, noun: str) -> str:
    """
    *count* and *noun*, in the plural where it is not one: "1 task", "1,200 tasks", "2 retries".
    """
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {plural}"


def short_id(task_id: str) -> str:
    """
    The beginning of *task_id*, which tells tasks on one page apart.
    """
    return task_id if len(task_id) <= 16 else f"{task_id[:12]}…"
