"""
Rows of a store file as records, for whoever wants the records themselves: a list of calls, one task, a check of both.

Numbers are not made this way: `toolspan_queries` computes them where the rows are.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolspan.records import Call, Episode, Escalation, Rows, Task, TaskTool
from toolspan.scope import EVERYTHING, Scope
from toolspan.store.columns import trace_bytes
from toolspan.windows import LAST_NS
from toolspan_queries import writable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BATCH_ROWS: Final = 10_000

_CALLS: Final = """
select task_id, c.trace_hi, c.trace_lo, c.span_id, c.tool, c.agent, c.service, c.environment, c.started_ns,
  c.started_ns + c.duration_ns, c.outcome, c.class, c.code, c.evidence, c.attempts, c.waited_ms, c.budget_exhausted,
  c.arguments, c.arguments_key, c.field, c.retry_after_ms, c.lint, c.step_id, c.step, c.parent_run, c.follows,
  c.follow_up, c.presumed, c.verdict, c.wasted_ns, c.next_action
from calls as c
join tasks as t using (task)
where c.task_ended_ns = t.ended_ns and {condition}
order by c.started_ns, c.trace_hi, c.trace_lo, c.span_id
{limit}
"""
_TASKS: Final = """
select task_id, trace_hi, trace_lo, name, agent, service, environment, started_ns, ended_ns, outcome, outcome_source,
  settled, calls, streak, unhandled, seen
from tasks as t
where {condition}
order by started_ns, task_id
"""
_ESCALATIONS: Final = """
select task_id, e.trace_hi, e.trace_lo, e.span_id, e.at_ns, e.tool, e.reason, e.source
from escalations as e
join tasks as t using (task)
where {condition}
order by e.at_ns, e.trace_hi, e.trace_lo, e.span_id, e.source
"""
_EPISODES: Final = """
select task_id, e.tool, e.span_id, e.opened_ns, e.closed_ns, e.retries
from episodes as e
join tasks as t using (task)
where {condition}
order by e.opened_ns, task_id, e.tool, e.span_id
"""
_TASK_TOOLS: Final = """
select task_id, x.tool, x.calls, x.retries, x.presumed, x.allowed, x.early, x.over_cap, x.wasted, x.wasted_ns, x.steps,
  x.validation_failures, x.recovered, x.accepted, x.episodes, x.escalated, x.clean, x.streak, x.streak_code
from task_tools as x
join tasks as t using (task)
where {condition}
order by task_id, x.tool
"""


def read_rows(connection: "DuckDBPyConnection", scope: Scope = EVERYTHING) -> Rows:
    """
    All rows of the tasks in *scope*, whatever tool they belong to.
    """
    condition, values = _condition(scope)
    return Rows(
        list(read_calls(connection, scope._replace(tool=None))),
        [_task(row) for row in _select(connection, _TASKS, condition, values)],
        [_escalation(row) for row in _select(connection, _ESCALATIONS, condition, values)],
        [Episode(row[0], row[1], _id(row[2]), *row[3:]) for row in _select(connection, _EPISODES, condition, values)],
        [TaskTool(*row) for row in _select(connection, _TASK_TOOLS, condition, values)],
    )


class Place(NamedTuple):
    """
    A call's place in the order of calls: by start, then by its ids.
    """

    started_ns: int
    trace_id: bytes
    span_id: bytes


_BEFORE_ALL: Final = Place(-1, bytes(16), bytes(8))
#: The first condition says what the second does, and lets DuckDB skip what lies outside.
_AFTER: Final = """c.started_ns between $started_ns and $until_ns
  and (c.started_ns, c.trace_hi, c.trace_lo, c.span_id) > ($started_ns, $trace_hi, $trace_lo, $span_id)"""


def read_page(
    connection: "DuckDBPyConnection",
    scope: Scope,
    *,
    limit: int,
    after: Place | None = None,
    task_id: str | None = None,
    span: str = "",
) -> list[Call]:
    """
    At most *limit* calls as `read_calls` gives them, from the one *after* a place on; only those whose span id, in hex,
    begins with *span*.
    """
    condition, values = _calls_condition(scope, task_id)
    if span:
        condition += " and c.span_id between $first_id and $last_id"
        values |= {"first_id": int(span.ljust(16, "0"), 16), "last_id": int(span.ljust(16, "f"), 16)}
    text = _CALLS.format(condition=f"{condition} and {_AFTER}", limit="limit $limit")
    found: list[Call] = []
    place, rows = after or _BEFORE_ALL, limit
    # A million calls, 10 000 at a time: 0.6 s for each where all that are left are joined and sorted, 0.1 where only as
    # many as there could be in the page are. Where few are asked for, one pass finds them.
    until_ns = LAST_NS if span or task_id is not None else _start_of(connection, place, rows)
    while True:
        bounds = {**_place_values(place), "until_ns": until_ns, "limit": limit - len(found)}
        found += [_call(row) for row in connection.execute(text, {**values, **bounds}).fetchall()]
        if len(found) == limit or until_ns == LAST_NS:
            return found
        place, rows = Place(until_ns, b"\xff" * 16, b"\xff" * 8), rows * 8
        until_ns = _start_of(connection, place, rows)


def _start_of(connection: "DuckDBPyConnection", place: Place, rows: int) -> int:
    """
    When the call starts that is *rows* after *place*, the end of time where there are fewer.
    """
    starts = "select started_ns from calls where started_ns >= ? order by started_ns limit ?"
    [(count, last_ns)] = connection.execute(
        f"select count(*), max(started_ns) from ({starts})",  # noqa: S608 - our own text
        [place.started_ns, rows],
    ).fetchall()
    return int(last_ns) if count == rows else LAST_NS


def _place_values(place: Place) -> dict[str, object]:
    return {
        "started_ns": place.started_ns,
        "trace_hi": int.from_bytes(place.trace_id[:8], "big"),
        "trace_lo": int.from_bytes(place.trace_id[8:], "big"),
        "span_id": int.from_bytes(place.span_id, "big"),
    }


def read_calls(
    connection: "DuckDBPyConnection", scope: Scope = EVERYTHING, *, task_id: str | None = None
) -> Iterator[Call]:
    """
    The calls of the tasks in *scope* (and of its tool only), or of one task, in order of start; some at a time. Until
    they are taken, nothing else may be asked through *connection*.
    """
    condition, values = _calls_condition(scope, task_id)
    return map(_call, _select(connection, _CALLS, condition, values))


def read_task(connection: "DuckDBPyConnection", task_id: str) -> tuple[Task, list[Escalation]] | None:
    """
    The task of that id with its escalations; None where there is none.
    """
    condition, values = "t.task_id = $task_id", {"task_id": writable(task_id)}
    tasks = [_task(row) for row in _select(connection, _TASKS, condition, values)]
    if not tasks:
        return None
    return tasks[0], [_escalation(row) for row in _select(connection, _ESCALATIONS, condition, values)]


def _calls_condition(scope: Scope, task_id: str | None) -> tuple[str, dict[str, object]]:
    condition, values = _condition(scope)
    if scope.tool is not None:
        condition, values = f"{condition} and c.tool = $tool", {**values, "tool": writable(scope.tool)}
    if task_id is not None:
        condition, values = f"{condition} and t.task_id = $task_id", {**values, "task_id": writable(task_id)}
    return condition, values


def _select(
    connection: "DuckDBPyConnection", statement: str, condition: str, values: Mapping[str, object]
) -> Iterator[tuple[Any, ...]]:
    # by no cursor of its own: that would see what is committed meanwhile, and outlive a store that has to be closed
    connection.execute(statement.format(condition=condition, limit=""), dict(values))
    while rows := connection.fetchmany(_BATCH_ROWS):
        yield from rows


def _condition(scope: Scope) -> tuple[str, dict[str, object]]:
    """
    What `Scope.holds` says of a task, as SQL and the values that it names.
    """
    parts, values = ["true"], dict[str, object]()
    if scope.until_ns is not None:
        parts.append("t.settled and t.ended_ns < $until_ns")
        values["until_ns"] = scope.until_ns
    if scope.since_ns is not None:
        parts.append("t.ended_ns >= $since_ns")
        values["since_ns"] = scope.since_ns
    for name in ("agent", "service", "environment"):
        value = getattr(scope, name)
        if value is not None:
            parts.append(f"t.{name} = ${name}")
            values[name] = writable(value)
    return " and ".join(parts), values


def _call(row: tuple[Any, ...]) -> Call:
    task_id, trace_hi, trace_lo, span_id, *middle = row[:17]
    arguments, key, field, retry_after_ms, lint, step_id, first, parent_run, follows, *rest = row[17:]
    identity = (task_id, trace_bytes(trace_hi, trace_lo), _id(span_id))
    args_hash = None if arguments is None else f"{key:04x}{arguments:016x}"
    step = step_id or f"{span_id if first is None else first:016x}"
    run = b"" if parent_run is None else _id(parent_run)
    answers = None if follows is None else _id(follows)
    return Call._make((*identity, *middle, args_hash, field, retry_after_ms, lint, step_id, step, run, answers, *rest))


def _task(row: tuple[Any, ...]) -> Task:
    return Task(row[0], trace_bytes(row[1], row[2]), *row[3:])


def _escalation(row: tuple[Any, ...]) -> Escalation:
    return Escalation(row[0], trace_bytes(row[1], row[2]), _id(row[3]), *row[4:])


def _id(number: int) -> bytes:
    return number.to_bytes(8, "big")
