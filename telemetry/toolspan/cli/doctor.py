"""
`toolspan doctor`: why there are no numbers, or what weakens the ones there are.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolspan.cli._doctor_files import examine_files
from toolspan.cli._doctor_scope import FILTERS
from toolspan.cli._doctor_store import examine_store, missing_document, stored_document, stored_line
from toolspan.cli._doctor_table import Checked, checked_line, print_census, print_diagnosis
from toolspan.cli._options import Source, format_option, source_options
from toolspan.cli._store_findings import no_store
from toolspan.cli._tables import open_console
from toolspan.config import Settings, load_settings
from toolspan.diagnosis import Diagnosis, Examined
from toolspan.scope import Scope
from toolspan.taxonomy import ErrorClass
from toolspan.windows import milliseconds, parse_window

if TYPE_CHECKING:
    from toolspan.remote import Collector


@click.command("doctor")
@source_options
@click.option("--since", metavar="T", help="As for report; doctor says what leaves nothing.")
@click.option("--until", metavar="T", help="As for report.")
@click.option("--tool", metavar="N", help="As for report.")
@click.option("--agent", metavar="A", help="As for report.")
@click.option("--service", metavar="S", help="As for report.")
@click.option("--environment", metavar="E", help="As for report.")
@format_option("table", "json")
def doctor(source: Source, since: str | None, until: str | None, output: str, **filters: str | None) -> None:
    """
    Why there are no numbers, or what weakens the ones there are.

    FILE is OTLP as the Collector's file exporter writes it (JSON lines or protobuf, also .gz), or - for standard input.
    Of a store, which keeps what decided and not the spans, it can say less than of the FILE that was ingested.
    """
    since_ns, until_ns = parse_window(since, until, now_ns=time.time_ns())
    scope = Scope(since_ns, until_ns, *(filters[name] for name in FILTERS))
    settings = load_settings(environ=os.environ, config_path=source.config)
    if source.store is None:
        _of_files(source, settings, scope=scope, output=output)
    else:
        _of_store(source.store, settings, scope=scope, output=output)


def _of_files(source: Source, settings: Settings, *, scope: Scope, output: str) -> None:
    examined, diagnosis = examine_files(source, settings, scope=scope)
    if output == "json":
        click.echo(json.dumps(_document(examined, diagnosis), indent=2, allow_nan=False))
        return
    console, checked = open_console(), _checked(examined)
    print_diagnosis(console, diagnosis, checked_line(checked) if checked.calls else "")
    print_census(console, examined.survey)


def _of_store(path: "Path | Collector", settings: Settings, *, scope: Scope, output: str) -> None:
    if not isinstance(path, Path) or os.path.lexists(path):
        looked, diagnosis = examine_store(path, settings, scope=scope, now_ns=time.time_ns())
        document, checked = stored_document(looked, diagnosis), stored_line(looked)
    else:
        diagnosis = no_store(path)
        document, checked = missing_document(path, diagnosis), ""
    if output == "json":
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        print_diagnosis(open_console(), diagnosis, checked)


def _checked(examined: Examined) -> Checked:
    survey, shape, rows = examined
    failed = [call for call in rows.calls if call.outcome == "error"]
    unclassified = Counter(call.tool for call in failed if call.error_class == ErrorClass.UNCLASSIFIED)
    return Checked(
        calls=len(rows.calls),
        arguments_known=sum(call.args_hash is not None for call in rows.calls),
        answers=sum(use.answered for use in survey.tools.values()),
        results_recorded=sum(use.results for use in survey.tools.values()),
        tasks=len(rows.tasks),
        task_spans_found=sum(task.outcome_source != "unseen" for task in rows.tasks),
        sampling_signs=survey.sampling.total(),
        clock_skew_ms=milliseconds(shape.early_ns),
        failures=len(failed),
        unclassified=unclassified.total(),
        most_unclassified=max(unclassified, key=lambda tool: (unclassified[tool], tool), default=""),
    )


def _document(examined: Examined, diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "verdict": diagnosis.verdict,
        "spans": examined.survey.spans,
        "traces": len(examined.survey.traces),
        "tools": sorted({call.tool for call in examined.rows.calls}),
        "checked": _checked(examined)._asdict(),
        "findings": [finding._asdict() for finding in diagnosis.findings],
        "census": [
            {**entry._asdict(), "spans": tally.spans, "example": tally.example}
            for entry, tally in sorted(examined.survey.census.items())
        ],
    }
