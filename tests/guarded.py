"""
Agents under a guard, played through on a clock of their own, and the facts of the spans that they would leave.
"""

from typing import Final, NamedTuple

from tests.span_facts import escalation, run, tool
from toolspan.agents.guard import Admission, Guard, Policy
from toolspan.agents.guarded_steps import Cause
from toolspan.agents.refusals import Refusal
from toolspan.derive import derive
from toolspan.records import Judgement, Marks, Rows, SpanFacts

DOWN: Final = Cause("transient", "UNAVAILABLE")
BUSY: Final = Cause("transient", "RATE_LIMITED", retry_after_ms=20)
INVALID: Final = Cause("validation", "BAD_DATE", field="date")
DENIED: Final = Cause("permission", "NEEDS_APPROVAL")
TAKEN: Final = Cause("business_rule", "SLOT_TAKEN")
BROKEN: Final = Cause("fatal", "TOOL_BUG")
UNNAMED: Final = Cause("fatal", "UNCLASSIFIED")
CAUSES: Final = (DOWN, BUSY, INVALID, DENIED, TAKEN, BROKEN, UNNAMED)
#: Longer than any play.
_END_MS: Final = 1_000_000


class Played(NamedTuple):
    """
    A call whose tool ran: from when to when, and how it ended (None: well, or it was cancelled).
    """

    name: str
    tool: str
    args: str | None
    step: str
    started_ms: int
    ended_ms: int
    cause: Cause | None
    is_cancelled: bool
    admission: Admission


class Play:
    """
    What an agent does under a guard; a millisecond passes with everything it does.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self.guard = Guard(policy or Policy())
        self.now_ms = 0
        self.played: list[Played] = []
        self.refused: list[str] = []
        self.escalations: list[tuple[int, str]] = []
        self._running: dict[str, tuple[Admission, int]] = {}
        self._facts: list[SpanFacts] = []
        self._calls = 0

    def begin(self, args: str | None = "A", *, tool: str = "s", step: str = "") -> str | Refusal:
        """
        Ask for a call: its name, or why it was refused.
        """
        started_ms = self._pass()
        self._calls += 1
        name = f"{self._calls:06d}"
        answer = self.guard.admit(tool, args, step=step, span_id=name, now_s=started_ms / 1000)
        if isinstance(answer, Refusal):
            self.refused.append(answer.code)
            self._keep(name, tool, args, step, started_ms, Judgement("cancelled"))
            return answer
        self._running[name] = answer, started_ms
        return name

    def end(self, name: str, cause: Cause | None = None, *, is_cancelled: bool = False) -> None:
        """
        The call of that name ends: well, for a cause, or cancelled.
        """
        admission, started_ms = self._running.pop(name)
        ended_ms = self._pass()
        if is_cancelled:
            self.guard.release(admission)
            judgement = Judgement("cancelled")
        else:
            self.guard.record(admission, cause, now_s=ended_ms / 1000)
            judgement = Judgement() if cause is None else _judged(cause)
        tool, args, step = admission.tool, admission.args_hash, admission.step
        self._keep(name, tool, args, step, started_ms, judgement)
        self.played.append(Played(name, tool, args, step, started_ms, ended_ms, cause, is_cancelled, admission))

    def call(self, args: str | None = "A", cause: Cause | None = None, *, tool: str = "s", step: str = "") -> str:
        """
        A call from its beginning to its end: `ran`, or the code of the refusal.
        """
        name = self.begin(args, tool=tool, step=step)
        if isinstance(name, Refusal):
            return name.code
        self.end(name, cause)
        return "ran"

    def escalate(self, tool: str = "") -> None:
        """
        A human is asked.
        """
        at_ms = self._pass()
        self.guard.escalate(tool)
        self.escalations.append((at_ms, tool))
        self._facts.append(escalation(f"e{at_ms}", at=at_ms, tool=tool))

    def wait(self, ms: int) -> None:
        """
        Time passes.
        """
        self.now_ms += ms

    @property
    def running(self) -> list[str]:
        """
        The names of the calls under way.
        """
        return list(self._running)

    def rows(self) -> Rows:
        """
        What is derived of the play once all is over.
        """
        for name in self.running:
            self.end(name)
        return derive([run(at=(0, _END_MS)), *self._facts])

    def _pass(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def _keep(self, name: str, called: str, args: str | None, step: str, started_ms: int, judgement: Judgement) -> None:
        # hashes begin with the id of their key
        args = None if args is None else f"k1k1{args}"
        at = (started_ms, self.now_ms)
        self._facts.append(tool(name, "run", at, judgement, tool=called, args=args, marks=Marks(step_id=step)))


def _judged(cause: Cause) -> Judgement:
    is_unnamed = cause.code == "UNCLASSIFIED"
    return Judgement(
        "error",
        None if is_unnamed else cause.error_class,
        cause.code,
        "tag",
        field=cause.field,
        retry_after_ms=cause.retry_after_ms,
    )
