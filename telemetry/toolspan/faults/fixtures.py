"""
The pytest fixture `toolspan_faults`: faults that end with the test.

```python
def test_slow_search_is_transient(toolspan_faults):
    toolspan_faults(faults.timeout(), tool="search_flights")
    assert search_flights(date="2026-05-04")["error"]["class"] == "transient"
```
"""

from collections.abc import Iterator, Mapping

import pytest

from toolspan.faults.injection import Injection, Plan, inject


class Faults:
    """
    Injects faults until the test ends.
    """

    def __init__(self) -> None:
        self._injections: list[Injection] = []

    def __call__(
        self, plan: Plan = (), *, tool: str | None = None, tools: Mapping[str, Plan] | None = None
    ) -> Injection:
        """
        Injects from now on what `toolspan.faults.inject` would; what happened is in the answer's `attempts`.
        """
        injection = inject(plan, tool=tool, tools=tools)
        injection.start()
        self._injections.append(injection)
        return injection

    def stop(self) -> None:
        """
        Injects no more, the last one first.
        """
        while self._injections:
            self._injections.pop().stop()


@pytest.fixture
def toolspan_faults() -> Iterator[Faults]:
    """
    A function that injects faults until the test ends.
    """
    faults = Faults()
    yield faults
    faults.stop()
