"""
The families that are exposed, as data, and the plain records in which their series are handed out.

Amounts are integers, times in nanoseconds: a sum of them is exact, never falls and is never NaN, and one division
makes it what is shown.

The buckets of durations are those that OpenTelemetry's conventions advise for the duration of an MCP operation, 10 ms
to 5 minutes: a tool call is one, so that the two can be laid over one another. In between fit a cached look-up and a
code interpreter, and a quantile is wrong by a factor of 3 at most.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from toolspan.taxonomy import ErrorClass

#: The values of a series' labels, in the order of its family's label names.
Key: TypeAlias = tuple[str, ...]

#: Where values without a place of their own are counted.
OTHER: Final = "_other"

_SECOND: Final = 10**9
_MILLISECOND: Final = 10**6
_DURATIONS_MS: Final = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000)

_CALL_OUTCOMES: Final = ("ok", "error", "cancelled", "deferred")
_TASK_OUTCOMES: Final = ("resolved", "unresolved", "escalated", "unknown")
_CLASSES: Final = tuple(error_class.value for error_class in ErrorClass)
_VERDICTS: Final = ("allowed", "early", "over_cap", "wasted")
#: What is known to become of a span that is not kept; others get their series when they come.
_DROP_REASONS: Final = ("conflict", "late", "overflow", "queue_full", "rejected")


class Kind(StrEnum):
    """
    How a family is to be read.
    """

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """
    What a family is called and what is known of it before anything was counted; equal to nothing but itself.

    *values* are those of its labels that are known beforehand, for every label but `tool`. *bounds* are the upper
    bounds of a histogram's buckets but the last, which has none. Amounts and bounds are shown divided by *per_unit*.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    unit: str = ""
    bounds: tuple[int, ...] = ()
    per_unit: int = 1

    @property
    def is_per_tool(self) -> bool:
        """
        Whether each tool has series of its own.
        """
        return "tool" in self.labels

    def keys(self, *tool: str) -> Iterator[Key]:
        """
        The series that exist before anything was counted in them, those of *tool* where the family is per tool.
        """
        return product(*((name,) for name in tool), *self.values)


class Exemplar(NamedTuple):
    """
    One call as an example of what a series counts.
    """

    trace_id: bytes
    span_id: bytes
    amount: int
    at_ns: int


class Bucket(NamedTuple):
    """
    How many observations are at most *upper*, and the last of them that are in no smaller bucket.
    """

    upper: float
    observations: int
    exemplar: Exemplar | None = None


class Point(NamedTuple):
    """
    What one series shows: its *value*, which of a histogram is the sum, beside its *buckets*.
    """

    labels: Key
    value: float
    exemplar: Exemplar | None = None
    buckets: tuple[Bucket, ...] = ()


class Family(NamedTuple):
    """
    A family with all its series at one moment.
    """

    definition: Definition
    points: list[Point]


CALLS: Final = Definition(
    "toolspan_calls_total",
    Kind.COUNTER,
    "Tool calls by how they ended; cancelled and deferred ones are neither successes nor failures.",
    ("tool", "outcome"),
    (_CALL_OUTCOMES,),
)
ERRORS: Final = Definition(
    "toolspan_errors_total",
    Kind.COUNTER,
    "Tool calls that failed, by who or what must change before they can succeed (class) and by the tool's own code.",
    ("tool", "class", "code"),
    (_CLASSES, (OTHER,)),
)
DURATION: Final = Definition(
    "toolspan_call_duration_seconds",
    Kind.HISTOGRAM,
    "How long tool calls took, whatever their outcome.",
    ("tool",),
    unit="seconds",
    bounds=tuple(bound * _MILLISECOND for bound in _DURATIONS_MS),
    per_unit=_SECOND,
)
ATTEMPTS: Final = Definition(
    "toolspan_attempts_total",
    Kind.COUNTER,
    "Tries inside tools; more than calls where tools retried without the model seeing it.",
    ("tool",),
)
TASKS: Final = Definition(
    "toolspan_tasks_total", Kind.COUNTER, "Tasks that settled, by their outcome.", ("outcome",), (_TASK_OUTCOMES,)
)
RETRIES: Final = Definition(
    "toolspan_retries_total",
    Kind.COUNTER,
    "Identical calls after a failure, by the class of that failure and by whether they could have helped (verdict).",
    ("tool", "class", "verdict"),
    (_CLASSES, _VERDICTS),
)
RETRIES_PER_TASK: Final = Definition(
    "toolspan_retries_per_resolved_task",
    Kind.HISTOGRAM,
    "Retries of the tool in each resolved task that called it.",
    ("tool",),
    bounds=(0, 1, 2, 3, 4, 5, 8, 13, 21),
)
VALIDATION_FAILURES: Final = Definition(
    "toolspan_validation_failures_total",
    Kind.COUNTER,
    "Calls of settled tasks that failed because of their arguments.",
    ("tool",),
)
VALIDATION_RECOVERIES: Final = Definition(
    "toolspan_validation_recoveries_total",
    Kind.COUNTER,
    "Validation failures that were answered by a call with other arguments that succeeded.",
    ("tool",),
)
EPISODES: Final = Definition(
    "toolspan_permission_episodes_total",
    Kind.COUNTER,
    "Times that a task lacked permission to use the tool, whether or not a human was asked.",
    ("tool",),
)
ESCALATIONS: Final = Definition(
    "toolspan_escalations_total",
    Kind.COUNTER,
    "Permission episodes in which a human was asked, by whether the agent called the tool again before.",
    ("tool", "prior_retry"),
    (("false", "true"),),
)
WASTED: Final = Definition(
    "toolspan_wasted_seconds_total",
    Kind.COUNTER,
    "Time from a failure to the end of a retry that could not have helped, by the class of the failure.",
    ("tool", "class"),
    (_CLASSES,),
    unit="seconds",
    per_unit=_SECOND,
)
RECEIVED: Final = Definition("toolspan_spans_received_total", Kind.COUNTER, "Spans that arrived, kept or not.")
DROPPED: Final = Definition(
    "toolspan_spans_dropped_total",
    Kind.COUNTER,
    "Spans that arrived and were not kept, by reason; repeats of kept spans are none of them.",
    ("reason",),
    (_DROP_REASONS,),
)
OPEN_TASKS: Final = Definition("toolspan_open_tasks", Kind.GAUGE, "Tasks that have not settled yet.")
LAST_COMMIT: Final = Definition(
    "toolspan_last_commit_timestamp_seconds",
    Kind.GAUGE,
    "When spans were last made durable, in seconds since 1970; 0 until then.",
    unit="seconds",
)
RESETTLED: Final = Definition(
    "toolspan_resettled_tasks_total",
    Kind.COUNTER,
    "Tasks that settled again because spans came late: the store has their new numbers, the counters their first.",
)
OVERFLOW: Final = Definition(
    "toolspan_label_overflow_total",
    Kind.COUNTER,
    "What was counted under the value _other of a label because all places were taken: calls, or their errors alone, "
    "for the label tool; errors for code; spans for reason.",
    ("label",),
    (("code", "reason", "tool"),),
)

#: Every family that is exposed, in the order in which they are shown.
FAMILIES: Final = (
    CALLS,
    ERRORS,
    DURATION,
    ATTEMPTS,
    TASKS,
    RETRIES,
    RETRIES_PER_TASK,
    VALIDATION_FAILURES,
    VALIDATION_RECOVERIES,
    EPISODES,
    ESCALATIONS,
    WASTED,
    RECEIVED,
    DROPPED,
    OPEN_TASKS,
    LAST_COMMIT,
    RESETTLED,
    OVERFLOW,
)
