"""
What is counted for `quality`, before it is a document, as `tallies` has it for `report`.

Everything that rests on links counts settled tasks, everything about single calls counts every call.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from toolspan.tallies import Cause


class AuditTally(NamedTuple):
    """
    Failures of settled tasks, of their identical retries those that tell of the class, and of these the ones that
    succeeded.
    """

    failures: int
    retried: int
    succeeded: int


class StreakTally(NamedTuple):
    """
    The longest run of failures with one code in one settled task; among equals the first code, then the first task.
    """

    longest: int
    code: str | None
    task_id: str | None


class AttemptTally(NamedTuple):
    """
    Tries inside the tool.
    """

    total: int
    locally_retried: int
    waited_ms: int
    budget_exhausted: int


class LinkTally(NamedTuple):
    """
    Retries and rewrites of settled tasks, and those that rest on unknown arguments.
    """

    total: int
    presumed: int


class ToolQualityTally(NamedTuple):
    """
    What one tool did.

    *causes* are failed calls, *audits* have the causes after which was retried; *lint* counts calls by the rules that
    their envelopes break (a bit set), *evidence* the unclassified failures.
    """

    calls: int
    causes: Mapping[Cause, int]
    audits: Mapping[Cause, AuditTally]
    streak: StreakTally
    lint: Mapping[int, int]
    attempts: AttemptTally
    links: LinkTally
    evidence: Mapping[str, int]


class TaskTally(NamedTuple):
    """
    Settled tasks, the resolved ones, and those of them whose last call failed and nobody was told.
    """

    settled: int
    resolved: int
    unhandled: int


class LastCall(NamedTuple):
    """
    The failure with which a task ended that says resolved.
    """

    task_id: str
    task: str
    tool: str
    cause: Cause
    ended_ns: int


class QualityTally(NamedTuple):
    """
    Tasks, what each tool did, and the last calls of unhandled tasks; a filter on tool leaves *tasks* alone.
    """

    tasks: TaskTally
    tools: Mapping[str, ToolQualityTally]
    last_calls: Sequence[LastCall]


NO_STREAK: Final = StreakTally(0, None, None)
NO_LINKS: Final = LinkTally(0, 0)
NOTHING: Final = QualityTally(TaskTally(0, 0, 0), {}, ())
