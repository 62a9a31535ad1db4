"""
What a scrape sees: 0 first, every family by its name.
"""

from itertools import product

import pytest

from tests.rows import call, failed, rows, task
from tests.shown import counted, scrape
from toolspan.metrics import FAMILIES, Metrics

DOWN = ("transient", "UNAVAILABLE")


class TestFirstShownAsZero:
    def test_everything_without_a_tool_is_there_from_the_start(self) -> None:
        """
        At 0, so that rules over it give numbers.
        """
        table = scrape(Metrics())

        assert set(table.values()) == {0}
        assert table.keys() == {
            *product(["toolspan_tasks_total"], ["resolved", "unresolved", "escalated", "unknown"]),
            *product(["toolspan_spans_dropped_total"], ["conflict", "late", "overflow", "queue_full", "rejected"]),
            *product(["toolspan_label_overflow_total"], ["code", "reason", "tool"]),
            ("toolspan_spans_received_total",),
            ("toolspan_resettled_tasks_total",),
            ("toolspan_open_tasks",),
            ("toolspan_last_commit_timestamp_seconds",),
        }

    def test_a_tool_brings_all_classes_and_verdicts_at_once(self) -> None:
        """
        With its first call, whatever that is.
        """
        metrics = Metrics()
        classes = ["transient", "validation", "permission", "business_rule", "fatal", "unclassified"]

        metrics.count([rows([call(1)], [task()])])

        keys = scrape(metrics).keys()
        assert {key for key in keys if key[0] == "toolspan_calls_total"} == {
            ("toolspan_calls_total", "search", outcome) for outcome in ("ok", "error", "cancelled", "deferred")
        }
        assert {key for key in keys if key[0] == "toolspan_errors_total"} == {
            ("toolspan_errors_total", "search", error_class, "_other") for error_class in classes
        }
        assert {key for key in keys if key[0] == "toolspan_retries_total"} == set(
            product(["toolspan_retries_total"], ["search"], classes, ["allowed", "early", "over_cap", "wasted"])
        )
        assert {key for key in keys if key[0] == "toolspan_wasted_seconds_total"} == {
            ("toolspan_wasted_seconds_total", "search", error_class) for error_class in classes
        }
        assert {key[1:] for key in keys if key[0] == "toolspan_escalations_total"} == {
            ("search", "false"),
            ("search", "true"),
        }

    def test_a_new_series_shows_its_increments_from_the_next_scrape_on(self) -> None:
        """
        Also a code that comes to a tool that is known.
        """
        metrics, code = Metrics(), ("toolspan_errors_total", "search", "transient", "UNAVAILABLE")
        metrics.count([rows([call(1)], [task()])])
        scrape(metrics)
        metrics.count([rows([call(1), failed(call(2), *DOWN)], [task()])])

        first, second = scrape(metrics), scrape(metrics)

        assert (0, 1) == (first[code], second[code])
        assert first["toolspan_calls_total", "search", "error"] == 1

    def test_a_series_stays_zero_as_long_as_it_is_held(self) -> None:
        """
        So that a second scraper sees the 0 too; once through, it stays through.
        """
        metrics = Metrics(hold_s=30)
        metrics.receive(5)

        seen = [scrape(metrics, now_s=now_s)["toolspan_spans_received_total",] for now_s in (0, 15, 29.9, 30, 0)]

        assert [0, 0, 0, 5, 5] == seen

    def test_gauges_are_never_held_back(self) -> None:
        """
        They say how it is now.
        """
        metrics = Metrics()
        metrics.set_open_tasks(3)
        metrics.set_last_commit(1_700_000_000.5)

        table = scrape(metrics)

        assert table["toolspan_open_tasks",] == 3
        assert table["toolspan_last_commit_timestamp_seconds",] == 1_700_000_000.5


class TestPipeline:
    def test_spans_are_counted_as_they_came_and_were_dropped(self) -> None:
        """
        By reason.
        """
        metrics = Metrics()

        metrics.receive(10)
        metrics.receive(5)
        metrics.drop(2, reason="late")
        metrics.drop(1, reason="disk full")

        assert counted(metrics) == {
            ("toolspan_spans_received_total",): 15,
            ("toolspan_spans_dropped_total", "late"): 2,
            ("toolspan_spans_dropped_total", "disk full"): 1,
        }

    @pytest.mark.parametrize("at_s", [float("nan"), float("inf"), float("-inf")])
    def test_a_time_that_is_none_is_not_shown(self, at_s: float) -> None:
        """
        The last one stays.
        """
        metrics = Metrics()
        metrics.set_last_commit(1.5)

        metrics.set_last_commit(at_s)

        assert scrape(metrics)["toolspan_last_commit_timestamp_seconds",] == 1.5

    def test_a_counter_never_falls(self) -> None:
        """
        Whatever it is told.
        """
        metrics = Metrics()
        metrics.receive(3)

        metrics.receive(-2)

        assert counted(metrics) == {("toolspan_spans_received_total",): 3}


def test_every_family_is_named_and_explained() -> None:
    """
    Those of the specification, with their labels.
    """
    named = {definition.name: definition.labels for definition in FAMILIES}

    assert named == {
        "toolspan_calls_total": ("tool", "outcome"),
        "toolspan_errors_total": ("tool", "class", "code"),
        "toolspan_call_duration_seconds": ("tool",),
        "toolspan_attempts_total": ("tool",),
        "toolspan_tasks_total": ("outcome",),
        "toolspan_retries_total": ("tool", "class", "verdict"),
        "toolspan_retries_per_resolved_task": ("tool",),
        "toolspan_validation_failures_total": ("tool",),
        "toolspan_validation_recoveries_total": ("tool",),
        "toolspan_permission_episodes_total": ("tool",),
        "toolspan_escalations_total": ("tool", "prior_retry"),
        "toolspan_wasted_seconds_total": ("tool", "class"),
        "toolspan_spans_received_total": (),
        "toolspan_spans_dropped_total": ("reason",),
        "toolspan_open_tasks": (),
        "toolspan_last_commit_timestamp_seconds": (),
        "toolspan_resettled_tasks_total": (),
        "toolspan_label_overflow_total": ("label",),
    }
    assert all(definition.help.endswith(".") for definition in FAMILIES)
