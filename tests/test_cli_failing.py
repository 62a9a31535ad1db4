"""
Tools that only fail: no retry, no damage, and still the first thing to know.
"""

from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.cli_runner import Cli, write
from tests.rows import call, failed, rows, task, task_tool
from toolspan.cli._failing import failing_lines, failing_tools
from toolspan.numbers import report
from toolspan.records import Call, Rows, Task, TaskTool


def lines_of(given: Rows) -> list[str]:
    """
    What is said of *given*.
    """
    document = report(given)
    return failing_lines(document["tools"], failing_tools(document, min_calls=20))


def dead(count: int, *, ok: int = 0, outcome: str = "unresolved") -> Rows:
    """
    A task for each of *count* calls, of which all but *ok* failed, the first three with another code.
    """
    calls: list[Call] = []
    tasks: list[Task] = []
    for place in range(count):
        one = call(place, "charge_card", task=f"t{place}")
        code = ("validation", "RANGE") if place < 3 else ("transient", "INTERNAL")
        calls.append(one if place >= count - ok else failed(one, *code))
        tasks.append(task(f"t{place}", outcome))
    return rows(calls, tasks, [task_tool(each.task_id, "charge_card") for each in tasks])


def test_are_named_with_cause_and_the_tasks_that_ended_there() -> None:
    """
    How many calls, which class and code most, and in how many unresolved tasks.
    """
    expected = "charge_card: 60 of 60 calls failed, 57 transient INTERNAL; 60 unresolved tasks called it"
    given = dead(60)
    given.tasks.append(task("elsewhere", "unresolved"))

    assert [expected] == lines_of(given)


def test_of_resolved_tasks_nothing_is_said() -> None:
    """
    They went another way.
    """
    assert ["charge_card: 20 of 20 calls failed, 17 transient INTERNAL"] == lines_of(dead(20, outcome="resolved"))


@pytest.mark.parametrize(("count", "ok", "named"), [(19, 0, 0), (20, 0, 1), (20, 10, 1), (20, 11, 0)])
def test_takes_twenty_calls_and_half_of_them(count: int, ok: int, named: int) -> None:
    """
    Three of three may be chance.
    """
    assert named == len(lines_of(dead(count, ok=ok)))


def test_what_is_named_elsewhere_is_not_named_again() -> None:
    """
    Damage says more.
    """
    given = dead(60)
    sums: TaskTool = task_tool("t1", "charge_card")._replace(retries=1, over_cap=1)

    assert [] == lines_of(given._replace(task_tools=[sums]))


def test_a_failure_without_class_is_called_so_once() -> None:
    """
    Its code says the same.
    """
    calls = [failed(call(place), "unclassified", "UNCLASSIFIED") for place in range(20)]

    assert ["search: 20 of 20 calls failed, 20 unclassified"] == lines_of(rows(calls, [task()]))


def test_stand_below_the_table_of_their_group(toolspan: Cli, tmp_path: Path) -> None:
    """
    With the calls of that group.
    """
    spans: list[dict[str, object]] = []
    for place in range(20):
        trace = f"{place + 1:032x}"
        spans.append(build.run_span(1, end_ms=1000, status=2, trace_id=trace))
        spans.append(build.tool_span(2, "pay", {"http.response.status_code": 503}, parent=1, status=2, trace_id=trace))
    file = write(tmp_path / "s.jsonl", spans)

    plain, grouped = toolspan("report", file).out, toolspan("report", file, "--by", "agent").out

    said = "\nFailing\npay: 20 of 20 calls failed, 20 transient UNAVAILABLE; 20 unresolved tasks called it\n"
    assert [True, True] == [said in plain, said in grouped]
