"""
Tools that change something, and replies that were lost: whether it was done is looked up, never assumed.

A write that timed out may have been done. To repeat it may do it twice, to call it failed invites that, to call it
done invents a confirmation. So the tool looks it up by the key that it sent along: done is a success with a receipt,
not done is a transient failure, and where that cannot be told, nobody goes on by himself.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import uuid4

from toolspan.envelopes.envelope import Failure, Receipt, failure
from toolspan.errors import ConfigError
from toolspan.evidence.exceptions import last_component
from toolspan.taxonomy import OUTCOME_UNKNOWN_CODE, ErrorClass

#: Keys of failed writes of a tool that are kept for its agents; a process works at some hundreds of tasks at a time.
_MAX_KEYS: Final = 1024

#: Transient failures in which nothing was done: the service said so, or was never reached.
_UNDONE_CODES: Final = frozenset(("RATE_LIMITED", "TOO_EARLY", "RESOURCE_EXHAUSTED"))
#: A key that a person can look up; another one is a program's, and a hint has no room for it.
_SAYABLE_KEY: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_UNDONE_ERRORS: Final = frozenset(
    {
        "ConnectError",  # httpx
        "ConnectTimeout",  # httpx, requests
        "PoolTimeout",
        "ConnectTimeoutError",  # urllib3, botocore
        "NewConnectionError",
        "ConnectionRefusedError",
        "ClientConnectorError",  # aiohttp
        "EndpointConnectionError",  # botocore
        "gaierror",
    }
)


@dataclass(frozen=True, slots=True)
class Committed:
    """
    The write was done: *data* is what the call would have returned, *operation_id* what the service calls it.
    """

    data: object = None
    operation_id: str | None = None


class _Word:
    """
    A value that is only itself.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: What a read-back answers where the write was surely not done, and will not be.
ABSENT: Final = _Word("ABSENT")
#: … and where it cannot tell.
UNKNOWN: Final = _Word("UNKNOWN")

ReadBack: TypeAlias = Callable[[str], object] | Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Write:
    """
    How a tool's write is made to happen once.

    Args:
        read_back: given the key, answers `Committed(…)`, `ABSENT` or `UNKNOWN`; also asynchronously. Anything else that
            it answers or raises means that it cannot tell. While the request may still be on its way, the answer is
            `UNKNOWN`.
        idempotency_key: the name of the tool's parameter that takes the key. Where the caller gives none, each call
            gets a new one, which its own attempts share, and the same call when it is repeated within its task.

    Raises:
        ConfigError: an argument is of the wrong kind.
    """

    read_back: ReadBack | None = None
    idempotency_key: str = "idempotency_key"

    def __post_init__(self) -> None:
        """
        Refuses what could not be called or named.
        """
        if self.read_back is not None and not callable(self.read_back):
            raise ConfigError("Write: read_back is no function; give one that takes the idempotency key")
        if not self.idempotency_key.isidentifier():
            raise ConfigError(f"Write: idempotency_key is {self.idempotency_key!r}; give the name of a parameter")


class Keys:
    """
    The keys of writes that failed, by what makes a call the same, for the call that repeats it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, str] = OrderedDict()

    def keep(self, same: str, key: str) -> None:
        """
        Keeps the *key* of a call that failed.
        """
        with self._lock:
            self._kept[same] = key
            if len(self._kept) > _MAX_KEYS:
                self._kept.popitem(last=False)

    def take(self, same: str) -> str | None:
        """
        The key of the same call that failed; None where there is none.
        """
        with self._lock:
            return self._kept.pop(same, None) if same else None


def new_key() -> str:
    """
    A key that no other call has.
    """
    return uuid4().hex


def may_be_done(failed: Failure, names: tuple[str, ...]) -> bool:
    """
    Whether a write that *failed*, with an exception of the types *names*, may have been done nevertheless.
    """
    return failed.error.error_class is ErrorClass.TRANSIENT and not is_undone(failed, names)


def is_undone(failed: Failure, names: tuple[str, ...]) -> bool:
    """
    Whether what *failed* never reached the service, or was turned away by it.
    """
    return failed.error.code in _UNDONE_CODES or any(last_component(name) in _UNDONE_ERRORS for name in names)


def receipt_of(found: Committed, key: str, attempts: int) -> Receipt:
    """
    What proves a write that was looked up.
    """
    return Receipt(operation_id=found.operation_id, idempotency_key=key, attempts=attempts)


def outcome_unknown(key: str, message: str | None) -> Failure:
    """
    What is answered where nobody can tell whether the write was done.
    """
    place = f" under {key}" if _SAYABLE_KEY.fullmatch(key) else ""
    return failure(
        ErrorClass.FATAL,
        OUTCOME_UNKNOWN_CODE,
        hint=f"It is not known whether this was done. Do not repeat it and do not report it as done: have a human look"
        f" it up{place}.",
        message=message,
    )
