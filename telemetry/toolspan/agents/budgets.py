"""
When a task has to stop: calls made, cost spent, a state that comes again. For one thread at a time.
"""

from collections import Counter
from collections.abc import Hashable
from math import isclose
from typing import Final

from toolspan.agents import refusals
from toolspan.agents.refusals import Refusal


class Budget:
    """
    What a task may use up; None: as much as it likes.

    Every call that is asked for counts, refused ones too: an agent that asks for them again and again is in a loop.

    Args:
        outer: the budget of the task around this one, from which its cost is paid, too.
    """

    def __init__(
        self,
        *,
        max_calls: int | None,
        max_cost: float | None,
        max_repeats: int | None,
        outer: "Budget | None" = None,
    ) -> None:
        self._max_calls: Final = max_calls
        self._max_cost: Final = max_cost
        self._max_repeats: Final = max_repeats
        self._outer: Final = outer
        self._times: Counter[Hashable] = Counter()
        self._has_repeated = False
        # cost of calls that run, as far as it is known beforehand
        self._reserved = 0.0
        self.calls = 0
        self.cost = 0.0

    def ask(self, cost: float) -> Refusal | None:
        """
        Count a call that is asked for, and say whether the budget forbids it.
        """
        self.calls += 1
        if self._max_calls is not None and self.calls > self._max_calls:
            return refusals.CALL_LIMIT
        if self._has_repeated:
            return refusals.REPEATED_STATE
        return None if self._can_afford(cost) else refusals.COST_LIMIT

    def reserve(self, cost: float) -> None:
        """
        Set *cost* aside for a call that begins; a negative one gives it back.
        """
        self._reserved += cost
        if self._outer is not None:
            self._outer.reserve(cost)

    def spend(self, cost: float) -> None:
        """
        Count *cost* as spent.
        """
        self.cost += cost
        if self._outer is not None:
            self._outer.spend(cost)

    def see(self, state: Hashable) -> None:
        """
        Count a state that the task has come to.
        """
        if self._max_repeats is not None:
            self._times[state] += 1
            self._has_repeated |= self._times[state] > self._max_repeats

    def _can_afford(self, cost: float) -> bool:
        if self._outer is not None and not self._outer._can_afford(cost):
            return False
        if self._max_cost is None:
            return True
        # what a call costs may be known only afterwards, so nothing begins once all is spent
        spent = self.cost + self._reserved
        if spent >= self._max_cost:
            return False
        # three calls at 0.1 may cost 0.3 together
        return spent + cost < self._max_cost or isclose(spent + cost, self._max_cost)
