"""
The command line for tests, run in this process, and a small file of spans to run it on.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import otlp_builder as build
from toolspan.cli import main

#: The envelope of a tool that could not read a date.
BAD_DATE = '{"ok": false, "error": {"code": "DATE_FORMAT", "class": "validation", "field": "date", "hint": "ISO 8601"}}'
SOLD_OUT = '{"ok": false, "error": {"code": "SOLD_OUT", "class": "business_rule", "hint": "Try another fare."}}'


class Ran(NamedTuple):
    """
    What a command did.
    """

    status: int
    out: str
    err: str


class Cli:
    """
    Runs `toolspan` in this process.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: str | Path) -> Ran:
        hook = sys.excepthook
        try:
            with pytest.raises(SystemExit) as ended:
                main([str(arg) for arg in args])
        finally:
            sys.excepthook = hook
        assert isinstance(ended.value.code, int)
        captured = self._capsys.readouterr()
        return Ran(ended.value.code, captured.out, captured.err)


def call_of(
    span_id: int, tool: str, arguments: str, result: str = '{"ok": true}', *, start: int = 0
) -> dict[str, object]:
    """
    A call below run 1, with what it was given and what it answered.
    """
    values = {"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": result}
    return build.tool_span(span_id, tool, values, parent=1, start_ms=start, end_ms=start + 10)


def write(path: Path, spans: Iterable[Mapping[str, object]]) -> Path:
    """
    *spans* in an OTLP/JSON file at *path*.
    """
    path.write_bytes(build.json_line(spans))
    return path


def scene(folder: Path) -> Path:
    """
    A resolved task: a date rewritten, then a sold-out fare, twice the same.
    """
    spans = [
        build.run_span(1, start_ms=0, end_ms=1000),
        call_of(2, "search_flights", '{"date": "May 4"}', BAD_DATE, start=0),
        call_of(3, "search_flights", '{"date": "2026-05-04"}', start=20),
        call_of(4, "book", '{"fare": "A"}', SOLD_OUT, start=40),
        call_of(5, "book", '{"fare": "A"}', SOLD_OUT, start=60),
    ]
    return write(folder / "scene.otlp.jsonl", spans)
