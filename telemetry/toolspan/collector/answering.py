"""
The answers: each is a function of what is asked and of one look at the store.
"""

import base64
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from toolspan.call_records import whole_record
from toolspan.collector.asking import place_text
from toolspan.collector.questions import (
    ARROW,
    DUCKDB,
    JSON_LINES,
    TEXT,
    Answer,
    Context,
    NotFoundError,
    Question,
    as_json,
)
from toolspan.errors import InputError
from toolspan.evidence.payloads import is_object
from toolspan.quality_answers import ask_quality, ask_quality_by
from toolspan.records import Call, Escalation, Task
from toolspan.report_answers import ask_report, ask_report_by
from toolspan.scope import EVERYTHING, Scope
from toolspan.store.columns import arrow_stream, trace_bytes
from toolspan.store.examining import LATEST_SPANS, examine
from toolspan.store.grouping import trace_rows
from toolspan.store.overview import known_names
from toolspan.store.reading import Place, read_page, read_task
from toolspan.store.statements import run
from toolspan.windows import format_time, parse_time
from toolspan_queries import Asked as QueryAsked
from toolspan_queries import QueryError, ask, load, names

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def healthz(_: Context, __: Question) -> Answer:
    """
    That the process answers.
    """
    return Answer(b"ok\n", TEXT)


def readyz(context: Context, _: Question) -> Answer:
    """
    Whether spans are taken, and else why not.
    """
    state = context.state()
    document = {
        "ready": state.is_ready,
        "reason": state.why or None,
        "waiting_requests": state.waiting_requests,
        "waiting_bytes": state.waiting_bytes,
        "last_commit": format_time(round(state.last_commit_s * 10**9)) if state.last_commit_s else None,
    }
    return as_json(document, status=200 if state.is_ready else 503)


def queries(_: Context, __: Question) -> Answer:
    """
    Which numbers there are.
    """
    return as_json({"queries": [{"name": name, "definition": load(name).definition} for name in names()]})


def query(context: Context, question: Question) -> Answer:
    """
    The rows of one query, as JSON or Arrow.
    """
    name = question.path["name"]
    try:
        definition = load(name).definition
    except QueryError as error:
        raise NotFoundError(str(error)) from error
    scope, by = question.asked.scope(), question.asked.by()
    with context.store.reading() as connection:
        asked = _query_asked(scope, by or "")
        if ARROW in question.accept:
            relation: Any = ask(_Relations(connection), name, **asked)
            return Answer(arrow_stream(relation.to_arrow_table()), ARROW)
        result: Any = ask(connection, name, **asked)
        columns = [column[0] for column in result.description]
        rows = [dict(zip(columns, row, strict=True)) for row in result.fetchall()]
    return as_json({"name": name, "definition": definition, "window": _window(scope), "rows": rows})


class _Relations:
    """
    Runs statements so that their answer can be had as Arrow, without a copy of it as Python's rows.
    """

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def execute(self, query: str, parameters: Mapping[str, object], /) -> Any:
        """
        The answer as a relation.
        """
        return self._connection.sql(query, params=dict(parameters))


def _query_asked(scope: Scope, by: str) -> QueryAsked:
    return cast("QueryAsked", {**scope._asdict(), "by": by})


def _window(scope: Scope) -> dict[str, str | None]:
    return {
        name: None if ns is None else format_time(ns)
        for name, ns in (("since", scope.since_ns), ("until", scope.until_ns))
    }


def report(context: Context, question: Question) -> Answer:
    """
    The document of `toolspan report`.
    """
    scope, by = question.asked.scope(), question.asked.by()
    targets = question.asked.targets(context.settings.targets)
    with context.store.reading() as connection:
        if by is None:
            return as_json(ask_report(connection, scope=scope, targets=targets))
        return as_json(ask_report_by(connection, by=by, scope=scope, targets=targets))


def quality(context: Context, question: Question) -> Answer:
    """
    The document of `toolspan quality`.
    """
    scope, by = question.asked.scope(), question.asked.by()
    with context.store.reading() as connection:
        if by is None:
            return as_json(ask_quality(connection, scope=scope))
        return as_json(ask_quality_by(connection, by=by, scope=scope))


def calls(context: Context, question: Question) -> Answer:
    """
    A page of calls in order of start, and the place after which the next one begins.
    """
    asked = question.asked
    limit = asked.limit()
    with context.store.reading() as connection:
        found = read_page(
            connection,
            asked.scope(),
            limit=limit,
            after=asked.after(),
            task_id=asked.values.get("task"),
            span=asked.span(),
        )
    after = _next(found, limit)
    records = list(map(whole_record, found))
    if JSON_LINES not in question.accept:
        return as_json({"calls": records, "next": after})
    lines = "".join(f"{json.dumps(record, allow_nan=False)}\n" for record in records)
    link = {} if after is None else {"Link": f'<?{urlencode({**asked.values, "after": after})}>; rel="next"'}
    return Answer(lines.encode(), JSON_LINES, headers=link)


def _next(found: Sequence[Call], limit: int) -> str | None:
    """
    Where to go on after the calls that were *found*; None where there are no more.
    """
    if len(found) < limit:
        return None
    last = found[-1]
    return place_text(Place(last.started_ns, last.trace_id, last.span_id))


def task(context: Context, question: Question) -> Answer:
    """
    One task with its first calls and its escalations.
    """
    task_id, limit = question.path["task_id"], question.asked.limit()
    with context.store.reading() as connection:
        found = read_task(connection, task_id)
        if found is None:
            raise NotFoundError(f"No task {task_id!r} here; /api/v1/calls shows the ids there are.")
        of_task = read_page(connection, EVERYTHING, limit=limit, task_id=task_id)
    whole, escalations = found
    return as_json(
        {
            "task": _task_record(whole),
            "calls": list(map(whole_record, of_task)),
            "next": _next(of_task, limit),
            "escalations": list(map(_escalation_record, escalations)),
        }
    )


def _task_record(task: Task) -> dict[str, object]:
    return {
        "task_id": task.task_id,
        "trace_id": task.trace_id.hex(),
        "name": task.name or None,
        "agent": task.agent or None,
        "service": task.service or None,
        "environment": task.environment or None,
        "started_at": format_time(task.started_ns),
        "ended_at": format_time(task.ended_ns),
        "outcome": task.outcome,
        "outcome_source": task.outcome_source,
        "settled": task.settled,
        "calls": task.calls,
        "streak": task.streak,
        "unhandled": task.unhandled,
    }


def _escalation_record(escalation: Escalation) -> dict[str, object]:
    return {
        "trace_id": escalation.trace_id.hex(),
        "span_id": escalation.span_id.hex(),
        "at": format_time(escalation.at_ns),
        "tool": escalation.tool or None,
        "reason": escalation.reason or None,
        "source": escalation.source,
    }


def known(context: Context, _: Question) -> Answer:
    """
    What can be asked for: tools, agents, services, environments.
    """
    with context.store.reading() as connection:
        found = known_names(connection)
    return as_json(
        {name: value if isinstance(value, int) else sorted(value) for name, value in found._asdict().items()}
    )


def store(context: Context, question: Question) -> Answer:
    """
    What the store says of itself.
    """
    scope = question.asked.scope()
    waiting = context.store.overdue()
    with context.store.reading() as connection:
        facts = examine(connection, since_ns=scope.since_ns, until_ns=scope.until_ns)
    tools = {name: tool._asdict() for name, tool in facts.tools.items()}
    document = {**facts._asdict(), "tools": tools, "intake": dict(facts.intake), "evidence": dict(facts.evidence)}
    return as_json({"path": str(context.store.path), "waiting_tasks": waiting, **document})


def spans(context: Context, question: Question) -> Answer:
    """
    What is kept of the spans of a trace's group, or of the groups to which spans came last.
    """
    text = question.asked.values.get("trace")
    with context.store.reading() as connection:
        if text is None:
            latest = run(connection, "latest_traces", most_spans=LATEST_SPANS)
            traces = [trace_bytes(high, low) for high, low in latest]
        else:
            traces = [_trace_id(text)]
        rows = trace_rows(connection, traces)
    # as they stand in the table, so that who asks decodes them as the store does; facts are bytes
    encoded = [[*row[:-1], None if row[-1] is None else base64.b64encode(row[-1]).decode()] for row in rows]
    return as_json({"spans": encoded})


def _trace_id(text: str) -> bytes:
    try:
        trace = bytes.fromhex(text)
    except ValueError:
        trace = b""
    if len(trace) != 16:
        raise InputError(f"{text!r} is no trace id: give its 32 digits of hex.")
    return trace


def prune(context: Context, question: Question) -> Answer:
    """
    Deletes old tasks.
    """
    body = question.body
    # a key that is not known may have been meant to spare something
    before = body.get("before") if is_object(body) and len(body) == 1 else None
    if not isinstance(before, str):
        raise InputError('Say before which time, and nothing else: {"before": "90d"}.')
    result = context.store.prune(parse_time(before, now_ns=time.time_ns()))
    return as_json(result._asdict())


def snapshot(context: Context, _: Question) -> Answer:
    """
    A copy of the store, as it is at one moment.
    """
    copy = context.store.path.with_name(f".toolspan-{secrets.token_hex(8)}.download")
    context.store.snapshot(copy)
    # it has no name from here on, so that it is gone with whoever takes it, and with this process
    file = copy.open("rb")
    copy.unlink()
    size_bytes = os.fstat(file.fileno()).st_size
    headers = {"Content-Length": str(size_bytes), "Content-Disposition": 'attachment; filename="toolspan.duckdb"'}
    return Answer(b"", DUCKDB, file=file, headers=headers)
