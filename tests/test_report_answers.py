"""
The report of a store is the report of its rows.
"""

import json

from tests.filled import empty_store, filled_store
from tests.query_scene import scene
from tests.rows import rows
from toolspan.numbers import Scope, Targets, report, report_by
from toolspan.report_answers import ReportAnswers, ask_report, ask_report_by, report_from
from toolspan_queries import rows as of

TARGETS = Targets(min_cases=1)


def test_a_store_is_reported_as_its_rows() -> None:
    """
    Key by key, in the same order, with the same targets.
    """
    expected = report(scene(), targets=TARGETS)

    assert json.dumps(expected) == json.dumps(ask_report(filled_store(scene()), targets=TARGETS))
    assert ["clean_escalations"] == expected["tools"]["search"]["broken"]


def test_groups_of_a_store_are_those_of_its_rows() -> None:
    """
    The most damage first, in a window and with a filter.
    """
    scope = Scope(since_ns=1, tool="search")
    expected = report_by(scene(), by="agent", scope=scope)

    assert json.dumps(expected) == json.dumps(ask_report_by(filled_store(scene()), by="agent", scope=scope))
    assert ["planner", ""] == list(expected["groups"])


def test_an_empty_store_has_an_empty_report() -> None:
    """
    Zeros, and no group.
    """
    assert report(rows()) == ask_report(empty_store())
    assert report_by(rows(), by="service") == ask_report_by(empty_store(), by="service")


#: Answers in which no number stands twice.
ANSWERS = ReportAnswers(
    tasks=[of.Tasks("", 101, 102, 103, 104, 105, 106)],
    calls=[of.Calls("", "search", 201, 202, 203, 204, 205, 206, 207)],
    codes=[of.Codes("", "search", "fatal", "GONE", 301), of.Codes("", "search", "transient", "BUSY", 302)],
    durations=[of.Durations("", "search", 201, 401_000, 402_000)],
    retries_per_resolved_task=[of.RetriesPerResolvedTask("", "search", 500, 501, 0.0, 502, 503, 504, 505, 250, 0.0)],
    retries=[of.Retries("", "search", 600, 601, 602, 603, 604, 605, 606, 607_000_000, None, None)],
    retried_in_vain=[of.RetriedInVain("", "search", "fatal", "GONE", 701, 702, 703, 2106)],
    validation_recovery=[of.ValidationRecovery("", "search", 800, 400, None, 403, 804, 201, None)],
    recovery_by_code=[of.RecoveryByCode("", "search", "FORMAT", 810, 405, 0.0, 406)],
    recovery_by_field=[of.RecoveryByField("", "search", "date", 820, 410, 0.0, 411)],
    escalations=[of.Escalations("", "search", 901, 904, 452, None)],
    unresolved_tasks=[of.UnresolvedTasks("", "search", 999)],
)


def test_every_answer_has_its_place_in_the_document() -> None:
    """
    Rates, shares and damage are those of the counts.
    """
    document = report_from(ANSWERS)

    assert {
        "total": 101,
        "resolved": 102,
        "unresolved": 103,
        "escalated": 104,
        "unknown": 105,
        "open": 106,
    } == document["tasks"]
    assert document["tools"]["search"] == {
        "calls": 201,
        "ok": 202,
        "cancelled": 204,
        "deferred": 205,
        "errors": {
            "transient": 302,
            "validation": 0,
            "permission": 0,
            "business_rule": 0,
            "fatal": 301,
            "unclassified": 0,
        },
        "codes": {"BUSY": 302, "GONE": 301},
        "retries_per_resolved_task": {
            "resolved_tasks": 500,
            "retries": 501,
            "mean": 501 / 500,
            "p50": 502,
            "p95": 503,
            "p99": 504,
            "max": 505,
        },
        "retries": {
            "total": 601,
            "presumed": 602,
            "allowed": 603,
            "early": 604,
            "over_cap": 605,
            "wasted": 606,
            "wasted_ms": 607.0,
            "steps": 600,
            "per_step": 601 / 600,
        },
        "validation_recovery": {"failures": 800, "recovered": 400, "rate": 0.5, "accepted": 403},
        "escalations": {"episodes": 901, "escalated": 904, "without_prior_retry": 452, "rate": 0.5},
        "attempts": {"total": 206, "calls_with_local_retry": 207},
        "damage": 604 + 605 + 606 + 400 + 452,
        "broken": ["retries_per_step", "retries_p95", "validation_recovery", "clean_escalations"],
        "duration_ms": {"p50": 0.401, "p95": 0.402},
        "detail": {
            "tail": 0.5,
            "presumed_share": {"retries": 602 / 601, "rewrites": 0.25},
            "unclassified_share": 0.0,
            "recovery_by_code": {"FORMAT": {"failures": 810, "recovered": 405, "rate": 0.5, "accepted": 406}},
            "recovery_by_field": {"date": {"failures": 820, "recovered": 410, "rate": 0.5, "accepted": 411}},
            "wasted_by_code": {"GONE": 703},
            "causes": [
                {"class": "transient", "code": "BUSY", "failures": 302},
                {"class": "fatal", "code": "GONE", "failures": 301},
            ],
            "retried_in_vain": [{"class": "fatal", "code": "GONE", "early": 701, "over_cap": 702, "wasted": 703}],
            "unresolved_tasks": 999,
        },
    }
