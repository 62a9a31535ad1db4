"""
Collections of garbage by hand.
"""

import gc
import weakref

from toolspan.garbage import Garbage, collections_by_hand


class Cycle:
    """
    Refers to itself.
    """

    def __init__(self) -> None:
        self.own = self


def test_cycles_stay_until_they_are_collected() -> None:
    """
    And afterwards Python looks for them as before.
    """
    now_s = 0.0
    with collections_by_hand():
        garbage = Garbage(every_s=60, clock=lambda: now_s)
        gone = weakref.ref(Cycle())
        early = garbage.collect(), gone() is None
        now_s = 60.0
        late = garbage.collect(), gone() is None
        is_enabled = gc.isenabled()

    assert ((False, False), (True, True), False) == (early, late, is_enabled)
    assert gc.isenabled()
