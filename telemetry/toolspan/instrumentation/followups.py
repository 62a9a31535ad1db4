"""
Which earlier failure a call that has just ended may answer: links as far as one process can see them, while it runs.

They are provisional. Spans come in the order in which they end, those of other processes do not come at all, and what
is open is bounded; nobody counts by these links, which are derived anew from all spans of a task. The rules are those
of `derivation.links`.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

from toolspan.arguments import KEY_ID_CHARS
from toolspan.records import SpanFacts
from toolspan.taxonomy import ErrorClass

RETRY: Final = "retry"
REWRITE: Final = "rewrite"
_VALIDATION: Final = str(ErrorClass.VALIDATION.value)
#: Tasks of which failures are kept; an agent's process works at some hundreds at a time.
_MOST_TASKS: Final = 1024
#: Failures of one task that nothing has answered; an agent in a loop leaves thousands.
_MOST_FAILURES: Final = 64


class Answer(NamedTuple):
    """
    The *failure* (a span id) that a call answers, and how: `retry` or `rewrite`.
    """

    failure: bytes
    kind: str


class _Failure(NamedTuple):
    """
    A call that failed and was not answered yet.
    """

    tool: str
    step_id: str
    span_id: bytes
    trace_id: bytes
    start_ns: int
    end_ns: int
    error_class: str | None
    args_hash: str | None


class FollowUps:
    """
    Remembers open failures by task, or by trace where nobody named the task. For one thread at a time.
    """

    def __init__(self, *, most_tasks: int = _MOST_TASKS, most_failures: int = _MOST_FAILURES) -> None:
        self._most_tasks = most_tasks
        self._most_failures = most_failures
        self._open: OrderedDict[str | bytes, list[_Failure]] = OrderedDict()  # touched longest ago first

    def see(self, span: SpanFacts) -> Answer | None:
        """
        What the call of *span*, a tool span that has just ended, answers; its own failure can be answered from now on.
        """
        call, marks = span.call, span.marks
        if call is None or call.judgement.outcome not in ("ok", "error"):
            return None
        key = (marks.task_id if marks is not None else "") or span.trace_id
        failures = self._open.get(key)
        failed = call.judgement.outcome == "error"
        if failures is None:
            if not failed:
                return None
            failures = self._begin(key)
        else:
            self._open.move_to_end(key)
        seen = _Failure(
            call.tool,
            marks.step_id if marks is not None else "",
            span.span_id,
            span.trace_id,
            span.start_ns,
            span.end_ns,
            call.judgement.error_class,
            call.args_hash,
        )
        # a span within this one is of the same call, which this one stands for
        failures[:] = [failure for failure in failures if not _is_within(failure, seen)]
        answer = _answer(failures, seen)
        if failed:
            failures.append(seen)
            del failures[: -self._most_failures]
        elif not failures:
            del self._open[key]
        return answer

    def _begin(self, key: str | bytes) -> list[_Failure]:
        failures: list[_Failure] = []
        self._open[key] = failures
        if len(self._open) > self._most_tasks:
            self._open.popitem(last=False)
        return failures


def _is_within(failure: _Failure, call: _Failure) -> bool:
    return (
        failure.tool == call.tool
        and failure.trace_id == call.trace_id
        and failure.start_ns >= call.start_ns
        and failure.end_ns <= call.end_ns
    )


def _answer(failures: list[_Failure], call: _Failure) -> Answer | None:
    """
    What *call* answers among *failures*; that one is open no more.
    """
    meant = sorted(
        (
            failure
            for failure in failures
            if failure.tool == call.tool and failure.step_id == call.step_id and failure.end_ns <= call.start_ns
        ),
        key=lambda failure: (failure.start_ns, failure.span_id),
    )
    for failure in meant:
        if _are_known(failure, call) and failure.args_hash == call.args_hash:
            return _close(failures, failure, RETRY)
    for failure in meant:
        if failure.error_class == _VALIDATION:
            return _close(failures, failure, REWRITE)
    for failure in meant:
        if not _are_known(failure, call):
            return _close(failures, failure, RETRY)
    return None


def _close(failures: list[_Failure], failure: _Failure, kind: str) -> Answer:
    failures.remove(failure)
    return Answer(failure.span_id, kind)


def _are_known(failure: _Failure, call: _Failure) -> bool:
    """
    Whether the arguments of both are known, and hashed with one key.
    """
    one, other = failure.args_hash, call.args_hash
    return one is not None and other is not None and one[:KEY_ID_CHARS] == other[:KEY_ID_CHARS]
