"""
How often a tool tries by itself, and how long it waits between.

Pauses are of exponentially growing length with full jitter, so that the clients of a service that fails do not come
back together. No pause reaches past the deadline: where it would, the failure is the agent's to deal with, and carries
how long to wait. A service that asks for a longer pause than is left gets no second try from here.
"""

from dataclasses import dataclass
from math import inf
from typing import Final

from tenacity import RetryCallState, Retrying
from tenacity.stop import stop_after_attempt, stop_any, stop_base, stop_before_delay
from tenacity.wait import wait_random_exponential

from toolspan.errors import ConfigError

_MS: Final = 1000
#: What a state refers to; nothing of it is used.
_NOBODY: Final = Retrying()


@dataclass(frozen=True, slots=True)
class Retry:
    """
    The local budget of a tool, for transient failures only.

    Args:
        attempts: all tries together, the first included.
        deadline: seconds from the begin of the call after which no further attempt begins; None for none.
        base: seconds that the first pause takes at most.
        cap: seconds that any pause takes at most.

    Raises:
        ConfigError: one of them is out of range.
    """

    attempts: int = 3
    deadline: float | None = 2.0
    base: float = 0.1
    cap: float = 1.0

    def __post_init__(self) -> None:
        """
        Refuses what would mean something else than it seems to.
        """
        # True counts as 1 for whoever does not look
        if type(self.attempts) is not int or self.attempts < 1:
            raise ConfigError(f"Retry: attempts is {self.attempts!r}; it takes a whole number, 1 for a single try")
        for name in ("deadline", "base", "cap"):
            value: float | None = getattr(self, name)
            if value is None and name == "deadline":
                continue
            if not isinstance(value, int | float) or not 0 < value < inf:
                raise ConfigError(f"Retry: {name} is {value!r}; it takes a number of seconds above 0")

    def pause_s(self, attempt: int, *, elapsed_s: float, asked_s: float | None = None) -> float | None:
        """
        How long to wait after the failed *attempt* (from 1); None where there is to be no other.

        Args:
            elapsed_s: since the call began.
            asked_s: what the service asked for, which is waited exactly.
        """
        state = RetryCallState(_NOBODY, None, (), {})
        state.attempt_number = attempt
        state.start_time, state.outcome_timestamp = 0.0, elapsed_s
        pause = wait_random_exponential(multiplier=self.base, max=self.cap)(state) if asked_s is None else asked_s
        state.upcoming_sleep = pause
        stop: stop_base = stop_after_attempt(self.attempts)
        if self.deadline is not None:
            stop = stop_any(stop, stop_before_delay(self.deadline))
        return None if stop(state) else pause

    def next_wait_ms(self, attempts: int) -> int:
        """
        What to tell an agent to wait after so many *attempts*, where the service did not say: the longest next pause.
        """
        return round(min(self.cap, self.base * 2.0 ** min(attempts, 64)) * _MS)
