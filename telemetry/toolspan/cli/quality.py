"""
`toolspan quality`: whether the numbers and the tools that fail can be believed.
"""

import json
import sys
from collections.abc import Iterator, Mapping

import click

from toolspan.cli._csv import Cell, write_csv
from toolspan.cli._messages import say
from toolspan.cli._names import nothing_line
from toolspan.cli._options import Source, by_option, format_option, scope_options, source_options
from toolspan.cli._quality_table import print_qualities
from toolspan.cli._reading import reading
from toolspan.cli._tables import open_console
from toolspan.documents import GroupedQuality, Quality, ToolQuality
from toolspan.scope import Dimension, Scope

_HEADER = (
    "tool",
    "calls",
    "failures",
    "suspect_codes",
    "streak_longest",
    "streak_code",
    "cluster_class",
    "cluster_share",
    "lint",
    "codes_with_two_classes",
    "calls_with_local_retry",
    "attempts_per_call",
    "waited_ms",
    "budget_exhausted",
    "links",
    "links_presumed",
    "presumed_share",
    "unclassified",
    "unclassified_share",
    "unhandled_failures",
)


@click.command("quality")
@source_options
@scope_options
@by_option
@format_option("table", "json", "csv")
def quality(source: Source, scope: Scope, by: Dimension | None, output: str) -> None:
    """
    Whether the numbers and the tools that fail can be believed.

    Codes whose class the outcome of identical retries contradicts, same-error streaks, failures in resolved tasks that
    nobody handled, envelopes that break the rules, and the shares of presumed links and unclassified failures.
    """
    document: Quality | GroupedQuality
    nothing = ""
    with reading(source, purpose="toolspan quality") as (asked, _):
        if by is None:
            document = asked.quality(scope=scope)
            qualities = {"": document}
        else:
            document = asked.quality_by(by, scope=scope)
            qualities = document["groups"]
        if not any(part["tools"] for part in qualities.values()):
            nothing = nothing_line(asked.names(), scope)
    if nothing and output != "table":
        say(nothing)  # the document stays what programs read
    if output == "json":
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    elif output == "csv":
        _print_csv(qualities, by)
    elif nothing:
        click.echo(nothing)
    else:
        print_qualities(open_console(), qualities, by=by)


def _print_csv(qualities: Mapping[str, Quality], by: Dimension | None) -> None:
    if by is None:
        write_csv(sys.stdout, _HEADER, (row for part in qualities.values() for row in _csv_rows(part)))
    else:
        rows = ([value, *row] for value, part in qualities.items() for row in _csv_rows(part))
        write_csv(sys.stdout, [by, *_HEADER], rows)


def _csv_rows(document: Quality) -> Iterator[list[Cell]]:
    for name, tool in document["tools"].items():
        unhandled = sum(failure["tool"] == name for failure in document["unhandled_failures"])
        yield [name, *_numbers(tool), unhandled]


def _numbers(tool: ToolQuality) -> list[Cell]:
    local, presumed, unclassified, cluster = (
        tool["local_attempts"],
        tool["presumed"],
        tool["unclassified"],
        tool["cluster"],
    )
    return [
        tool["calls"],
        tool["failures"],
        " ".join(row["code"] for row in tool["class_audit"] if row["suspect"]),
        tool["streak"]["longest"],
        tool["streak"]["code"],
        None if cluster is None else cluster["class"],
        None if cluster is None else cluster["share"],
        " ".join(f"{flag}={count}" for flag, count in tool["lint"].items()),
        " ".join(tool["codes_with_two_classes"]),
        local["calls_with_local_retry"],
        local["attempts_per_call"],
        local["waited_ms"],
        local["budget_exhausted"],
        presumed["links"],
        presumed["presumed"],
        presumed["share"],
        unclassified["failures"],
        unclassified["share"],
    ]
