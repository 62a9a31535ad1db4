"""
`doctor --format table`: the answer, then what to change, then which spans there are.

Unlike other tables this is prose, so it is wrapped in a pipe, too: at 80 columns, as people paste it into an issue.
"""

from collections.abc import Iterable
from textwrap import fill
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from toolspan.cli._tables import Column, print_table
from toolspan.cli._text import counted, inert, percent
from toolspan.diagnosis import UNCLASSIFIED_SHARE, Diagnosis, Finding, Severity
from toolspan.survey import Kind, Survey

_WIDTH = 80
#: Longer lines than this are hard to read on any terminal.
_MOST_WIDTH = 100
#: More than any sentence of a finding; a name in it is cut before.
_LONGEST = 2000
_INDENT = " " * 10
#: For what is too long a word beside the labels: a setting's name is copied, so it is broken last.
_SMALL_INDENT = " " * 4
_STYLES = {Severity.BLOCKS: "bold red", Severity.WEAKENS: "bold yellow", Severity.NOTE: "bold"}
_MARKS = {Severity.BLOCKS: "!", Severity.WEAKENS: "!", Severity.NOTE: "-"}

_COLUMNS = (
    Column("spans"),
    Column("counted as", is_name=True),
    Column("by", is_name=True),
    Column("scope", is_name=True),
)


class Checked(NamedTuple):
    """
    What was looked at, whether or not something is wrong with it.

    *answers* are tool spans that ended ok, *results_recorded* those of them with a result. *clock_skew_ms* is how far
    at the most a span starts before its parent. *unclassified* are failures, most of them of the tool
    *most_unclassified*.
    """

    calls: int
    arguments_known: int
    answers: int
    results_recorded: int
    tasks: int
    task_spans_found: int
    sampling_signs: int
    clock_skew_ms: float
    failures: int
    unclassified: int
    most_unclassified: str


def print_diagnosis(console: Console, diagnosis: Diagnosis, checked: str) -> None:
    """
    *diagnosis*, and in words what was *checked*, where anything was.
    """
    if not console.is_terminal:
        console.width = _WIDTH
    width = min(console.width, _MOST_WIDTH)
    console.print(Text(fill(_safe(diagnosis.verdict), width), style="bold"))
    for finding in diagnosis.findings:
        console.print()
        _print_finding(console, finding, width)
    if checked:
        console.print()
        console.print(Text(_hanging("checked   ", checked, width)))


def print_census(console: Console, survey: Survey) -> None:
    """
    Which spans there are.
    """
    if survey.census:
        console.print()
        print_table(console, _COLUMNS, _census(survey))


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
    longest = max(map(len, text.split()), default=0)
    indent = _INDENT if longest <= width - len(_INDENT) else _SMALL_INDENT
    # the label as part of the text: as an indent it would count against a long word that stands on the second line
    return fill(f"{label}{_safe(text)}", width, subsequent_indent=indent, break_on_hyphens=False)


def checked_line(checked: Checked) -> str:
    """
    What was *checked*, in words.
    """
    skew = f"clocks {checked.clock_skew_ms:,} ms apart" if checked.clock_skew_ms else "clocks agree"
    return (
        f"arguments known in {checked.arguments_known:,} of {counted(checked.calls, 'call')}, a result recorded on"
        f" {checked.results_recorded:,} of {counted(checked.answers, 'tool span')} that ended ok, the span found of"
        f" {checked.task_spans_found:,} of {counted(checked.tasks, 'task')},"
        f" {'signs' if checked.sampling_signs else 'no sign'} of sampling, {skew}.{_below_thresholds(checked)}"
    )


def _below_thresholds(checked: Checked) -> str:
    """
    What is missing of some calls and yet no finding, with the share from which it would be one.
    """
    unclassified = checked.unclassified / checked.failures if checked.failures else 0
    if not 0 < unclassified < UNCLASSIFIED_SHARE:
        return ""
    return (
        f" {percent(unclassified)} of all failures are unclassified, most of them {checked.most_unclassified}'s, below"
        f" the {percent(UNCLASSIFIED_SHARE)} that doctor calls a finding."
    )


def _census(survey: Survey) -> Iterable[list[str]]:
    for entry, tally in sorted(survey.census.items(), key=lambda item: (item[0].scope, -item[1].spans, item[0])):
        example = (
            f', such as "{inert(tally.example)}"' if entry.kind in (Kind.OTHER, Kind.NEAR_MISS, Kind.LEFT_OUT) else ""
        )
        yield [f"{tally.spans:,}", f"{entry.kind}", entry.convention or "-", f"{inert(entry.scope)}{example}"]


def _safe(text: str) -> str:
    return inert(text, longest=_LONGEST)
