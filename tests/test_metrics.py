"""
What is counted, once, when its time has come.
"""

from collections.abc import Callable, Mapping

from tests.rows import MS, call, failed, retry, rows, span_id, task, task_tool
from tests.shown import Table, counted, unsettled
from toolspan.metrics import Metrics
from toolspan.records import Call

DOWN = ("transient", "UNAVAILABLE")
#: Of the buckets of durations, and of those of retries.
BOUNDS_S = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "30", "60", "120", "300", "inf")
BOUNDS = ("0", "1", "2", "3", "4", "5", "8", "13", "21", "inf")


def is_due(*spans: int) -> Callable[[Call], bool]:
    """
    The calls with these span ids are.
    """
    return lambda one: one.span_id in {span_id(span) for span in spans}


def buckets(name: str, observations: Mapping[str, int]) -> Table:
    """
    The buckets of `search` by their bound.
    """
    return {(f"toolspan_{name}_bucket", "search", bound): count for bound, count in observations.items()}


class TestCalls:
    def test_a_call_counts_with_outcome_attempts_and_duration(self) -> None:
        """
        Two tries inside the tool are one call.
        """
        metrics = Metrics()

        metrics.count([unsettled(rows([call(1, end=30)._replace(attempts=2), call(2, end=20)], [task()]))])

        assert counted(metrics) == {
            ("toolspan_calls_total", "search", "ok"): 2,
            ("toolspan_attempts_total", "search"): 3,
            ("toolspan_call_duration_seconds_sum", "search"): 0.05,
            **buckets("call_duration_seconds", {"0.02": 1}),
            **buckets("call_duration_seconds", dict.fromkeys(BOUNDS_S[2:], 2)),
        }

    def test_an_error_counts_with_class_and_code(self) -> None:
        """
        One about which nothing is known has the code that says so.
        """
        metrics, unknown = Metrics(), call(3)._replace(outcome="error", evidence="status")

        metrics.count([rows([failed(call(1), *DOWN), failed(call(2), *DOWN), unknown], [task()])])

        assert counted(metrics, "errors_total", "calls_total") == {
            ("toolspan_calls_total", "search", "error"): 3,
            ("toolspan_errors_total", "search", "transient", "UNAVAILABLE"): 2,
            ("toolspan_errors_total", "search", "unclassified", "UNCLASSIFIED"): 1,
        }

    def test_a_call_that_is_not_due_waits(self) -> None:
        """
        Spans of it may still come; when its time has come it counts, and the other does not again.
        """
        metrics, group = Metrics(), unsettled(rows([call(1), call(2)], [task()]))

        metrics.count([group], is_due=is_due(1))
        first = counted(metrics, "calls_total")
        metrics.count([group])

        assert (first, counted(metrics, "calls_total")) == (
            {("toolspan_calls_total", "search", "ok"): 1},
            {("toolspan_calls_total", "search", "ok"): 2},
        )

    def test_a_deferred_call_waits_for_its_task(self) -> None:
        """
        What became of it is known only then.
        """
        metrics, group = Metrics(), rows([call(1)._replace(outcome="deferred")], [task()])

        metrics.count([unsettled(group)])
        waiting = counted(metrics, "calls_total")
        metrics.count([group])

        assert (waiting, counted(metrics, "calls_total")) == ({}, {("toolspan_calls_total", "search", "deferred"): 1})

    def test_a_deferred_call_that_was_resumed_counts_as_it_ended(self) -> None:
        """
        It is deferred no more, so it need not wait.
        """
        metrics = Metrics()
        metrics.count([unsettled(rows([call(1)._replace(outcome="deferred")], [task()]))])

        metrics.count([unsettled(rows([call(1)], [task()]))])

        assert counted(metrics, "calls_total") == {("toolspan_calls_total", "search", "ok"): 1}

    def test_an_end_before_the_start_is_no_negative_time(self) -> None:
        """
        The clocks of two processes disagree; a sum never falls.
        """
        metrics = Metrics()

        metrics.count([rows([call(1, start=20, end=10)], [task()])])

        table = counted(metrics)
        assert ("toolspan_call_duration_seconds_sum", "search") not in table
        assert table["toolspan_call_duration_seconds_bucket", "search", "0.01"] == 1


class TestTasks:
    def test_a_settled_task_counts_with_all_of_its_calls(self) -> None:
        """
        Due or not: nothing more will come.
        """
        metrics = Metrics()

        metrics.count([rows([call(1)], [task(outcome="escalated")])], is_due=is_due())

        assert counted(metrics, "calls_total", "tasks_total") == {
            ("toolspan_calls_total", "search", "ok"): 1,
            ("toolspan_tasks_total", "escalated"): 1,
        }

    def test_an_open_task_does_not_count(self) -> None:
        """
        Neither do its retries.
        """
        metrics = Metrics()
        group = rows([call(1)], [task()], [task_tool()._replace(retries=1, allowed=1, validation_failures=1)])

        metrics.count([unsettled(group)])

        assert {key[0] for key in counted(metrics)} == {
            "toolspan_calls_total",
            "toolspan_attempts_total",
            "toolspan_call_duration_seconds_sum",
            "toolspan_call_duration_seconds_bucket",
        }

    def test_a_retry_counts_under_the_class_of_what_it_repeats(self) -> None:
        """
        Its own failure is another class; a chain has a class per link.
        """
        metrics = Metrics()
        chain = [
            failed(call(1), *DOWN),
            failed(retry(call(2, start=20), 1, "allowed"), "fatal", "CRASH"),
            retry(call(3, start=40), 2, "wasted")._replace(wasted_ns=20 * MS),
        ]
        group = rows(
            [one._replace(step="s") for one in chain],
            [task()],
            [task_tool(calls=3)._replace(retries=2, allowed=1, wasted=1, wasted_ns=20 * MS)],
        )

        metrics.count([group])

        assert counted(metrics, "retries_total", "wasted_seconds_total") == {
            ("toolspan_retries_total", "search", "transient", "allowed"): 1,
            ("toolspan_retries_total", "search", "fatal", "wasted"): 1,
            ("toolspan_wasted_seconds_total", "search", "fatal"): 0.02,
        }

    def test_a_failure_of_another_task_with_the_same_span_id_is_not_meant(self) -> None:
        """
        Span ids are unique within a trace only.
        """
        metrics = Metrics()
        calls = [
            failed(call(1, task="t2"), "fatal", "CRASH")._replace(trace_id=b"\x02" * 16, step="s"),
            failed(call(1), *DOWN)._replace(step="s"),
            retry(call(2, start=20), 1, "early")._replace(step="s"),
        ]

        metrics.count([rows(calls, [task(), task("t2")], [task_tool()._replace(retries=1, early=1)])])

        assert counted(metrics, "retries_total") == {("toolspan_retries_total", "search", "transient", "early"): 1}

    def test_each_resolved_task_is_one_observation_of_its_retries(self) -> None:
        """
        A task that was not resolved is none.
        """
        metrics = Metrics()
        retries = {"t1": 0, "t2": 3, "t3": 22, "t4": 1}
        tasks = [task(name, "unresolved" if name == "t4" else "resolved") for name in retries]

        metrics.count([rows([], tasks, [task_tool(name)._replace(retries=count) for name, count in retries.items()])])

        assert counted(metrics, "retries_per_resolved_task_bucket", "retries_per_resolved_task_sum") == {
            **buckets("retries_per_resolved_task", dict.fromkeys(BOUNDS[:3], 1)),
            **buckets("retries_per_resolved_task", dict.fromkeys(BOUNDS[3:-1], 2)),
            **buckets("retries_per_resolved_task", {"inf": 3}),
            ("toolspan_retries_per_resolved_task_sum", "search"): 25,
        }

    def test_recoveries_episodes_and_escalations_are_the_sums_of_the_task(self) -> None:
        """
        Of three episodes two were escalated, one of them after a retry.
        """
        metrics = Metrics()
        sums = task_tool()._replace(validation_failures=3, recovered=2, episodes=3, escalated=2, clean=1)

        metrics.count([rows([], [task()], [sums])])

        assert counted(metrics) == {
            ("toolspan_tasks_total", "resolved"): 1,
            **buckets("retries_per_resolved_task", dict.fromkeys(BOUNDS, 1)),
            ("toolspan_validation_failures_total", "search"): 3,
            ("toolspan_validation_recoveries_total", "search"): 2,
            ("toolspan_permission_episodes_total", "search"): 3,
            ("toolspan_escalations_total", "search", "false"): 1,
            ("toolspan_escalations_total", "search", "true"): 1,
        }
