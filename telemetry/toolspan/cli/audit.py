"""
`toolspan audit`: ten points against each tool of an agent, before its model is blamed.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from toolspan.cli._options import format_option
from toolspan.cli._text import counted, inert, one_line, sentence
from toolspan.errors import InputError
from toolspan.evidence.payloads import is_object

if TYPE_CHECKING:
    from toolspan.audit import Finding, Reason

_FAILED: Final = 1
_MARKS: Final = {"passed": "✓", "failed": "✗", "unjudged": "-"}
#: Reasons of one point, and places of one reason, that are printed; the fix of the first is most often that of all.
_MOST_REASONS: Final = 5
_MOST_PLACES: Final = 4

Arguments = dict[str, dict[str, object]]


@click.command("audit")
@click.argument("target", metavar="MODULE:OBJECT")
@click.option(
    "--arguments",
    "arguments_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='JSON: what to call a tool with, by its name: {"search": {"date": "2026-05-04"}}.',
)
@click.option("--read", "reading", metavar="TOOL", multiple=True, help="This tool changes nothing, so it may be run.")
@click.option("--execute", is_flag=True, help="Run the tools' own functions, also of those that may write.")
@click.option("--strict", is_flag=True, help="Exit 1 also where a point cannot be judged.")
@format_option("table", "json")
def audit(
    target: str, arguments_file: Path | None, reading: Sequence[str], execute: bool, strict: bool, output: str
) -> None:
    """
    Ten points against each tool, with faults injected; exit 1 when one fails.

    OBJECT is a tool, a function, a list or dict of them; without it, all tools of MODULE. Faults stand in place of a
    tool's own function. That is run only where the tool reads, by its name or by --read, or with --execute; then
    nothing that goes through requests, httpx or Python's sockets leaves the process.
    """
    # failures on purpose are not to be seen in anybody's telemetry
    os.environ.setdefault("OTEL_SDK_DISABLED", "true")
    from toolspan.audit import audit as audit_tools
    from toolspan.audit import find_subjects, load

    arguments = _read_arguments(arguments_file)
    subjects = find_subjects(load(target), name=target, reading=reading)
    stray = sorted(arguments.keys() - {subject.name for subject in subjects})
    if stray:
        names = ", ".join(inert(subject.name) for subject in subjects)
        raise InputError(f"{arguments_file} has arguments of {stray[0]!r}, which is none of the tools: {names}.")
    findings = list(audit_tools(subjects, arguments=arguments, is_executed=execute))
    if output == "json":
        click.echo(json.dumps(document_of(findings), indent=2, ensure_ascii=False))
    else:
        for line in finding_lines(findings):
            click.echo(line)
    verdicts = Counter(str(finding.verdict) for finding in findings)
    if verdicts["failed"] or (strict and verdicts["unjudged"]):
        raise click.exceptions.Exit(_FAILED)


def _read_arguments(file: Path | None) -> Arguments:
    """
    What to call each tool with.
    """
    if file is None:
        return {}
    try:
        document: object = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"Cannot read {file}: {error}; give JSON: {{tool: {{argument: value}}}}.") from error
    if not is_object(document) or not all(is_object(value) for value in document.values()):
        raise InputError(f"Cannot read {file}: it is no object of objects; give {{tool: {{argument: value}}}}.")
    return cast("Arguments", document)


def document_of(findings: Iterable["Finding"]) -> Mapping[str, object]:
    """
    *findings* by tool, as JSON has them.
    """
    listed = list(findings)
    tools = {
        tool: [
            {
                "point": finding.point.number,
                "name": finding.point.name,
                "asks": finding.point.asks,
                "verdict": str(finding.verdict),
                "reasons": [{"said": reason.said, "places": list(reason.places)} for reason in finding.reasons],
                "protects_from": finding.point.protects_from,
                "fix": finding.point.fix if finding.verdict == "failed" else None,
            }
            for finding in group
        ]
        for tool, group in groupby(listed, key=lambda finding: finding.tool)
    }
    return {"tools": tools, "failed": sum(finding.verdict == "failed" for finding in listed)}


def finding_lines(findings: Sequence["Finding"]) -> Iterator[str]:
    """
    A line for each point of each tool; of one that failed also the reasons, what it protects from, and the fix.
    """
    for tool, group in groupby(findings, key=lambda finding: finding.tool):
        yield inert(tool)
        for finding in group:
            yield from _lines_of(finding)
    verdicts = Counter(str(finding.verdict) for finding in findings)
    unjudged = f"; {counted(verdicts['unjudged'], 'point')} could not be judged" if verdicts["unjudged"] else ""
    if verdicts["failed"]:
        yield f"{verdicts['failed']:,} of {counted(len(findings) - verdicts['unjudged'], 'point')} failed{unjudged}."
    else:
        yield f"{counted(verdicts['passed'], 'point')} passed{unjudged}."


def _lines_of(finding: "Finding") -> Iterator[str]:
    point, verdict = finding.point, str(finding.verdict)
    head = f"  {_MARKS[verdict]} {point.number:>2} {point.name}"
    if verdict == "unjudged":
        yield f"{head}: {_told(finding.reasons[0])}"
        return
    yield f"{head}: {sentence(point.asks)}"
    for reason in finding.reasons[:_MOST_REASONS]:
        yield f"       {_told(reason)}"
    if len(finding.reasons) > _MOST_REASONS:
        yield f"       And {len(finding.reasons) - _MOST_REASONS:,} more; --format json has all."
    if verdict == "failed":
        yield f"       Protects from: {sentence(point.protects_from)}"
        yield f"       Fix: {sentence(point.fix)}"


def _told(reason: "Reason") -> str:
    said, places = one_line(reason.said), [one_line(place) for place in reason.places]
    if len(places) > _MOST_PLACES:
        places = [*places[:_MOST_PLACES], f"{len(places) - _MOST_PLACES:,} more"]
    where = f" ({', '.join(places)})" if places else ""
    return f"{said[:1].upper()}{said[1:].removesuffix('.')}{where}."
