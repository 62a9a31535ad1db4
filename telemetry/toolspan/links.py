"""
Which call answers which failure.

Within one task, tool and step, calls are walked in order of start. A failure can be answered once it has ended; of
those that could be meant, the one that started first is. An identical call is a **retry**; after a validation failure
one with other arguments is a **rewrite**; where arguments are unknown the link is *presumed*. Other arguments after
any other failure are a new plan, and no link.

An agent in a loop leaves thousands of failures that nothing answers, so open failures are kept by what could answer
them: a call looks at one failure, not at all that are open (10 000 open ones: 15 ms in all, a scan 5 s). Only
failures that have not ended yet are passed over one by one.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from toolspan.calls import KEY_ID_CHARS, Execution, key_id
from toolspan.taxonomy import ErrorClass

RETRY: Final = "retry"
REWRITE: Final = "rewrite"
# looking up a member of an enum takes 60 ns, a constant 5
_VALIDATION: Final = ErrorClass.VALIDATION.value

_LINKED: Final = ("ok", "error")

#: Open failures in order of start, by their place among the calls of the tool.
_Failures: TypeAlias = dict[int, Execution]


class FollowUp(NamedTuple):
    """
    A call's answer to a failure, *failure* being the place of that one among the calls of the tool.
    """

    failure: int
    kind: str
    presumed: bool


def link(calls: Sequence[Execution]) -> dict[int, FollowUp]:
    """
    What *calls*, of one task and tool and in order, answer, by the place of the answering call.
    """
    follow_ups: dict[int, FollowUp] = {}
    steps: dict[str, _OpenFailures] = {}
    last = len(calls) - 1
    for index, call in enumerate(calls):
        outcome = call.outcome
        if outcome not in _LINKED:
            continue
        failures = steps.get(call.step_id)
        if failures is not None:
            follow_up = failures.answer(call)
            if follow_up is not None:
                follow_ups[index] = follow_up
        if outcome == "error" and index != last:
            if failures is None:
                failures = steps[call.step_id] = _OpenFailures(call.ended_ns)
            failures.open(index, call)
    return follow_ups


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
        args_hash, start_ns = call.args_hash, call.started_ns
        if start_ns < self._soonest_ns:
            return None
        key = args_hash[:KEY_ID_CHARS] if args_hash else ""
        kind, found = RETRY, None
        if args_hash and args_hash in self._by_args:
            found = _first_ended(self._by_args[args_hash], start_ns)
        if found is None and self._invalid:
            kind, found = REWRITE, _first_ended(self._invalid, start_ns)
        if found is None:
            kind = RETRY
            for other, failures in self._by_key.items():
                # with the same key, arguments are known to differ, or the call would be identical
                first = None if key and other == key else _first_ended(failures, start_ns)
                if first is not None and (found is None or first < found):
                    found = first
        if found is None:
            return None
        index, failure = found
        self._close(index, failure)
        return FollowUp(index, kind, not key or key_id(failure.args_hash) != key)

    def _close(self, index: int, failure: Execution) -> None:
        if failure.args_hash:
            del self._by_args[failure.args_hash][index]
        del self._by_key[key_id(failure.args_hash)][index]
        self._invalid.pop(index, None)


def _first_ended(failures: _Failures, start_ns: int) -> tuple[int, Execution] | None:
    """
    The first of *failures* that had ended when a call started.
    """
    for index, failure in failures.items():
        if failure.ended_ns <= start_ns:
            return index, failure
    return None
