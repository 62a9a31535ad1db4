"""
The JSON Schema (2020-12) of an envelope, for those who build or check one without Python.

Written out rather than generated: what makes an envelope right are the rules between its keys (a class and what it may
and must carry), of which the types of a model know nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from toolspan.evidence.error_documents import MAX_FIELD_CHARS, MAX_HINT_CHARS, MAX_RETRY_AFTER_MS
from toolspan.taxonomy import CLASSES, CODE_FORM, RECOVERY_ACTIONS, UNCLASSIFIED_CODE, ErrorClass

Schema = dict[str, object]

_NULL: Final[Schema] = {"type": "null"}


def envelope_schema() -> Schema:
    """
    The schema that every envelope validates against, and nothing that breaks a rule.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Envelope",
        "description": "The typed result of a tool.",
        "oneOf": [{"$ref": "#/$defs/Success"}, {"$ref": "#/$defs/Failure"}],
        "$defs": {"Success": _success(), "Failure": _failure(), "Receipt": _receipt(), "Error": _error()},
    }


def _success() -> Schema:
    return _object(
        "The call did what it was asked for.",
        {
            "ok": {"const": True},
            "data": {"description": "Whatever the tool answers."},
            "receipt": {"anyOf": [{"$ref": "#/$defs/Receipt"}, _NULL]},
            "error": _NULL,
        },
        required=("ok",),
    )


def _failure() -> Schema:
    return _object(
        "The call failed.",
        {"ok": {"const": False}, "error": {"$ref": "#/$defs/Error"}, "data": _NULL},
        required=("ok", "error"),
    )


def _receipt() -> Schema:
    return _object(
        "What proves that an operation was done.",
        {
            "operation_id": _optional("Its id at the upstream.", type="string"),
            "idempotency_key": _optional("The key that makes it happen once.", type="string"),
            "attempts": _optional("How often it was tried.", type="integer", minimum=1),
        },
    )


def _error() -> Schema:
    actions = "; ".join(f"{each}: {RECOVERY_ACTIONS[each]}" for each in CLASSES)
    schema = _object(
        "Why the call failed.",
        {
            "code": {
                "description": "Stable: a code never changes its class or meaning.",
                "type": "string",
                "pattern": f"^{CODE_FORM.pattern}$",
            },
            "class": {
                "description": f"What the agent does about it. {actions}.",
                "enum": [str(each) for each in CLASSES],
            },
            "retryable": _optional("True exactly for transient; follows from the class.", type="boolean"),
            "retry_after_ms": _optional(
                "How long to wait; for transient only.", type="integer", minimum=0, maximum=MAX_RETRY_AFTER_MS
            ),
            "field": _optional(
                "Path of the argument to rewrite, for example items[2].sku; for validation only.",
                type="string",
                maxLength=MAX_FIELD_CHARS,
            ),
            "hint": _optional(
                "For the model's next decision, one or two sentences.", type="string", maxLength=MAX_HINT_CHARS
            ),
            "message": _optional("For people who read logs; never shown to a model.", type="string"),
        },
        required=("code", "class"),
    )
    return {**schema, "allOf": _class_rules()}


def _class_rules() -> list[Schema]:
    """
    What follows from the class.
    """
    transient, validation = ErrorClass.TRANSIENT, ErrorClass.VALIDATION
    needs_hint = (ErrorClass.PERMISSION, ErrorClass.BUSINESS_RULE)
    said: Schema = {"required": ["hint"], "properties": {"hint": {"type": "string", "pattern": "\\S"}}}
    unclassified: Schema = {"properties": {"code": {"const": UNCLASSIFIED_CODE}}, "required": ["code"]}
    return [
        {
            "if": _of_class(transient),
            "then": _allowed(retryable={"enum": [True, None]}),
            "else": _allowed(retryable={"enum": [False, None]}, retry_after_ms=_NULL),
        },
        {"if": _of_class(validation), "else": _allowed(field={"enum": ["", None]})},
        {"if": _of_class(*needs_hint), "then": said},
        {"if": unclassified, "then": _of_class(ErrorClass.FATAL)},
    ]


def _of_class(*classes: ErrorClass) -> Schema:
    return {"properties": {"class": {"enum": [str(each) for each in classes]}}, "required": ["class"]}


def _allowed(**properties: Schema) -> Schema:
    return {"properties": properties}


def _optional(description: str, *, type: str, **limits: object) -> Schema:  # noqa: A002 - JSON Schema's own word
    return {"description": description, "type": [type, "null"], **limits}


def _object(description: str, properties: Mapping[str, Schema], *, required: Sequence[str] = ()) -> Schema:
    schema: Schema = {
        "description": description,
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    return {**schema, "required": list(required)} if required else schema
