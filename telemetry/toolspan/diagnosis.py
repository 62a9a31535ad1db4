"""
What is wrong with some spans, for someone who sees no numbers or does not believe them.

A survey of the spans and the rows made of them go in, findings come out, the one that hides most first: what was
seen, why it matters, what to change (`remedies.py`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from toolspan.records import Rows
from toolspan.remedies import RECORD, RECORD_AGENTS, TELL_WHY, TRACE_FRAMEWORK, TRACE_TOOLS, TRACE_YOURSELF, advice
from toolspan.survey import Kind, Shape, Survey
from toolspan.taxonomy import ErrorClass

#: Of names in one sentence.
_MOST_NAMED: Final = 4
#: Less than one in ten of a tool's calls, or one in five of all failures, changes nobody's mind about a tool.
UNKNOWN_SHARE: Final = 0.1
UNCLASSIFIED_SHARE: Final = 0.2


class Severity(StrEnum):
    """
    What a finding does to the numbers: there are none, they are weaker than they seem, or nothing.
    """

    BLOCKS = "blocks"
    WEAKENS = "weakens"
    NOTE = "note"


class Finding(NamedTuple):
    """
    Something to know about the spans; *key* is its name for programs, each of *change* one remedy.
    """

    key: str
    severity: Severity
    title: str
    seen: str
    why: str
    change: tuple[str, ...]


class Examined(NamedTuple):
    """
    What a diagnosis rests on, all of the same spans.
    """

    survey: Survey
    shape: Shape
    rows: Rows

    @property
    def note(self) -> Severity:
        """
        The severity of what may be why there are no calls, and is but a note where there are some.
        """
        return Severity.NOTE if self.rows.calls else Severity.BLOCKS


class Diagnosis(NamedTuple):
    """
    The answer in one line, and the findings behind it.
    """

    verdict: str
    findings: list[Finding]


def diagnose(examined: Examined, *, also: Iterable[Finding] = ()) -> Diagnosis:
    """
    What stands in the way of any numbers, then what weakens them, then what else there is to know.

    Args:
        also: what else was found, of how the spans were read and which were asked for.
    """
    found = [*also, *(finding for find in _FINDERS for finding in find(examined))]
    ordered = [finding for severity in Severity for finding in found if finding.severity == severity]
    return Diagnosis(_verdict(examined.rows, ordered), ordered)


def _verdict(rows: Rows, ordered: list[Finding]) -> str:
    weak = sum(finding.severity == Severity.WEAKENS for finding in ordered)
    if not rows.calls or any(finding.severity == Severity.BLOCKS for finding in ordered):
        none = f"None of the {_count(len(rows.calls), 'call')} is shown" if rows.calls else "No tool calls found"
        return ". ".join([none, *(f"{finding.title}." for finding in ordered[:1])])
    tools = len({call.tool for call in rows.calls})
    found = f"{_count(len(rows.calls), 'call')} of {_count(tools, 'tool')} in {_count(len(rows.tasks), 'task')}"
    words = {0: "nothing weakens", 1: "one thing weakens"}.get(weak, f"{weak} things weaken")
    return f"{found}; {words} the numbers."


def _not_recognised(examined: Examined) -> Iterator[Finding]:
    near_misses = examined.survey.near_misses
    if near_misses:
        yield Finding(
            "near_misses",
            examined.note,
            "Spans look like tool calls, but do not say so",
            _listed(
                f'{_count(tally.spans, "span")} like "{tally.example}" of {near.scope}: {near.carries},'
                f" without {near.lacks}"
                for near, tally in near_misses.items()
            ),
            "A span is a tool call by its attributes, never by its name: names change with every version.",
            ("Set gen_ai.operation.name=execute_tool and gen_ai.tool.name on them.", TRACE_YOURSELF),
        )
    left_out = [(entry.scope, tally) for entry, tally in examined.survey.census.items() if entry.kind == Kind.LEFT_OUT]
    if left_out:
        yield Finding(
            "left_out",
            examined.note,
            "Spans that only look like calls are left out",
            _listed(f'{_count(tally.spans, "span")} like "{tally.example}" of {name}' for name, tally in left_out),
            "A handoff passes the conversation on, and a framework's own summary repeats other spans: no tool ran.",
            ("Nothing, unless a tool of yours has such a name: then give it another.",),
        )


def _not_traced(examined: Examined) -> Iterator[Finding]:
    survey = examined.survey
    if examined.rows.calls or not survey.spans:
        return
    scopes: dict[str, Counter[str]] = {}
    everything = Counter[str]()
    for entry, tally in survey.census.items():
        everything[entry.kind] += tally.spans
        if entry.convention:
            scopes.setdefault(entry.scope, Counter())[entry.kind] += tally.spans
    asked = f" Models asked for tools in {_count(survey.asked, 'answer')}, so tools did run." if survey.asked else ""
    for scope, kinds in sorted(scopes.items(), key=lambda item: -item[1].total())[:_MOST_NAMED]:
        yield Finding(
            "no_tool_spans",
            Severity.BLOCKS,
            f"{scope} traces no tools",
            f"Its spans: {_kinds(kinds)}.{asked}",
            "A call counts where a span of its own says which tool it was and how it ended; no other says both.",
            (advice(TRACE_TOOLS, scope), TRACE_YOURSELF),
        )
    if not scopes and not survey.near_misses:
        yield Finding(
            "no_framework",
            Severity.BLOCKS,
            "No agent framework is traced",
            f"All spans: {_kinds(everything)}. None follows a convention for agents, models or tools.",
            "HTTP, database and other general instrumentation knows nothing of tools.",
            (TRACE_FRAMEWORK, "Switch it on before the agent is made: many frameworks look only then.", TRACE_YOURSELF),
        )


def _services(examined: Examined) -> Iterator[Finding]:
    calls = Counter[str]()
    for task in examined.rows.tasks:
        calls[task.service] += task.calls
    silent = sorted(service for service, count in calls.items() if not count)
    if silent and examined.rows.calls:
        yield Finding(
            "service_without_calls",
            Severity.NOTE,
            "No tool is called in some services",
            f"Agents ran, and called no tool, in {_listed(service or '(no service.name)' for service in silent)}.",
            "Either they have no tools, or what traces them there leaves tools out.",
            (TRACE_FRAMEWORK,),
        )


def _roots(examined: Examined) -> Iterator[Finding]:
    shape, tasks = examined.shape, examined.rows.tasks
    if shape.top_tools:
        yield Finding(
            "top_of_trace",
            Severity.WEAKENS,
            "Tool spans have nothing above them",
            f"{_count(shape.top_tools, 'tool span')} at the top of their trace, without toolspan.task.id.",
            "Each such trace is a task whose outcome nobody knows, and a repeat in another trace is no retry.",
            (
                "Trace the agent run around the calls, or set toolspan.task.id on the spans of one task.",
                "From one process to another, pass traceparent on; for MCP, openinference-instrumentation-mcp does.",
            ),
        )
    elif not shape.runs and any(task.task_id == task.trace_id.hex() for task in tasks):
        agents = {entry.scope for entry in examined.survey.census if entry.convention}
        foreign = [tally for scope, tally in examined.survey.foreign_roots.items() if scope not in agents]
        yield Finding(
            "no_agent_run",
            Severity.WEAKENS if foreign else Severity.NOTE,
            "No span is an agent run",
            f"Each trace counts as one task. Topmost spans that no agent wrote: {sum(it.spans for it in foreign):,}.",
            "A task then ends as the span at the top does: an HTTP request may succeed where the agent failed.",
            ("Trace the agent run, or set toolspan.task.outcome on the span at the top.",),
        )
    if shape.broken:
        unseen = sum(task.outcome_source == "unseen" for task in tasks)
        yield Finding(
            "missing_parents",
            Severity.WEAKENS if unseen else Severity.NOTE,
            "Spans above others never came",
            f"Traces: {shape.broken:,} of {shape.traces:,}. Spans without their parent: {shape.orphans:,}."
            f" Tasks without their span: {unseen:,}.",
            "A task whose span is missing has no outcome, and nothing it did counts in numbers of resolved tasks.",
            (
                "Give the files of the whole time and of all services: a task's span is exported last.",
                "Sample whole traces, not spans: ParentBased in each process, or tail sampling in the Collector.",
                "Raise OTEL_BSP_MAX_QUEUE_SIZE: a full queue drops spans.",
            ),
        )


def _arguments(examined: Examined) -> Iterator[Finding]:
    uses, calls = examined.survey.tools, Counter(call.tool for call in examined.rows.calls)
    unknown = Counter(call.tool for call in examined.rows.calls if call.args_hash is None)
    absent = {tool for (tool, _), use in uses.items() if use.unrecorded or use.withheld}
    weak = [tool for tool in calls if tool in absent and unknown[tool] >= UNKNOWN_SHARE * calls[tool]]
    off = [scope for (tool, scope), use in uses.items() if tool in weak and use.unrecorded + use.withheld == use.spans]
    links = [call.presumed for call in examined.rows.calls if call.follow_up is not None]
    if weak:
        yield Finding(
            "arguments",
            Severity.WEAKENS if any(links) else Severity.NOTE,
            f"Arguments are {'never' if all(unknown[tool] == calls[tool] for tool in weak) else 'not always'} recorded",
            f"Unknown: {_listed(f'{tool} ({unknown[tool]:,} of {calls[tool]:,} calls)' for tool in weak)}."
            f" Links between calls that are therefore presumed: {sum(links):,} of {len(links):,}.",
            "A retry is told from a new plan by its arguments, of which toolspan keeps a keyed hash and nothing else.",
            _settings(off) or ("Other calls have them: look for a service without the setting.", TRACE_YOURSELF),
        )


def _results(examined: Examined) -> Iterator[Finding]:
    uses = examined.survey.tools
    mute = {tool for tool, _ in uses} - {tool for (tool, _), use in uses.items() if use.results}
    blind = sorted(mute & {call.tool for call in examined.rows.calls if call.outcome == "ok"})
    if blind:
        yield Finding(
            "results",
            Severity.WEAKENS,
            "Results are never recorded",
            f"No call that ended ok has one: {_listed(blind)}.",
            "A tool that returns its error (an envelope with ok: false) and raises nothing passes for a success.",
            _settings(scope for tool, scope in uses if tool in blind),
        )


def _error_like(examined: Examined) -> Iterator[Finding]:
    answered, like = Counter[str](), Counter[str]()
    for (tool, _), use in examined.survey.tools.items():
        answered[tool] += use.answered
        like[tool] += use.error_like
    found = [tool for tool, count in like.most_common() if count]
    if found:
        yield Finding(
            "error_like",
            Severity.WEAKENS,
            "Results look like errors but count as successes",
            "They begin with an error:"
            f" {_listed(f'{tool} ({like[tool]:,} of {answered[tool]:,} ok)' for tool in found)}.",
            "Whether a text is an error is never guessed: a tool may well return one that somebody asked for.",
            (
                "Let the tool return an envelope with ok: false, or raise.",
                f'Or add a rule: [[rule]], tool = "{found[0]}", result = "^Error", and its class.',
            ),
        )


def _unclassified(examined: Examined) -> Iterator[Finding]:
    failures = [call for call in examined.rows.calls if call.outcome == "error"]
    evidence = Counter(call.evidence for call in failures if call.error_class == ErrorClass.UNCLASSIFIED)
    if not evidence or evidence.total() < UNCLASSIFIED_SHARE * len(failures):
        return
    uses = examined.survey.tools.values()
    silent = f" {_count(sum(use.silent for use in uses), 'failed span')} without any message."
    redacted = f" {_count(sum(use.redacted for use in uses), 'failed span')} with a message that was taken out."
    mute = dict.fromkeys(scope for (_, scope), use in examined.survey.tools.items() if use.silent or use.redacted)
    yield Finding(
        "unclassified",
        Severity.WEAKENS,
        "Failures name no class",
        f"{evidence.total():,} of {_count(len(failures), 'failure')}; most frequent evidence:"
        f" {_listed(f'{text} ({count:,})' for text, count in evidence.most_common())}."
        f"{silent if any(use.silent for use in uses) else ''}{redacted if any(use.redacted for use in uses) else ''}",
        "Without a class nobody knows whether a retry, a rewrite or a human would have helped.",
        (
            *dict.fromkeys(advice((*TELL_WHY, *RECORD), scope) for scope in mute),
            "Return toolspan's envelope, raise exceptions that say what failed, or add a [[rule]] for such evidence.",
        ),
    )


def _transport(examined: Examined) -> Iterator[Finding]:
    survey, shape = examined.survey, examined.shape
    if survey.sampling:
        yield Finding(
            "sampling",
            Severity.WEAKENS,
            "Traces were sampled",
            f"{_listed(f'{sign} ({count:,})' for sign, count in survey.sampling.most_common())}.",
            "Counts are of a part; rates are wrong where failures are preferred or spans are chosen one by one.",
            ("Exempt the agent's service from sampling, or keep a fixed share of whole traces.",),
        )
    if survey.dropped:
        yield Finding(
            "dropped_attributes",
            Severity.WEAKENS,
            "Spans lost attributes",
            f"{_count(survey.dropped, 'span')} with a dropped_attributes_count.",
            "At the limit, 128 by default, the oldest go first: the tool's name, the arguments.",
            ("Raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT.",),
        )
    if shape.early or survey.backwards:
        yield Finding(
            "clock",
            Severity.WEAKENS,
            "Clocks disagree",
            f"Spans that start before their parent: {shape.early:,}, by up to {shape.early_ns / 10**6:,.0f} ms; after"
            f" its end: {shape.late:,}; that end before they start: {survey.backwards:,}.",
            "Time decides what is a retry of what, and which MCP server answers which client.",
            ("Let NTP keep the clocks of all machines.",),
        )


_FINDERS: Final[tuple[Callable[[Examined], Iterator[Finding]], ...]] = (
    _not_recognised,
    _not_traced,
    _roots,
    _arguments,
    _results,
    _error_like,
    _unclassified,
    _transport,
    _services,
)


def _settings(scopes: Iterable[str]) -> tuple[str, ...]:
    found = list(scopes)
    agents = [RECORD_AGENTS] if any("openai_agents" in scope for scope in found) else []
    return tuple(dict.fromkeys([*(advice(RECORD, scope) for scope in found), *agents]))


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"


def _kinds(kinds: Counter[str]) -> str:
    return _listed(
        _count(count, kind) if kind.endswith(("call", "run")) else f"{count:,} {kind}"
        for kind, count in kinds.most_common()
    )


def _listed(items: Iterable[str]) -> str:
    texts = list(items)
    more = [f"and {len(texts) - _MOST_NAMED:,} more"] if len(texts) > _MOST_NAMED else []
    separator = "; " if any(", " in text for text in texts) else ", "
    return separator.join([*texts[:_MOST_NAMED], *more])
