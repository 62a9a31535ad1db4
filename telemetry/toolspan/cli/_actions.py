"""
What to do about a broken target: the recovery action of the class behind it.

The class is that of the failures which the damage comes from; where the evidence named none, there is none to name.
"""

from collections import Counter
from collections.abc import Mapping

from toolspan.documents import Detail, ToolReport
from toolspan.taxonomy import RECOVERY_ACTIONS, ErrorClass

_CLASS_OF_TARGET: Mapping[str, ErrorClass] = {
    "validation_recovery": ErrorClass.VALIDATION,
    "clean_escalations": ErrorClass.PERMISSION,
}


def action_for(target: str, tool: ToolReport) -> str:
    """
    Class and recovery action for the broken *target* of *tool*; empty where no class is known.
    """
    error_class = _CLASS_OF_TARGET.get(target) or _class_retried(tool["detail"])
    action = RECOVERY_ACTIONS.get(error_class) if error_class is not None else None
    return "" if action is None else f"{error_class}: {action}"


def _class_retried(detail: Detail) -> ErrorClass | None:
    """
    The class of the failures after which most was retried in vain: of the code that wastes most, where one does.
    """
    wasted_code = next(iter(detail["wasted_by_code"]), None)
    retries: Counter[ErrorClass] = Counter()
    for row in detail["retried_in_vain"]:
        if wasted_code in (None, row["code"]):
            retries[ErrorClass(row["class"])] += row["early"] + row["over_cap"] + row["wasted"]
    return min(retries, key=lambda error_class: (-retries[error_class], error_class), default=None)
