"""
What the dashboard is tried on: three tools that fail in ways which a person has to find out from the pages.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tests import otlp_builder as build
from tests.cli_runner import Cli

#: Enough to be judged: targets take twenty cases.
TASKS: Final = 25

BAD_DATE: Final = {"code": "DATE_FORMAT", "class": "validation", "field": "date", "hint": "Send a date."}
TAKEN: Final = {"code": "ROOM_TAKEN", "class": "transient", "hint": "Try again later."}
DENIED: Final = {"code": "NOT_ALLOWED", "class": "permission", "hint": "Not allowed."}


def calls_of(
    trace: int, tool: str, errors: list[Mapping[str, object] | None], arguments: list[str], *, name: str = "trip"
) -> Iterator[dict[str, object]]:
    """
    A task that calls *tool* as often as *errors* says, None where it is well.
    """
    trace_id = f"{trace:032x}"
    begin = trace * 1000
    values = {"toolspan.task.outcome": "resolved", "toolspan.task.name": name}
    yield build.run_span(trace * 100, values, start_ms=begin, end_ms=begin + 900, trace_id=trace_id)
    for place, (error, given) in enumerate(zip(errors, arguments, strict=True)):
        result = {"ok": True} if error is None else {"ok": False, "error": error}
        yield build.tool_span(
            trace * 100 + place + 1,
            tool,
            {"gen_ai.tool.call.arguments": given, "gen_ai.tool.call.result": json.dumps(result)},
            parent=trace * 100,
            start_ms=begin + 10 + place * 100,
            end_ms=begin + 60 + place * 100,
            trace_id=trace_id,
        )


def vague_field() -> Iterator[dict[str, object]]:
    """
    The agent guesses what a date looks like, and guesses wrong.
    """
    for trace in range(1, TASKS + 1):
        guesses = ['{"date": "May 4"}', '{"date": "4 May"}', '{"date": "04/05"}']
        yield from calls_of(trace, "search_flights", [BAD_DATE, BAD_DATE, BAD_DATE], guesses)


def rule_as_transient() -> Iterator[dict[str, object]]:
    """
    A room that is taken stays taken, though the tool says to try again.
    """
    for trace in range(101, TASKS + 101):
        yield from calls_of(trace, "book_room", [TAKEN, TAKEN, TAKEN], ['{"room": 7}'] * 3)


def permission_unheard() -> Iterator[dict[str, object]]:
    """
    Nobody who could allow it is asked.
    """
    for trace in range(201, TASKS + 201):
        yield from calls_of(trace, "refund", [DENIED], ['{"order": 3}'])


def all_well() -> Iterator[dict[str, object]]:
    """
    A tool that does its work.
    """
    for trace in range(301, TASKS + 301):
        yield from calls_of(trace, "get_invoice", [None], ["{}"])


def store_of(toolspan: Cli, folder: Path, *scenes: Iterator[dict[str, object]], name: str = "scene.duckdb") -> Path:
    """
    A store of *scenes*.
    """
    store, file = folder / name, folder / "scene.otlp.jsonl"
    file.write_bytes(build.json_line(span for scene in scenes for span in scene))
    result = toolspan("ingest", file, "--store", store)
    assert 0 == result.status, result.err
    return store
