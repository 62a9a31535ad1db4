"""
Runs a tool under faults and keeps what came of it.

At the tool's boundary its own function is not run: a fault stands in its place, and after the last one a plain answer.
Below its HTTP client it is run, with the ways out of the process sealed, and only where that changes nothing: of a tool
that reads. Who asks for it has both run all.
"""

import asyncio
import inspect
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple, cast

from toolspan.audit.arguments import example_arguments
from toolspan.audit.sealing import sealed
from toolspan.audit.subjects import Kind, Subject
from toolspan.envelopes.envelope import Failure, Success, parse_envelope
from toolspan.errors import EnvelopeError, InputError
from toolspan.faults import Fault, HttpFault, always, answering, http_refusal, inject
from toolspan.tools.calls import Timing, Tool, document_of

#: What the tool's function is said to return where no fault is left.
ANSWER: Final = answering({"value": 1}, name="answer", is_failure=False)
#: What no parameter of another type takes, and no parser of a date, a code or a path reads.
_WRONG: Final = "\N{REPLACEMENT CHARACTER}not this"


class Run(NamedTuple):
    """
    What came of one call: its *answer*, or the *error* that left it; how many *attempts* there were at the tool's
    boundary, how many *requests* below it, and how long it waited.
    """

    fault: str
    answer: object = None
    error: BaseException | None = None
    attempts: int = 0
    requests: int = 0
    waited_s: float = 0.0

    @property
    def envelope(self) -> Success | Failure | None:
        """
        The answer, where it is a valid envelope.
        """
        try:
            return None if self.error is not None else parse_envelope(self.answer)
        except EnvelopeError:
            return None

    @property
    def failure(self) -> Failure | None:
        """
        The answer, where it is a failure.
        """
        envelope = self.envelope
        return envelope if isinstance(envelope, Failure) else None

    @property
    def told(self) -> str:
        """
        What the call ended with, in words.
        """
        if self.error is not None:
            return f"{type(self.error).__name__} leaves the tool"
        try:
            envelope = parse_envelope(self.answer)
        except EnvelopeError as error:
            return f"the answer is no envelope: {error}"
        if isinstance(envelope, Success):
            return "it answers ok: true"
        return f"it answers {envelope.error.error_class} {envelope.error.code}"


class Runner:
    """
    Runs *subject* with *arguments*, by default made up; *is_executed* lets its own function run though it may write.
    """

    def __init__(
        self, subject: Subject, *, arguments: Mapping[str, object] | None = None, is_executed: bool = False
    ) -> None:
        self.subject = subject
        self.is_executed = is_executed
        self._arguments = arguments
        self._kept: dict[int, Run] = {}
        self._clock = _Clock()
        self._tool = None if subject.tool is None else _on_clock(subject.tool, self._clock)
        # a method's object, which Python would put first
        owner = getattr(subject.function, "__self__", None)
        self._first = () if owner is None else (owner,)

    @property
    def arguments(self) -> dict[str, object]:
        """
        What the tool is called with.
        """
        return example_arguments(self.subject.function) if self._arguments is None else dict(self._arguments)

    @property
    def may_run(self) -> bool:
        """
        Whether the tool's own function may be run.
        """
        return self.is_executed or self.subject.kind is Kind.READ

    def under(self, plan: Fault | Iterable[Fault], *, is_real: bool = False) -> Run:
        """
        The tool called once with faults at its boundary; its own function is only run where that *is_real*.
        """
        faults = always(plan) if isinstance(plan, Fault) else chain(plan, always(ANSWER))
        name = plan.name if isinstance(plan, Fault) else "the plan"
        with ExitStack() as stack:
            if not is_real:
                faults = map(_harmless, faults)
                # of a write, its read-back
                stack.enter_context(sealed(http_refusal()))
            injection = stack.enter_context(inject(faults, tool=self.subject.name))
            run = self._run(name, self.arguments)
        return run._replace(attempts=len(injection.attempts))

    def below(self, fault: HttpFault, arguments: Mapping[str, object] | None = None) -> Run:
        """
        The tool's own function called once, with *fault* below its HTTP client.
        """
        if not self.may_run:
            raise InputError(f"{self.subject.name} may write, so it is not run.")
        with sealed(fault) as seal:
            run = self._run(fault.name, self.arguments if arguments is None else arguments)
        return run._replace(requests=seal.requests + seal.connections)

    def once(self, fault: Fault | HttpFault) -> Run:
        """
        What came of *fault* when it was tried first: most points ask about the same ones.
        """
        # by identity: a fault with headers has no hash, and all that are asked about live as long as this program
        run = self._kept.get(id(fault))
        if run is None:
            run = self.under(fault) if isinstance(fault, Fault) else self.below(fault)
            self._kept[id(fault)] = run
        return run

    def without(self, name: str) -> Run:
        """
        The tool called without the argument *name*, which it requires: Python refuses that before its function begins.
        """
        return self._run(f"no {name}", {key: value for key, value in self.arguments.items() if key != name})

    def with_wrong(self, name: str) -> Run:
        """
        The tool's own function called with an argument *name* that is of no use, with nobody to answer its requests.
        """
        return self.below(http_refusal(), {**self.arguments, name: _WRONG})

    def _run(self, name: str, arguments: Mapping[str, object]) -> Run:
        """
        What the call returns, or what leaves it.
        """
        self._clock.now_s = 0.0
        try:
            answer = self._call(dict(arguments))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever leaves a tool is what is asked about
            return Run(name, error=error, waited_s=self._clock.now_s)
        return Run(name, answer, waited_s=self._clock.now_s)

    def _call(self, arguments: dict[str, object]) -> object:
        tool = self._tool
        if tool is None:
            answer = self.subject.function(**arguments)
            if inspect.iscoroutine(answer):
                answer = asyncio.run(cast("Coroutine[object, object, object]", answer))
            return answer.to_dict() if isinstance(answer, Success | Failure) else answer
        if tool.is_async:
            return document_of(asyncio.run(tool.run_async(self._first, arguments)))
        return document_of(tool.run_sync(self._first, arguments))


class _Clock:
    """
    A clock on which nothing takes time but waiting.
    """

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.now_s += seconds


def _on_clock(tool: Tool, clock: _Clock) -> Tool:
    """
    *tool* on a clock of its own, and without its hook for new tokens: an audit asks nobody for one.
    """
    timing = Timing(clock=clock, sleep=clock.sleep, sleep_async=clock.sleep_async)
    return Tool(tool.function, name=tool.name, retry=tool.retry, write=tool.write, timing=timing)


def _harmless(fault: Fault) -> Fault:
    """
    *fault* without the tool's own function, and without a wait.
    """
    return replace(fault, commits=False, delay_s=0.0, strike=fault.strike or ANSWER.strike)
