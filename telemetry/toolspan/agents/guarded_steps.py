"""
What one tool left open in one step: its failures, by what could answer them, and what was used up in answering.

The rules of who answers whom are those of `derivation.links`; here they are followed while the calls are made. A call
looks at the failures that it could mean, not at all that are open.
"""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from toolspan.derivation.links import RETRY, REWRITE
from toolspan.taxonomy import ErrorClass

_IN_ORDER = attrgetter("sequence")


class Cause(NamedTuple):
    """
    How a call failed, as far as the guard may know: nothing that a tool or a document can word.
    """

    error_class: str
    code: str
    retry_after_ms: int | None = None
    field: str | None = None


class Chain:
    """
    What was used up in answering: of a step, or where nobody named it, of a call and what answers it.
    """

    __slots__ = ("retries", "rewrites")

    def __init__(self) -> None:
        self.retries = 0
        self.rewrites = 0


class OpenFailure:
    """
    A failure that nothing has answered yet. *sequence* orders by start, *asked* is how often humans had been asked
    about the tool when it ended, *answers* the calls under way that would answer it.
    """

    __slots__ = ("answers", "args_hash", "asked", "cause", "chain", "ended_s", "sequence", "span_id")

    def __init__(
        self,
        sequence: int,
        span_id: str,
        args_hash: str | None,
        cause: Cause,
        chain: Chain,
        *,
        ended_s: float,
        asked: int,
    ) -> None:
        self.sequence: Final = sequence
        self.span_id: Final = span_id
        self.args_hash: Final = args_hash
        self.cause: Final = cause
        self.chain: Final = chain
        self.ended_s: Final = ended_s
        self.asked: Final = asked
        self.answers = 0


class Link(NamedTuple):
    """
    The failure that a call would answer, and how: `retry` or `rewrite`.
    """

    failure: OpenFailure
    kind: str


class GuardedStep:
    """
    The open failures of one tool in one step.
    """

    __slots__ = ("_by_args", "_invalid", "chain", "rejected")

    def __init__(self, chain: Chain | None) -> None:
        #: Shared by all calls of the step; None where each chain of calls is a step of its own.
        self.chain: Final = chain
        #: Arguments that failed validation, and the argument that was named as the one at fault.
        self.rejected: Final[dict[str | None, str | None]] = {}
        self._by_args: Final[dict[str | None, list[OpenFailure]]] = {}
        self._invalid: Final[list[OpenFailure]] = []

    def open(self, failure: OpenFailure) -> None:
        """
        From now on *failure* can be answered.
        """
        self._by_args.setdefault(failure.args_hash, []).append(failure)
        if failure.cause.error_class == ErrorClass.VALIDATION:
            self._invalid.append(failure)
            self.rejected[failure.args_hash] = failure.cause.field

    def close(self, failure: OpenFailure) -> None:
        """
        *failure* was answered.
        """
        same = self._by_args.get(failure.args_hash, [])
        if failure in same:
            same.remove(failure)
            if not same:
                del self._by_args[failure.args_hash]
        if failure in self._invalid:
            self._invalid.remove(failure)

    def find(self, args_hash: str | None) -> Link | None:
        """
        What a call with these arguments would answer.

        A failure that a call under way would answer is looked at last: that call may fail, or be cancelled.
        """
        return self._find(args_hash, is_taken=False) or self._find(args_hash, is_taken=True)

    def find_invalid(self) -> OpenFailure | None:
        """
        The failure that a call with arguments never seen would rewrite.
        """
        return _first(self._invalid, is_taken=False) or _first(self._invalid, is_taken=True)

    def _find(self, args_hash: str | None, *, is_taken: bool) -> Link | None:
        if args_hash is not None:
            same = _first(self._by_args.get(args_hash, ()), is_taken=is_taken)
            if same is not None:
                return Link(same, RETRY)
        invalid = _first(self._invalid, is_taken=is_taken)
        if invalid is not None:
            return Link(invalid, REWRITE)
        # of unknown arguments nobody can say that they differ
        unknown = _first(self._all() if args_hash is None else self._by_args.get(None, ()), is_taken=is_taken)
        return None if unknown is None else Link(unknown, RETRY)

    def _all(self) -> Iterator[OpenFailure]:
        for failures in self._by_args.values():
            yield from failures


def _first(failures: Iterable[OpenFailure], *, is_taken: bool) -> OpenFailure | None:
    return min((failure for failure in failures if bool(failure.answers) is is_taken), key=_IN_ORDER, default=None)
