"""
Task and step ids in OpenTelemetry's context: on spans, over the wire, and what comes from outside.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import baggage
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN

from tests.tracing import exporting_provider
from toolspan.agents.propagation import MAX_ID_CHARS, clean_id, mark, step_id_of, task_id_of, with_step, with_task

TASK, STEP = "toolspan.task.id", "toolspan.step.id"


def marked(context: Context, **values: str) -> dict[str, object]:
    """
    The attributes of a span that starts in *context* with *values* and is marked.
    """
    provider, exporter = exporting_provider()
    named = {name.replace("_", "."): value for name, value in values.items()}
    span = provider.get_tracer("tests").start_span("work", context=context, attributes=named)
    mark(span, context)
    span.end()
    [ended] = exporter.get_finished_spans()
    return dict(ended.attributes or {})


def test_a_span_carries_the_ids_of_its_context() -> None:
    """
    Both ids, or the one there is, or none.
    """
    assert {TASK: "t1", STEP: "s1"} == marked(with_step("s1", with_task("t1", Context())))
    assert {STEP: "s1"} == marked(with_step("s1", Context()))
    assert {} == marked(Context())


def test_what_a_span_says_itself_stays() -> None:
    """
    An id that a span was given counts for more than that of the context.
    """
    assert {TASK: "own", STEP: "s1"} == marked(with_step("s1", with_task("t1", Context())), toolspan_task_id="own")


def test_a_span_that_is_not_recorded_may_be_marked() -> None:
    """
    Without an SDK there is nothing to write on.
    """
    mark(INVALID_SPAN, with_task("t1", Context()))


def test_another_task_begins_without_a_step() -> None:
    """
    A step is a step of its task.
    """
    context = with_task("t2", with_step("s1", with_task("t1", Context())))

    assert ("t2", None) == (task_id_of(context), step_id_of(context))


@given(st.text(), st.text())
def test_ids_arrive_in_the_next_process_as_they_were(task: str, step: str) -> None:
    """
    Whatever an id is made of, the baggage header carries it.
    """
    task_id, step_id = clean_id(task), clean_id(step)
    carrier: dict[str, str] = {}
    W3CBaggagePropagator().inject(carrier, with_step(step_id, with_task(task_id, Context())))
    arrived = W3CBaggagePropagator().extract(carrier, Context())

    assert (task_id or None, step_id or None) == (task_id_of(arrived), step_id_of(arrived))


@pytest.mark.parametrize("value", ["", " ", " t1", "t\n1", "t\x001", "t\ud8001", "x" * (MAX_ID_CHARS + 1), 7, None])
def test_what_looks_like_no_id_is_none(value: object) -> None:
    """
    A header comes from anybody: what it says reaches no span unless it could be an id of ours.
    """
    context = baggage.set_baggage(TASK, value, Context())

    assert task_id_of(context) is None
    assert {} == marked(context)


@given(st.text())
def test_a_mended_id_is_an_id(text: str) -> None:
    """
    It is taken for one, mending it again changes nothing, and a good one is not changed at all.
    """
    mended = clean_id(text)

    assert mended == clean_id(mended)
    assert (mended or None) == task_id_of(with_task(mended, Context()))


@pytest.mark.parametrize("text", ["7", "find a flight", "naïve-Ünïcode-旅行-✈", "a" * MAX_ID_CHARS])
def test_a_good_id_stays(text: str) -> None:
    """
    What people write is an id.
    """
    assert text == clean_id(text)


def test_different_texts_stay_different() -> None:
    """
    What is cut or taken out is still told apart.
    """
    texts = ["a" * 500, "a" * 501, "a\nb", "a\tb", "a b", "\n", "\t"]

    assert len(texts) == len({clean_id(text) for text in texts})
