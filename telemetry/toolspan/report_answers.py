"""
The document of `report` from a store: it is asked for counts, in twelve queries however many calls it holds.

The counts are those that are made of rows, so the document is the same. Where others write meanwhile, the connection is
to be in a transaction: only then do all answers speak of the same tasks.

Measured on two cores, 30 days of 20 tools and three agents: 0.08 s on a million calls, 0.25 s on ten million; grouped
by agent 0.17 and 0.46. Percentiles of durations are more than half of the latter, for their totals have nearly as many
rows as there are calls; of the former half is the planning of twelve queries. `benchmarks/queries.py` measures it.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from toolspan.answers import ToolKey, asked, by_tool
from toolspan.documents import GroupedReport, Report, Tasks
from toolspan.numbers import DEFAULT_TARGETS, Targets, grouped_report_of, report_of
from toolspan.scope import EVERYTHING, Dimension, Scope
from toolspan.tallies import (
    EscalationTally,
    RecoveryTally,
    RetriesOfTasks,
    RetryTally,
    Tally,
    ToolTally,
    VainTally,
)
from toolspan_queries import Connection, fetch, rows

_NO_TASKS: Final = rows.Tasks("", 0, 0, 0, 0, 0, 0)


class ReportAnswers(NamedTuple):
    """
    What a store answered, each the rows of one query.
    """

    tasks: Sequence[rows.Tasks]
    calls: Sequence[rows.Calls]
    codes: Sequence[rows.Codes]
    durations: Sequence[rows.Durations]
    retries_per_resolved_task: Sequence[rows.RetriesPerResolvedTask]
    retries: Sequence[rows.Retries]
    retried_in_vain: Sequence[rows.RetriedInVain]
    validation_recovery: Sequence[rows.ValidationRecovery]
    recovery_by_code: Sequence[rows.RecoveryByCode]
    recovery_by_field: Sequence[rows.RecoveryByField]
    escalations: Sequence[rows.Escalations]
    unresolved_tasks: Sequence[rows.UnresolvedTasks]


def ask_report(connection: Connection, *, scope: Scope = EVERYTHING, targets: Targets = DEFAULT_TARGETS) -> Report:
    """
    What `report` says of the rows of a store, without reading them.
    """
    return report_from(fetch_report(connection, scope=scope), scope=scope, targets=targets)


def ask_report_by(
    connection: Connection, *, by: Dimension, scope: Scope = EVERYTHING, targets: Targets = DEFAULT_TARGETS
) -> GroupedReport:
    """
    What `report_by` says of the rows of a store, without reading them.
    """
    return report_by_from(fetch_report(connection, by=by, scope=scope), by=by, scope=scope, targets=targets)


def fetch_report(
    connection: Connection, *, by: Literal["", "agent", "service", "environment"] = "", scope: Scope = EVERYTHING
) -> ReportAnswers:
    """
    What the queries of `report` answer.
    """
    what = asked(scope, by)
    return ReportAnswers(
        tasks=fetch(connection, rows.Tasks, **what),
        calls=fetch(connection, rows.Calls, **what),
        codes=fetch(connection, rows.Codes, **what),
        durations=fetch(connection, rows.Durations, **what),
        retries_per_resolved_task=fetch(connection, rows.RetriesPerResolvedTask, **what),
        retries=fetch(connection, rows.Retries, **what),
        retried_in_vain=fetch(connection, rows.RetriedInVain, **what),
        validation_recovery=fetch(connection, rows.ValidationRecovery, **what),
        recovery_by_code=fetch(connection, rows.RecoveryByCode, **what),
        recovery_by_field=fetch(connection, rows.RecoveryByField, **what),
        escalations=fetch(connection, rows.Escalations, **what),
        unresolved_tasks=fetch(connection, rows.UnresolvedTasks, **what),
    )


def report_from(answers: ReportAnswers, *, scope: Scope = EVERYTHING, targets: Targets = DEFAULT_TARGETS) -> Report:
    """
    The document of *answers* to what was asked without *by*.
    """
    counted = _tallies(answers).get("", Tally(_tasks(_NO_TASKS), {}))
    return report_of(counted, scope=scope, targets=targets)


def report_by_from(
    answers: ReportAnswers, *, by: Dimension, scope: Scope = EVERYTHING, targets: Targets = DEFAULT_TARGETS
) -> GroupedReport:
    """
    The documents of *answers* to what was asked with *by*.
    """
    return grouped_report_of(_tallies(answers), by=by, scope=scope, targets=targets)


def _tallies(answers: ReportAnswers) -> dict[str, Tally]:
    tools: defaultdict[str, dict[str, ToolTally]] = defaultdict(dict)
    for (group, tool), counted in _tools(answers).items():
        tools[group][tool] = counted
    return {row.group_value: Tally(_tasks(row), tools[row.group_value]) for row in answers.tasks}


def _tasks(row: rows.Tasks) -> Tasks:
    return {
        "total": row.total,
        "resolved": row.resolved,
        "unresolved": row.unresolved,
        "escalated": row.escalated,
        "unknown": row.unknown,
        "open": row.open,
    }


def _tools(answers: ReportAnswers) -> dict[ToolKey, ToolTally]:
    durations, codes = by_tool(answers.durations), by_tool(answers.codes)
    per_task, retries = by_tool(answers.retries_per_resolved_task), by_tool(answers.retries)
    in_vain, recovery = by_tool(answers.retried_in_vain), by_tool(answers.validation_recovery)
    by_code, by_field = by_tool(answers.recovery_by_code), by_tool(answers.recovery_by_field)
    escalations, unresolved = by_tool(answers.escalations), by_tool(answers.unresolved_tasks)
    return {
        key: ToolTally(
            calls=row.calls,
            ok=row.ok,
            cancelled=row.cancelled,
            deferred=row.deferred,
            attempts=row.attempts,
            locally_retried=row.calls_with_local_retry,
            p50_ns=durations[key][0].p50_ns,
            p95_ns=durations[key][0].p95_ns,
            causes={(each.error_class, each.code): each.failures for each in codes[key]},
            retries_of_tasks=_retries_of_tasks(per_task[key]),
            retries=_retries(retries[key]),
            recovery=_recovery(recovery[key]),
            rewrites=sum(each.rewrites for each in recovery[key]),
            presumed_rewrites=sum(each.presumed_rewrites for each in recovery[key]),
            recovery_by_code={each.code: _recovery([each]) for each in by_code[key]},
            recovery_by_field={each.field: _recovery([each]) for each in by_field[key]},
            escalations=_escalations(escalations[key]),
            in_vain={
                (each.error_class, each.code): VainTally(each.early, each.over_cap, each.wasted)
                for each in in_vain[key]
            },
            unresolved_tasks=sum(each.tasks for each in unresolved[key]),
        )
        for row in answers.calls
        for key in [(row.group_value, row.tool)]
    }


# Of these a tool has one row, or none where only open tasks called it.


def _retries_of_tasks(of_tool: Sequence[rows.RetriesPerResolvedTask]) -> RetriesOfTasks:
    for row in of_tool:
        return RetriesOfTasks(row.resolved_tasks, row.retries, row.p50, row.p95, row.p99, row.max, row.tasks_in_tail)
    return RetriesOfTasks()


def _retries(of_tool: Sequence[rows.Retries]) -> RetryTally:
    for row in of_tool:
        return RetryTally(
            row.steps, row.total, row.presumed, row.allowed, row.early, row.over_cap, row.wasted, row.wasted_ns
        )
    return RetryTally()


def _recovery(
    of_tool: Sequence[rows.ValidationRecovery] | Sequence[rows.RecoveryByCode] | Sequence[rows.RecoveryByField],
) -> RecoveryTally:
    for row in of_tool:
        return RecoveryTally(row.failures, row.recovered, row.accepted)
    return RecoveryTally()


def _escalations(of_tool: Sequence[rows.Escalations]) -> EscalationTally:
    for row in of_tool:
        return EscalationTally(row.episodes, row.escalated, row.without_prior_retry)
    return EscalationTally()
