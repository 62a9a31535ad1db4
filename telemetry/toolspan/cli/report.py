"""
`toolspan report`: the numbers.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Final, cast

import click

from toolspan.cli._csv import Cell, write_csv
from toolspan.cli._messages import say
from toolspan.cli._names import nothing_line
from toolspan.cli._options import Source, by_option, format_option, scope_options, source_options
from toolspan.cli._reading import reading
from toolspan.cli._report_table import print_reports
from toolspan.cli._tables import open_console
from toolspan.documents import GroupedReport, Report, ToolReport
from toolspan.scope import Dimension, Scope

#: The columns of the CSV that are numbers: paths into a tool's part of the document.
NUMBERS: Final = (
    "calls",
    "ok",
    "cancelled",
    "deferred",
    "errors.transient",
    "errors.validation",
    "errors.permission",
    "errors.business_rule",
    "errors.fatal",
    "errors.unclassified",
    "retries_per_resolved_task.resolved_tasks",
    "retries_per_resolved_task.retries",
    "retries_per_resolved_task.mean",
    "retries_per_resolved_task.p50",
    "retries_per_resolved_task.p95",
    "retries_per_resolved_task.p99",
    "retries_per_resolved_task.max",
    "retries.total",
    "retries.presumed",
    "retries.allowed",
    "retries.early",
    "retries.over_cap",
    "retries.wasted",
    "retries.wasted_ms",
    "retries.steps",
    "retries.per_step",
    "validation_recovery.failures",
    "validation_recovery.recovered",
    "validation_recovery.rate",
    "validation_recovery.accepted",
    "escalations.episodes",
    "escalations.escalated",
    "escalations.without_prior_retry",
    "escalations.rate",
    "attempts.total",
    "attempts.calls_with_local_retry",
    "damage",
    "duration_ms.p50",
    "duration_ms.p95",
    "detail.tail",
    "detail.presumed_share.retries",
    "detail.presumed_share.rewrites",
    "detail.unclassified_share",
    "detail.unresolved_tasks",
)


@click.command("report")
@source_options
@scope_options
@by_option
@format_option("table", "json", "csv")
def report(source: Source, scope: Scope, by: Dimension | None, output: str) -> None:
    """
    Retries, validation recovery and escalations of each tool, the one that hurts most first.

    FILE is OTLP as the Collector's file exporter writes it (JSON lines or protobuf, also .gz), or - for standard input.
    """
    document: Report | GroupedReport
    nothing = ""
    with reading(source, purpose="toolspan report") as (asked, settings):
        if by is None:
            document = asked.report(scope=scope, targets=settings.targets)
            reports = {"": document}
        else:
            document = asked.report_by(by, scope=scope, targets=settings.targets)
            reports = document["groups"]
        if not any(part["tools"] for part in reports.values()):
            nothing = nothing_line(asked.names(), scope)
    if nothing and output != "table":
        say(nothing)  # the document stays what programs read
    if output == "json":
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    elif output == "csv":
        _print_csv(reports, by)
    elif nothing:
        click.echo(nothing)
    else:
        print_reports(open_console(), reports, by=by, targets=settings.targets)


def _print_csv(reports: Mapping[str, Report], by: Dimension | None) -> None:
    header = ["tool", *(path.replace(".", "_") for path in NUMBERS), "codes", "broken"]
    if by is None:
        write_csv(sys.stdout, header, (row for part in reports.values() for row in _csv_rows(part)))
    else:
        rows = ([value, *row] for value, part in reports.items() for row in _csv_rows(part))
        write_csv(sys.stdout, [by, *header], rows)


def _csv_rows(document: Report) -> Iterator[list[Cell]]:
    for name, tool in document["tools"].items():
        codes = " ".join(f"{code}={count}" for code, count in tool["codes"].items())
        yield [name, *(_number(tool, path) for path in NUMBERS), codes, " ".join(tool["broken"])]


def _number(tool: ToolReport, path: str) -> Cell:
    value: object = tool
    for key in path.split("."):
        value = cast("Mapping[str, object]", value)[key]
    return cast("Cell", value)
