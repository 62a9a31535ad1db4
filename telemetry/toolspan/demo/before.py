"""
The agent before its failures had classes: every error is "something went wrong", so it tries again, and then says that
all is well. Its spans are those of any framework that follows OpenTelemetry's GenAI conventions.
"""

import json
from collections.abc import Callable
from typing import Final

from opentelemetry.trace import Status, StatusCode, Tracer

from toolspan.demo.services import ServiceError, Services
from toolspan.demo.trips import Trip

NAME: Final = "travel-agent (before)"
#: What was imported from stateless clients: three more tries, a little later each time.
_PAUSES_S: Final = (0.02, 0.04, 0.08)


class Agent:
    """
    Plans trips with *services*; its spans are *tracer*'s, its pauses *sleep*'s.
    """

    def __init__(self, services: Services, tracer: Tracer, sleep: Callable[[float], object]) -> None:
        self._services = services
        self._tracer = tracer
        self._sleep = sleep

    def plan(self, trip: Trip) -> str:
        """
        What the traveller is told.
        """
        services = self._services
        run = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": NAME}
        with self._tracer.start_as_current_span(f"invoke_agent {NAME}", attributes=run):
            self._ask("search_flights", {"date": trip.written, "fare": trip.fare}, services.flights)
            self._ask("book_room", {"nights": trip.nights}, services.room)
            if trip.wants_refund:
                self._ask("refund", {"is_approved": False}, services.refund)
            self._ask("get_invoice", {}, services.invoice)
        return "All is booked: have a good trip!"

    def _ask(self, tool: str, arguments: dict[str, object], service: Callable[..., object]) -> None:
        for pause_s in (*_PAUSES_S, None):
            if self._call(tool, arguments, service) or pause_s is None:
                return
            self._sleep(pause_s)

    def _call(self, tool: str, arguments: dict[str, object], service: Callable[..., object]) -> bool:
        call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        with self._tracer.start_as_current_span(f"execute_tool {tool}", attributes=call) as span:
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps({**arguments, "currency": "EUR"}))
            try:
                service(**arguments)
            except ServiceError as error:
                span.record_exception(error)
                span.set_status(Status(StatusCode.ERROR))
                return False
        return True
