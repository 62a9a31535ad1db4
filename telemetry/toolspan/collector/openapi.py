"""
The OpenAPI document of the API, made of the table of operations.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolspan._version import __version__
from toolspan.collector.questions import Operation, Parameter

PATH: Final = "/api/v1/openapi.json"
PROBLEM: Final = "application/problem+json"
TITLES: Final[Mapping[int, str]] = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    415: "Unsupported Media Type",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
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
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
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


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_parameter(each) for each in operation.parameters],
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {kind: {"schema": schema} for kind, schema in operation.answers.items()},
            },
            **{str(status): _failure(operation, status) for status in operation.failures},
        },
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": operation.body}}}
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
    own = operation.answers if operation.name == "readyz" else None
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        "description": TITLES[status],
        "content": content if own is None else {kind: {"schema": schema} for kind, schema in own.items()},
    }
