"""
The records that flow through the pipeline: facts of spans in, rows of the tables out.

`SpanFacts` is what reading leaves of one span: identity, time, and for the few spans that matter (tools,
agent runs, escalations, spans that carry a task's marks, failed HTTP clients) what was recognised and
classified. Payloads never get this far. The rows (`Call`, `Task`, `Escalation`, `Episode`, `TaskTool`) are what
`derive` makes of the facts of one group; they are the columns of the store.

All are NamedTuples: creating one costs 0.3 µs, a frozen dataclass 1.9 µs, and a million spans make several
million of them. Times are integer nanoseconds since 1970, ids are bytes as on the wire.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple


class Role(IntEnum):
    """
    What a span is to us.
    """

    OTHER = 0
    TOOL = 1
    RUN = 2
    ESCALATION = 3


class Marks(NamedTuple):
    """
    What a span says of the task it belongs to; empty string where it says nothing.
    """

    name: str = ""
    agent: str = ""
    service: str = ""
    environment: str = ""
    task_id: str = ""
    step_id: str = ""
    outcome: str = ""


class Judgement(NamedTuple):
    """
    How one span says that its call ended.

    *outcome* is `ok`, `error`, `cancelled` or `deferred`. *error_class* is None where the evidence names no
    class, `unclassified` where the tool itself says that it could name none.
    For an `ok` span *error_class* and *code* hold the latent class: what its texts would name if another span of
    the same call failed. *evidence* is what named the class, else the strongest evidence that said "failed".
    *model_retry* marks a model-retry exception whose stack trace names no other cause: validation, unless an inner
    span names a class.
    """

    outcome: str = "ok"
    error_class: str | None = None
    code: str | None = None
    evidence: str = ""
    says_ok: bool = False
    model_retry: bool = False
    field: str | None = None
    retry_after_ms: int | None = None
    lint: int = 0


class Event(NamedTuple):
    """
    A span event as classification sees it.
    """

    name: str
    attributes: Mapping[str, object]


class SpanView(NamedTuple):
    """
    One span as recognition and classification see it, wherever it came from (protobuf, JSON, a live SDK span).

    *kind* is OTLP's (1 internal, 2 server, 3 client, …), *status_code* too (0 unset, 1 ok, 2 error). Attribute
    values are plain Python: str, bool, int, float, bytes, list, dict, None.
    """

    name: str
    kind: int
    scope: str
    status_code: int
    status_message: str
    attributes: Mapping[str, object]
    events: Sequence[Event] = ()


class SeenSpan(NamedTuple):
    """
    A span as it was read, with everything it carries.
    """

    view: SpanView
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    start_ns: int
    end_ns: int
    resource: Mapping[str, object]


class CallFacts(NamedTuple):
    """
    What a tool span says of its call.

    *side* is `client` or `server` for MCP spans, else empty. *args_hash* is None where arguments are unknown.
    *attempts* is None where the span does not count them.
    """

    tool: str
    judgement: Judgement
    call_id: str = ""
    args_hash: str | None = None
    side: str = ""
    request_id: str = ""
    attempts: int | None = None
    waited_ms: int | None = None
    budget_exhausted: bool = False


class EscalationFacts(NamedTuple):
    """
    An escalation that a span stands for.

    *source* is `span` (`toolspan.kind = escalation`), `elicitation` (MCP `elicitation/create`) or `run` (an agent
    run that ends waiting: the escalation happens at the span's end, else at its start). *tool* is empty where the
    span names none; for an elicitation the nearest tool span above names it.
    """

    source: str
    tool: str = ""
    reason: str = ""


class SpanFacts(NamedTuple):
    """
    One span, reduced.

    *parent_id* is empty for a span without parent. *end_ns* is never before *start_ns*. *is_error* is status
    ERROR. *http_status* is the status of an HTTP client span that failed (≥ 400), else 0. *marks* is None for spans
    that are neither tool, run, escalation nor parentless and carry no `toolspan.*` attribute.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    start_ns: int
    end_ns: int
    role: int = 0
    is_error: bool = False
    marks: Marks | None = None
    call: CallFacts | None = None
    escalation: EscalationFacts | None = None
    http_status: int = 0


class Call(NamedTuple):
    """
    One execution of a tool that the model asked for.

    *outcome*: `ok`, `error`, `cancelled`, `deferred`. *error_class*: one of the five or `unclassified` where the
    outcome is `error`, else None. *follows*: span id of the failure this call answers. *follow_up*: `retry`,
    `rewrite` or None. *verdict* (of a retry): `allowed`, `early`, `over_cap`, `wasted`. *wasted_ns*: for a wasted
    retry, its end minus the end of the failure it repeats. *next_action* (of a failure): `retry`, `rewrite`,
    `escalated`, `other`, `nothing`. *step_id* is empty where nobody gave one. *step* is the key of the step
    the call belongs to: the given id, else the span id (hex) of the first call of its chain. *parent_run* is the
    span id of the nearest agent run above, empty where there is none. *lint* is a bit set.
    """

    task_id: str
    trace_id: bytes
    span_id: bytes
    tool: str
    agent: str
    service: str
    environment: str
    started_ns: int
    ended_ns: int
    outcome: str
    error_class: str | None
    code: str | None
    evidence: str
    attempts: int
    waited_ms: int | None
    budget_exhausted: bool
    args_hash: str | None
    field: str | None
    retry_after_ms: int | None
    lint: int
    step_id: str
    step: str
    parent_run: bytes
    follows: bytes | None
    follow_up: str | None
    presumed: bool
    verdict: str | None
    wasted_ns: int
    next_action: str | None


class Task(NamedTuple):
    """
    One unit of work the agent tries to resolve.

    *outcome*: `resolved`, `unresolved`, `escalated`, `unknown`. *outcome_source*: `attribute`, `escalation`,
    `status`, `unseen`. *settled* is False while the task is open. *streak* is the longest run of
    consecutive failures of one tool with one code; *unhandled*: resolved, though its last call failed and
    nobody was told. *seen*: its span has come, or the parentless tool span that stands for it, so that it can be over.
    """

    task_id: str
    trace_id: bytes
    name: str
    agent: str
    service: str
    environment: str
    started_ns: int
    ended_ns: int
    outcome: str
    outcome_source: str
    settled: bool
    calls: int
    streak: int
    unhandled: bool
    seen: bool = True


class Escalation(NamedTuple):
    """
    A human was asked.

    *tool* is empty where the escalation names none. *source*: `span`, `deferred`, `elicitation`, `run`, `tool`
    (a call of a tool listed as escalation tool).
    """

    task_id: str
    trace_id: bytes
    span_id: bytes
    at_ns: int
    tool: str
    reason: str
    source: str


class Episode(NamedTuple):
    """
    A tool's permission failure and what came before a human heard of it.

    *span_id* is the opening failure, *opened_ns* its end, *closed_ns* the escalation's time or None.
    *retries* counts calls of the tool in between.
    """

    task_id: str
    tool: str
    span_id: bytes
    opened_ns: int
    closed_ns: int | None
    retries: int


class TaskTool(NamedTuple):
    """
    What one task did with one tool: the sums from which the three numbers are made.
    """

    task_id: str
    tool: str
    calls: int
    retries: int
    presumed: int
    allowed: int
    early: int
    over_cap: int
    wasted: int
    wasted_ns: int
    steps: int
    validation_failures: int
    recovered: int
    accepted: int
    episodes: int
    escalated: int
    clean: int
    streak: int
    streak_code: str | None


class Rows(NamedTuple):
    """
    All rows of one group, each list in a fixed order.
    """

    calls: list[Call]
    tasks: list[Task]
    escalations: list[Escalation]
    episodes: list[Episode]
    task_tools: list[TaskTool]


def extend(rows: Rows, more: Rows) -> None:
    """
    Adds *more* to the end of each list of *rows*.
    """
    rows.calls.extend(more.calls)
    rows.tasks.extend(more.tasks)
    rows.escalations.extend(more.escalations)
    rows.episodes.extend(more.episodes)
    rows.task_tools.extend(more.task_tools)
