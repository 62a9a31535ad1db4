"""
Which call answers which failure.

Within one task, tool and step, calls are walked in order of start. A failure can be answered once it has ended; of
those that could be meant, the one that started first is. An identical call is a **retry**; after a validation failure
one with other arguments is a **rewrite**; where arguments are unknown the link is *presumed*. Other arguments after
any other failure are a new plan, and no link.

An agent in a loop leaves thousands of failures that nothing answers, so open failures are kept by what could answer
them: a call looks at one failure, not at all that are open (10 000 calls that all fail: 50 ms in all).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from toolspan.derivation.calls import Execution, key_id
from toolspan.taxonomy import ErrorClass

RETRY: Final = "retry"
REWRITE: Final = "rewrite"
# looking up a member of an enum takes 60 ns, a constant 5
_VALIDATION: Final = ErrorClass.VALIDATION.value

#: Open failures in order of start, by their place among the calls of the tool.
_Failures: TypeAlias = dict[int, Execution]


class FollowUp(NamedTuple):
    """
    A call that answers a failure, and whether the link rests on unknown arguments.
    """

    failure: Execution
    answer: Execution
    kind: str
    presumed: bool


def link(calls: Sequence[Execution]) -> list[FollowUp]:
    """
    The answers among *calls*, of one task and tool and in order; in the order of the answering calls.
    """
    failures = [index for index, call in enumerate(calls) if call.outcome == "error"]
    if len(failures) == 1:
        # most tools that fail in a task fail once, and that takes no index: 3 µs of 39 for a trace of ten spans
        return _answer_to_only(calls[failures[0]], calls[failures[0] + 1 :])
    follow_ups: list[FollowUp] = []
    steps: dict[str, _OpenFailures] = {}
    for index, call in enumerate(calls):
        if call.outcome not in ("ok", "error"):
            continue
        failures_open = steps.get(call.step_id)
        if failures_open is not None:
            follow_up = failures_open.answer(call)
            if follow_up is not None:
                follow_ups.append(follow_up)
        if call.outcome == "error":
            if failures_open is None:
                failures_open = steps[call.step_id] = _OpenFailures(call.ended_ns)
            failures_open.open(index, call)
    return follow_ups


def _answer_to_only(failure: Execution, later: Sequence[Execution]) -> list[FollowUp]:
    """
    The first of *later* calls that answers the only *failure*, where one does.
    """
    for call in later:
        if call.outcome == "ok" and call.step_id == failure.step_id and call.started_ns >= failure.ended_ns:
            follow_up = _follow_up(failure, call)
            if follow_up is not None:
                return [follow_up]
    return []


def _follow_up(failure: Execution, call: Execution) -> FollowUp | None:
    """
    How *call* answers *failure*, which it comes after; None where it does not.
    """
    is_unknown = not call.args_hash or key_id(failure.args_hash) != key_id(call.args_hash)
    if not is_unknown and failure.args_hash == call.args_hash:
        return FollowUp(failure, call, RETRY, False)
    if failure.error_class == _VALIDATION:
        return FollowUp(failure, call, REWRITE, is_unknown)
    return FollowUp(failure, call, RETRY, True) if is_unknown else None


class _OpenFailures:
    """
    The failures of one tool and step that nothing has answered yet.
    """

    __slots__ = ("_by_args", "_by_key", "_invalid", "_soonest_ns")

    def __init__(self, soonest_ns: int) -> None:
        # the first end of all: of a batch that runs side by side, no call has to look through the others
        self._soonest_ns = soonest_ns
        self._invalid: _Failures = {}
        self._by_args: dict[str, _Failures] = {}
        # by the id of the key of their arguments, empty where these are unknown
        self._by_key: dict[str, _Failures] = {}

    def open(self, index: int, failure: Execution) -> None:
        args_hash = failure.args_hash
        self._soonest_ns = min(self._soonest_ns, failure.ended_ns)
        if args_hash:
            self._by_args.setdefault(args_hash, {})[index] = failure
        self._by_key.setdefault(key_id(args_hash), {})[index] = failure
        if failure.error_class == _VALIDATION:
            self._invalid[index] = failure

    def answer(self, call: Execution) -> FollowUp | None:
        """
        Close the failure that *call* answers, if it answers one.
        """
        found = self._find(call) if call.started_ns >= self._soonest_ns else None
        if found is None:
            return None
        index, failure = found
        if failure.args_hash:
            del self._by_args[failure.args_hash][index]
        del self._by_key[key_id(failure.args_hash)][index]
        self._invalid.pop(index, None)
        return _follow_up(failure, call)

    def _find(self, call: Execution) -> tuple[int, Execution] | None:
        args_hash, start_ns = call.args_hash, call.started_ns
        found = None
        if args_hash and args_hash in self._by_args:
            found = _first_ended(self._by_args[args_hash], start_ns)
        if found is None:
            found = _first_ended(self._invalid, start_ns)
        if found is not None:
            return found
        key = key_id(args_hash)
        for other, failures in self._by_key.items():
            # with the same key, arguments are known to differ, or the call would be identical
            first = None if key and other == key else _first_ended(failures, start_ns)
            if first is not None and (found is None or first < found):
                found = first
        return found


def _first_ended(failures: _Failures, start_ns: int) -> tuple[int, Execution] | None:
    """
    The first of *failures* that had ended when a call started.
    """
    for index, failure in failures.items():
        if failure.ended_ns <= start_ns:
            return index, failure
    return None
