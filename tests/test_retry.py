"""
The local budget: how often, how long between, and never past the deadline.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspan.errors import ConfigError
from toolspan.tools.retry import Retry

SECONDS = st.floats(0.001, 100)


class TestPauses:
    @given(st.integers(1, 2000), SECONDS, SECONDS)
    def test_are_full_jitter_up_to_a_cap(self, attempt: int, base: float, cap: float) -> None:
        """Anything between nothing and the growing length, which no number of attempts lets overflow."""
        pause = Retry(attempts=10_000, deadline=None, base=base, cap=cap).pause_s(attempt, elapsed_s=0.0)

        assert pause is not None
        assert 0 <= pause <= min(cap, base * 2.0 ** min(attempt - 1, 60)) * (1 + 1e-9)

    @given(st.integers(1, 5), SECONDS, st.floats(0, 200), st.none() | st.floats(0, 200))
    def test_none_reaches_past_the_deadline(
        self, attempt: int, deadline: float, elapsed: float, asked: float | None
    ) -> None:
        """Whatever the service asks for."""
        pause = Retry(attempts=10, deadline=deadline).pause_s(attempt, elapsed_s=elapsed, asked_s=asked)

        assert pause is None or elapsed + pause < deadline

    def test_what_the_service_asks_for_is_waited_exactly(self) -> None:
        """Where it fits."""
        retry = Retry(attempts=3, deadline=2.0)

        assert (1.5, None) == (
            retry.pause_s(1, elapsed_s=0.1, asked_s=1.5),
            retry.pause_s(1, elapsed_s=0.6, asked_s=1.5),
        )

    def test_the_last_attempt_has_none(self) -> None:
        """Attempts count the first."""
        retry = Retry(attempts=2, deadline=None)

        assert (True, None) == (retry.pause_s(1, elapsed_s=0) is not None, retry.pause_s(2, elapsed_s=0))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"attempts": 0}, "attempts is 0; it takes a whole number, 1 for a single try"),
        ({"attempts": True}, "attempts is True"),
        ({"attempts": 2.5}, "attempts is 2.5"),
        ({"deadline": 0}, "deadline is 0; it takes a number of seconds above 0"),
        ({"deadline": float("nan")}, "deadline is nan"),
        ({"base": -1}, "base is -1"),
        ({"cap": "1"}, "cap is '1'"),
    ],
)
def test_a_budget_that_means_something_else_is_refused(options: dict[str, object], line: str) -> None:
    """When it is made, not when a tool fails."""
    with pytest.raises(ConfigError, match=line.replace("(", r"\(")):
        Retry(**options)  # type: ignore[arg-type]  # as somebody without a type checker writes it


def test_an_agent_is_told_the_longest_next_pause() -> None:
    """Of the schedule, where the service named none."""
    assert [200, 400, 1000, 1000] == [Retry().next_wait_ms(attempts) for attempts in (1, 2, 5, 10**6)]
