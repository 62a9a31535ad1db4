"""
What `quality` says in words: which codes, envelopes and links not to believe, and what to do about each.
"""

from collections.abc import Iterator, Mapping

from toolspan.cli._text import counted, duration, inert, percent
from toolspan.documents import AuditedCode, QualityTasks, ToolQuality, UnhandledFailure

#: A failure, its one retry, and one more: from here on nobody is trying anything new.
_LONG_STREAK = 3
#: Below this the evidence says enough, and the rest is not worth a line.
_UNCLASSIFIED_SHARE = 0.1


def quality_tasks_line(tasks: QualityTasks) -> str:
    """
    The settled tasks, and how many of the resolved ones end in a failure that nobody handled.
    """
    line = f"{counted(tasks['settled'], 'settled task')}, {tasks['resolved']:,} resolved"
    if not tasks["unhandled"]:
        return line
    share = percent(tasks["unhandled_share"] or 0)
    return f"{line}; {tasks['unhandled']:,} of these ({share}) end in an unhandled failure"


def finding_lines(tools: Mapping[str, ToolQuality]) -> list[str]:
    """
    One line for each thing that is wrong, suspect codes of all tools first, the same kinds together.
    """
    kinds = (_suspects, _two_classes, _clusters, _unclassified, _lint, _streaks, _budgets)
    return [f"{inert(name)}: {line}" for kind in kinds for name, tool in tools.items() for line in kind(tool)]


def unhandled_lines(failures: list[UnhandledFailure]) -> list[str]:
    """
    The tasks that say resolved though their last call failed, the latest first.
    """
    return [
        f"task {inert(failure['task_id'])}: last call {inert(failure['tool'])} failed,"
        f" {failure['class']} {inert(failure['code'])}, at {failure['ended_at'][:19]}Z"
        for failure in failures
    ]


def recording_lines(tools: Mapping[str, ToolQuality]) -> list[str]:
    """
    Where links had to be presumed: how many, and who knows the setting that records arguments.
    """
    presumed = sum(tool["presumed"]["presumed"] for tool in tools.values())
    links = sum(tool["presumed"]["links"] for tool in tools.values())
    if not presumed:
        return []
    say = f"{presumed:,} of {counted(links, 'link')} rest on unknown arguments;"
    return [f"{say} `toolspan doctor FILE` says how to record them (toolspan keeps a keyed hash, nothing else)."]


def _suspects(tool: ToolQuality) -> Iterator[str]:
    for row in tool["class_audit"]:
        if row["suspect"]:
            yield _suspect(row)


def _suspect(row: AuditedCode) -> str:
    low, high = row["interval"]
    counts = (
        f"{row['succeeded']:,} of {row['identical_retries']:,} identical retries"
        f" ({percent(low)} to {percent(high)}) succeeded"
    )
    advice = "it may need another class" if row["class"] == "transient" else "it may be transient"
    return f"{inert(row['code'])} is {row['class']}, yet {counts}: {advice}"


def _two_classes(tool: ToolQuality) -> Iterator[str]:
    for code, classes in tool["codes_with_two_classes"].items():
        seen = " and ".join(f"{name} ({count:,})" for name, count in classes.items())
        yield f"{inert(code)} was seen as {seen}: one code, one class"


def _clusters(tool: ToolQuality) -> Iterator[str]:
    cluster = tool["cluster"]
    if cluster is not None:
        yield (
            f"{percent(cluster['share'])} of {counted(tool['failures'], 'failure')} are {cluster['class']}:"
            " an envelope problem more than a prompt problem"
        )


def _unclassified(tool: ToolQuality) -> Iterator[str]:
    unclassified = tool["unclassified"]
    if (unclassified["share"] or 0) >= _UNCLASSIFIED_SHARE:
        evidence = ", ".join(f"{inert(text) or '(none)'} {count:,}" for text, count in unclassified["evidence"].items())
        yield (
            f"{percent(unclassified['share'] or 0)} of {counted(tool['failures'], 'failure')} unclassified;"
            f" most frequent evidence: {evidence}"
        )


def _lint(tool: ToolQuality) -> Iterator[str]:
    if tool["lint"]:
        yield f"envelope lint: {', '.join(f'{flag} {count:,}' for flag, count in tool['lint'].items())}"


def _streaks(tool: ToolQuality) -> Iterator[str]:
    streak = tool["streak"]
    if streak["longest"] >= _LONG_STREAK:
        code, task = inert(streak["code"] or ""), inert(streak["task_id"] or "")
        yield f"{streak['longest']:,} failures in a row with {code}, in task {task}"


def _budgets(tool: ToolQuality) -> Iterator[str]:
    local = tool["local_attempts"]
    if local["budget_exhausted"]:
        yield (
            f"{counted(local['budget_exhausted'], 'call')} used up the retry budget;"
            f" {duration(local['waited_ms'])} waited inside the tool"
        )
