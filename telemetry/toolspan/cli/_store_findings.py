"""
What a store says of why it shows less than was expected.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolspan.cli._text import counted, inert
from toolspan.diagnosis import UNCLASSIFIED_SHARE, UNKNOWN_SHARE, Diagnosis, Finding, Severity
from toolspan.survey import Shape
from toolspan.windows import format_time

if TYPE_CHECKING:
    from toolspan.remote import Collector
    from toolspan.store.facts import StoreFacts

_DAY_NS: Final = 86_400 * 10**9
#: Of names in one sentence.
_MOST_NAMED: Final = 4
_ASK_FILE: Final = "Ask toolspan doctor FILE, with a file that was ingested: it names the setting for each framework."


class Looked(NamedTuple):
    """
    What was found in the store *path*, a file or a collector: its *facts*, how many tasks are *waiting* to be settled,
    and the *shape* of the *spans* that came last.
    """

    path: "Path | Collector"
    facts: "StoreFacts"
    waiting: int
    shape: Shape
    spans: int


class Sums(NamedTuple):
    """
    Over all tools.
    """

    calls: int
    unknown_arguments: int
    failures: int
    unclassified: int


def sums_of(facts: "StoreFacts") -> Sums:
    """
    The calls of all tools, and how many of them say little.
    """
    return (
        Sums(*(sum(counts) for counts in zip(*facts.tools.values(), strict=True))) if facts.tools else Sums(0, 0, 0, 0)
    )


def findings_of(looked: Looked, *, told: Iterable[str], now_ns: int) -> Iterator[Finding]:
    """
    What is wrong with what was *looked* at; *told* are the losses that showed when the store was opened.
    """
    for line in told:
        yield _loss(line)
    yield from _came(looked, now_ns=now_ns)
    yield from _weak(looked.facts)
    yield from _open(looked)


def no_store(path: Path) -> Diagnosis:
    """
    What to say where there is no file at *path*.
    """
    others = sorted(inert(other.name) for other in path.absolute().parent.glob("*.duckdb"))[:_MOST_NAMED]
    there = f"In its folder there are: {', '.join(others)}." if others else "Its folder holds no other .duckdb file."
    finding = Finding(
        "no_store",
        Severity.BLOCKS,
        f"There is no store {path}",
        f"No file {path.absolute()}. {there}",
        "Nothing was ingested yet, or into another file: a relative path is meant from where a command runs.",
        (
            f"toolspan ingest FILE --store {path} makes it.",
            "Or give the store there is, by --store or for all commands by TOOLSPAN_STORE.",
        ),
    )
    return Diagnosis(f"No tool calls found. {finding.title}.", [finding])


def _loss(line: str) -> Finding:
    return Finding(
        "lost",
        Severity.WEAKENS,
        "The file has lost what was committed",
        line,
        "Numbers are too small. A failing disk does this, and a program other than toolspan that writes to the file.",
        ("Ingest again what was lost; what is there already counts once.",),
    )


def _came(looked: Looked, *, now_ns: int) -> Iterator[Finding]:
    """
    What of the spans that came is not in the numbers.
    """
    facts, intake = looked.facts, looked.facts.intake
    received, rejected, late = (intake.get(reason, 0) for reason in ("received", "rejected", "late"))
    if not received:
        yield Finding(
            "empty",
            Severity.BLOCKS,
            "No span ever came" if not rejected else "No span could be kept",
            f"The store was made, and {counted(rejected, 'span')} rejected." if rejected else "The store was made.",
            "What was ingested held none, or ingest was stopped before it committed any.",
            (_ASK_FILE, f"toolspan ingest FILE --store {looked.path} adds the spans of a file."),
        )
    elif not facts.tools and facts.spans < _kept_of(intake):
        left = f"{counted(facts.tasks, 'task')} and {counted(facts.spans, 'span')} are left"
        yield Finding(
            "pruned",
            Severity.BLOCKS,
            "No tool call is left of what came",
            f"{counted(received, 'span')} came; {left}.",
            "toolspan prune deleted the tasks that had calls, or there were none: spans are not kept for ever, so it"
            " cannot be told any more.",
            (
                f"toolspan ingest FILE --store {looked.path} brings back what FILE holds.",
                "toolspan doctor FILE says whether it holds tool calls.",
            ),
        )
    elif not facts.tools:
        yield Finding(
            "no_calls",
            Severity.BLOCKS,
            "Spans came, and none is a tool call",
            f"{counted(received, 'span')} came, {counted(facts.tasks, 'task')} without calls.",
            "A call counts where a span of its own says which tool it was and how it ended.",
            ("Ask toolspan doctor FILE, with a file that was ingested: it says which spans there are instead.",),
        )
    if rejected and received:
        yield Finding(
            "rejected",
            Severity.WEAKENS,
            "Spans were rejected",
            f"{counted(rejected, 'span')} without usable ids or times, beside {received:,} that were kept.",
            "What is not kept counts nowhere.",
            ("Ingest says what was wrong with them; toolspan doctor FILE says it again.",),
        )
    if late:
        yield Finding(
            "late",
            Severity.WEAKENS,
            "Spans came too late",
            f"{counted(late, 'span')} of tasks that were closed.",
            "They are in no number: a task is closed a day after its last span, unless [settle] late says otherwise.",
            ("Ingest files sooner, in any order; raise [settle] late in the configuration.",),
        )
    overflow = intake.get("overflow", 0)
    if overflow:
        yield Finding(
            "overflow",
            Severity.WEAKENS,
            "Tasks had too many spans",
            f"{counted(overflow, 'span')} of tasks that had as many as [collector] task_spans allows.",
            "They are in no number: most likely one task id, or one trace, stands for more than one task.",
            ("Give each unit of work a task id of its own: toolspan calls --task ID shows what one holds.",),
        )
    yield from _repeats(intake)
    silent_ns = now_ns - facts.last_arrival_ns
    if received and silent_ns > _DAY_NS:
        yield Finding(
            "silent",
            Severity.NOTE,
            "Nothing has come for a while",
            f"The last span came {last_arrival(facts)}, {silent_ns // _DAY_NS:,} days ago.",
            "A window such as --since 24h is empty.",
            (f"Look whether what runs toolspan ingest --store {looked.path} still runs, and there.",),
        )


def last_arrival(facts: "StoreFacts") -> str:
    """
    When the last span came, as exactly as is known; empty where none did.
    """
    if not facts.last_arrival_ns:
        return ""
    moment = format_time(facts.last_arrival_ns)
    return f"at {moment[:19]}Z" if facts.is_last_arrival_exact else f"in the hour of {moment[:16]}Z"


def _kept_of(intake: Mapping[str, int]) -> int:
    """
    How many spans were kept of those that came, whether they are there still or not.
    """
    return intake.get("received", 0) - sum(
        intake.get(reason, 0) for reason in ("duplicate", "conflict", "late", "overflow")
    )


def _repeats(intake: Mapping[str, int]) -> Iterator[Finding]:
    duplicates, conflicts = intake.get("duplicate", 0), intake.get("conflict", 0)
    if conflicts:
        yield Finding(
            "repeats",
            Severity.WEAKENS,
            "Spans came again with other content",
            f"{duplicates:,} came again the same, {conflicts:,} with other content.",
            "The first of each counts: a repeat changes nothing, other content under the same ids is lost.",
            ("Look for processes that share a random seed after a fork.",),
        )


def _weak(facts: "StoreFacts") -> Iterator[Finding]:
    """
    What the rows themselves lack.
    """
    tools = facts.tools
    weak = [name for name, tool in tools.items() if tool.unknown_arguments >= UNKNOWN_SHARE * tool.calls]
    if weak:
        unknown = _listed(f"{name} ({tools[name].unknown_arguments:,} of {tools[name].calls:,} calls)" for name in weak)
        all_of_them = all(tools[name].unknown_arguments == tools[name].calls for name in weak)
        yield Finding(
            "arguments",
            Severity.WEAKENS if facts.presumed else Severity.NOTE,
            f"Arguments are {'never' if all_of_them else 'not always'} recorded",
            f"Unknown: {unknown}. Links between calls that are therefore presumed: {facts.presumed:,} of"
            f" {facts.links:,}.",
            "A retry is told from a new plan by its arguments, of which toolspan keeps a keyed hash and nothing else.",
            (_ASK_FILE,),
        )
    _, _, failures, unclassified = sums_of(facts)
    if unclassified and unclassified >= UNCLASSIFIED_SHARE * failures:
        frequent = _listed(f"{text or '(none)'} ({count:,})" for text, count in facts.evidence.items())
        yield Finding(
            "unclassified",
            Severity.WEAKENS,
            "Failures name no class",
            f"{unclassified:,} of {counted(failures, 'failure')}; most frequent evidence: {frequent}.",
            "Without a class nobody knows whether a retry, a rewrite or a human would have helped.",
            (
                "Return toolspan's envelope, raise exceptions that say what failed, or add a [[rule]] for such a text.",
                _ASK_FILE,
            ),
        )
    if facts.unseen_tasks:
        yield Finding(
            "unseen",
            Severity.WEAKENS,
            "Tasks have no span of their own",
            f"{facts.unseen_tasks:,} of {counted(facts.tasks, 'task')}.",
            "Nobody knows how such a task ended, and nothing it did counts in numbers of resolved tasks.",
            (
                "Ingest the files of the whole time and of all services: a task's span is exported last.",
                "Trace the agent run around the calls, or set toolspan.task.id on the spans of one task.",
            ),
        )


def _open(looked: Looked) -> Iterator[Finding]:
    """
    What is not settled.
    """
    open_tasks = looked.facts.open_tasks
    if looked.waiting:
        yield Finding(
            "waiting",
            Severity.WEAKENS,
            "Tasks wait to be settled",
            f"{looked.waiting:,} of {counted(open_tasks, 'open task')} are over, and nobody wrote to the store since.",
            "An open task counts its calls, and in none of the three numbers.",
            (f"toolspan ingest FILE --store {looked.path} settles them, whatever FILE holds.",),
        )
    elif open_tasks:
        yield Finding(
            "open",
            Severity.NOTE,
            "Tasks are open",
            f"{open_tasks:,} of {counted(looked.facts.tasks, 'task')}.",
            "An open task counts its calls, and in none of the three numbers until it settles.",
            ("Wait: more of their spans may come.",),
        )


def _listed(items: Iterable[str]) -> str:
    texts = [inert(item) for item in items]
    more = [f"and {len(texts) - _MOST_NAMED:,} more"] if len(texts) > _MOST_NAMED else []
    return ", ".join([*texts[:_MOST_NAMED], *more])
