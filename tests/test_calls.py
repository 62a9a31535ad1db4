"""
Calls: what is recorded of one, and which executions are one call.
"""

from tests.deriving import calls, only, said
from tests.span_facts import FOREIGN, MS, OK, A, B, escalation, failed, names, run, tool
from toolspan.derive import derive
from toolspan.records import Judgement, Marks

DEFERRED = Judgement("deferred", evidence="deferral")


class TestOneCallId:
    """
    One call in several executions.
    """

    def test_a_frameworks_own_retry_is_one_call(self) -> None:
        """
        It starts with the first, ends with the last, and has as many attempts as there are executions.
        """
        spans = (
            tool("a", at=(0, 10), ending=failed("transient"), call_id="c", args=None),
            tool("b", at=(20, 30), ending=failed("transient"), call_id="c", waited_ms=5, is_exhausted=True),
            tool("d", at=(40, 50), ending=Judgement(lint=1), call_id="c", attempts=2, waited_ms=7),
        )
        call = only(*spans)

        assert (names([call]), call.started_ns, call.ended_ns) == (["a"], 0, 50 * MS)
        assert (call.outcome, call.error_class, call.attempts, call.args_hash) == ("ok", None, 4, A)
        assert (call.waited_ms, call.budget_exhausted, call.lint) == (12, True, 1)

    def test_what_ends_last_tells_how_the_call_ended(self) -> None:
        """
        Of executions that overlap, the one that ends last counts, and those beside it are no further attempts.
        """
        spans = (
            tool("a", at=(0, 50), ending=failed("fatal"), call_id="c"),
            tool("b", at=(10, 20), call_id="c"),
            tool("d", at=(50, 50), call_id="c"),
        )
        call = only(*spans)

        assert (call.outcome, call.ended_ns, call.attempts) == ("ok", 50 * MS, 2)

    def test_a_pause_for_a_human_is_no_attempt(self) -> None:
        """
        A deferred call that goes on later is one call with one attempt.
        """
        call = only(tool("a", ending=DEFERRED, call_id="c"), tool("b", at=(20, 30), call_id="c"))

        assert (call.outcome, call.attempts) == ("ok", 1)

    def test_a_call_that_only_waited_has_one_attempt(self) -> None:
        """
        There is no call without an attempt.
        """
        call = only(tool("a", ending=DEFERRED, call_id="c"), tool("b", at=(20, 30), ending=DEFERRED, call_id="c"))

        assert (call.outcome, call.attempts) == ("deferred", 1)

    def test_other_arguments_are_another_call(self) -> None:
        """
        A server that numbers its calls anew each turn; what cannot be compared goes with the latest before it.
        """
        spans = (
            tool("a", at=(0, 1), call_id="1", args=None),
            tool("b", at=(2, 3), call_id="1", args=A),
            tool("c", at=(4, 5), call_id="1", args=B),
            tool("d", at=(6, 7), call_id="1", args=None),
            tool("e", at=(8, 9), call_id="1", args=A),
            tool("f", at=(10, 11), call_id="1", args=FOREIGN),
        )
        found = calls(*spans)

        assert [(names([call]), call.attempts, call.ended_ns // MS) for call in found] == [
            (["a"], 4, 11),
            (["c"], 2, 7),
        ]

    def test_two_foreign_hashes_that_differ_are_two_calls(self) -> None:
        """
        Hashes of one key differ among themselves, whatever they are to others.
        """
        spans = (
            tool("a", at=(0, 1), call_id="1", args=A),
            tool("b", at=(2, 3), call_id="1", args=FOREIGN),
            tool("c", at=(4, 5), call_id="1", args="k2k2b"),
        )

        assert [(names([call]), call.attempts) for call in calls(*spans)] == [(["a"], 2), (["c"], 1)]

    def test_no_id_or_another_tool_joins_nothing(self) -> None:
        """
        Only a known id of the same tool makes executions one call.
        """
        spans = (tool("a"), tool("b"), tool("c", call_id="1"), tool("d", call_id="1", tool="other"))

        assert names(calls(*spans)) == ["a", "b", "c", "d"]

    def test_a_resumption_in_another_trace_needs_a_task_id(self) -> None:
        """
        One call id in two traces is one call only where a task id joins them.
        """
        joined, apart = Marks(task_id="t1"), Marks()
        found: list[list[str]] = []
        for marks in (joined, apart):
            first = [run(trace="t", marks=marks), tool("a", call_id="c", ending=DEFERRED)]
            second = [run(trace="u", marks=marks), tool("b", call_id="c", at=(20, 30), trace="u")]
            found.append(names(derive([*first, *second]).calls))

        assert found == [["a"], ["a", "b"]]


def test_repeats_of_a_span_count_once() -> None:
    """
    Of spans with one id in one trace the first stays; the same id in another trace is another span.
    """
    spans = [run(), tool("a"), tool("a", ending=failed("fatal")), tool("a", "", trace="u")]

    assert [call.outcome for call in derive(spans).calls] == ["ok", "ok"]


def test_a_call_knows_the_run_above_it() -> None:
    """
    The nearest agent run above, or none.
    """
    spans = [run(), run("r", "run"), tool("a", "r"), tool("b", "run"), tool("c", "", trace="u"), escalation("e")]

    assert [(names([call]), call.parent_run.lstrip(b"\0")) for call in derive(spans).calls] == [
        (["a"], b"r"),
        (["b"], b"run"),
        (["c"], b""),
    ]


def test_an_ok_call_is_plain() -> None:
    """
    A call that succeeded and says nothing has one attempt and no class.
    """
    call = only(tool("a", ending=OK))

    assert (said(call), call.attempts, call.lint) == (("ok", None, None, ""), 1, 0)
