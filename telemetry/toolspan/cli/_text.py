"""
How values are written for people: plain text that is safe in any terminal.

Names of tools, codes and fields come from clients and models. What is not printable in one of them (control and
bidirectional characters, lone surrogates) is written as its escape, so that no name can move the cursor, turn the
line around or break the encoding; what is long is cut. Programs read `json` and `csv`, where names stay whole.
"""

from math import floor

#: Longer than any name a model can be asked to call; providers allow 64 characters.
_LONGEST_NAME = 80


def inert(name: str, *, longest: int = _LONGEST_NAME) -> str:
    """
    *name* without anything that acts on a terminal, cut after *longest* characters.
    """
    text = name if len(name) <= longest else f"{name[: longest - 1]}…"
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode() for char in text
    )


def one_line(text: str) -> str:
    """
    *text* on one line and inert; for messages that quote what somebody typed or a file said.
    """
    return inert(" ".join(text.split()), longest=1000)


def sentence(text: str) -> str:
    """
    *text* with a full stop, where it does not end like a sentence already.
    """
    return text if text.endswith((".", "!", "?", ".)")) else f"{text}."


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
    return f"{value:.2f}".rstrip("0").rstrip(".")


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
    return f"{ms / 3_600_000:.1f} h"


def counted(count: int, noun: str) -> str:
    """
    *count* and *noun*, in the plural where it is not one: "1 task", "1,200 tasks", "2 retries".
    """
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {plural}"
