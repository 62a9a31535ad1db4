"""
What is wrong with which tool, ranked by damage: what recurs, what it costs, what to change, how to see that it worked.

Pure: documents and rows in, texts out. Texts are Markdown, in which names are inert.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from toolspan.documents import AuditedCode, Quality, Recovery, Report, ToolReport
from toolspan.numbers import Targets
from toolspan.taxonomy import ErrorClass
from toolspan_dashboard import advice
from toolspan_dashboard.words import CLASS_NAMES, counted, duration, md, number, percent, percent_below
from toolspan_queries.page_rows import ExampleTasks

#: Below it, that nobody was asked may be one task that broke off.
_LEAST_UNHEARD: Final = 3


class Finding(NamedTuple):
    """
    Something that recurs with one tool.

    *kind* is that of `example_tasks`; *damage* counts its cases, of which *is_broken* says that they break a target.
    *examples* are ids of tasks, the worst first.
    """

    tool: str
    kind: str
    damage: int
    is_broken: bool
    title: str
    recurs: str
    costs: str
    change: str
    proof: str
    examples: tuple[str, ...]


class Examples(NamedTuple):
    """
    How many *tasks* have a kind of damage, and the ids of the worst.
    """

    tasks: int
    ids: tuple[str, ...]


_NONE: Final = Examples(0, ())


def find(report: Report, *, quality: Quality, examples: Iterable[ExampleTasks], targets: Targets) -> list[Finding]:
    """
    The findings of *report*, those with the most damage first; ties by name.
    """
    shown = _examples(examples)
    found = [
        finding
        for name, tool in report["tools"].items()
        for finding in _of_tool(name, tool, _audit(quality, name), shown, targets)
    ]
    return sorted(found, key=lambda finding: (-finding.damage, finding.kind == "unheard", finding.tool, finding.kind))


def headline(findings: Sequence[Finding], report: Report) -> str:
    """
    The whole in one sentence: which tool hurts most, and why.
    """
    tools = report["tools"]
    if not findings:
        return f"No tool does damage: {counted(len(tools), 'tool')} in {counted(report['tasks']['total'], 'task')}."
    broken = sum(bool(tool["broken"]) for tool in tools.values())
    targets = f"{broken:,} of {counted(len(tools), 'tool')} miss a target" if broken else "No target is missed"
    worst = findings[0]
    return f"{targets}. {md(worst.tool)} hurts most: {worst.title}."


def _examples(rows: Iterable[ExampleTasks]) -> Mapping[tuple[str, str], Examples]:
    ids: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    tasks: dict[tuple[str, str], int] = {}
    for row in rows:
        ids[row.tool, row.kind].append(row.task_id)
        tasks[row.tool, row.kind] = row.tasks
    return {key: Examples(count, tuple(ids[key])) for key, count in tasks.items()}


def _audit(quality: Quality, name: str) -> list[AuditedCode]:
    tool = quality["tools"].get(name)
    return [] if tool is None else tool["class_audit"]


def _of_tool(
    name: str,
    tool: ToolReport,
    audit: Sequence[AuditedCode],
    shown: Mapping[tuple[str, str], Examples],
    targets: Targets,
) -> Iterator[Finding]:
    yield from _lost(name, tool, shown.get((name, "lost"), _NONE), targets)
    yield from _retried(name, tool, audit, shown.get((name, "retried"), _NONE), targets)
    yield from _late(name, tool, shown.get((name, "late"), _NONE), targets)
    yield from _unheard(name, tool, shown.get((name, "unheard"), _NONE), targets)


def _lost(name: str, tool: ToolReport, examples: Examples, targets: Targets) -> Iterator[Finding]:
    recovery = tool["validation_recovery"]
    lost = recovery["failures"] - recovery["recovered"]
    if not lost:
        return
    rate, target = recovery["rate"] or 0, targets.validation_recovery
    is_broken = "validation_recovery" in tool["broken"]
    share = percent_below(rate, target) if rate < target else percent(rate)
    field, code = _worst(tool["detail"]["recovery_by_field"]), _worst(tool["detail"]["recovery_by_code"])
    what = f"; `{_code(field[0])}` is the field" if field else ""
    after = f" after {md(code[0])}" if code else ""
    of_field = (
        f", {field[1]['failures'] - field[1]['recovered']:,} of them on the field `{_code(field[0])}`" if field else ""
    )
    change = advice.REPAIR.format(what=f"`{_code(field[0])}`") if field else advice.REPAIR_UNNAMED
    yield Finding(
        name,
        "lost",
        lost,
        is_broken,
        f"{share} of {counted(recovery['failures'], 'validation failure')} recover{what}",
        f"{counted(lost, 'validation failure')}{after} {_were(lost)} not repaired by the next call{of_field}.",
        f"{_tasks(examples)} with a call that stayed wrong.",
        change,
        f"Its recovery rises to {percent(target)} or more (now {share}).",
        examples.ids,
    )


def _retried(
    name: str, tool: ToolReport, audit: Sequence[AuditedCode], examples: Examples, targets: Targets
) -> Iterator[Finding]:
    retries, detail = tool["retries"], tool["detail"]
    in_vain = retries["wasted"] + retries["over_cap"] + retries["early"]
    if not in_vain:
        return
    causes: Counter[tuple[str, str]] = Counter()
    for row in detail["retried_in_vain"]:
        causes[row["class"], row["code"]] += row["early"] + row["over_cap"] + row["wasted"]
    (error_class, code), most = causes.most_common(1)[0] if causes else (("unclassified", ""), in_vain)
    never = _never_succeeds(audit, error_class, code)
    per_task = tool["retries_per_resolved_task"]
    named = f" after {md(code)} ({CLASS_NAMES[error_class]})" if code else ""
    share = "" if most == in_vain else f", {most:,} of them{named}"
    recurs = f"{counted(in_vain, 'retry')}{named if most == in_vain else share}: {_verdicts(tool)}."
    if never is not None:
        recurs += (
            f" Of {counted(never['identical_retries'], 'identical retry')} {never['succeeded']:,} succeeded, though it"
            " says transient."
        )
    goal = f"p95 of retries per resolved task is at most {targets.retries_p95}"
    now = f" (now {per_task['p95']})" if per_task["p95"] is not None else ""
    yield Finding(
        name,
        "retried",
        in_vain,
        bool({"retries_p95", "retries_per_step"} & set(tool["broken"])),
        f"{counted(in_vain, 'retry')} could not help{named}{_tail(tool, targets)}",
        recurs,
        f"{_tasks(examples)}; {duration(retries['wasted_ms'])} spent on retries that could not succeed.",
        advice.RULE_AS_TRANSIENT if never is not None else advice.AFTER_RETRIES[error_class],
        f"Retries in vain fall to 0, and {goal}{now}.",
        examples.ids,
    )


def _late(name: str, tool: ToolReport, examples: Examples, targets: Targets) -> Iterator[Finding]:
    escalations = tool["escalations"]
    late = escalations["escalated"] - escalations["without_prior_retry"]
    if not late:
        return
    rate, target = escalations["rate"] or 0, targets.clean_escalations
    share = percent_below(rate, target) if rate < target else percent(rate)
    yield Finding(
        name,
        "late",
        late,
        "clean_escalations" in tool["broken"],
        f"{share} of {counted(escalations['escalated'], 'escalation')} came without a retry before",
        f"In {counted(late, 'permission episode')} the agent called the tool again before it asked a human.",
        f"{_tasks(examples)} in which a human was asked late.",
        advice.ESCALATE_AT_ONCE,
        f"Escalations without a retry before rise to {percent(target)} or more (now {share}).",
        examples.ids,
    )


def _unheard(name: str, tool: ToolReport, examples: Examples, targets: Targets) -> Iterator[Finding]:
    escalations = tool["escalations"]
    unheard = escalations["episodes"] - escalations["escalated"]
    if unheard < _LEAST_UNHEARD:
        return
    yield Finding(
        name,
        "unheard",
        0,
        False,
        f"{unheard:,} of {counted(escalations['episodes'], 'permission failure')} never reached a human",
        f"{counted(unheard, 'permission episode')} ended without an escalation: nobody who could allow it was asked.",
        f"{_tasks(examples)} that stopped, or went on without what it needed. No damage is counted for it.",
        advice.ESCALATE_AT_ALL,
        f"Each permission failure is escalated; {percent(targets.clean_escalations)} of them without a retry before.",
        examples.ids,
    )


def _never_succeeds(audit: Iterable[AuditedCode], error_class: str, code: str) -> AuditedCode | None:
    """
    What the audit says of a transient code whose identical retries do not succeed.
    """
    if error_class != ErrorClass.TRANSIENT:
        return None
    return next((row for row in audit if row["suspect"] and (row["class"], row["code"]) == (error_class, code)), None)


def _worst(by: Mapping[str, Recovery]) -> tuple[str, Recovery] | None:
    """
    What loses most, where it has a name; the tables come so ordered.
    """
    return next(((name, row) for name, row in by.items() if name and row["failures"] > row["recovered"]), None)


def _verdicts(tool: ToolReport) -> str:
    retries = tool["retries"]
    parts = (
        (retries["wasted"], "could not succeed"),
        (retries["over_cap"], "came after the one retry that is allowed"),
        (retries["early"], "came before the time that the tool asked for"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def _tail(tool: ToolReport, targets: Targets) -> str:
    per_task, per_step = tool["retries_per_resolved_task"], tool["retries"]["per_step"]
    if "retries_p95" in tool["broken"]:
        return f"; p95 is {counted(per_task['p95'] or 0, 'retry')} per resolved task, target {targets.retries_p95}"
    if "retries_per_step" in tool["broken"]:
        return f"; {number(per_step or 0)} retries per step, target under {number(targets.retries_per_step)}"
    return ""


def _tasks(examples: Examples) -> str:
    return counted(examples.tasks, "task")


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _code(name: str) -> str:
    """
    *name* inside backticks, which it must not close.
    """
    return name.replace("`", "'")[:80]
