"""
What to do about a broken target: the recovery action of the class behind it.

The class is that of the failures which the damage comes from, so the rows are read; where the evidence named none,
there is no action to name.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from toolspan.documents import ToolReport
from toolspan.records import Rows
from toolspan.scope import failures_and_answers
from toolspan.taxonomy import RECOVERY_ACTIONS, UNCLASSIFIED_CODE, ErrorClass

_CLASS_OF_TARGET: Mapping[str, ErrorClass] = {
    "validation_recovery": ErrorClass.VALIDATION,
    "clean_escalations": ErrorClass.PERMISSION,
}
#: Retries that are damage.
_BAD_VERDICTS = frozenset(("wasted", "over_cap", "early"))


def action_for(target: str, name: str, tool: ToolReport, rows: Rows) -> str:
    """
    Class and recovery action for the broken *target* of the tool *name*; empty where no class is known.

    Args:
        rows: those that *tool* was counted from.
    """
    error_class = _CLASS_OF_TARGET.get(target) or _class_retried(name, tool, rows)
    action = RECOVERY_ACTIONS.get(error_class) if error_class is not None else None
    return "" if action is None else f"{error_class}: {action}"


def _class_retried(name: str, tool: ToolReport, rows: Rows) -> ErrorClass | None:
    """
    The class of the failures after which most was retried in vain: of the code that wastes most, where one does.
    """
    code = next(iter(tool["detail"]["wasted_by_code"]), None)
    classes = Counter(error_class for error_class, of_code in _retried(name, rows) if code is None or of_code == code)
    return min(classes, key=lambda error_class: (-classes[error_class], error_class), default=None)


def _retried(name: str, rows: Rows) -> Iterator[tuple[ErrorClass, str]]:
    settled = {task.task_id for task in rows.tasks if task.settled}
    calls = [call for call in rows.calls if call.tool == name and call.task_id in settled]
    for failure, answer in failures_and_answers(calls):
        if answer is not None and answer.verdict in _BAD_VERDICTS:
            yield ErrorClass(failure.error_class or ErrorClass.UNCLASSIFIED), failure.code or UNCLASSIFIED_CODE
