"""
Linking, steps, verdicts, episodes and sums once more, word by word from their definitions and as slow as those read.

Made from rows: the calls of a group without their links, and its escalations.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from toolspan.records import Call, Episode, Escalation, Task, TaskTool

#: (trace id, span id).
Key: TypeAlias = tuple[bytes, bytes]


def key_of(row: Call | Escalation) -> Key:
    """
    What identifies the span of a *row*.
    """
    return row.trace_id, row.span_id


class Literal:
    """
    One task and tool.

    Args:
        calls: the calls of the task.
        escalations: those of the task.
        owners: the call that ended deferred, by the span for which an escalation stands.
    """

    def __init__(
        self, tool: str, calls: Sequence[Call], escalations: Sequence[Escalation], owners: Mapping[Key, Key]
    ) -> None:
        self.tool = tool
        self.of_task = calls
        self.calls = sorted((c for c in calls if c.tool == tool), key=lambda c: (c.started_ns, c.span_id, c.trace_id))
        self.escalations = sorted(escalations, key=lambda e: (e.at_ns, e.trace_id, e.span_id, e.source))
        self.owners = owners
        self.follows: dict[Key, tuple[Call, str, bool]] = {}
        self.link()

    def link(self) -> None:
        """
        "Walk through them keeping the open failures."
        """
        for step_id in {call.step_id for call in self.calls}:
            open_failures: list[Call] = []
            for g in (call for call in self.calls if call.step_id == step_id):
                if g.outcome not in ("ok", "error"):
                    continue
                candidates = [f for f in open_failures if f.ended_ns <= g.started_ns]
                found = (
                    [(f, "retry", False) for f in candidates if identical(f, g)]
                    + [(f, "rewrite", unknown(f, g)) for f in candidates if f.error_class == "validation"]
                    + [(f, "retry", True) for f in candidates if unknown(f, g)]
                )
                if found:
                    self.follows[key_of(g)] = found[0]
                    open_failures.remove(found[0][0])
                if g.outcome == "error":
                    open_failures.append(g)

    def step(self, call: Call) -> str:
        """
        "With an id the step is that. Without, each chain of linked calls is its own step."
        """
        if call.step_id:
            return call.step_id
        while key_of(call) in self.follows:
            call = self.follows[key_of(call)][0]
        return call.span_id.hex()

    def concerns(self, escalation: Escalation, call: Call) -> bool:
        """
        Whether an escalation of the tool or of none is not what the call itself did.
        """
        own = self.owners.get(key_of(escalation)) if escalation.source == "deferred" else None
        if escalation.source == "tool":
            own = key_of(escalation)
        return escalation.tool in ("", self.tool) and own != key_of(call)

    def verdict(self, g: Call) -> str | None:
        """
        "wasted; otherwise over_cap; else early; else allowed"
        """
        if key_of(g) not in self.follows or self.follows[key_of(g)][1] != "retry":
            return None
        f = self.follows[key_of(g)][0]
        asked = any(self.concerns(e, g) and f.ended_ns <= e.at_ns <= g.started_ns for e in self.escalations)
        if f.error_class in ("validation", "business_rule", "fatal") or (f.error_class == "permission" and not asked):
            return "wasted"
        earlier = [
            c
            for c in self.calls[: self.calls.index(g)]
            if key_of(c) in self.follows and self.follows[key_of(c)][1] == "retry" and self.step(c) == self.step(g)
        ]
        if earlier:
            return "over_cap"
        wait_ms = f.retry_after_ms
        if f.error_class == "transient" and wait_ms is not None and g.started_ns < f.ended_ns + wait_ms * 10**6:
            return "early"
        return "allowed"

    def next_action(self, f: Call) -> str | None:
        """
        "`retry`, `rewrite`, else `escalated`, else `other`: any later call; else `nothing`"
        """
        if f.outcome != "error":
            return None
        for failure, kind, _ in self.follows.values():
            if key_of(failure) == key_of(f):
                return kind
        if any(self.concerns(e, f) and e.at_ns >= f.ended_ns for e in self.escalations):
            return "escalated"
        if any(c.started_ns >= f.ended_ns for c in self.of_task if key_of(c) != key_of(f)):
            return "other"
        return "nothing"

    def linked(self, call: Call) -> Call:
        """
        The call with its links.
        """
        failure, kind, presumed = self.follows.get(key_of(call), (None, None, False))
        verdict = self.verdict(call)
        return call._replace(
            step=self.step(call),
            follows=None if failure is None else failure.span_id,
            follow_up=kind,
            presumed=presumed,
            verdict=verdict,
            wasted_ns=call.ended_ns - failure.ended_ns if failure is not None and verdict == "wasted" else 0,
            next_action=self.next_action(call),
        )

    def episodes(self) -> list[Episode]:
        """
        "opens at a tool's first permission failure and closes at the first escalation at or after its end"
        """
        episodes: list[Episode] = []
        for f in self.calls:
            if f.error_class != "permission":
                continue
            if episodes and (episodes[-1].closed_ns is None or f.started_ns < episodes[-1].closed_ns):
                continue
            heard = [e for e in self.escalations if e.tool in ("", self.tool) and e.at_ns >= f.ended_ns]
            between = [c for c in self.calls if c.started_ns >= f.ended_ns and key_of(c) != key_of(f)]
            if heard:
                between = [c for c in between if c.started_ns < heard[0].at_ns and self.concerns(heard[0], c)]
            closed_ns = heard[0].at_ns if heard else None
            episodes.append(Episode(f.task_id, self.tool, f.span_id, f.ended_ns, closed_ns, len(between)))
        return episodes

    def streak(self) -> tuple[int, str | None]:
        """
        "the longest run of consecutive failures of one tool with one code"
        """
        told = [c for c in self.calls if c.outcome in ("ok", "error")]
        best: tuple[int, str | None] = (0, None)
        for first in range(len(told)):
            for last in range(first, len(told)):
                run = told[first : last + 1]
                if len(run) > best[0] and all(c.outcome == "error" and c.code == run[0].code for c in run):
                    best = len(run), run[0].code
        return best

    def sums(self) -> TaskTool:
        """
        What is summed, from the linked calls.
        """
        linked = [self.linked(call) for call in self.calls]
        verdicts = [call.verdict for call in linked]
        rewrites = [call for call in linked if call.follow_up == "rewrite"]
        told = [episode for episode in self.episodes() if episode.closed_ns is not None]
        streak, streak_code = self.streak()
        return TaskTool(
            task_id=self.calls[0].task_id,
            tool=self.tool,
            calls=len(linked),
            retries=len([call for call in linked if call.follow_up == "retry"]),
            presumed=len([call for call in linked if call.follow_up == "retry" and call.presumed]),
            allowed=verdicts.count("allowed"),
            early=verdicts.count("early"),
            over_cap=verdicts.count("over_cap"),
            wasted=verdicts.count("wasted"),
            wasted_ns=sum(call.wasted_ns for call in linked),
            steps=len({call.step for call in linked}),
            validation_failures=len([call for call in linked if call.error_class == "validation"]),
            recovered=len([call for call in rewrites if call.outcome == "ok"]),
            accepted=len([call for call in rewrites if call.error_class != "validation"]),
            episodes=len(self.episodes()),
            escalated=len(told),
            clean=len([episode for episode in told if episode.retries == 0]),
            streak=streak,
            streak_code=streak_code,
        )


def identical(f: Call, g: Call) -> bool:
    """
    "identical known arguments"
    """
    return f.args_hash is not None and f.args_hash == g.args_hash


def unknown(f: Call, g: Call) -> bool:
    """
    "where either's arguments are unknown"; hashes of different keys are unknown to each other.
    """
    return f.args_hash is None or g.args_hash is None or f.args_hash[:4] != g.args_hash[:4]


def is_unhandled(task: Task, calls: Sequence[Call], escalations: Sequence[Escalation]) -> bool:
    """
    "its last call (of all, by end) failed with a class other than business_rule and no escalation came after"
    """
    if task.outcome != "resolved" or not calls:
        return False
    last = max(calls, key=lambda c: (c.ended_ns, c.started_ns, c.span_id, c.trace_id))
    failed = last.outcome == "error" and last.error_class != "business_rule"
    return failed and not any(e.at_ns >= last.ended_ns for e in escalations)
