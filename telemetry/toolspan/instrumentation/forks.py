"""
What happens to threads, locks and queues of toolspan when the process is forked.

Only the thread that forks lives on in the child; a lock that another one held stays held there for ever, and what
waited in a queue is still the parent's to hand on. So whatever has a lock, a queue or a thread registers here and
begins anew in the child. `os.register_at_fork` cannot be taken back, hence one registration for all.

**Order.** What is registered last is told first before a fork, and last after it. Two modules have to be there before
this one registers. The lock files of stores are kept still during a fork: who waits here for a batch that is being
written has to be told before that. And the SDK's provider starts threads in the child, for which `concurrent.futures`
has to be told of the fork before the provider is: a provider that is made before it is imported hangs every child. Who
imports toolspan before he makes one is safe.
"""

import concurrent.futures.thread  # noqa: F401  # pyright: ignore[reportUnusedImport]  # see above
import os
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet

from toolspan.store import _lock_file as _told_after_us  # noqa: F401  # pyright: ignore[reportUnusedImport]  # see above


class Forked(Protocol):
    """
    What is told of forks.
    """

    def before_fork(self) -> None:
        """
        The process is about to fork: a moment to wait for what must not be under way then.
        """
        ...

    def after_fork(self, *, is_child: bool) -> None:
        """
        The fork is done.
        """
        ...


# State of the process: a fork must find them all.
_registered: WeakSet[Forked] = WeakSet()


def register(thing: Forked) -> None:
    """
    Tells *thing* of forks for as long as it lives.
    """
    _registered.add(thing)


def _tell_before() -> None:
    for thing in list(_registered):
        with suppress(Exception):  # a fork is the host's: it goes on whatever is wrong here
            thing.before_fork()


def _tell_after(*, is_child: bool) -> None:
    for thing in list(_registered):
        with suppress(Exception):  # as above
            thing.after_fork(is_child=is_child)


os.register_at_fork(
    before=_tell_before,
    after_in_parent=lambda: _tell_after(is_child=False),
    after_in_child=lambda: _tell_after(is_child=True),
)
