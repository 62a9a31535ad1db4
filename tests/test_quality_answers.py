"""
The document of `quality` from what a store answers.
"""

from pathlib import Path

import pytest

from tests.facts import MS, escalation, run, tool_span
from tests.filled import filled_store
from tests.quality_documents import clusters, codes_with_two_classes
from tests.rows import call, failed, retry, rewrite, rows, task, task_tool
from tests.stores import open_store
from toolspan.quality import quality, quality_by, wilson
from toolspan.quality_answers import (
    QualityAnswers,
    ask_quality,
    ask_quality_by,
    quality_by_from,
    quality_from,
)
from toolspan.records import Rows, extend
from toolspan.scope import Scope
from toolspan_queries import Connection, fetch
from toolspan_queries import quality_rows as of
from toolspan_queries.rows import Codes

NOTHING = QualityAnswers([], [], [], [], [], [], [], [], [])


class TestFromAnswers:
    def test_no_answers_are_a_document_of_nothing(self) -> None:
        """
        With the window that was asked for.
        """
        assert {
            "window": {"since": "1970-01-01T00:00:00.000000001Z", "until": None},
            "tasks": {"settled": 0, "resolved": 0, "unhandled": 0, "unhandled_share": None},
            "tools": {},
            "unhandled_failures": [],
        } == quality_from(NOTHING, scope=Scope(since_ns=1))

    def test_each_answer_has_its_place(self) -> None:
        """
        A tool of open tasks has neither streak nor links; tools stand in order of failures.
        """
        answers = QualityAnswers(
            unhandled_tasks=[of.UnhandledTasks("", 8, 4, 1, 0.25)],
            unhandled_failures=[of.UnhandledFailures("", "t1", "do t1", "pay", "fatal", "GONE", 5 * MS)],
            local_attempts=[
                of.LocalAttempts("", "book", 2, 2, 0, 1.0, 0, 0),
                of.LocalAttempts("", "pay", 30, 45, 9, 1.5, 70, 2),
            ],
            codes=[Codes("", "pay", "fatal", "GONE", 12), Codes("", "pay", "unclassified", "UNCLASSIFIED", 8)],
            class_audit=[of.ClassAudit("", "pay", "fatal", "GONE", 11, 5, 5, 1.0)],
            streaks=[of.Streaks("", "pay", 3, "GONE", "t1")],
            lint=[of.Lint("", "pay", 6, 2), of.Lint("", "pay", 4, 1)],
            presumed=[of.Presumed("", "pay", 10, 4, 0.4)],
            unclassified_evidence=[of.UnclassifiedEvidence("", "pay", "status", 8)],
        )

        document = quality_from(answers)

        assert {"settled": 8, "resolved": 4, "unhandled": 1, "unhandled_share": 0.25} == document["tasks"]
        assert ["pay", "book"] == list(document["tools"])
        assert {
            "calls": 30,
            "failures": 20,
            "class_audit": [
                {
                    "code": "GONE",
                    "class": "fatal",
                    "failures": 11,
                    "identical_retries": 5,
                    "succeeded": 5,
                    "rate": 1.0,
                    "interval": list(wilson(5, 5)),
                    "suspect": True,
                }
            ],
            "streak": {"longest": 3, "code": "GONE", "task_id": "t1"},
            "cluster": {"class": "fatal", "failures": 12, "share": 0.6},
            "lint": {"hint_too_long": 3, "field_missing": 2},
            "codes_with_two_classes": {},
            "local_attempts": {
                "calls_with_local_retry": 9,
                "attempts_per_call": 1.5,
                "waited_ms": 70,
                "budget_exhausted": 2,
            },
            "presumed": {"links": 10, "presumed": 4, "share": 0.4},
            "unclassified": {"failures": 8, "share": 0.4, "evidence": {"status": 8}},
        } == document["tools"]["pay"]
        assert {"longest": 0, "code": None, "task_id": None} == document["tools"]["book"]["streak"]
        assert {"links": 0, "presumed": 0, "share": None} == document["tools"]["book"]["presumed"]
        assert [
            {
                "task_id": "t1",
                "task": "do t1",
                "tool": "pay",
                "class": "fatal",
                "code": "GONE",
                "ended_at": "1970-01-01T00:00:00.005000000Z",
            }
        ] == document["unhandled_failures"]

    def test_groups_keep_their_tools_apart(self) -> None:
        """
        A group whose tasks called nothing is there, too.
        """
        answers = NOTHING._replace(
            unhandled_tasks=[of.UnhandledTasks(value, 1, 1, 0, 0.0) for value in ("b", "", "a")],
            local_attempts=[of.LocalAttempts(value, "pay", 1, 1, 0, 1.0, 0, 0) for value in ("a", "b")],
            codes=[Codes("b", "pay", "fatal", "GONE", 1)],
        )

        grouped = quality_by_from(answers, by="agent")

        assert [("", {}), ("a", {"pay": 0}), ("b", {"pay": 1})] == [
            (value, {tool: part["failures"] for tool, part in document["tools"].items()})
            for value, document in grouped["groups"].items()
        ]


MINUTE_NS = 60 * 10**9
#: When tasks ended, in minutes; the last two are open.
ENDS = (30, 60, 75, 120, 190, 80, 180)
OPEN = ("t6", "t7")


def busy(name: str, place: int) -> Rows:
    """
    A task that has some of everything, more of it the later its *place*.
    """
    calls = [call(100 * place + n, task=name, start=20 * n) for n in range(40 + 2 * place)]
    for n, each in enumerate(calls):
        if n % 2 == 0:
            calls[n] = failed(each, "fatal" if n % 6 else "transient", "BOTH")._replace(lint=1 + n % 4)
        elif n < place * 4:
            calls[n] = retry(each, of=100 * place + n - 1, verdict="wasted", presumed=n % 4 == 3)
        elif n < place * 6:
            calls[n] = rewrite(each, of=100 * place + n - 1, presumed=n % 4 == 1)
        else:
            calls[n] = each._replace(attempts=place, waited_ms=n, budget_exhausted=True)
    last = failed(call(100 * place + 99, task=name, start=2000), "unclassified", "UNCLASSIFIED", evidence="status")
    retries = [each.presumed for each in calls if each.follow_up == "retry"]
    sums = task_tool(name)._replace(
        retries=len(retries), presumed=sum(retries), wasted=len(retries), streak=4 + place % 3, streak_code="BOTH"
    )
    ended = task(name)._replace(ended_ns=ENDS[place - 1] * MINUTE_NS, settled=name not in OPEN, unhandled=True)
    return rows([*calls, last], [ended], [sums])


@pytest.fixture(scope="module")
def scene() -> Rows:
    """
    Tasks that ended before, on, inside and after whole hours, and open ones.
    """
    found = rows()
    for place in range(1, len(ENDS) + 1):
        extend(found, busy(f"t{place}", place))
    return found


@pytest.fixture(scope="module")
def store(scene: Rows) -> Connection:
    """
    A store of the scene.
    """
    return filled_store(scene)


@pytest.mark.parametrize(
    ("since", "until", "settled"),
    [
        (None, None, 5),
        (30, None, 5),  # an edge in front, and open tasks
        (31, None, 4),
        (60, 120, 2),  # exactly an hour
        (60, 121, 3),  # and an edge behind
        (59, 120, 2),
        (61, 120, 1),  # no whole hour
        (75, 76, 1),
        (76, 119, 0),
        (61, 180, 2),  # an edge, and an hour
        (30, 191, 5),
        (45, 190, 3),
        (None, 75, 2),
        (None, 180, 4),
        (120, None, 2),
        (190, 200, 1),
        (185, None, 1),
    ],
)
def test_a_window_holds_the_same_tasks_wherever_they_are_counted(
    scene: Rows, store: Connection, since: int | None, until: int | None, settled: int
) -> None:
    """
    In hours, at edges, and among open tasks, in every number.
    """
    scope = Scope(None if since is None else since * MINUTE_NS, None if until is None else until * MINUTE_NS)

    document = ask_quality(store, scope=scope)

    assert settled == document["tasks"]["settled"]
    assert settled == len(document["unhandled_failures"])
    assert quality(scene, scope=scope) == document
    assert clusters({"": document}) == fetch(store, of.Cluster, **scope._asdict())
    assert codes_with_two_classes({"": document}) == sorted(fetch(store, of.CodesWithTwoClasses, **scope._asdict()))


def test_a_store_file_answers_what_its_rows_say(tmp_path: Path) -> None:
    """
    From spans to the document, of settled tasks and of one that came after.
    """
    store = open_store(tmp_path / "store.duckdb")
    down, denied = ("transient", "UNAVAILABLE"), ("permission", "DENIED")
    store.append(
        [
            run(1),
            tool_span(1, 2, start=0, error=down),
            tool_span(1, 3, start=20, error=down),
            tool_span(1, 4, start=40),
            run(2, outcome="resolved"),
            tool_span(2, 2, start=0, error=denied),
            escalation(2, 3, at=50),
            tool_span(2, 4, start=60, tool="book", error=("fatal", "GONE")),
        ]
    )
    store.settle()
    store.append([run(3), tool_span(3, 2, start=0, error=down, tool="book")])

    with store.reading() as file:
        whole = ask_quality(file.connection)
        grouped = ask_quality_by(file.connection, by="agent")

    kept = store.rows()
    assert (quality(kept), quality_by(kept, by="agent")) == (whole, grouped)
    assert {"settled": 2, "resolved": 2, "unhandled": 1, "unhandled_share": 0.5} == whole["tasks"]
    assert ["GONE"] == [failure["code"] for failure in whole["unhandled_failures"]]
    search, book = whole["tools"]["search"], whole["tools"]["book"]
    assert [("UNAVAILABLE", 2, 1)] == [
        (row["code"], row["identical_retries"], row["succeeded"]) for row in search["class_audit"]
    ]
    assert {"longest": 2, "code": "UNAVAILABLE", "task_id": task_id(1)} == search["streak"]
    assert (2, {"longest": 1, "code": "GONE", "task_id": task_id(2)}) == (book["failures"], book["streak"])


def task_id(trace: int) -> str:
    """
    The id of the task that the run of *trace* is.
    """
    return f"{trace:032x}-{1:016x}"
