"""
Executions → calls: which executions are attempts at one call.

Several are where a framework repeats a call itself, or pauses for a human and goes on later: they share the model's
call id. Servers that number calls anew each turn reuse it, too, so differing arguments keep executions apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolspan.derivation.calls import CALL_ENDS, CALL_ORDER, Execution, key_id
from toolspan.derivation.endings import join_flags


def merge_same_calls(executions: list[Execution]) -> list[Execution]:
    """
    The calls of one task, in order: *executions* with those of one call made one.
    """
    executions.sort(key=CALL_ORDER)
    ids = [execution.call_id for execution in executions if execution.call_id]
    if len(ids) == len(set(ids)):
        return executions
    calls: list[Execution] = []
    shared: dict[tuple[str, str], list[Execution]] = {}
    for execution in executions:
        if execution.call_id:
            shared.setdefault((execution.tool, execution.call_id), []).append(execution)
        else:
            calls.append(execution)
    for sharing in shared.values():
        calls.extend(map(_merge, _by_arguments(sharing)))
    return sorted(calls, key=CALL_ORDER)


def _by_arguments(sharing: Iterable[Execution]) -> list[list[Execution]]:
    """
    The executions that share a call id, in order of start, apart where their arguments differ.

    What cannot be compared (unknown arguments, or a hash of another key) goes with the latest before it, else with the
    first after it.
    """
    groups: list[list[Execution]] = [[]]
    known: list[dict[str, str]] = [{}]
    home: dict[str, int] = {}
    latest = 0
    for execution in sharing:
        args_hash = execution.args_hash
        if args_hash and args_hash not in home:
            key = key_id(args_hash)
            if key in known[latest]:
                latest = len(groups)
                groups.append([])
                known.append({})
            known[latest][key] = args_hash
            home[args_hash] = latest
        if args_hash:
            latest = home[args_hash]
        groups[latest].append(execution)
    return groups


def _merge(executions: Sequence[Execution]) -> Execution:
    """
    *executions* of one call, in order of start, as one: begins with the first, ends as the last.
    """
    if len(executions) == 1:
        return executions[0]
    last = max(executions, key=CALL_ENDS)
    waits = [one.waited_ms for one in executions if one.waited_ms is not None]
    return replace(
        executions[0],
        ended_ns=last.ended_ns,
        outcome=last.outcome,
        error_class=last.error_class,
        code=last.code,
        evidence=last.evidence,
        field=last.field,
        retry_after_ms=last.retry_after_ms,
        lint=join_flags(one.lint for one in executions),
        attempts=_attempts(executions),
        waited_ms=sum(waits) if waits else None,
        budget_exhausted=any(one.budget_exhausted for one in executions),
        args_hash=next((one.args_hash for one in executions if one.args_hash), None),
        # in order, and asked for as often as it has members: a call that waits for a human may be tried for hours
        deferred=dict.fromkeys(key for one in executions for key in one.deferred),
    )


def _attempts(executions: Iterable[Execution]) -> int:
    """
    The tries of one call: what ran beside another try, or only waited for a human, was none of its own.
    """
    attempts = 0
    busy_until_ns: int | None = None
    for one in executions:
        is_beside = busy_until_ns is not None and one.started_ns < busy_until_ns
        if one.outcome != "deferred" and not is_beside:
            attempts += one.attempts
            busy_until_ns = one.ended_ns
    return max(attempts, 1)
