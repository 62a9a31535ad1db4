"""
Agents that work on a clock of their own, whose tools do what a script says, and what their exported spans add up to.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from unittest.mock import patch

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer, format_span_id

from tests.tracing import decoded, exporting_provider
from toolspan import attributes as attr
from toolspan.agents.agent import AgentTask, stop_tags, task
from toolspan.agents.guard import Guard, Policy
from toolspan.agents.propagation import mark
from toolspan.derive import derive
from toolspan.envelopes.envelope import Failure
from toolspan.records import Call, Rows

_START_NS: Final = 1_777_900_000_000_000_000
_MS: Final = 1_000_000


@dataclass
class Clock:
    """
    A clock that goes on by a microsecond whenever it is looked at.
    """

    now_ns: int = _START_NS

    def time_ns(self) -> int:
        """
        What the SDK takes for the time.
        """
        self.now_ns += 1000
        return self.now_ns

    def monotonic(self) -> float:
        """
        What the guard takes for the time.
        """
        return (self.time_ns() - _START_NS) / 1e9

    def wait(self, ms: int) -> None:
        """
        Time passes.
        """
        self.now_ns += ms * _MS


def _provided() -> tuple[TracerProvider, InMemorySpanExporter]:
    return exporting_provider()


@dataclass
class Desk:
    """
    Where agents work and their spans are kept. *ran* are the span ids of the calls whose tool ran, in order.
    """

    clock: Clock
    provided: tuple[TracerProvider, InMemorySpanExporter] = field(default_factory=_provided)
    ran: list[str] = field(default_factory=list[str])

    @property
    def tracer(self) -> Tracer:
        """
        Makes spans that this desk keeps.
        """
        return self.provided[0].get_tracer("tests")

    def task(self, name: str = "trip", *, policy: Policy | None = Policy(), guard: Guard | None = None) -> AgentTask:  # noqa: B008 - frozen
        """
        A task on this desk's clock.
        """
        return task(name, policy=policy, guard=guard, tracer=self.tracer, clock=self.clock.monotonic)

    def call(self, work: AgentTask, args: str | None = "a", ending: Failure | None = None, *, tool: str = "s") -> str:
        """
        A call as `@tool` makes one, 10 ms long: `ran`, or the code of the refusal.
        """
        values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        with self.tracer.start_as_current_span(f"execute_tool {tool}", attributes=values) as span:
            mark(span)
            span_id = format_span_id(span.get_span_context().span_id)
            args_hash = None if args is None else args.encode().hex().rjust(20, "0")
            if args_hash is not None:
                span.set_attribute(attr.CALL_ARGS_HASH, args_hash)
            answer = work.admit(tool, args_hash, span_id=span_id)
            if isinstance(answer, Failure):
                span.set_attributes(stop_tags(answer))
                return answer.error.code
            self.ran.append(span_id)
            self.clock.wait(10)
            if ending is not None:
                error = ending.error
                span.set_attributes({attr.ERROR_CLASS: str(error.error_class), attr.ERROR_CODE: error.code})
                if error.retry_after_ms is not None:
                    span.set_attribute(attr.ERROR_RETRY_AFTER_MS, error.retry_after_ms)
            work.record(answer, ending)
        return "ran"

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """
        The spans that have ended.
        """
        return self.provided[1].get_finished_spans()

    def parent_of(self, name: str) -> str | None:
        """
        The name of the span above the one of that *name*.
        """
        names = {span.context.span_id: span.name for span in self.spans if span.context}
        [parent] = [span.parent for span in self.spans if span.name == name]
        return None if parent is None else names[parent.span_id]

    @property
    def rows(self) -> Rows:
        """
        What is derived of them once they went over the wire.
        """
        return derive(decoded(self.spans))

    def rows_that_ran(self) -> list[Call]:
        """
        The derived calls whose tool ran.
        """
        return [call for call in self.rows.calls if call.span_id.hex() in self.ran]

    def named(self, name: str) -> ReadableSpan:
        """
        The one span of that name.
        """
        [span] = [span for span in self.spans if span.name == name]
        return span


@contextmanager
def working_desk() -> Generator[Desk]:
    """
    A desk whose clock is the SDK's, and whose provider is that of the process.
    """
    desk = Desk(Clock())
    with (
        patch("opentelemetry.sdk.trace.time_ns", desk.clock.time_ns),
        patch("opentelemetry.trace._TRACER_PROVIDER", desk.provided[0]),
    ):
        yield desk
