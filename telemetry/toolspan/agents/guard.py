"""
The policy of one task, in code: which call may run, given what became of the earlier ones.

One retry per tool and step for transient, after the wait it asked for; one rewrite for validation and never the
identical call; for permission one call after each escalation of the tool; no second call for the rest. Beside it the
stop criteria of the whole task. What a guard looks at is class, code, arguments' hash, time, and the escalations that
it was told of by the program: no text of a result, a hint or a document ever reaches it, so none can change its mind.

**A refused call** never runs. It is a record, but neither a failure of the tool nor a retry of it: its span ends
`cancelled` (`stop_tags`), and so is not linked. Were it a failure, the one retry that may run after a refusal would
be the second of its step: `over_cap`. So the numbers of a guarded task tell what the tool was put through.

**Which call answers which failure** is decided as `derivation.links` decides it afterwards, with two differences, both
towards refusing: a failure counts as open while its answer runs, so that ten identical retries at once are one; and
arguments that failed validation stay refused in their step. For that to hold, a caller starts the call's span, then
asks `admit`; and reports the end to `record` or `release`, then ends the span.

Without `step()` a call and what answers it are a step of their own (spec 3.3).
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import ceil, isfinite
from threading import Lock
from typing import Final, NamedTuple

from toolspan.agents import refusals
from toolspan.agents.budgets import Budget
from toolspan.agents.guarded_steps import Cause, Chain, GuardedStep, Link, OpenFailure
from toolspan.agents.refusals import Refusal
from toolspan.derivation.links import RETRY
from toolspan.errors import InputError
from toolspan.taxonomy import OUTCOME_UNKNOWN_CODE, UNCLASSIFIED_CODE, ErrorClass

_MS: Final = 1000
#: Fatal for the call, which is not made again; the tool may be well.
_OF_ONE_CALL: Final = frozenset((UNCLASSIFIED_CODE, OUTCOME_UNKNOWN_CODE))


@dataclass(frozen=True, slots=True)
class Policy:
    """
    What an agent may do in one task.

    Args:
        retries: of transient failures, by tool and step.
        rewrites: of validation failures, by tool and step.
        max_calls: in the task, those that were refused counted.
        max_cost: of the task and the tasks within it, in whatever unit the costs are given.
        max_repeats: how often one state may come again before the task has to stop.
    """

    retries: int = 1
    rewrites: int = 1
    max_calls: int | None = None
    max_cost: float | None = None
    max_repeats: int | None = None

    def __post_init__(self) -> None:
        """
        Refuse what limits nothing.
        """
        least = {"retries": 0, "rewrites": 0, "max_calls": 0, "max_cost": 0, "max_repeats": 1}
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and not value >= low:
                raise InputError(f"Policy: {name} is {value}; it takes a number that is at least {low}")


class Admission(NamedTuple):
    """
    A call that may run. *follows* is the span id (hex) of the failure that it answers, *follow_up* `retry` or
    `rewrite`; *token* is the guard's.
    """

    tool: str
    args_hash: str | None
    step: str
    follows: str | None = None
    follow_up: str | None = None
    token: object = None


class _Running:
    """
    A call under way.
    """

    __slots__ = ("cost", "is_over", "is_pass", "link", "sequence", "span_id")

    def __init__(self, sequence: int, span_id: str, link: Link | None, *, cost: float, is_pass: bool) -> None:
        self.sequence: Final = sequence
        self.span_id: Final = span_id
        self.link: Final = link
        self.cost: Final = cost
        self.is_pass: Final = is_pass
        self.is_over = False


class _ToolState:
    """
    What holds for one tool in all of the task: whether it is broken or denied, and what humans were asked since.
    """

    __slots__ = ("asked", "has_pass", "is_abandoned", "is_denied")

    def __init__(self) -> None:
        self.is_abandoned = False
        self.is_denied = False
        self.asked = 0
        self.has_pass = False

    def escalate(self) -> None:
        self.asked += 1
        # two questions in a row let one call through, not two
        self.has_pass = True


class Guard:
    """
    Applies *policy* to the calls of one task, from any thread.

    Args:
        outer: the guard of the task around this one.
    """

    def __init__(self, policy: Policy, *, outer: "Guard | None" = None) -> None:
        self.policy: Final = policy
        # what a task within this one costs is paid here too, under the same lock
        self._lock: Final[Lock] = Lock() if outer is None else outer._lock
        self._budget: Final[Budget] = Budget(
            max_calls=policy.max_calls,
            max_cost=policy.max_cost,
            max_repeats=policy.max_repeats,
            outer=None if outer is None else outer._budget,
        )
        self._steps: Final[dict[tuple[str, str], GuardedStep]] = {}
        self._tools: Final[dict[str, _ToolState]] = {}
        self._sequence = 0
        self._stopped: Refusal | None = None

    @property
    def stopped(self) -> Refusal | None:
        """
        The stop criterion that refused a call of this task, the first that did.
        """
        return self._stopped

    @property
    def calls(self) -> int:
        """
        How many calls were asked for.
        """
        return self._budget.calls

    @property
    def cost(self) -> float:
        """
        What was spent.
        """
        return self._budget.cost

    def admit(
        self, tool: str, args_hash: str | None, *, step: str, span_id: str, now_s: float, cost: float = 0.0
    ) -> Admission | Refusal:
        """
        Whether the call may run; where it may, its end is reported to `record` or `release`.

        Args:
            args_hash: None where the arguments are unknown, or there are none.
            step: empty where nobody named it.
            span_id: of the call's span, which has started.
            cost: what the call costs, as far as that is known before.
        """
        with self._lock:
            refused = self._budget.ask(cost := _amount(cost))
            if refused is not None:
                self._stopped = self._stopped or refused
                return refused
            state = self._tools.get(tool)
            if state is not None and state.is_abandoned:
                return refusals.TOOL_ABANDONED
            if state is not None and state.is_denied and not state.has_pass:
                return refusals.ESCALATION_REQUIRED
            guarded = self._steps.get((tool, step))
            link = None if guarded is None else guarded.find(args_hash)
            refused = None if guarded is None else self._refuse(guarded, args_hash, link, state, now_s)
            if refused is not None:
                return refused
            running = self._begin(link, state, span_id, cost)
        follows = None if link is None else link.failure.span_id
        return Admission(tool, args_hash, step, follows, None if link is None else link.kind, running)

    def record(
        self, admission: Admission, cause: Cause | None, *, now_s: float, cost: float = 0.0, state: Hashable = None
    ) -> None:
        """
        The call of *admission* ended: well, or for *cause*.

        Args:
            cost: what it cost; 0 where it cost what `admit` was told.
            state: what the world looks like after it; the call and how it ended are part of it.
        """
        with self._lock:
            running = _finish(admission)
            if running is None:
                return
            self._budget.reserve(-running.cost)
            self._budget.spend(_amount(cost) or running.cost)
            self._budget.see((admission.tool, admission.args_hash, cause and cause.code, state))
            if running.link is not None:
                self._steps[admission.tool, admission.step].close(running.link.failure)
            if running.is_pass:
                # whatever else it ended with: it was let in; if not, that is noted anew
                self._tools[admission.tool].is_denied = False
            if cause is not None:
                self._open(admission, running, cause, now_s)

    def release(self, admission: Admission) -> None:
        """
        The call of *admission* was cancelled: it answers nothing, and what it would have answered is open again.
        """
        with self._lock:
            running = _finish(admission)
            if running is None:
                return
            self._budget.reserve(-running.cost)
            # whoever gave up the call had it made, and it may have cost all that it costs
            self._budget.spend(running.cost)
            if running.link is not None:
                _use(running.link, -1)
                running.link.failure.answers -= 1
            if running.is_pass:
                self._tools[admission.tool].has_pass = True

    def escalate(self, tool: str = "") -> None:
        """
        A human was asked about *tool*, or about none in particular: that is about each.
        """
        with self._lock:
            for name, state in self._tools.items():
                if tool in ("", name):
                    state.escalate()

    def spend(self, cost: float) -> None:
        """
        Count what was spent otherwise than by a call, for a model say.
        """
        if not isfinite(cost) or cost < 0:
            raise InputError(f"spend: {cost} is no cost; it takes a number that is at least 0")
        with self._lock:
            self._budget.spend(cost)

    def see(self, state: Hashable) -> None:
        """
        Count a state that the task has come to, as its program describes it.
        """
        with self._lock:
            self._budget.see((None, state))

    def _refuse(
        self, guarded: GuardedStep, args_hash: str | None, link: Link | None, state: _ToolState | None, now_s: float
    ) -> Refusal | None:
        if args_hash in guarded.rejected:
            invalid = guarded.find_invalid()
            if invalid is not None and invalid.chain.rewrites >= self.policy.rewrites:
                return refusals.REWRITE_LIMIT
            return refusals.IDENTICAL_CALL._replace(field=guarded.rejected[args_hash])
        if link is None:
            return None
        if link.kind != RETRY:
            return refusals.REWRITE_LIMIT if link.failure.chain.rewrites >= self.policy.rewrites else None
        return self._refuse_retry(link.failure, state, now_s)

    def _refuse_retry(self, failure: OpenFailure, state: _ToolState | None, now_s: float) -> Refusal | None:
        cause = failure.cause
        if cause.error_class == ErrorClass.BUSINESS_RULE:
            return refusals.RULE_UNCHANGED
        if cause.error_class == ErrorClass.PERMISSION:
            if state is None or state.asked <= failure.asked:
                return refusals.ESCALATION_REQUIRED
        elif cause.error_class != ErrorClass.TRANSIENT:
            return refusals.CAUSE_UNKNOWN
        if failure.chain.retries >= self.policy.retries:
            return refusals.RETRY_LIMIT
        # to the microsecond: who waits for exactly as long as the tool asked is not early by a rounding
        wait_ms = round((failure.ended_s - now_s) * _MS + (cause.retry_after_ms or 0), 3)
        if cause.error_class == ErrorClass.TRANSIENT and wait_ms > 0:
            return refusals.RETRY_TOO_EARLY._replace(retry_after_ms=ceil(wait_ms))
        return None

    def _begin(self, link: Link | None, state: _ToolState | None, span_id: str, cost: float) -> _Running:
        # a cost that cannot be read is no amount to set aside; it passes only where nothing limits costs
        cost = cost if isfinite(cost) else 0.0
        self._budget.reserve(cost)
        self._sequence += 1
        if link is not None:
            _use(link, 1)
            link.failure.answers += 1
        is_pass = state is not None and state.is_denied
        if state is not None and is_pass:
            state.has_pass = False
        return _Running(self._sequence, span_id, link, cost=cost, is_pass=is_pass)

    def _open(self, admission: Admission, running: _Running, cause: Cause, now_s: float) -> None:
        """
        Keep that the call failed, in its step and, where that matters, for all of the task.
        """
        key = admission.tool, admission.step
        guarded = self._steps.get(key)
        if guarded is None:
            guarded = self._steps[key] = GuardedStep(Chain() if admission.step else None)
        state = self._tools.get(admission.tool)
        if state is None:
            state = self._tools[admission.tool] = _ToolState()
        if cause.error_class == ErrorClass.PERMISSION:
            state.is_denied, state.has_pass = True, False
        elif cause.error_class == ErrorClass.FATAL and cause.code not in _OF_ONE_CALL:
            state.is_abandoned = True
        chain = guarded.chain or (running.link.failure.chain if running.link is not None else Chain())
        guarded.open(
            OpenFailure(
                running.sequence,
                running.span_id,
                admission.args_hash,
                cause,
                chain,
                ended_s=now_s,
                asked=state.asked,
            )
        )


def _finish(admission: Admission) -> _Running | None:
    """
    The call under way that *admission* let through; None if its end was reported before.
    """
    running = admission.token
    if not isinstance(running, _Running) or running.is_over:
        return None
    running.is_over = True
    return running


def _use(link: Link, times: int) -> None:
    if link.kind == RETRY:
        link.failure.chain.retries += times
    else:
        link.failure.chain.rewrites += times


def _amount(cost: float) -> float:
    """
    *cost*, or all there is where it cannot be read: it comes from a tool, and what cannot be read is no licence.
    """
    return cost if cost >= 0 else float("inf") if cost != cost else 0.0  # noqa: PLR0124 - NaN differs from itself
