"""
Groups: traces, and what task ids join.
"""

from tests.span_facts import other, run, tool, trace_id
from toolspan.groups import split_groups
from toolspan.records import Marks, SpanFacts


def traces_of(groups: list[list[SpanFacts]]) -> list[list[str]]:
    """
    The names of the traces of each group.
    """
    return [sorted({span.trace_id.lstrip(b"\0").decode() for span in group}) for group in groups]


def test_traces_without_task_ids_are_groups_by_trace_id() -> None:
    """
    Each trace is a group of its own; groups stand by trace id, whatever came first.
    """
    spans = [run(trace="c"), run(trace="a"), tool("x", trace="c"), run(trace="b")]

    assert traces_of(split_groups(spans)) == [["a"], ["b"], ["c"]]


def test_a_task_id_joins_traces() -> None:
    """
    Traces in which any span carries the same task id are one group.
    """
    spans = [
        run(trace="a", marks=Marks(task_id="t1")),
        run(trace="b"),
        tool("x", trace="c", marks=Marks(task_id="t1")),
    ]

    assert traces_of(split_groups(spans)) == [["a", "c"], ["b"]]


def test_task_ids_join_through_one_another() -> None:
    """
    A chain of shared ids makes one group, in whatever order its links come.
    """
    spans = [
        other("x", trace="a", marks=Marks(task_id="t1")),
        other("x", trace="d", marks=Marks(task_id="t3")),
        other("x", trace="b", marks=Marks(task_id="t2")),
        other("y", trace="c", marks=Marks(task_id="t3")),
        other("y", trace="a", marks=Marks(task_id="t2")),
        other("z", trace="c", marks=Marks(task_id="t2")),
        other("x", trace="e", marks=Marks(task_id="t4")),
    ]

    assert traces_of(split_groups(spans)) == [["a", "b", "c", "d"], ["e"]]
    assert traces_of(split_groups(reversed(spans))) == [["a", "b", "c", "d"], ["e"]]


def test_a_trace_keeps_the_order_of_its_spans() -> None:
    """
    The first delivery of a span stays the first within its group.
    """
    late, early, again = tool("x", at=(5, 6)), tool("a", at=(1, 2)), tool("x", at=(7, 8))

    assert split_groups([late, early, again]) == [[late, early, again]]


def test_nothing_is_no_group() -> None:
    """
    Without spans there are no groups.
    """
    assert split_groups(iter(())) == []


def test_a_long_chain_of_task_ids_is_one_group() -> None:
    """
    Ten thousand traces that are joined pairwise are found to be one group.
    """
    spans = [
        other("x", trace=str(number), marks=Marks(task_id=f"t{number + step}"))
        for number in range(10_000)
        for step in (0, 1)
    ]
    groups = split_groups(spans)

    assert [len(group) for group in groups] == [20_000]
    assert groups[0][0].trace_id == min(trace_id(str(number)) for number in range(10_000))
