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
from heapq import heappop, heappush
from typing import Final, NamedTuple

from toolspan.derivation.calls import Execution, key_id
from toolspan.taxonomy import ErrorClass

RETRY: Final = "retry"
REWRITE: Final = "rewrite"
# looking up a member of an enum takes 60 ns, a constant 5
_VALIDATION: Final = ErrorClass.VALIDATION.value


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
                failures_open = steps[call.step_id] = _OpenFailures()
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

    A failure waits until it has ended: calls come in order of start, so from then on every call could answer it. The
    queues are heaps of places among the calls of the tool; what was answered is dropped when it comes to the front.
    """

    __slots__ = ("_by_args", "_by_key", "_ended", "_fronts", "_invalid", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Execution]] = []
        self._ended: dict[int, Execution] = {}
        self._invalid: list[int] = []
        self._by_args: dict[str, list[int]] = {}
        # by the id of the key of their arguments, empty where these are unknown
        self._by_key: dict[str, list[int]] = {}
        # the front of each queue by key, and maybe others of it, with that key
        self._fronts: list[tuple[int, str]] = []

    def open(self, index: int, failure: Execution) -> None:
        heappush(self._waiting, (failure.ended_ns, index, failure))

    def answer(self, call: Execution) -> FollowUp | None:
        """
        Close the failure that *call* answers, if it answers one.
        """
        waiting, start_ns = self._waiting, call.started_ns
        while waiting and waiting[0][0] <= start_ns:
            _, index, failure = heappop(waiting)
            self._enqueue(index, failure)
        found = self._find(call.args_hash)
        return None if found is None else _follow_up(self._close(found), call)

    def _enqueue(self, index: int, failure: Execution) -> None:
        args_hash = failure.args_hash
        key = key_id(args_hash)
        self._ended[index] = failure
        if args_hash:
            heappush(self._by_args.setdefault(args_hash, []), index)
        if failure.error_class == _VALIDATION:
            heappush(self._invalid, index)
        queue = self._by_key.setdefault(key, [])
        heappush(queue, index)
        if queue[0] == index:
            heappush(self._fronts, (index, key))

    def _close(self, index: int) -> Execution:
        failure = self._ended.pop(index)
        key = key_id(failure.args_hash)
        queue = self._by_key[key]
        if queue[0] == index and (front := self._front(queue)) is not None:
            heappush(self._fronts, (front, key))
        return failure

    def _find(self, args_hash: str | None) -> int | None:
        if not self._ended:
            return None
        found = self._front(self._by_args[args_hash]) if args_hash and args_hash in self._by_args else None
        if found is None:
            found = self._front(self._invalid)
        return self._front_of_another(key_id(args_hash)) if found is None else found

    def _front(self, queue: list[int]) -> int | None:
        while queue and queue[0] not in self._ended:
            heappop(queue)
        return queue[0] if queue else None

    def _front_of_another(self, key: str) -> int | None:
        """
        The first failure whose arguments cannot be compared with those hashed with *key*, empty for unknown ones.

        With the same key, arguments are known to differ, or the call would be identical.
        """
        fronts = self._fronts
        own: tuple[int, str] | None = None
        while fronts and (fronts[0][0] not in self._ended or (key and fronts[0][1] == key)):
            front = heappop(fronts)
            if own is None and front[0] in self._ended:
                own = front
        found = fronts[0][0] if fronts else None
        if own is not None:
            heappush(fronts, own)
        return found
