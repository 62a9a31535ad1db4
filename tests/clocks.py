"""
Time that passes only while somebody waits.
"""

from toolspan.tools.tool import Timing


class Clock:
    """
    A clock that only sleeping moves.
    """

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """
        Waits.
        """
        self.now_s += seconds

    @property
    def timing(self) -> Timing:
        """
        For a tool that lives on this clock.
        """
        return Timing(clock=self, sleep=self.sleep)
