"""
Writes `travel-agent.otlp.jsonl.gz`: eighty trips of a travel agent whose tools fail in five ways.

The same bytes every time; a test runs it and compares. The agent searches flights (a vague `date` argument), books a
room (409 retried as if it were an outage), reads an invoice (503, retried once: fine), and refunds (a permission that
needs a human, sometimes tried again first).
"""

import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import NamedTuple

TASKS = 80
START_NS = 1_796_000_000_000_000_000
MS = 1_000_000
OUTPUT = Path(__file__).with_name("travel-agent.otlp.jsonl.gz")


class Outcome(NamedTuple):
    """
    How a call ends: its result, or the exception that it raised.
    """

    result: object = None
    exception: tuple[str, str] | None = None


def envelope(code: str, error_class: str, *, field: str | None = None, hint: str = "") -> Outcome:
    """
    A failure that the tool returns as toolspan's envelope.
    """
    error = {
        "code": code,
        "class": error_class,
        "retryable": error_class == "transient",
        "retry_after_ms": None,
        "field": field,
        "hint": hint,
        "message": "see hint",
    }
    return Outcome(result={"ok": False, "error": error})


OK = Outcome(result={"ok": True, "data": {"id": "F100"}})
BAD_DATE = envelope("DATE_FORMAT", "validation", field="date", hint="Send a date.")
FORBIDDEN = Outcome(
    exception=("httpx.HTTPStatusError", "Client error '403 Forbidden' for url 'https://api.example.test/v1/refunds'")
)
UNAVAILABLE = Outcome(
    exception=(
        "httpx.HTTPStatusError",
        "Server error '503 Service Unavailable' for url 'https://api.example.test/v1/invoices'",
    )
)
CONFLICT = Outcome(
    exception=("httpx.HTTPStatusError", "Client error '409 Conflict' for url 'https://api.example.test/v1/rooms'")
)
CRASH = Outcome(exception=("RuntimeError", "ledger connection pool exhausted"))


class Trip:
    """
    One task: an agent run and the spans below it, in order of time.
    """

    def __init__(self, number: int) -> None:
        self.trace_id = hashlib.sha256(b"trip %d" % number).hexdigest()[:32]
        self.now_ns = START_NS + number * 60_000 * MS
        self.started_ns = self.now_ns
        self.spans: list[dict[str, object]] = []
        self.run_id = hashlib.sha256(f"{self.trace_id} run".encode()).hexdigest()[:16]

    def call(self, tool: str, arguments: dict[str, object], outcome: Outcome, *, took_ms: int = 120) -> None:
        """
        The agent calls *tool*, 400 ms after whatever it did before.
        """
        attributes: dict[str, object] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call_{len(self.spans)}",
            "gen_ai.tool.call.arguments": json.dumps(arguments),
        }
        events: list[dict[str, object]] = []
        if outcome.exception is not None:
            kind, message = outcome.exception
            values = {"exception.type": kind, "exception.message": message}
            events.append({"name": "exception", "timeUnixNano": str(self.now_ns), "attributes": _pairs(values)})
        else:
            attributes["gen_ai.tool.call.result"] = json.dumps(outcome.result)
        self._add(f"execute_tool {tool}", attributes, took_ms, status=2 if events else 0, events=events)

    def escalate(self, tool: str) -> None:
        """
        The agent asks a human about *tool*.
        """
        self._add("escalate", {"toolspan.kind": "escalation", "toolspan.escalation.tool": tool}, 5)

    def line(self) -> str:
        """
        The request that the agent's exporter sends when the trip is over.
        """
        run = self._span(
            self.run_id,
            "",
            "invoke_agent travel_agent",
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel_agent"},
            self.started_ns,
            self.now_ns,
        )
        resource = {"service.name": "travel-desk", "deployment.environment.name": "production"}
        scopes = [{"scope": {"name": "travel_agent"}, "spans": [*self.spans, run]}]
        request = {"resourceSpans": [{"resource": {"attributes": _pairs(resource)}, "scopeSpans": scopes}]}
        return json.dumps(request, separators=(",", ":"))

    def _add(
        self,
        name: str,
        attributes: dict[str, object],
        took_ms: int,
        *,
        status: int = 0,
        events: list[dict[str, object]] | None = None,
    ) -> None:
        start_ns = self.now_ns + 400 * MS
        self.now_ns = start_ns + took_ms * MS
        span = self._span(self._next_id(), self.run_id, name, attributes, start_ns, self.now_ns)
        self.spans.append({**span, "status": {"code": status} if status else {}, "events": events or []})

    def _next_id(self) -> str:
        return hashlib.sha256(f"{self.trace_id} {len(self.spans)}".encode()).hexdigest()[:16]

    def _span(
        self, span_id: str, parent_id: str, name: str, attributes: dict[str, object], start_ns: int, end_ns: int
    ) -> dict[str, object]:
        return {
            "traceId": self.trace_id,
            "spanId": span_id,
            "parentSpanId": parent_id,
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(end_ns),
            "attributes": _pairs(attributes),
        }


def _pairs(values: dict[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def trip(number: int) -> str:
    """
    Trip *number*, always the same.
    """
    chance = random.Random(number)
    task = Trip(number)
    right = {"date": f"2026-12-{number % 28 + 1:02}", "fare": "economy"}
    if chance.random() < 0.55:
        wrong = {**right, "date": "next Friday"}
        task.call("search_flights", wrong, BAD_DATE)
        if chance.random() < 0.4:
            task.call("search_flights", wrong, BAD_DATE)
        task.call("search_flights", {**right, "date": "Friday"}, BAD_DATE if chance.random() < 0.6 else OK)
    else:
        task.call("search_flights", right, OK)
    room = {"room": str(chance.randrange(40)), "slot": "10:00"}
    if chance.random() < 0.35:
        for _ in range(chance.choice((2, 3, 4))):
            task.call("book_room", room, CONFLICT, took_ms=200)
    else:
        task.call("book_room", room, OK, took_ms=200)
    invoice = {"invoice_id": f"INV-{number}"}
    if chance.random() < 0.3:
        task.call("get_invoice", invoice, UNAVAILABLE)
    task.call("get_invoice", invoice, CRASH if chance.random() < 0.05 else OK)
    if chance.random() < 0.35:
        refund = {"invoice_id": f"INV-{number}", "amount": 120}
        task.call("refund", refund, FORBIDDEN)
        if chance.random() < 0.25:
            task.call("refund", refund, FORBIDDEN)
        task.escalate("refund")
    return task.line()


def main() -> None:
    lines = "".join(trip(number) + "\n" for number in range(TASKS))
    OUTPUT.write_bytes(gzip.compress(lines.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
