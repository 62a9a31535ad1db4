"""
The store of one process: what it keeps, what it derives, and when.
"""

from tests.facts import MS, run, tool_span, trace_id
from toolspan.records import Rows
from toolspan.scope import Scope
from toolspan.store import AppendResult, SettleResult, Store
from toolspan.store.memory import MemoryStore

DOWN = ("transient", "UNAVAILABLE")


def test_is_a_store() -> None:
    """
    It has the verbs that every engine has.
    """
    store: Store = MemoryStore()

    assert store.rows() == Rows([], [], [], [], [])


class TestAppend:
    def test_counts_new_spans_and_the_traces_they_touch(self) -> None:
        """
        Two traces, three spans.
        """
        result = MemoryStore().append([run(1), tool_span(1, 2, start=0), run(2)])

        expected = AppendResult(new=3, duplicates=0, conflicts=0, late=0, touched=frozenset((trace_id(1), trace_id(2))))
        assert expected == result

    def test_an_identical_repeat_is_a_duplicate(self) -> None:
        """
        The very same object as well as an equal one; nothing is touched.
        """
        store, span = MemoryStore(), tool_span(1, 2, start=0)
        store.append([span])

        result = store.append([span, tool_span(1, 2, start=0)])

        assert AppendResult(0, 2, 0, 0, frozenset()) == result

    def test_other_content_is_a_conflict_and_the_first_stays(self) -> None:
        """
        The first delivery counts.
        """
        store = MemoryStore()
        store.append([tool_span(1, 2, start=0)])

        result = store.append([tool_span(1, 2, start=0, error=DOWN)])

        assert AppendResult(0, 0, 1, 0, frozenset()) == result
        assert [call.outcome for call in store.rows().calls] == ["ok"]

    def test_the_same_span_id_in_another_trace_is_another_span(self) -> None:
        """
        Identity is (trace id, span id).
        """
        assert MemoryStore().append([tool_span(1, 2, start=0), tool_span(2, 2, start=0)]).new == 2


class TestSettle:
    def test_counts_what_it_settled_and_settles_it_once(self) -> None:
        """
        A group that nothing was added to is left alone.
        """
        store = MemoryStore()
        store.append([run(1), tool_span(1, 2, start=0), tool_span(1, 3, start=20), run(2)])

        assert (store.settle(), store.settle()) == (SettleResult(groups=2, calls=2, tasks=2), SettleResult(0, 0, 0))

    def test_tasks_are_open_until_then(self) -> None:
        """
        Rows can be read at any time.
        """
        store = MemoryStore()
        store.append([run(1), tool_span(1, 2, start=0)])
        before = [task.settled for task in store.rows().tasks]

        store.settle()

        assert (before, [task.settled for task in store.rows().tasks]) == ([False], [True])

    def test_a_later_span_opens_its_task_again_and_no_other(self) -> None:
        """
        Its rows are replaced, not doubled; the next settling settles it again.
        """
        store = MemoryStore()
        store.append([run(1), tool_span(1, 2, start=0, error=DOWN), run(2)])
        store.settle()

        store.append([tool_span(1, 3, start=20)])

        assert [task.settled for task in store.rows().tasks] == [False, True]
        assert [call.follow_up for call in store.rows().calls] == [None, "retry"]
        assert store.settle() == SettleResult(groups=1, calls=2, tasks=1)


class TestGroups:
    def test_a_task_id_joins_traces_through_one_another(self) -> None:
        """
        Trace 2 carries both ids, so that 1, 2 and 3 are one group; 4 is its own.
        """
        store = MemoryStore()
        store.append(
            [
                tool_span(1, 2, start=0, task_id="a"),
                tool_span(2, 2, start=20, task_id="a"),
                tool_span(2, 3, start=40, task_id="b"),
                tool_span(3, 2, start=60, task_id="b"),
                tool_span(4, 2, start=80, task_id="c"),
            ]
        )

        [group] = store.load_groups([trace_id(3)])

        assert [span.trace_id for span in group] == [trace_id(1), trace_id(2), trace_id(2), trace_id(3)]

    def test_a_trace_that_nobody_sent_has_no_group(self) -> None:
        """
        Asking for it is no error.
        """
        assert MemoryStore().load_groups([trace_id(9)]) == []

    def test_a_span_that_joins_two_groups_replaces_the_rows_of_both(self) -> None:
        """
        Two tasks become one; nothing of the old rows stays.
        """
        store = MemoryStore()
        store.append([tool_span(1, 2, start=0, task_id="a"), tool_span(2, 2, start=20, task_id="b")])
        store.settle()

        store.append([tool_span(2, 3, start=40, task_id="a")])
        store.settle()

        assert sorted((call.task_id, call.started_ns) for call in store.rows().calls) == [
            ("a", 0),
            ("a", 40 * MS),
            ("b", 20 * MS),
        ]


def test_rows_are_those_of_the_tasks_in_scope() -> None:
    """
    Calls, sums and tasks of a window.
    """
    store = MemoryStore()
    store.append([run(1, end=500), tool_span(1, 2, start=0), run(2, end=900), tool_span(2, 2, start=0, tool="book")])
    store.settle()

    rows = store.rows(Scope(since_ns=600 * MS))

    assert [[len(rows.tasks)], [call.tool for call in rows.calls], [row.tool for row in rows.task_tools]] == [
        [1],
        ["book"],
        ["book"],
    ]


def test_a_call_of_an_escalation_tool_is_an_escalation() -> None:
    """
    The user lists such tools.
    """
    store = MemoryStore(escalation_tools=["ask_human"])
    store.append([run(1), tool_span(1, 2, start=0, tool="ask_human")])

    assert [escalation.source for escalation in store.rows().escalations] == ["tool"]
