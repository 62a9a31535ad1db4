"""
Points 8 to 10: what a tool does before it answers: its budget of attempts, its writes, and all of it at once.
"""

import inspect
from asyncio import CancelledError
from collections.abc import Iterator

from toolspan.audit.answers import is_retryable
from toolspan.audit.causes import CANCELLATION, CATALOGUE, MUST_FAIL, PERMANENT, RATE_LIMITED, UNREACHED
from toolspan.audit.points import Complaint
from toolspan.audit.running import Run, Runner
from toolspan.audit.subjects import Kind
from toolspan.audit.trials import UnjudgedError, demand_a_way_in, trials, upstream_trials
from toolspan.envelopes.envelope import Success
from toolspan.faults import Fault, timeout, timeout_after_commit
from toolspan.taxonomy import OUTCOME_UNKNOWN_CODE
from toolspan.tools.retry import Retry
from toolspan.tools.tool import Tool
from toolspan.tools.writes import Write


def check_budget(runner: Runner) -> Iterator[Complaint]:
    """
    Point 8: transport failures are retried inside, nothing else is, and not without an end.
    """
    tool = runner.subject.tool
    for _, (where, run) in trials(runner, PERMANENT):
        if (tries := max(run.attempts, run.requests)) > 1:
            yield Complaint(f"it tries {tries} times", where)
    if tool is None:
        yield Complaint("it is no @toolspan.tool, so it has no budget of its own")
    elif tool.retry is not None:
        yield from _check_retry(runner, tool.retry)
    elif runner.may_run and not any(run.requests for _, run in upstream_trials(runner)):
        raise UnjudgedError("it makes no requests, so there is nothing to retry")
    else:
        yield Complaint("it declares no budget, so every lost packet costs a turn of the model")


def _check_retry(runner: Runner, retry: Retry) -> Iterator[Complaint]:
    if retry.deadline is None:
        yield Complaint("its budget has no deadline")
    for _, (where, run) in trials(runner, (UNREACHED, RATE_LIMITED)):
        if (tries := max(run.attempts, run.requests)) > retry.attempts:
            yield Complaint(f"it tries {tries} times, and declares {retry.attempts}", where)
        if retry.deadline is not None and run.waited_s > retry.deadline:
            yield Complaint(f"it waits {run.waited_s:g} s, and declares a deadline of {retry.deadline:g} s", where)
    if retry.attempts == 1:
        yield Complaint("its budget is a single attempt")
    elif not isinstance((recovered := runner.under([UNREACHED.at])).envelope, Success):
        yield Complaint(recovered.told, f"{UNREACHED.at.name} at its first attempt")


def check_writes(runner: Runner) -> Iterator[Complaint]:
    """
    Point 9: the outcome of a write whose reply was lost is looked up, and never taken for granted.
    """
    tool, kind = runner.subject.tool, runner.subject.kind
    if kind is Kind.READ:
        raise UnjudgedError("it changes nothing, by its name or by --read")
    if tool is not None and tool.write is not None:
        yield from _check_write(runner, tool, tool.write)
    elif kind is Kind.UNKNOWN:
        raise UnjudgedError("nobody says whether it changes anything; declare its write, or name it with --read")
    else:
        yield Complaint("by its name it writes, and it declares neither an idempotency key nor a read-back")


def _check_write(runner: Runner, tool: Tool, write: Write) -> Iterator[Complaint]:
    if write.read_back is None:
        yield Complaint("it declares no read-back, so after a timeout nobody can tell what was done")
    if write.idempotency_key not in inspect.signature(tool.function).parameters:
        yield Complaint(f"its function has no parameter {write.idempotency_key!r}, so the service never gets the key")
    lost = runner.under(timeout())
    if isinstance(lost.envelope, Success):
        yield Complaint("when nothing was written its read-back finds a write")
    if runner.is_executed:
        done = runner.under([timeout_after_commit()], is_real=True)
        if not isinstance(done.envelope, Success) or done.attempts > 1:
            yield Complaint(f"{done.told}, after {done.attempts} attempts", "a write whose reply was lost")


def check_faults(runner: Runner) -> Iterator[Complaint]:
    """
    Point 10: the whole catalogue.
    """
    demand_a_way_in(runner)
    if runner.subject.tool is not None:
        for fault in CATALOGUE:
            yield from _judge(fault, runner.once(fault))
        cancelled = runner.under(CANCELLATION)
        if not isinstance(cancelled.error, CancelledError):
            yield Complaint(cancelled.told, CANCELLATION.name)
    for where, run in upstream_trials(runner):
        has_met_it = run.requests and run.fault in MUST_FAIL
        if run.envelope is None or (has_met_it and isinstance(run.envelope, Success)):
            yield Complaint(run.told, where)


def _judge(fault: Fault, run: Run) -> Iterator[Complaint]:
    """
    What is wrong with the answer to *fault*.
    """
    failure = run.failure
    if run.envelope is None or (fault.is_failure and failure is None):
        yield Complaint(run.told, fault.name)
    elif failure is not None and failure.error.code != OUTCOME_UNKNOWN_CODE:
        if fault.error_class not in (None, failure.error.error_class):
            yield Complaint(f"{run.told}, which is not {fault.error_class}", fault.name)
        if run.attempts > 1 and not is_retryable(run):
            yield Complaint(f"it tries {run.attempts} times for a failure that is final", fault.name)
