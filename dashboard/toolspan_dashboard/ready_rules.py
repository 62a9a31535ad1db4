"""
A rule for evidence that names no class, ready to be pasted into the configuration; which class it is, a person knows.
"""

import glob
import json
import re
from typing import Final

from toolspan.taxonomy import CLASSES
from toolspan_dashboard.words import inert

#: What evidence of a store begins with, and the condition of a rule that finds it again.
_CONDITIONS: Final = {
    "exception": "error_type",
    "http": "http",
    "grpc": "grpc",
    "jsonrpc": "jsonrpc",
    "sqlstate": "sqlstate",
}
_NUMBERS: Final = frozenset({"http", "jsonrpc"})
_LONGEST_CODE: Final = 40


def rule_for(tool: str, evidence: str) -> str:
    """
    A `[[rule]]` for failures of *tool* with that *evidence*, of which the class is to be chosen.
    """
    kind, _, value = evidence.partition(":")
    condition = _CONDITIONS.get(kind) if value else None
    classes = ", ".join(CLASSES)
    if condition is None:
        shown = 'message = "a part of its message"        # the store keeps no text: put in what the tool says'
        code = "FAILED"
    else:
        is_number = condition in _NUMBERS and re.fullmatch(r"-?\d{1,9}", value)
        shown = f"{condition} = {value if is_number else _quoted(value)}"
        code = _code(value if not is_number else f"{kind}_{value}")
    return "\n".join(
        (
            "[[rule]]",
            f"tool = {_quoted(glob.escape(tool))}",
            shown,
            f'class = "{CLASSES[0]}"        # choose: {classes}',
            f'code = "{code}"',
        )
    )


def _quoted(value: str) -> str:
    return json.dumps(inert(value, longest=200), ensure_ascii=False)


def _code(value: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", value.rpartition(".")[2])
    code = re.sub(r"[^A-Z0-9]+", "_", words.upper()).strip("_")[:_LONGEST_CODE].strip("_")
    return code if re.fullmatch(r"[A-Z][A-Z0-9_]*[A-Z0-9]", code) else "FAILED"
