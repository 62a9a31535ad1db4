"""
Units: which tool spans trace one execution of a tool.
"""

import pytest

from tests.deriving import calls, only, said
from tests.span_facts import MS, A, B, failed, names, other, run, tool
from toolspan.derive import derive
from toolspan.records import Marks, SpanFacts


class TestTracedTwice:
    """
    One call traced by nested spans.
    """

    def test_a_nested_span_of_the_same_tool_is_the_same_call(self) -> None:
        """
        The outermost span is the call, even where the inner one ends later.
        """
        call = only(tool("a", at=(10, 50)), tool("b", "a", at=(20, 60)))

        assert (names([call]), call.started_ns, call.ended_ns) == (["a"], 10 * MS, 50 * MS)

    def test_other_spans_and_tools_may_lie_in_between(self) -> None:
        """
        What lies between two spans of a tool does not part them.
        """
        spans = (tool("a"), other("x", "a"), tool("b", "x", tool="other"), tool("c", "b"), tool("d", "c"))

        assert names(calls(*spans)) == ["a", "b"]

    def test_an_agent_run_in_between_parts_them(self) -> None:
        """
        A tool that runs an agent which calls the same tool: two calls.
        """
        assert names(calls(tool("a"), run("r", "a"), tool("b", "r"), tool("c", "b"))) == ["a", "b"]

    def test_another_tool_is_another_call(self) -> None:
        """
        A tool that calls another one: two calls.
        """
        assert names(calls(tool("a"), tool("b", "a", tool="other"))) == ["a", "b"]

    def test_a_step_marked_in_between_does_not_part_them(self) -> None:
        """
        A span that only names a step is no agent run.
        """
        assert names(calls(tool("a"), other("x", "a", marks=Marks(step_id="s1")), tool("b", "x"))) == ["a"]

    def test_each_fact_is_of_the_outermost_span_that_knows_it(self) -> None:
        """
        Arguments, attempts and waiting may be on an inner span only.
        """
        inner = tool("b", "a", args=B, attempts=3, waited_ms=20)
        innermost = tool("c", "b", args=A, attempts=4, waited_ms=30, is_exhausted=True)
        call = only(tool("a", args=None), inner, innermost)

        assert (call.args_hash, call.attempts, call.waited_ms, call.budget_exhausted) == (B, 3, 20, True)


class TestClientAndServer:
    """
    MCP spans that lie side by side.
    """

    def test_a_server_that_starts_within_its_client_is_the_same_call(self) -> None:
        """
        Each pair is one call, the client's, even where the server ends after it.
        """
        spans = (
            tool("a", at=(0, 50), side="client"),
            tool("b", at=(1, 51), side="server"),
            tool("c", at=(60, 90), side="client"),
            tool("d", at=(90, 95), side="server"),
        )

        assert names(calls(*spans)) == ["a", "c"]

    @pytest.mark.parametrize(
        "server",
        [
            tool("b", at=(51, 60), side="server"),
            tool("b", at=(9, 40), side="server"),
            tool("b", at=(11, 40), side="server", tool="other"),
            tool("b", at=(11, 40)),
            tool("b", at=(11, 40), side="client"),
            tool("b", at=(11, 40), side="server", request_id="2"),
        ],
        ids=["later", "earlier", "other tool", "no MCP", "another client", "other request"],
    )
    def test_anything_else_beside_a_client_is_another_call(self, server: SpanFacts) -> None:
        """
        A pair takes a server of the same tool that starts in time and does not answer another request.
        """
        client = tool("a", at=(10, 50), side="client", request_id="1")

        assert sorted(names(calls(client, server))) == ["a", "b"]

    def test_a_server_of_another_trace_is_another_call(self) -> None:
        """
        Pairs are found within a trace only.
        """
        spans = [tool("a", "", side="client"), tool("b", "", side="server", trace="u")]

        assert names(derive(spans).calls) == ["a", "b"]

    def test_the_request_id_decides(self) -> None:
        """
        Of two clients that wait, a server is paired with the one whose request it answers.
        """
        early = tool("a", at=(0, 50), side="client", request_id="1", args="k1k1x")
        late = tool("b", at=(1, 50), side="client", request_id="2", args="k1k1y")
        server = tool("c", at=(2, 40), ending=failed("fatal"), side="server", request_id="1")

        assert [call.outcome for call in calls(early, late, server)] == ["error", "ok"]

    def test_without_a_request_id_the_latest_free_client_is_taken(self) -> None:
        """
        One to one, each server with the latest client that no server has taken.
        """
        clients = (tool("a", at=(0, 50), side="client"), tool("b", at=(1, 50), side="client", request_id="7"))
        first = tool("c", at=(2, 40), ending=failed("fatal", "FIRST"), side="server")
        second = tool("d", at=(3, 40), ending=failed("fatal", "SECOND"), side="server", request_id="8")
        third = tool("e", at=(4, 40), ending=failed("fatal", "THIRD"), side="server")
        found = calls(*clients, first, second, third)

        assert [(call.code, names([call])) for call in found] == [("SECOND", ["a"]), ("FIRST", ["b"]), ("THIRD", ["e"])]

    def test_a_client_with_the_id_comes_before_a_later_one_without(self) -> None:
        """
        Where both have an id it decides, whoever else waits.
        """
        early = tool("a", at=(0, 50), side="client", request_id="1")
        late = tool("b", at=(1, 50), side="client")
        server = tool("c", at=(1, 40), ending=failed("fatal"), side="server", request_id="1")

        assert [call.outcome for call in calls(early, late, server)] == ["error", "ok"]

    def test_a_server_without_id_leaves_a_client_to_the_server_that_names_its_request(self) -> None:
        """
        Pairs by id are made first, also where the server without one starts before.
        """
        spans = (
            tool("a", at=(0, 50), side="client", request_id="1"),
            tool("b", at=(1, 50), side="client", request_id="2"),
            tool("c", at=(5, 40), ending=failed("fatal", "UNNAMED"), side="server"),
            tool("d", at=(6, 40), ending=failed("fatal", "NAMED"), side="server", request_id="2"),
        )

        assert [(names([call]), call.code) for call in calls(*spans)] == [(["a"], "UNNAMED"), (["b"], "NAMED")]

    def test_an_id_that_sessions_share_means_the_latest_client_in_time(self) -> None:
        """
        Every session counts its requests anew.
        """
        spans = (
            tool("a", at=(0, 90), side="client", request_id="1"),
            tool("b", at=(5, 10), side="client", request_id="1"),
            tool("c", at=(6, 9), ending=failed("fatal", "SHORT"), side="server", request_id="1"),
            tool("d", at=(20, 30), ending=failed("fatal", "LONG"), side="server", request_id="1"),
        )

        assert [(names([call]), call.code) for call in calls(*spans)] == [(["a"], "LONG"), (["b"], "SHORT")]

    def test_servers_choose_in_the_order_in_which_they_start(self) -> None:
        """
        Whichever ends first; a server may start with its client.
        """
        early, late = tool("a", at=(0, 90), side="client"), tool("b", at=(5, 90), side="client")
        first = tool("c", at=(5, 80), ending=failed("fatal", "FIRST"), side="server")
        second = tool("d", at=(6, 70), ending=failed("fatal", "SECOND"), side="server")

        assert [call.code for call in calls(early, late, first, second)] == ["SECOND", "FIRST"]

    def test_a_server_below_its_client_takes_no_other(self) -> None:
        """
        A client above a server is that server's, and so are the clients that trace the same request around it.
        """
        spans = (
            tool("a", at=(0, 50), side="client"),
            tool("b", "a", at=(1, 49), side="client"),
            tool("c", "b", at=(2, 48), side="server"),
            tool("d", at=(0, 50), side="client"),
            tool("e", at=(3, 48), ending=failed("fatal"), side="server"),
            tool("f", at=(4, 48), side="server"),
        )

        assert [(names([call]), call.outcome) for call in calls(*spans)] == [
            (["a"], "ok"),
            (["d"], "error"),
            (["f"], "ok"),
        ]

    def test_a_client_below_the_server_is_not_its_own(self) -> None:
        """
        A server that passes a request on stays the outermost span, even where its client starts with it.
        """
        assert names(calls(tool("a", at=(0, 50), side="server"), tool("b", "a", at=(0, 40), side="client"))) == ["a"]

    def test_two_requests_below_one_span_pair_apart(self) -> None:
        """
        A tool that asks its server twice is one call; each server belongs to its own request.
        """
        spans = (
            tool("a", at=(0, 50)),
            tool("b", "a", at=(1, 20), side="client"),
            tool("c", at=(2, 19), ending=failed("transient"), side="server"),
            tool("d", "a", at=(21, 40), side="client"),
            tool("e", at=(22, 39), side="server"),
        )

        assert [(names([call]), call.error_class) for call in calls(*spans)] == [(["a"], "transient")]

    def test_a_server_comes_after_the_client_beside_it(self) -> None:
        """
        In the walk inwards, also where both start at once.
        """
        client = tool("c", "a", at=(2, 48), ending=failed(evidence="client"), side="client")
        server = tool("b", "a", at=(2, 47), ending=failed(evidence="server"), side="server")

        assert [call.evidence for call in calls(tool("a", at=(0, 50)), client, server)] == ["client"]

    def test_what_lies_below_a_server_comes_after_it(self) -> None:
        """
        The walk inwards passes a server beside its client after that client, and what is below the server after that.
        """
        client = tool("c", "b", at=(2, 48), ending=failed(evidence="client"), side="client")
        server = tool("d", "a", at=(3, 47), ending=failed("fatal", "SERVER"), side="server")
        inner = tool("e", "d", at=(4, 46), ending=failed("fatal", "INNER"))

        assert only(tool("a", at=(0, 50)), tool("b", "a", at=(1, 49)), client, server, inner).code == "SERVER"

    def test_a_server_that_lies_deeper_already_stays_there(self) -> None:
        """
        Its place among the spans of its call is known from its own ancestors.
        """
        spans = (
            tool("a", at=(0, 50)),
            tool("b", "a", at=(1, 49), ending=failed("fatal", "INNER")),
            tool("c", "a", at=(2, 48), side="client"),
            tool("d", "b", at=(3, 47), ending=failed("fatal", "SERVER"), side="server"),
        )

        assert [call.code for call in calls(*spans)] == ["INNER"]

    def test_units_below_servers_are_taken_along_together(self) -> None:
        """
        A request passed on from server to server is one call, in the order in which it went inwards.
        """
        spans = (
            tool("a", at=(0, 50), side="client"),
            tool("b", at=(1, 49), ending=failed(evidence="first"), side="server"),
            tool("c", "b", at=(2, 48), side="client"),
            tool("d", at=(3, 47), ending=failed("fatal", "SECOND"), side="server"),
            tool("e", "d", at=(4, 46), side="client"),
            tool("f", at=(5, 45), ending=failed("fatal", "THIRD"), side="server"),
        )

        assert [said(call) for call in calls(*spans)] == [("error", "fatal", "SECOND", "text")]

    def test_a_unit_below_a_server_is_taken_along(self) -> None:
        """
        All spans around a server belong to its client's call.
        """
        spans = (
            tool("a", at=(0, 50), ending=failed(evidence="client"), side="client"),
            tool("b", at=(1, 49), ending=failed(evidence="outer")),
            tool("c", "b", at=(2, 48), ending=failed("fatal", "SERVER"), side="server"),
        )

        assert [said(call) for call in calls(*spans)] == [("error", "fatal", "SERVER", "text")]
