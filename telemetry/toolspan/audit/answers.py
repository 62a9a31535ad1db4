"""
Points 1 to 7: what a tool answers.

A check tells what is wrong, nothing where all is well, and raises `UnjudgedError` where it cannot be tried.
"""

import json
from collections.abc import Iterator, Mapping

from toolspan.audit.arguments import schema_of
from toolspan.audit.causes import LEAKING, LEAKS, LONG_WAIT_S, PERMANENT, RATE_LIMITED, REFUSALS, UNREACHED
from toolspan.audit.points import Complaint
from toolspan.audit.running import ANSWER, Run, Runner
from toolspan.audit.subjects import Kind
from toolspan.audit.trials import Trial, UnjudgedError, demand_a_way_in, trials, upstream_trials
from toolspan.envelopes.envelope import Success
from toolspan.envelopes.field_paths import field_problem
from toolspan.evidence.payloads import is_object
from toolspan.faults import every_class, every_lie, raising
from toolspan.taxonomy import UNCLASSIFIED_CODE, ErrorClass

_MS = 1000


def check_envelope(runner: Runner) -> Iterator[Complaint]:
    """
    Point 1: a return and a raise both end in an envelope.
    """
    if runner.subject.tool is None and not runner.may_run:
        yield Complaint("it is no @toolspan.tool, so what it raises reaches the agent as it is")
    if runner.subject.tool is not None:
        answered = runner.under(ANSWER)
        if not isinstance(answered.envelope, Success):
            yield Complaint(answered.told, "a plain answer of its function")
        for fault in (raising(lambda: RuntimeError("?"), name="RuntimeError"), UNREACHED.at):
            run = runner.under(fault)
            if run.failure is None:
                yield Complaint(run.told, fault.name)
    for where, run in upstream_trials(runner):
        if run.envelope is None:
            yield Complaint(run.told, where)


def check_classes(runner: Runner) -> Iterator[Complaint]:
    """
    Point 2: each failure has a class, and the same code every time.
    """
    twice = zip(trials(runner, PERMANENT), trials(runner, PERMANENT, is_fresh=True), strict=False)
    for (cause, (where, run)), (_, (_, again)) in twice:
        first, second = run.failure, again.failure
        if first is None:
            if run.envelope is None or not cause.may_succeed:
                yield Complaint(run.told, where)
        elif first.error.code == UNCLASSIFIED_CODE:
            yield Complaint(run.told, where)
        elif second is None or second.error.code != first.error.code:
            yield Complaint(f"{run.told}, and the next time {again.told}", where)


def check_retryable(runner: Runner) -> Iterator[Complaint]:
    """
    Point 3: nothing but a transient failure is retryable, whatever a result says.
    """
    for _, (where, run) in trials(runner, PERMANENT):
        if is_retryable(run):
            yield Complaint("its answer invites a retry", where)
    if runner.subject.tool is not None:
        for fault in (*every_class(), *every_lie()):
            run = runner.under(fault)
            is_final = fault.error_class is not ErrorClass.TRANSIENT and "transient" not in fault.name
            if is_final and is_retryable(run):
                yield Complaint("its answer invites a retry", fault.name)


def is_retryable(run: Run) -> bool:
    """
    Whether an agent would take the answer for one to retry.
    """
    error = run.answer.get("error") if is_object(run.answer) else None
    return is_object(error) and (error.get("retryable") is True or error.get("class") == ErrorClass.TRANSIENT)


def check_wait(runner: Runner) -> Iterator[Complaint]:
    """
    Point 4: Retry-After reaches the agent, else the tool's own schedule.
    """
    for cause, (where, run) in trials(runner, (RATE_LIMITED, UNREACHED)):
        failure = run.failure
        if failure is None or failure.error.error_class is not ErrorClass.TRANSIENT:
            yield Complaint(f"{run.told}, which is no transient failure", where)
            continue
        wait_ms = failure.error.retry_after_ms
        if wait_ms is None:
            yield Complaint("it answers without retry_after_ms", where)
        elif cause is RATE_LIMITED and wait_ms != LONG_WAIT_S * _MS:
            yield Complaint(f"of Retry-After: {LONG_WAIT_S} it makes retry_after_ms {wait_ms}", where)


def check_field(runner: Runner) -> Iterator[Complaint]:
    """
    Point 5: an argument that is missing or of the wrong form is named by its path.
    """
    demand_a_way_in(runner)
    required, schema = list(runner.arguments), schema_of(runner.subject.function)
    if not required:
        raise UnjudgedError("it takes no argument that could be refused")
    # Python refuses the call before the function begins, so this runs nothing
    missing = runner.without(required[0])
    where = f"no argument {required[0]!r}"
    if missing.failure is None or missing.failure.error.error_class is not ErrorClass.VALIDATION:
        yield Complaint(f"{missing.told}, which is no validation failure", where)
    yield from _refusal_problems(Trial(where, missing), schema)
    # a write is not handed anything wrong, whoever asked for it to be run
    if runner.subject.kind is Kind.READ:
        for name in required:
            yield from _refusal_problems(Trial(f"a wrong {name!r}", runner.with_wrong(name)), schema)


def _refusal_problems(trial: Trial, schema: Mapping[str, object]) -> Iterator[Complaint]:
    where, run = trial
    failure = run.failure
    if failure is None or failure.error.error_class is not ErrorClass.VALIDATION:
        return  # a tool may take what was meant to be wrong
    error = failure.error
    problem = "no argument is named" if error.field is None else field_problem(error.field, schema)
    if problem is not None:
        yield Complaint(f"it answers {error.code} with field {error.field!r}: {problem}", where)
    if not error.hint:
        yield Complaint(f"it answers {error.code} without a hint", where)


def check_hint(runner: Runner) -> Iterator[Complaint]:
    """
    Point 6: a refusal says what would help.
    """
    for _, (where, run) in trials(runner, REFUSALS):
        failure = run.failure
        if failure is not None and not (failure.error.hint or "").strip():
            yield Complaint(f"it answers {failure.error.code} without a hint", where)
        elif run.envelope is None:
            yield Complaint(run.told, where)


def check_safe(runner: Runner) -> Iterator[Complaint]:
    """
    Point 7: of what only people should see, nothing is in the answer.
    """
    demand_a_way_in(runner)
    at_boundary = LEAKING if runner.subject.tool is not None else ()
    tried = (*(Trial(fault.name, runner.once(fault)) for fault in at_boundary), *upstream_trials(runner))
    for where, run in tried:
        shown = str(run.error) if run.error is not None else json.dumps(run.answer, default=str)
        found = [leak.what for leak in LEAKS if leak.mark in shown]
        if found:
            yield Complaint(f"its answer shows {', '.join(found)}", where)
