"""
`toolspan check --alerts`: what alerts judge, judged of files and stores.
"""

import json
from pathlib import Path

import pytest

from tests.cli_runner import Cli, call_of, scene, write
from tests.facts import run, tool_span
from tests.served import serving
from tests.stored import EXAMPLE, leave_open
from tests.stores import HOUR_NS, NOW_NS, Clock
from tests.test_collector_api import READY
from toolspan.cli._judging import STORE_TARGETS, TARGETS
from toolspan.collector.api import api_app
from toolspan.collector.questions import Context
from toolspan.config import Settings
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.remote import Collector
from toolspan.store.held import HeldStore

pytestmark = pytest.mark.usefixtures("folder")


def targets_of(text: str) -> dict[str, dict[str, object]]:
    """
    What became of each target of the store, in the document *text*.
    """
    numbers: list[dict[str, object]] = json.loads(text)["numbers"]
    return {str(each["target"]): each for each in numbers if not each["tool"]}


def test_judges_everything_that_is_alerted_on(toolspan: Cli) -> None:
    """
    Of a file nobody knows when its spans came, so that is not judged.
    """
    result = toolspan("check", EXAMPLE, "--alerts", "--format", "json")

    numbers = json.loads(result.out)["numbers"]
    assert {*TARGETS, *STORE_TARGETS} == {each["target"] for each in numbers}
    assert [("silence_seconds", "unjudged", None), ("lost", "unjudged", None)] == [
        (each["target"], each["verdict"], each["value"]) for each in numbers if not each["tool"]
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-wasted", "0"), "! book: wasted_seconds 0.02"),
        (("--max-wasted", "1"), ""),
        (("--max-cluster", "0.9"), "! book: cluster 1 of 2 failures, target at most 0.9"),
        (("--max-cluster", "1"), ""),
    ],
)
def test_takes_limits_of_alerts_one_by_one(toolspan: Cli, folder: Path, options: tuple[str, ...], said: str) -> None:
    """
    An option is enough, and judges nothing else that is new.
    """
    result = toolspan("check", scene(folder), "--tool", "book", "--min-cases", "2", *options)

    assert (bool(said), True) == (result.status == 1, said in result.out)
    assert "lost" not in result.out


def test_an_option_wins_over_the_alerts(toolspan: Cli) -> None:
    """
    As it does over the targets.
    """
    options = ("check", EXAMPLE, "--alerts", "--format", "json")
    document = json.loads(toolspan(*options, "--max-cluster", "0.7", "--max-tail", "0.3").out)

    assert {("cluster", 0.7), ("tail", 0.3), ("unclassified", 0.1)} <= {
        (each["target"], each["limit"]) for each in document["numbers"]
    }


def test_spans_that_are_lost_break_a_target(toolspan: Cli, folder: Path) -> None:
    """
    Of a store: one span of five came again and said something else.
    """
    toolspan("ingest", scene(folder))
    toolspan("ingest", write(folder / "other.jsonl", [call_of(5, "pay", "{}", start=60)]))

    options = ("check", "--min-cases", "5", "--max-lost", "0.1", "--format", "json")
    broken, before = toolspan(*options), toolspan(*options, "--until", "2020-01-01")

    assert {"lost": {"value": 1 / 6, "cases": 6, "verdict": "broken"}} == {
        name: {key: each[key] for key in ("value", "cases", "verdict")} for name, each in targets_of(broken.out).items()
    }
    assert "! the store: lost 0.167 of 6 spans, target at most 0.1" in toolspan(*options[:-2]).out
    assert (1, "unjudged") == (broken.status, targets_of(before.out)["lost"]["verdict"])


@pytest.mark.parametrize(
    ("silence", "verdict", "cases"), [("12h", "broken", 100), ("90m", "unjudged", 12), ("5000w", "kept", 7_000_000)]
)
def test_silence_breaks_a_target_where_spans_were_expected(
    toolspan: Cli, folder: Path, silence: str, verdict: str, cases: int
) -> None:
    """
    Two hundred came on the last day, which was years ago: in twelve hours a hundred should have.
    """
    leave_open(folder / "toolspan.duckdb", tasks=100)

    result = toolspan("check", "--max-silence", silence, "--format", "json")

    found = targets_of(result.out)["silence_seconds"]
    assert (verdict, cases, verdict == "broken") == (found["verdict"], found["cases"], result.status == 1)


def test_a_new_store_is_not_silent(toolspan: Cli, folder: Path) -> None:
    """
    Nothing came, and nothing was expected.
    """
    toolspan("ingest", write(folder / "empty.jsonl", []))

    result = toolspan("check", "--alerts", "--format", "json")

    assert {"unjudged"} == {each["verdict"] for each in targets_of(result.out).values()}
    assert 0 == result.status


def test_refuses_what_is_no_age(toolspan: Cli, folder: Path) -> None:
    """
    In one line.
    """
    result = toolspan("check", scene(folder), "--max-silence", "soon")

    assert (2, 1) == (result.status, result.err.count("\n"))
    assert "Cannot read the age 'soon'" in result.err


def test_a_collector_is_judged_as_its_file_is(toolspan: Cli, folder: Path) -> None:
    """
    By the spans that came in the window; of those of other hours it says nothing.
    """
    clock = Clock()
    store = HeldStore(folder / "held.duckdb", url="", settings=Settings(), tell=pytest.fail, clock_ns=clock)
    store.write([run(1), tool_span(1, 2, start=0)], knows=lambda _: True)
    clock.pass_s(7200)
    store.write([run(2), tool_span(2, 2, start=0), tool_span(2, 3, start=0)], knows=lambda _: True)
    context = Context(store, lambda: READY, Settings())
    with serving(api_app(context, MetricsCollector(Metrics()), token=None)) as address:
        collector = Collector(address, token=None)
        came = [
            collector.facts(since_ns=since_ns, until_ns=until_ns)[0].intake["received"]
            for since_ns, until_ns in ((None, None), (NOW_NS + HOUR_NS, None), (None, NOW_NS + HOUR_NS))
        ]
        by_url = toolspan("check", "--store", address, "--alerts", "--min-cases", "1", "--format", "json")
    store.close()
    by_file = toolspan("check", "--store", "held.duckdb", "--alerts", "--min-cases", "1", "--format", "json")

    assert [5, 3, 2] == came
    assert targets_of(by_file.out)["lost"] == targets_of(by_url.out)["lost"]
    assert "kept" == targets_of(by_url.out)["lost"]["verdict"]
