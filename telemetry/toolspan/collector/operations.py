"""
Everything that can be asked of the API, in one table: routes and the OpenAPI document are made of it.
"""

from collections.abc import Sequence
from typing import Final

from toolspan.collector import answering
from toolspan.collector.asking import DEFAULT_LIMIT, MOST_CALLS, TARGETS
from toolspan.collector.questions import ARROW, DUCKDB, JSON, JSON_LINES, TEXT, Load, Operation, Parameter, Schema
from toolspan.documents import GroupedQuality, GroupedReport, Quality, Report
from toolspan.scope import DIMENSIONS
from toolspan_queries import names

_ANYTHING: Final[Schema] = {}
_STRING: Final[Schema] = {"type": "string"}
_WHOLE: Final[Schema] = {"type": "integer"}
_BYTES: Final[Schema] = {"type": "string", "format": "binary"}
#: RFC 3339, or an age.
TIME: Final[Schema] = {
    "type": "string",
    "pattern": r"^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9:.]+([Zz]|[+-][0-9:]+)?)?|([0-9]+([.][0-9]+)?(ms|[smhdw]))+)$",
    "examples": ["2026-05-04T10:00:00Z", "24h"],
}
_HEX: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{1,16}$"}

_WINDOW: Final = (
    Parameter("since", "Tasks that ended then or later: RFC 3339, or an age.", TIME),
    Parameter("until", "Tasks that ended before.", TIME),
)
_FILTERS: Final = (
    Parameter("tool", "Only this tool.", _STRING),
    Parameter("agent", "Only tasks of this agent; empty for those that name none.", _STRING),
    Parameter("service", "Only tasks of this service.", _STRING),
    Parameter("environment", "Only tasks of this deployment environment.", _STRING),
)
_BY: Final = Parameter("by", "One group for each.", {"type": "string", "enum": list(DIMENSIONS)})
_SCOPE: Final = (*_WINDOW, *_FILTERS)
_TARGETS: Final = tuple(
    Parameter(name, "A target, in the place of the collector's.", {"type": "number", "minimum": 0, "maximum": 10**6})
    for name in TARGETS
)
_NAME: Final = Parameter("name", "The name of a query.", {"type": "string", "enum": names()}, is_of_path=True)
_LIMIT: Final = Parameter(
    "limit",
    "How many calls at the most.",
    {"type": "integer", "minimum": 1, "maximum": MOST_CALLS, "default": DEFAULT_LIMIT},
)
_TASK_ID: Final = Parameter("task_id", "The id of a task.", {"type": "string", "minLength": 1}, is_of_path=True)


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _document(*types: type) -> Schema:
    schemas: list[Schema] = [_object(**dict.fromkeys(each.__annotations__, _ANYTHING)) for each in types]
    return {"anyOf": schemas}


_ANY: Final[Schema] = {"type": "object"}
_NEXT: Final[Schema] = {"type": ["string", "null"]}
_PAGE: Final = _object(calls=_list(_ANY), next=_NEXT)
_READY: Final = _object(
    ready={"type": "boolean"},
    reason={"type": ["string", "null"]},
    waiting_requests=_WHOLE,
    waiting_bytes=_WHOLE,
    last_commit={"type": ["string", "null"]},
)

OPERATIONS: Final[Sequence[Operation]] = (
    Operation("healthz", "/healthz", "That the process answers.", answering.healthz, {TEXT: _STRING}, load=Load.NONE),
    Operation(
        "readyz",
        "/readyz",
        "Whether spans are taken.",
        answering.readyz,
        {JSON: _READY},
        failures=(503,),
        load=Load.NONE,
    ),
    Operation(
        "queries",
        "/api/v1/queries",
        "The numbers that can be asked for.",
        answering.queries,
        {JSON: _object(queries=_list(_object(name=_STRING, definition=_STRING)))},
        load=Load.NONE,
    ),
    Operation(
        "query",
        "/api/v1/query/{name}",
        "The rows of one number. Whole numbers are written in full: sums of nanoseconds can exceed 2^53, which a reader"
        " of 64-bit integers takes as they are, and one of doubles (JavaScript) should ask for as Arrow.",
        answering.query,
        {JSON: _object(name=_STRING, definition=_STRING, window=_ANY, rows=_list(_ANY)), ARROW: _BYTES},
        (_NAME, *_SCOPE, _BY),
        failures=(400, 404, 503),
    ),
    Operation(
        "report",
        "/api/v1/report",
        "The document of `toolspan report --format json`, from one moment.",
        answering.report,
        {JSON: _document(Report, GroupedReport)},
        (*_SCOPE, _BY, *_TARGETS),
        failures=(400, 503),
    ),
    Operation(
        "quality",
        "/api/v1/quality",
        "The document of `toolspan quality --format json`, from one moment.",
        answering.quality,
        {JSON: _document(Quality, GroupedQuality)},
        (*_SCOPE, _BY),
        failures=(400, 503),
    ),
    Operation(
        "calls",
        "/api/v1/calls",
        "Calls in order of start, a page at a time. As JSON lines, the page after it is in the header Link.",
        answering.calls,
        {JSON: _PAGE, JSON_LINES: _STRING},
        (
            *_SCOPE,
            Parameter("task", "Only calls of this task.", _STRING),
            Parameter("span", "Only calls whose span id begins so.", _HEX),
            _LIMIT,
            Parameter(
                "after",
                "The `next` of the page before.",
                {"type": "string", "pattern": "^[0-9]{1,18}-[0-9a-f]{32}-[0-9a-f]{16}$"},
            ),
        ),
        failures=(400, 503),
    ),
    Operation(
        "task",
        "/api/v1/tasks/{task_id}",
        "One task with its first calls and its escalations; `next` as of calls, for those of this task.",
        answering.task,
        {JSON: _object(task=_ANY, calls=_list(_ANY), next=_NEXT, escalations=_list(_ANY))},
        (_TASK_ID, _LIMIT),
        route="/api/v1/tasks/{task_id:text}",
        failures=(400, 404, 503),
    ),
    Operation(
        "names",
        "/api/v1/names",
        "The tools, agents, services and environments there are, and how many calls.",
        answering.known,
        {
            JSON: _object(
                calls=_WHOLE,
                tools=_list(_STRING),
                agents=_list(_STRING),
                services=_list(_STRING),
                environments=_list(_STRING),
            )
        },
        failures=(400, 503),
    ),
    Operation(
        "store",
        "/api/v1/store",
        "What the store says of itself: what came, what is kept, what waits.",
        answering.store,
        {JSON: _object(path=_STRING, waiting_tasks=_WHOLE, intake=_ANY, tools=_ANY)},
        (
            Parameter("since", "What came in that hour or later: RFC 3339, or an age; bounds the intake alone.", TIME),
            Parameter("until", "What came before.", TIME),
        ),
        failures=(400, 503),
    ),
    Operation(
        "spans",
        "/api/v1/spans",
        "What is kept of the spans of a trace, or of those that came last; for toolspan's own commands.",
        answering.spans,
        {JSON: _object(spans=_list(_list({})))},
        (Parameter("trace", "A trace id.", {"type": "string", "pattern": "^[0-9a-f]{32}$"}),),
        failures=(400, 503),
    ),
    Operation(
        "snapshot",
        "/api/v1/snapshot",
        "A copy of the store, a DuckDB file, as it is at one moment.",
        answering.snapshot,
        {DUCKDB: _BYTES},
        failures=(400, 503),
        load=Load.WHOLE,
    ),
    Operation(
        "prune",
        "/api/v1/prune",
        "Deletes the tasks that ended before a time.",
        answering.prune,
        {JSON: _object(tasks=_WHOLE, calls=_WHOLE)},
        method="POST",
        body={
            "type": "object",
            "properties": {"before": TIME},
            "required": ["before"],
            "additionalProperties": False,
        },
        failures=(400, 415, 503),
        load=Load.WHOLE,
    ),
)
