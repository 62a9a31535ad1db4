"""
Each call and each task is counted once, however often its group is derived and whatever it is called by then.
"""

import pytest

from tests.facts import run, tool_span
from tests.rows import MS, call, failed, retry, rows, task, task_tool
from tests.shown import counted, unsettled
from toolspan.derive import derive
from toolspan.metrics import Limits, Metrics
from toolspan.records import CallFacts, Judgement, Rows, SpanFacts

DOWN = ("transient", "UNAVAILABLE")


class TestOnce:
    GROUP = rows([failed(call(1), *DOWN)], [task()], [task_tool()._replace(validation_failures=1)])

    @staticmethod
    def lone(trace: int) -> Rows:
        """
        A trace that is a task of one call.
        """
        trace_id, name = bytes([trace]) * 16, f"t{trace}"
        return rows([call(1, task=name)._replace(trace_id=trace_id)], [task(name)._replace(trace_id=trace_id)])

    def test_settling_again_counts_as_that_alone(self) -> None:
        """
        The store has the new numbers; counters keep the first.
        """
        metrics = Metrics()
        metrics.count([self.GROUP])
        before = counted(metrics)

        metrics.count([self.GROUP])

        assert before | {("toolspan_resettled_tasks_total",): 1} == counted(metrics)

    def test_a_task_that_settles_beside_one_that_settled_before_counts_alone(self) -> None:
        """
        They are in one group, since spans joined their traces; only the retry of the new one counts.
        """
        metrics, sums = Metrics(), task_tool()._replace(retries=1, early=1)
        first = [failed(call(1), *DOWN)._replace(step="s"), retry(call(2, start=20), 1, "early")._replace(step="s")]
        second = [failed(call(3, task="t2"), *DOWN)._replace(step="s")]
        second.append(retry(call(4, start=20, task="t2"), 3, "early")._replace(step="s"))
        metrics.count([rows(first, [task()], [sums])])

        metrics.count([rows([*first, *second], [task(), task("t2")], [sums, sums._replace(task_id="t2")])])

        assert counted(metrics, "retries_total", "tasks_total", "resettled_tasks_total") == {
            ("toolspan_retries_total", "search", "transient", "early"): 2,
            ("toolspan_tasks_total", "resolved"): 2,
            ("toolspan_resettled_tasks_total",): 1,
        }

    def test_a_call_that_came_late_to_a_settled_task_counts(self) -> None:
        """
        It was never counted before; what its task did was.
        """
        metrics = Metrics()
        metrics.count([self.GROUP])
        grown = self.GROUP._replace(calls=[*self.GROUP.calls, call(2)])

        metrics.count([unsettled(grown)])
        metrics.count([grown])

        assert counted(metrics, "calls_total", "tasks_total", "resettled_tasks_total") == {
            ("toolspan_calls_total", "search", "error"): 1,
            ("toolspan_calls_total", "search", "ok"): 1,
            ("toolspan_tasks_total", "resolved"): 1,
            ("toolspan_resettled_tasks_total",): 1,
        }

    def test_what_is_recalled_does_not_count(self) -> None:
        """
        An earlier process counted it; what settles from now on does.
        """
        metrics = Metrics()
        metrics.recall([unsettled(self.GROUP)])

        metrics.count([self.GROUP])

        assert counted(metrics, "calls_total", "tasks_total", "resettled_tasks_total") == {
            ("toolspan_tasks_total", "resolved"): 1
        }

    def test_a_settled_task_that_is_recalled_settles_again(self) -> None:
        """
        As if this process had seen it the first time.
        """
        metrics = Metrics()
        metrics.recall([self.GROUP])

        metrics.count([self.GROUP])

        assert counted(metrics) == {("toolspan_resettled_tasks_total",): 1}

    def test_what_is_forgotten_counts_as_new(self) -> None:
        """
        That is why only groups are forgotten that will not come again; others stay known.
        """
        metrics = Metrics()
        other = self.lone(2)
        metrics.count([self.GROUP, other])

        metrics.forget([b"\x01" * 16, b"\x03" * 16])
        metrics.count([self.GROUP, other])

        assert counted(metrics, "calls_total", "tasks_total", "resettled_tasks_total") == {
            ("toolspan_calls_total", "search", "error"): 2,
            ("toolspan_calls_total", "search", "ok"): 1,
            ("toolspan_tasks_total", "resolved"): 3,
            ("toolspan_resettled_tasks_total",): 1,
        }

    def test_what_is_forgotten_makes_room(self) -> None:
        """
        Two traces fit; once one is forgotten, a third puts out none.
        """
        metrics = Metrics(limits=Limits(remembered=6))
        metrics.count([self.lone(1), self.lone(2)])

        metrics.forget([bytes([1]) * 16])
        metrics.count([self.lone(3)])
        metrics.count([self.lone(2)])

        assert counted(metrics, "resettled_tasks_total") == {("toolspan_resettled_tasks_total",): 1}

    def test_beyond_the_limit_the_traces_touched_longest_ago_are_forgotten(self) -> None:
        """
        Three traces of a call and a task each, room for two of them: the one that came again stays.
        """
        metrics = Metrics(limits=Limits(remembered=6))
        for trace in (1, 2, 1, 3, 1, 2):
            metrics.count([self.lone(trace)])

        assert counted(metrics, "calls_total", "resettled_tasks_total") == {
            ("toolspan_calls_total", "search", "ok"): 4,
            ("toolspan_resettled_tasks_total",): 2,
        }

    def test_a_group_larger_than_the_limit_is_known_while_it_is_the_last(self) -> None:
        """
        Else each derivation would count all of it again.
        """
        metrics = Metrics(limits=Limits(remembered=3))
        group = rows([call(span) for span in range(1, 9)], [task()])

        metrics.count([group])
        metrics.count([group])

        assert counted(metrics, "calls_total") == {("toolspan_calls_total", "search", "ok"): 8}


def mcp_span(span: int, side: str, *, start: int, end: int, parent: int = 1) -> SpanFacts:
    """
    One side of an MCP call.
    """
    base = tool_span(1, span, start=start)
    facts = CallFacts("search", Judgement(), side=side)
    return base._replace(parent_id=parent.to_bytes(8, "big"), end_ns=end * MS, call=facts)


class TestChangingIds:
    SERVER = mcp_span(2, "server", start=12, end=18, parent=3)
    CLIENT = mcp_span(3, "client", start=10, end=20)

    @pytest.mark.parametrize("settles_early", [False, True])
    @pytest.mark.parametrize(("start", "end"), [(12, 18), (10, 10)])
    def test_a_server_counted_before_its_client_came_is_one_call(
        self, start: int, end: int, *, settles_early: bool
    ) -> None:
        """
        Two processes export seconds apart; from then on the call is known by its client's span.
        """
        metrics, server = Metrics(), mcp_span(2, "server", start=start, end=end, parent=3)
        metrics.count([derive([run(1), server], settled=settles_early)])

        metrics.count([derive([run(1), server, self.CLIENT])])
        metrics.count([derive([run(1), server, self.CLIENT])])

        assert counted(metrics, "calls_total", "tasks_total") == {
            ("toolspan_calls_total", "search", "ok"): 1,
            ("toolspan_tasks_total", "resolved"): 1,
        }

    @pytest.mark.parametrize(("limit", "calls"), [(8, 4), (9, 3)])
    def test_a_call_that_changed_its_id_takes_the_room_of_one(self, limit: int, calls: int) -> None:
        """
        Three traces with a call and a task each are nine; with room for eight the first is forgotten.
        """
        metrics = Metrics(limits=Limits(remembered=limit))
        metrics.count([derive([run(1), self.SERVER], settled=False)])
        group = derive([run(1), self.SERVER, self.CLIENT])
        metrics.count([group])

        metrics.count([derive([run(trace), tool_span(trace, 2, start=0)]) for trace in (2, 3)])
        metrics.count([group])

        assert counted(metrics, "calls_total") == {("toolspan_calls_total", "search", "ok"): calls}

    def test_a_call_that_came_with_the_client_still_counts(self) -> None:
        """
        It started after the server had ended, so it is another; one of another tool is, too.
        """
        metrics = Metrics()
        metrics.count([derive([run(1), self.SERVER], settled=False)])
        others = [tool_span(1, 4, start=30, error=DOWN), tool_span(1, 5, start=0, tool="book")]

        metrics.count([derive([run(1), self.SERVER, self.CLIENT, *others])])

        assert counted(metrics, "calls_total") == {
            ("toolspan_calls_total", "search", "ok"): 1,
            ("toolspan_calls_total", "search", "error"): 1,
            ("toolspan_calls_total", "book", "ok"): 1,
        }

    def test_each_client_is_the_call_of_its_own_server(self) -> None:
        """
        Two that follow each other, and both clients come at once.
        """
        servers = [self.SERVER, mcp_span(4, "server", start=32, end=38, parent=5)]
        metrics = Metrics()
        metrics.count([derive([run(1), *servers], settled=False)])

        metrics.count([derive([run(1), *servers, self.CLIENT, mcp_span(5, "client", start=30, end=40)])])

        assert counted(metrics, "calls_total") == {("toolspan_calls_total", "search", "ok"): 2}

    def test_a_counted_call_inside_one_that_counted_too_hides_no_other(self) -> None:
        """
        Its chain was broken when it counted; what is found later of the tool is a call of its own.
        """
        inner, between, outer = (
            tool_span(1, 2, start=12)._replace(parent_id=(7).to_bytes(8, "big")),
            run(1)._replace(span_id=(7).to_bytes(8, "big"), parent_id=(3).to_bytes(8, "big"), role=0, marks=None),
            tool_span(1, 3, start=10)._replace(end_ns=30 * MS),
        )
        metrics = Metrics()
        metrics.count([derive([run(1), inner, outer], settled=False)])

        metrics.count([derive([run(1), inner, outer, between, tool_span(1, 4, start=40)])])

        assert counted(metrics, "calls_total") == {("toolspan_calls_total", "search", "ok"): 3}

    def test_a_task_that_grows_by_an_outer_run_settles_again(self) -> None:
        """
        Its calls settled in the inner run's task; they retry nothing twice.
        """
        inner = run(1)._replace(span_id=(2).to_bytes(8, "big"), parent_id=(1).to_bytes(8, "big"))
        below = [
            tool_span(1, 10 + place, start=place * 20, error=DOWN if place == 0 else None)._replace(
                parent_id=inner.span_id
            )
            for place in range(2)
        ]
        metrics = Metrics()
        metrics.count([derive([inner, *below])])
        before = counted(metrics)

        metrics.count([derive([run(1), inner, *below])])

        assert before["toolspan_retries_total", "search", "transient", "allowed"] == 1
        assert before | {("toolspan_resettled_tasks_total",): 1} == counted(metrics)

    @pytest.mark.parametrize("is_open_between", [False, True])
    def test_a_task_that_grows_while_its_calls_change_their_ids_settles_again(self, *, is_open_between: bool) -> None:
        """
        The run around its run came together with the client of its server.
        """
        inner = run(1)._replace(span_id=(7).to_bytes(8, "big"), parent_id=(1).to_bytes(8, "big"))
        server, client = (span._replace(parent_id=inner.span_id) for span in (self.SERVER, self.CLIENT))
        grown = [run(1), inner, server, client]
        metrics = Metrics()
        metrics.count([derive([inner, server])])
        before = counted(metrics)

        if is_open_between:
            metrics.count([derive(grown, settled=False)])
        metrics.count([derive(grown)])

        assert before | {("toolspan_resettled_tasks_total",): 1} == counted(metrics)
