"""
Within a run of LangChain the current context is that of the span which OpenInference keeps for the run.
"""

import sys
from types import SimpleNamespace

import pytest
from opentelemetry import trace
from opentelemetry.trace import Span

from tests.tracing import exporting_provider
from toolspan.agents.callback_spans import current_context

TRACER = exporting_provider()[0].get_tracer("tests")
MODULE = "openinference.instrumentation.langchain"


def keep(monkeypatch: pytest.MonkeyPatch, span: object) -> None:
    """
    Stand for the instrumentation, which is asked for the span of the current run.
    """
    monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(get_current_span=lambda: span))


def parent() -> Span:
    """
    The span below which another would be made now.
    """
    return trace.get_current_span(current_context())


def test_a_kept_span_is_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's span is the parent of what is made in the run, though it is not the current span."""
    with TRACER.start_as_current_span("around"):
        kept = TRACER.start_span("run")
    keep(monkeypatch, kept)

    assert kept is parent()


def test_it_is_within_what_began_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A span around the whole run does not stand in its way."""
    with TRACER.start_as_current_span("around"):
        kept = TRACER.start_span("run")
        keep(monkeypatch, kept)

        assert kept is parent()


def test_a_span_within_the_run_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tool itself made current is nearer."""
    kept = TRACER.start_span("run")
    keep(monkeypatch, kept)
    with TRACER.start_as_current_span("within") as within:
        assert within is parent()


def test_outside_of_runs_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no run, or no instrumentation, the current span is the current span."""
    with TRACER.start_as_current_span("around") as around:
        alone = parent()
        keep(monkeypatch, None)

        assert (around, around) == (alone, parent())


@pytest.mark.parametrize("module", [SimpleNamespace(), SimpleNamespace(get_current_span=lambda: 1 / 0)])
def test_an_instrumentation_that_fails_costs_nothing(monkeypatch: pytest.MonkeyPatch, module: SimpleNamespace) -> None:
    """Another version of it, or one that raises, leaves the call where it would be without it."""
    monkeypatch.setitem(sys.modules, MODULE, module)
    with TRACER.start_as_current_span("around") as around:
        assert around is parent()
