"""
The worked examples of docs/numbers.md are what the command computes of their calls.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, write
from toolspan.evidence.payloads import is_object

PAGE = (Path(__file__).parent.parent / "docs" / "numbers.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
EXAMPLES = [title for title, text in SECTIONS.items() if "```json" in text]


class Line(NamedTuple):
    """
    A line of the table of an example.
    """

    task: str
    tool: str
    start_ms: int
    end_ms: int
    arguments: str
    ended: str


def lines_of(section: str) -> list[Line]:
    """
    The calls in the table of *section*.
    """
    rows = re.findall(r"^\|(.+)\|$", section, flags=re.MULTILINE)
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    return [Line(row[0], row[1], int(row[2]), int(row[3]), row[4], row[5]) for row in cells[2:]]


def spans_of(lines: list[Line]) -> list[dict[str, object]]:
    """
    A trace for each task: its run, and what happened in it.
    """
    spans: list[dict[str, object]] = []
    for number, task in enumerate(dict.fromkeys(line.task for line in lines), start=1):
        own = [line for line in lines if line.task == task]
        trace_id = f"{number:032x}"
        _, _, outcome = task.partition(" ")
        values = {"toolspan.task.outcome": outcome or "resolved"}
        spans.append(build.run_span(1, values, end_ms=max(line.end_ms for line in own) + 10, trace_id=trace_id))
        for span_id, line in enumerate(own, start=2):
            spans.append(span_of(span_id, line, trace_id))
    return spans


def span_of(span_id: int, line: Line, trace_id: str) -> dict[str, object]:
    """
    The span of one *line*.
    """
    times = {"parent": 1, "start_ms": line.start_ms, "end_ms": line.end_ms, "trace_id": trace_id}
    if line.ended == "asks a human":
        values = {"toolspan.kind": "escalation", "toolspan.escalation.tool": line.tool}
        return build.span(span_id, values, **times)  # type: ignore[arg-type]  # passed on
    error_class, _, code = line.ended.partition(" ")
    values = {"gen_ai.tool.call.arguments": line.arguments}
    if code:
        values |= {"toolspan.error.class": error_class, "toolspan.error.code": code}
    return build.tool_span(span_id, line.tool, values, status=0 if line.ended == "ok" else 2, **times)


def part_of(whole: object, wanted: object) -> object:
    """
    Of *whole* what *wanted* has keys for.
    """
    if is_object(whole) and is_object(wanted):
        return {key: part_of(whole[key], wanted[key]) for key in wanted}
    return whole


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_is_what_is_computed(toolspan: Cli, folder: Path, title: str) -> None:
    """
    From spans, by the command that people run.
    """
    section = SECTIONS[title]
    [shown] = re.findall(r"```json\n(.*?)```", section, flags=re.DOTALL)
    spans = write(folder / "example.jsonl", spans_of(lines_of(section)))

    document = json.loads(toolspan("report", spans, "--format", "json").out)

    expected = json.loads(shown)
    assert expected == part_of(document["tools"], expected)
    assert set(expected) == set(document["tools"])


def test_every_number_has_an_example() -> None:
    """
    The three, and what tools are sorted and judged by.
    """
    assert len(EXAMPLES) >= 6
