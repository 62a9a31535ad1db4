"""
The OpenAPI document of the API, made of the table of operations.
"""

from collections.abc import Iterable
from typing import Any, Final

from toolspan._version import __version__
from toolspan.collector.gate import OPEN_PATHS
from toolspan.collector.problems import PROBLEM, TITLES
from toolspan.collector.questions import JSON, Operation, Parameter

PATH: Final = "/api/v1/openapi.json"
_PROBLEM: Final = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["title", "status", "detail"],
}


def document_of(operations: Iterable[Operation], *, is_closed: bool) -> dict[str, Any]:
    """
    What *operations* there are, as OpenAPI 3.1; *is_closed* where a token is needed.
    """
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, is_closed=is_closed)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "toolspan collector", "version": __version__},
        "paths": paths,
        "components": {"schemas": {"Problem": _PROBLEM}},
    }
    if is_closed:
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"bearer": []}]
    return document


def _operation(operation: Operation, *, is_closed: bool) -> dict[str, Any]:
    # whoever asks may be wrong about a parameter or the host's name, and not know the token
    statuses = {400, *operation.failures}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_parameter(each) for each in operation.parameters],
    }
    if is_closed and operation.path in OPEN_PATHS:
        described["security"] = []
    elif is_closed:
        statuses.add(401)
    described["responses"] = {
        "200": {
            "description": "The answer.",
            "content": {kind: {"schema": schema} for kind, schema in operation.answers.items()},
        },
        **{str(status): _failure(operation, status) for status in sorted(statuses)},
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": operation.body}}}
    return described


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "path" if parameter.is_of_path else "query",
        "required": parameter.is_of_path,
        "description": parameter.what,
        "schema": parameter.schema,
    }


def _failure(operation: Operation, status: int) -> dict[str, Any]:
    # readiness says why not in the document that says whether
    if operation.name == "readyz" and status == 503:
        content = {kind: {"schema": schema} for kind, schema in operation.answers.items()}
    else:
        content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": TITLES[status], "content": content}
