"""
The five classes, one recovery action each, and the table from evidence to class and code.

The table is data (`taxonomy.csv`, next to this file), read once at import. A row of class `unclassified` names
no class.
"""

import csv
import re
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple


class ErrorClass(StrEnum):
    """
    Who or what must change before the call can succeed.

    `UNCLASSIFIED` exists in telemetry only: a failure about which the evidence says nothing.
    """

    TRANSIENT = "transient"
    VALIDATION = "validation"
    PERMISSION = "permission"
    BUSINESS_RULE = "business_rule"
    FATAL = "fatal"
    UNCLASSIFIED = "unclassified"


#: What a code looks like: AIP-193's rule for a reason.
CODE_FORM = re.compile(r"[A-Z][A-Z0-9_]{0,61}[A-Z0-9]")
UNCLASSIFIED_CODE = "UNCLASSIFIED"
REJECTED_CODE = "REJECTED"
MODEL_RETRY_CODE = "MODEL_RETRY"
#: A write whose reply was lost, and of which nobody can tell whether it was done.
OUTCOME_UNKNOWN_CODE = "OUTCOME_UNKNOWN"

#: The classes that an envelope can name, in the order in which every view lists them.
CLASSES = (
    ErrorClass.TRANSIENT,
    ErrorClass.VALIDATION,
    ErrorClass.PERMISSION,
    ErrorClass.BUSINESS_RULE,
    ErrorClass.FATAL,
)

#: What the agent does about a failure of each class.
RECOVERY_ACTIONS: Mapping[ErrorClass, str] = MappingProxyType(
    {
        ErrorClass.TRANSIENT: "retry once",
        ErrorClass.VALIDATION: "rewrite the argument named in `field`, call once more",
        ErrorClass.PERMISSION: "stop calling this tool, escalate",
        ErrorClass.BUSINESS_RULE: "explain the rule, offer its alternatives",
        ErrorClass.FATAL: "abandon the plan, report what succeeded",
    }
)


class Rule(NamedTuple):
    """
    One row of the table: *value* of a kind of evidence means *error_class* and *code*.

    *is_generic* marks an exception type that alone says too little (ValueError, KeyError, …).
    """

    value: str
    error_class: ErrorClass
    code: str
    is_generic: bool


def read_table() -> dict[str, list[Rule]]:
    """
    The rows of `taxonomy.csv` by kind of evidence, in their order.
    """
    table: dict[str, list[Rule]] = {}
    text = files("toolspan").joinpath("taxonomy.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        rule = Rule(row["value"], ErrorClass(row["class"]), row["code"], row["generic"] == "yes")
        table.setdefault(row["evidence"], []).append(rule)
    return table


TABLE: Mapping[str, list[Rule]] = MappingProxyType(read_table())
