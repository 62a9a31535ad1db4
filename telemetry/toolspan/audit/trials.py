"""
A tool under causes of failure, wherever they can be tried: at its boundary, and below its HTTP client.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from toolspan.audit.causes import BROKEN, GARBAGE, PERMANENT, Cause
from toolspan.audit.running import Run, Runner
from toolspan.errors import ToolspanError


class UnjudgedError(ToolspanError):
    """
    A point cannot be tried on this tool, or does not concern it.
    """


class Trial(NamedTuple):
    """
    A *run*, and *where* it met its fault, in words.
    """

    where: str
    run: Run


def demand_a_way_in(runner: Runner) -> None:
    """
    Raises `UnjudgedError` where there is no place to put a fault.
    """
    if runner.subject.tool is None and not runner.may_run:
        raise UnjudgedError("it is no @toolspan.tool, so nothing can be injected; run it with --execute")


def trials(runner: Runner, causes: Iterable[Cause], *, is_fresh: bool = False) -> Iterator[tuple[Cause, Trial]]:
    """
    The tool under each of *causes*, at its boundary where it has one, below its client where it makes requests.

    Args:
        is_fresh: tried now, though it was tried before.
    """
    demand_a_way_in(runner)
    for cause in causes:
        if runner.subject.tool is not None:
            yield cause, Trial(cause.at.name, runner.under(cause.at) if is_fresh else runner.once(cause.at))
        if runner.may_run:
            run = runner.below(cause.below) if is_fresh else runner.once(cause.below)
            if run.requests:
                yield cause, Trial(_upstream(run), run)


def upstream_trials(runner: Runner) -> Iterator[Trial]:
    """
    The tool's own function under everything that can happen below its client; once, where it makes no request.
    """
    if not runner.may_run:
        return
    for fault in (*BROKEN, GARBAGE, *(cause.below for cause in PERMANENT)):
        run = runner.once(fault)
        yield Trial(_upstream(run) if run.requests else "its own function", run)
        if not run.requests:
            return


def _upstream(run: Run) -> str:
    return f"upstream {run.fault}"
