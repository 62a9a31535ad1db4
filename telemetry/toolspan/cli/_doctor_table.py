"""
`doctor --format table`: the answer, then what to change, then which spans there are.

Unlike other tables this is prose, so it is wrapped in a pipe, too: at 80 columns, as people paste it into an issue.
"""

from collections.abc import Iterable
from textwrap import fill

from rich.console import Console
from rich.text import Text

from toolspan.cli._tables import Column, make_table, print_table
from toolspan.cli._text import inert
from toolspan.diagnosis import Diagnosis, Finding, Severity
from toolspan.survey import Kind, Survey

_WIDTH = 80
#: Longer lines than this are hard to read on any terminal.
_MOST_WIDTH = 100
#: More than any sentence of a finding; a name in it is cut before.
_LONGEST = 2000
_INDENT = " " * 10
_STYLES = {Severity.BLOCKS: "bold red", Severity.WEAKENS: "bold yellow", Severity.NOTE: "bold"}
_MARKS = {Severity.BLOCKS: "!", Severity.WEAKENS: "!", Severity.NOTE: "-"}

_COLUMNS = (
    Column("spans"),
    Column("counted as", is_name=True),
    Column("by", is_name=True),
    Column("scope", is_name=True),
)


def print_diagnosis(console: Console, diagnosis: Diagnosis, survey: Survey) -> None:
    """
    *diagnosis*, and the census of *survey*.
    """
    width = min(console.width, _MOST_WIDTH) if console.is_terminal else _WIDTH
    console.print(Text(fill(_safe(diagnosis.verdict), width), style="bold"))
    for finding in diagnosis.findings:
        console.print()
        _print_finding(console, finding, width)
    if survey.census:
        console.print()
        print_table(console, make_table(_COLUMNS, _census(survey)))


def _print_finding(console: Console, finding: Finding, width: int) -> None:
    title = fill(f"{_MARKS[finding.severity]} {_safe(finding.title)}", width, subsequent_indent="  ")
    console.print(Text(title, style=_STYLES[finding.severity]))
    said = ""
    for heading, text in (("seen", finding.seen), ("why", finding.why), *(("change", it) for it in finding.change)):
        if text:
            console.print(Text(_hanging(f"  {heading if heading != said else '':<8}", text, width)))
        said = heading


def _hanging(label: str, text: str, width: int) -> str:
    # names of settings and packages are copied: they are not broken at their hyphens
    return fill(
        _safe(text),
        width,
        initial_indent=label,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _census(survey: Survey) -> Iterable[list[str]]:
    for entry, tally in sorted(survey.census.items(), key=lambda item: (item[0].scope, -item[1].spans, item[0])):
        example = (
            f', such as "{inert(tally.example)}"' if entry.kind in (Kind.OTHER, Kind.NEAR_MISS, Kind.LEFT_OUT) else ""
        )
        yield [f"{tally.spans:,}", f"{entry.kind}", entry.convention or "-", f"{inert(entry.scope)}{example}"]


def _safe(text: str) -> str:
    return inert(text, longest=_LONGEST)
